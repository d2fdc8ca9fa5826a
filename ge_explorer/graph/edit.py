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
        self._behind: dict[int, dict[int, list[int]]] = {}
        self._lists: dict[int, list[int]] = {s.id: list(s.nodes) for s in graph.scopes if s is not None}
        self._edges: dict[tuple[int, int], Edge] = dict(graph.edge_at)
        self._control: dict[tuple[int, int], None] = dict.fromkeys(graph.control)
        self._index: dict[tuple[int, int], dict[tuple[int, int], int]] | None = None
        self._control_out: dict[int, dict[int, None]] = {}
        self._clock = 0

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

    def has(self, i: int) -> bool:
        """True while node ``i`` exists."""
        return 0 <= i < len(self._nodes) and self._nodes[i] is not None

    def tensor(self, t: int) -> Tensor:
        """Current tensor."""
        found = self._tensors[t]
        if found is None:
            raise GraphError(f"tensor {t} was removed", where=self._name)
        return found

    def scope(self, i: int) -> Scope:
        """Current scope (its node list is in ``members``)."""
        found = self._scopes[i]
        if found is None:
            raise GraphError(f"scope {i} was removed", where=self._name)
        return found

    def scopes(self) -> list[int]:
        """Ids of the scopes that exist, ascending."""
        return [i for i, s in enumerate(self._scopes) if s is not None]

    def has_scope(self, i: int) -> bool:
        """True while scope ``i`` exists."""
        return 0 <= i < len(self._scopes) and self._scopes[i] is not None

    def members(self, scope: int) -> list[int]:
        """Direct nodes of a scope in list order."""
        nodes = self._nodes
        return [i for i in self._listed(scope) if nodes[i] is not None] if scope in self._lists else []

    def _listed(self, scope: int) -> list[int]:
        """Node list of a scope. Nodes asked for behind an anchor get their places here, all in one sweep."""
        waiting = self._behind.pop(scope, None)
        if waiting:
            out: list[int] = []
            todo = self._lists[scope][::-1]
            while todo:
                i = todo.pop()
                out.append(i)
                todo.extend(waiting.pop(i, ()))  # the latest comes directly behind the anchor
            if waiting:
                raise GraphError("no such place in the node list", where=self._name, got=min(waiting))
            self._lists[scope] = out
        return self._lists[scope]

    def readers(self, tensor: int) -> list[Edge]:
        """Edges that leave a tensor, in creation order."""
        t = self.tensor(tensor)
        found = self._by_source().get((t.producer, t.index), {})
        keys: Iterable[tuple[int, int]] = sorted(found, key=found.__getitem__) if len(found) > 1 else found
        return [self._edges[key] for key in keys]

    def reader_count(self, tensor: int) -> int:
        """Number of edges that leave a tensor."""
        t = self.tensor(tensor)
        return len(self._by_source().get((t.producer, t.index), ()))

    def control_targets(self, node: int) -> list[int]:
        """Nodes with a control edge from ``node``, in creation order."""
        self._by_source()
        return list(self._control_out.get(node, ()))

    def _by_source(self) -> dict[tuple[int, int], dict[tuple[int, int], int]]:
        """(producer, output) -> edge keys with their creation rank; built on first use, then kept up to date."""
        if self._index is None:
            self._index = {}
            for rank, (key, e) in enumerate(self._edges.items()):
                self._index.setdefault((e.src, e.src_out), {})[key] = rank
            self._clock = len(self._edges)
            self._control_out = {}
            for a, b in self._control:
                self._control_out.setdefault(a, {})[b] = None
        return self._index

    def _put_edge(self, e: Edge, *, keep_place: bool = False) -> None:
        key = (e.dst, e.dst_in)
        rank = self._clock
        old = self._edges.get(key)
        if old is not None and self._index is not None:
            rank_before = self._index[(old.src, old.src_out)].pop(key)
            rank = rank_before if keep_place else rank
        if not keep_place:
            self._edges.pop(key, None)
            self._clock += 1
        self._edges[key] = e
        if self._index is not None:
            self._index.setdefault((e.src, e.src_out), {})[key] = rank

    def _drop_edge(self, key: tuple[int, int]) -> None:
        e = self._edges.pop(key, None)
        if e is not None and self._index is not None:
            del self._index[(e.src, e.src_out)][key]

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
        front: bool = False,
    ) -> int:
        """Append a node (or put it right after node ``after`` in the scope list, or in ``front``); returns its id.

        ``outputs``: a count, or one (shape, dtype) per output. Edges are created in input order.
        """
        i = len(self._nodes)
        specs = [(None, None)] * outputs if isinstance(outputs, int) else list(outputs)
        first = len(self._tensors)
        for k, (shape, dtype) in enumerate(specs):
            label = tensor_names[k] if k < len(tensor_names) else f"{name}:{k}"
            self._tensors.append(Tensor(first + k, label, i, k, shape, dtype))
        outs = tuple(range(first, first + len(specs)))
        waits_for = tuple(dict.fromkeys(control))
        self._nodes.append(
            Node(i, name, op, tuple(inputs), outs, waits_for, frozen(attrs), scope, (), source_op, tuple(origin))
        )
        if after is not None and not front:
            self._behind.setdefault(scope, {}).setdefault(after, []).append(i)
        elif front:
            self._listed(scope).insert(0, i)
        else:
            self._listed(scope).append(i)
        for k, t in enumerate(inputs):
            if t is not None:
                made = self.tensor(t)
                self._put_edge(Edge(made.producer, made.index, i, k))
        for c in waits_for:
            self._put_control(c, i)
        return i

    def connect(self, tensor: int, node: int, index: int) -> None:
        """Feed input ``index`` of ``node`` from ``tensor`` (a new edge at the end of the creation order)."""
        t = self._tensors[tensor]
        if t is None:
            raise GraphError(f"tensor {tensor} was removed", where=self._name)
        n = self.node(node)
        inputs = list(n.inputs) + [None] * (index + 1 - len(n.inputs))
        inputs[index] = tensor
        self._nodes[node] = replace(n, inputs=tuple(inputs))
        self._put_edge(Edge(t.producer, t.index, node, index))

    def connect_all(self, tensors: Sequence[int | None], node: int) -> None:
        """Feed the first inputs of ``node``, in order; None leaves a slot as it is."""
        n = self.node(node)
        inputs = list(n.inputs) + [None] * (len(tensors) - len(n.inputs))
        for k, t in enumerate(tensors):
            if t is not None:
                made = self.tensor(t)
                inputs[k] = t
                self._put_edge(Edge(made.producer, made.index, node, k))
        self._nodes[node] = replace(n, inputs=tuple(inputs))

    def disconnect(self, node: int, index: int) -> None:
        """Remove one data input (the slot stays, empty)."""
        n = self.node(node)
        inputs = list(n.inputs)
        inputs[index] = None
        self._nodes[node] = replace(n, inputs=tuple(inputs))
        self._drop_edge((node, index))

    def retarget(self, tensor: int, node: int, index: int) -> None:
        """Feed an input that already has an edge from another tensor; the edge keeps its place in creation order."""
        t = self.tensor(tensor)
        n = self.node(node)
        inputs = list(n.inputs)
        inputs[index] = tensor
        self._nodes[node] = replace(n, inputs=tuple(inputs))
        self._put_edge(Edge(t.producer, t.index, node, index), keep_place=(node, index) in self._edges)

    def trim_inputs(self, node: int, count: int) -> None:
        """Keep the first ``count`` inputs; the others lose their edges and slots."""
        for k in range(count, len(self.node(node).inputs)):
            self._drop_edge((node, k))
        n = self.node(node)
        self._nodes[node] = replace(n, inputs=n.inputs[:count])

    def add_control(self, src: int, dst: int) -> None:
        """Control edge (once)."""
        if (src, dst) not in self._control:
            self._put_control(src, dst)
            n = self.node(dst)
            self._nodes[dst] = replace(n, control_in=(*n.control_in, src))

    def _put_control(self, src: int, dst: int) -> None:
        self._control[(src, dst)] = None
        if self._index is not None:
            self._control_out.setdefault(src, {})[dst] = None

    def remove_control(self, src: int, dst: int) -> None:
        """Remove a control edge if present."""
        if self._control.pop((src, dst), 0) is None:
            self._control_out.get(src, {}).pop(dst, None)
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
        if self._tensors[old] is None:
            return
        for e in self.readers(old):
            self.retarget(new, e.dst, e.dst_in)

    def redirect_all(self, moved: Mapping[int, int]) -> None:
        """``redirect`` for many tensors in one sweep over the edges (old tensor -> new tensor)."""
        sources = {(t.producer, t.index): new for old, new in moved.items() if (t := self._tensors[old]) is not None}
        for key, e in self._edges.items():
            new = sources.get((e.src, e.src_out))
            t = None if new is None else self._tensors[new]
            if new is None or t is None:
                continue
            self._edges[key] = Edge(t.producer, t.index, e.dst, e.dst_in)
            n = self.node(e.dst)
            self._nodes[e.dst] = replace(n, inputs=(*n.inputs[: e.dst_in], new, *n.inputs[e.dst_in + 1 :]))
        self._index = None

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
                if s in self._lists:
                    todo.extend(self._listed(s))
                    del self._lists[s]
                self._scopes[s] = None
        index = self._by_source()
        for i in sorted(gone):
            self._cut_off(i, gone, index)
        for i in gone:
            n = self.node(i)
            for t in n.outputs:
                self._tensors[t] = None
            self._nodes[i] = None

    def _cut_off(self, i: int, gone: set[int], index: dict[tuple[int, int], dict[tuple[int, int], int]]) -> None:
        """Drop every edge of a node that is about to go."""
        n = self.node(i)
        for k in range(len(n.inputs)):
            self._drop_edge((i, k))
        for k in range(len(n.outputs)):
            for dst, slot in index.pop((i, k), {}):
                del self._edges[(dst, slot)]
                if dst not in gone:
                    reader = self.node(dst)
                    inputs = list(reader.inputs)
                    inputs[slot] = None
                    self._nodes[dst] = replace(reader, inputs=tuple(inputs))
        for c in n.control_in:
            self._control.pop((c, i), None)
            self._control_out.get(c, {}).pop(i, None)
        for c in list(self._control_out.pop(i, ())):
            if c in gone:
                self._control.pop((i, c), None)
            else:
                self.remove_control(i, c)

    def remove_scope(self, scope: int) -> None:
        """Remove a subgraph with everything in it; its owner forgets it."""
        s = self.scope(scope)
        if s.parent >= 0 and self.has(s.parent):
            holder = self.node(s.parent)
            self._nodes[s.parent] = replace(holder, subgraphs=tuple(x for x in holder.subgraphs if x != scope))
        self.remove_nodes(self.members(scope))
        self._lists.pop(scope, None)
        self._behind.pop(scope, None)
        self._scopes[scope] = None

    def move_nodes(self, nodes: Sequence[int], scope: int, after: int) -> None:
        """Move nodes into another scope, right after node ``after`` of it, in the given order (edges stay)."""
        moving = set(nodes)
        for i in nodes:
            n = self.node(i)
            if n.scope != scope:
                self._lists[n.scope] = [m for m in self._listed(n.scope) if m not in moving]
            self._nodes[i] = replace(n, scope=scope)
        rest = [m for m in self._listed(scope) if m not in moving]
        at = rest.index(after) + 1
        self._lists[scope] = [*rest[:at], *nodes, *rest[at:]]

    # ---------------------------------------------------------------- freezing
    def freeze(self) -> Graph:
        """Immutable graph. Duplicate names inside one scope are an error (GE keys its queues by name)."""
        scopes = tuple(None if s is None else replace(s, nodes=tuple(self.members(s.id))) for s in self._scopes)
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
