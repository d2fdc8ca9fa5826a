"""GraphEditor: the only mutable graph. Loaders, the builder and graph passes go through it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ge_explorer.errors import GraphError
from ge_explorer.graph.model import Edge, Graph, Node, Scope, Shape, Tensor, frozen


class GraphEditor:
    """Edit a graph and ``freeze()`` it. Ids of removed nodes are not used again.

    >>> from ge_explorer.graph.edit import GraphEditor
    >>> e = GraphEditor.empty("g")
    >>> x = e.add_node("x", "Data", outputs=1)
    >>> y = e.add_node("y", "Relu", inputs=[e.output(x)], outputs=1)
    >>> [n.name for n in e.freeze()]
    ['x', 'y']
    """

    def __init__(self, graph: Graph) -> None:
        self._name, self._attrs, self._notes = graph.name, dict(graph.attrs), list(graph.notes)
        self._nodes: list[Node | None] = list(graph.nodes)
        self._tensors: list[Tensor | None] = list(graph.tensors)
        self._scopes: list[Scope | None] = list(graph.scopes)
        self._lists: dict[int, list[int]] = {s.id: list(s.nodes) for s in graph.scopes if s is not None}
        self._edges: dict[tuple[int, int], Edge] = {(e.dst, e.dst_in): e for e in graph.edges}
        self._control: dict[tuple[int, int], None] = dict.fromkeys(graph.control)

    @staticmethod
    def empty(name: str, *, dynamic: bool = False, attrs: Mapping[str, Any] | None = None) -> GraphEditor:
        """Editor of a graph with an empty root scope."""
        return GraphEditor(Graph(name, (), (), (Scope(0, name, dynamic=dynamic),), (), (), frozen(attrs)))

    # ---------------------------------------------------------------- reading
    def node(self, i: int) -> Node:
        """Current node."""
        n = self._nodes[i]
        if n is None:
            raise GraphError(f"node {i} was removed", where=self._name)
        return n

    def output(self, node: int, index: int = 0) -> int:
        """Tensor id of an output."""
        outputs = self.node(node).outputs
        if index >= len(outputs):
            raise GraphError(f"node {self.node(node).name!r} has {len(outputs)} outputs", where=self._name, got=index)
        return outputs[index]

    # ---------------------------------------------------------------- adding
    def add_scope(
        self, name: str, parent: int, *, dynamic: bool = False, attrs: Mapping[str, Any] | None = None
    ) -> int:
        """New subgraph owned by node ``parent``; returns its id."""
        i = len(self._scopes)
        self._scopes.append(Scope(i, name, (), parent, dynamic, frozen(attrs)))
        self._lists[i] = []
        if parent >= 0:
            holder = self.node(parent)
            self._nodes[parent] = replace(holder, subgraphs=(*holder.subgraphs, i))
        return i

    def add_node(
        self,
        name: str,
        op: str,
        *,
        inputs: Sequence[int | None] = (),
        outputs: int | Sequence[tuple[Shape | None, str | None]] = 0,
        control: Iterable[int] = (),
        attrs: Mapping[str, Any] | None = None,
        scope: int = 0,
        source_op: str = "",
        origin: Sequence[int] = (),
        tensor_names: Sequence[str] = (),
        after: int | None = None,
    ) -> int:
        """Append a node (or put it right after node ``after`` in the scope list); returns its id.

        ``outputs``: a count, or one (shape, dtype) per output. Edges are created in input order.
        """
        i = len(self._nodes)
        specs = [(None, None)] * outputs if isinstance(outputs, int) else list(outputs)
        first = len(self._tensors)
        for k, (shape, dtype) in enumerate(specs):
            label = tensor_names[k] if k < len(tensor_names) else f"{name}:{k}"
            self._tensors.append(Tensor(first + k, label, i, k, shape, dtype))
        outs = tuple(range(first, first + len(specs)))
        self._nodes.append(
            Node(i, name, op, (None,) * len(inputs), outs, (), frozen(attrs), scope, (), source_op, tuple(origin))
        )
        if after is None:
            self._lists[scope].append(i)
        else:
            self._lists[scope].insert(self._lists[scope].index(after) + 1, i)
        for k, t in enumerate(inputs):
            if t is not None:
                self.connect(t, i, k)
        for c in control:
            self.add_control(c, i)
        return i

    def add_output(self, node: int, shape: Shape | None = None, dtype: str | None = None, name: str = "") -> int:
        """Append one output to a node; returns the tensor id."""
        n = self.node(node)
        t = len(self._tensors)
        self._tensors.append(Tensor(t, name or f"{n.name}:{len(n.outputs)}", node, len(n.outputs), shape, dtype))
        self._nodes[node] = replace(n, outputs=(*n.outputs, t))
        return t

    def connect(self, tensor: int, node: int, index: int) -> None:
        """Feed input ``index`` of ``node`` from ``tensor`` (a new edge at the end of the creation order)."""
        t = self._tensors[tensor]
        if t is None:
            raise GraphError(f"tensor {tensor} was removed", where=self._name)
        n = self.node(node)
        inputs = list(n.inputs) + [None] * (index + 1 - len(n.inputs))
        inputs[index] = tensor
        self._nodes[node] = replace(n, inputs=tuple(inputs))
        self._edges.pop((node, index), None)
        self._edges[(node, index)] = Edge(t.producer, t.index, node, index)

    def disconnect(self, node: int, index: int) -> None:
        """Remove one data input (the slot stays, empty)."""
        n = self.node(node)
        inputs = list(n.inputs)
        inputs[index] = None
        self._nodes[node] = replace(n, inputs=tuple(inputs))
        self._edges.pop((node, index), None)

    def add_control(self, src: int, dst: int) -> None:
        """Control edge (once)."""
        if (src, dst) not in self._control:
            self._control[(src, dst)] = None
            n = self.node(dst)
            self._nodes[dst] = replace(n, control_in=(*n.control_in, src))

    def remove_control(self, src: int, dst: int) -> None:
        """Remove a control edge if present."""
        if self._control.pop((src, dst), 0) is None:
            n = self.node(dst)
            self._nodes[dst] = replace(n, control_in=tuple(c for c in n.control_in if c != src))

    # ---------------------------------------------------------------- changing
    def update_attrs(self, node: int, changes: Mapping[str, Any]) -> None:
        """Merge attributes by literal GE key; value None deletes."""
        n = self.node(node)
        merged = {k: v for k, v in {**n.attrs, **changes}.items() if v is not None}
        self._nodes[node] = replace(n, attrs=frozen(merged))

    def change(self, node: int, *, name: str | None = None, op: str | None = None, source_op: str | None = None,
               origin: Sequence[int] | None = None) -> None:  # fmt: skip
        """Change name, type or origin of a node."""
        n = self.node(node)
        self._nodes[node] = replace(
            n,
            name=n.name if name is None else name,
            op=n.op if op is None else op,
            source_op=n.source_op if source_op is None else source_op,
            origin=n.origin if origin is None else tuple(origin),
        )

    def set_tensor(self, tensor: int, *, shape: Shape | None = None, dtype: str | None = None, name: str | None = None,
                   attrs: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        """Change what is known of a tensor (None keeps)."""
        t = self._tensors[tensor]
        if t is None:
            raise GraphError(f"tensor {tensor} was removed", where=self._name)
        self._tensors[tensor] = replace(
            t,
            shape=t.shape if shape is None else shape,
            dtype=t.dtype if dtype is None else dtype,
            name=t.name if name is None else name,
            attrs=t.attrs if attrs is None else frozen(attrs),
        )

    def set_graph_attrs(self, changes: Mapping[str, Any]) -> None:
        """Merge graph attributes."""
        self._attrs.update(changes)

    def set_scope(self, scope: int, *, dynamic: bool | None = None, attrs: Mapping[str, Any] | None = None) -> None:
        """Change scope flags."""
        s = self._scopes[scope]
        if s is None:
            raise GraphError(f"scope {scope} was removed", where=self._name)
        self._scopes[scope] = replace(
            s, dynamic=s.dynamic if dynamic is None else dynamic, attrs=s.attrs if attrs is None else frozen(attrs)
        )

    def note(self, text: str) -> None:
        """Record a note about the graph."""
        self._notes.append(text)

    # ---------------------------------------------------------------- removing
    def redirect(self, old: int, new: int) -> None:
        """Every consumer of tensor ``old`` reads tensor ``new`` instead, keeping each edge's place in creation order."""
        t = self._tensors[new]
        if t is None:
            raise GraphError(f"tensor {new} was removed", where=self._name)
        source = self._tensors[old]
        if source is None:
            return
        for key, e in list(self._edges.items()):
            if e.src == source.producer and e.src_out == source.index:
                self._edges[key] = Edge(t.producer, t.index, e.dst, e.dst_in)
                n = self.node(e.dst)
                inputs = list(n.inputs)
                inputs[e.dst_in] = new
                self._nodes[e.dst] = replace(n, inputs=tuple(inputs))

    def redirect_all(self, moved: Mapping[int, int]) -> None:
        """``redirect`` for many tensors in one sweep over the edges (old tensor -> new tensor)."""
        for key, e in list(self._edges.items()):
            new = moved.get(self.node(e.src).outputs[e.src_out])
            t = None if new is None else self._tensors[new]
            if new is None or t is None:
                continue
            self._edges[key] = Edge(t.producer, t.index, e.dst, e.dst_in)
            n = self.node(e.dst)
            self._nodes[e.dst] = replace(n, inputs=(*n.inputs[: e.dst_in], new, *n.inputs[e.dst_in + 1 :]))

    def remove_node(self, node: int) -> None:
        """Remove a node with its edges, outputs and subgraphs. Consumers keep an empty input slot: redirect first."""
        self.remove_nodes([node])

    def remove_nodes(self, nodes: Iterable[int]) -> None:
        """Remove many nodes in one sweep over the edges."""
        gone: set[int] = set()
        todo = list(nodes)
        while todo:
            i = todo.pop()
            n = self._nodes[i]
            if n is None or i in gone:
                continue
            gone.add(i)
            for s in n.subgraphs:
                todo.extend(self._lists.pop(s, []))
                self._scopes[s] = None
        for key, e in list(self._edges.items()):
            if e.src in gone or e.dst in gone:
                del self._edges[key]
                if e.dst not in gone:
                    n = self.node(e.dst)
                    inputs = list(n.inputs)
                    inputs[e.dst_in] = None
                    self._nodes[e.dst] = replace(n, inputs=tuple(inputs))
        for a, b in list(self._control):
            if a in gone or b in gone:
                if b not in gone:
                    self.remove_control(a, b)
                else:
                    del self._control[(a, b)]
        for i in gone:
            n = self._nodes[i]
            if n is not None:
                for t in n.outputs:
                    self._tensors[t] = None
            self._nodes[i] = None
        for s, members in self._lists.items():
            self._lists[s] = [i for i in members if i not in gone]

    # ---------------------------------------------------------------- freezing
    def reorder_edges(self, edges: Sequence[Edge]) -> None:
        """Set the creation order of the data edges (must be the same edges)."""
        new = {(e.dst, e.dst_in): e for e in edges}
        if new.keys() != self._edges.keys():
            raise GraphError("reordered edges are not the same edges", where=self._name)
        self._edges = new

    def freeze(self) -> Graph:
        """Immutable graph. Duplicate names inside one scope are an error (GE keys its queues by name)."""
        scopes = tuple(None if s is None else replace(s, nodes=tuple(self._lists.get(s.id, ()))) for s in self._scopes)
        for s in scopes:
            seen: set[str] = set()
            for i in s.nodes if s is not None else ():
                name = self.node(i).name
                if name in seen:
                    raise GraphError(
                        f"two nodes are named {name!r}", where=s.name if s else "", todo="Rename one of them."
                    )
                seen.add(name)
        return Graph(
            self._name, tuple(self._nodes), tuple(self._tensors), scopes, tuple(self._edges.values()),
            tuple(self._control), frozen(self._attrs), tuple(self._notes),
        )  # fmt: skip
