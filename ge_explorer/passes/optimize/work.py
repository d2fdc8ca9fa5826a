"""The graph while optimisation passes change it: edits that keep order, remember shapes and record decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import SOURCE_LIKE, Edge, Graph, Node, Shape, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import CONST, known
from ge_explorer.passes.optimize.value_changes import note
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext

EXPECTED = "_gx_input_shapes"
"""Our attribute: ((input, shape), …) where a node was built for another shape than its producer has now.

GE keeps a descriptor for every input; after a Reshape is deleted, the reader's descriptor still says what it wants, and
ReshapeRecoveryPass compares the two ends. Only differences are kept here.
"""


class Work:
    """Edits on behalf of one pass, or of the members of a group."""

    def __init__(self, graph: Graph, ctx: PassContext) -> None:
        self.before, self.ctx = graph, ctx
        self.e = GraphEditor(graph)
        self.changed = False
        self.fresh: list[int] = []
        """Nodes whose neighbours were changed: a work-list visits them again."""
        self.potential: dict[int, tuple[str, list[ConstantValue | None]]] = {}
        """Node -> (rule, values) while it is only marked as a constant (GE's ``_is_potential_const``)."""
        self.rounded: list[int] = []
        """Casts taken out although they round."""
        self._names: set[str] | None = None

    # ---------------------------------------------------------------- reading
    def node(self, i: int) -> Node:
        """Current node."""
        return self.e.node(i)

    def inputs(self, n: Node) -> list[Tensor | None]:
        """Tensors a node reads, None for empty slots."""
        return [None if t is None else self.e.tensor(t) for t in n.inputs]

    def outputs(self, n: Node) -> list[Tensor]:
        """Tensors a node makes."""
        return [self.e.tensor(t) for t in n.outputs]

    def producer(self, n: Node, index: int = 0) -> Node | None:
        """Node behind an input."""
        t = n.inputs[index] if index < len(n.inputs) else None
        return None if t is None else self.node(self.e.tensor(t).producer)

    def producers(self, n: Node) -> list[Node]:
        """Distinct data producers by input."""
        return [self.node(i) for i in dict.fromkeys(self.e.tensor(t).producer for t in n.inputs if t is not None)]

    def readers(self, n: Node) -> list[Edge]:
        """All data edges out of a node, by output."""
        return [e for t in n.outputs for e in self.e.readers(t)]

    def value(self, t: int | None) -> ConstantValue | None:
        """Value of a constant tensor, if it is one and small enough to be kept."""
        if t is None:
            return None
        tensor = self.e.tensor(t)
        n = self.node(tensor.producer)
        if n.op in CONST:
            found = n.attrs.get(VALUE)
            return found if isinstance(found, ConstantValue) else None
        marked = self.potential.get(n.id)
        return marked[1][tensor.index] if marked else None

    def is_constant(self, t: int | None, *, marked: bool = False) -> bool:
        """True for a tensor of a Const (with ``marked`` also of a node marked as constant)."""
        if t is None:
            return False
        n = self.node(self.e.tensor(t).producer)
        return n.op in CONST or (marked and n.id in self.potential)

    def shape(self, n: Node, index: int) -> Shape | None:
        """Shape a node expects at an input (GE's input descriptor)."""
        for k, shape in n.attrs.get(EXPECTED, ()):
            if k == index:
                return tuple(shape)
        t = n.inputs[index] if index < len(n.inputs) else None
        return None if t is None else self.e.tensor(t).shape

    def option(self, key: str) -> str:
        """GE option (declared by the pass)."""
        return self.ctx.option(key)

    def taken(self, name: str) -> bool:
        """True if a node has this name, or had it when the pass began."""
        if self._names is None:
            self._names = {n.name for n in self.before}
        return name in self._names

    def unique(self, wanted: str, *, numbered: bool = False) -> str:
        """A name nobody has; ``numbered`` counts ``<wanted>0``, ``<wanted>1``, … from the start."""
        name, k = (f"{wanted}0", 0) if numbered else (wanted, 1)
        while self.taken(name):
            k += 1
            name = f"{wanted}{k}"
        assert self._names is not None
        self._names.add(name)
        return name

    # ---------------------------------------------------------------- saying
    def say(self, n: Node, before: Any, after: Any, rule: str, evidence: Iterable[Ref] = (), note: Text | None = None,
               *, decisive: bool = True) -> None:  # fmt: skip
        """Record what happened to a node."""
        self.ctx.decide(Ref("node", n.id), "op", before, after, rule, list(evidence), note, decisive=decisive)

    def keep(self, n: Node, rule: str, evidence: Iterable[Ref] = ()) -> None:
        """Record that a candidate was left alone."""
        self.say(n, n.op, n.op, rule, evidence, decisive=False)

    # ---------------------------------------------------------------- changing
    def move(self, edge: Edge, tensor: int) -> None:
        """Let a reader read another tensor. Its expectation of the shape stays what it was."""
        reader = self.node(edge.dst)
        wanted = self.shape(reader, edge.dst_in)
        self.e.retarget(tensor, edge.dst, edge.dst_in)
        self.expect(edge.dst, edge.dst_in, wanted)
        self.touch(edge.dst)

    def expect(self, node: int, index: int, shape: Shape | None) -> None:
        """Remember the shape a reader wants, if its producer has another one."""
        n = self.node(node)
        t = n.inputs[index]
        rest = tuple((k, s) for k, s in n.attrs.get(EXPECTED, ()) if k != index)
        if t is not None and known(shape) and known(self.e.tensor(t).shape) and shape != self.e.tensor(t).shape:
            rest = (*rest, (index, shape))
        if rest != n.attrs.get(EXPECTED, ()):
            self.e.update_attrs(node, {EXPECTED: rest or None})

    def move_all(self, old: int, new: int) -> None:
        """Every reader of ``old`` reads ``new``."""
        for edge in self.e.readers(old):
            self.move(edge, new)

    def bypass(self, n: Node, rule: str, io: Sequence[int] = (0,), evidence: Iterable[Ref] = (),
               note: Text | None = None) -> None:  # fmt: skip
        """Delete a node; readers of output i read what input ``io[i]`` read. Control order is kept (IsolateAndDeleteNode)."""
        seen = [self.node(e.dst) for e in self.readers(n)]
        sources = [self.node(self.e.tensor(t).producer) for t in n.inputs if t is not None]
        for k, t in enumerate(n.outputs):
            source = n.inputs[io[k]] if k < len(io) and io[k] < len(n.inputs) else None
            if source is not None:
                self.move_all(t, source)
        after = self.e.control_targets(n.id)
        for a in n.control_in:
            for b in [*(r.id for r in seen), *after]:
                self.order(a, b)
        for p in sources:
            if p.op not in SOURCE_LIKE:
                for b in after:
                    self.order(p.id, b)
        refs = [Ref("node", i) for i in dict.fromkeys(p.id for p in sources)]
        self.delete(n, rule, [*refs, *evidence], note)

    def order(self, a: int, b: int) -> None:
        """Control edge unless it would be a loop on itself."""
        if a != b and self.e.has(a) and self.e.has(b):
            self.e.add_control(a, b)

    def delete(self, n: Node, rule: str, evidence: Iterable[Ref] = (), note: Text | None = None) -> None:
        """Remove a node that nobody needs any more."""
        self.say(n, n.op, "", rule, evidence, note)
        self.drop(n)

    def drop(self, n: Node) -> None:
        """Remove without a decision of its own."""
        self.changed = True
        for p in self.producers(n):
            self.touch(p.id)
        self.potential.pop(n.id, None)
        self.e.remove_nodes([n.id])

    def drop_unused_constant(self, n: Node | None, rule: str) -> None:
        """Remove a Const that nothing reads or orders any more (GE's DeleteUselessConstAxisNode)."""
        if n is not None and self.e.has(n.id):
            n = self.node(n.id)
            if n.op in CONST and not self.readers(n) and not n.control_in and not self.e.control_targets(n.id):
                self.delete(n, rule)

    def add(self, like: Node, name: str, op: str, inputs: Sequence[int], shape: Shape | None, dtype: str | None, *,
            attrs: dict[str, Any] | None = None, origin: Sequence[int] = (), after: int | None = None, front: bool = False,
            tensor_name: str = "", source_op: str = "") -> Node:  # fmt: skip
        """New node with one output in the scope of ``like``."""
        i = self.e.add_node(
            name, op, inputs=list(inputs), outputs=[(shape, dtype)], attrs=attrs, scope=like.scope, source_op=source_op,
            origin=tuple(origin), tensor_names=[tensor_name] if tensor_name else (), after=after, front=front,
        )  # fmt: skip
        self.changed = True
        self.touch(i)
        return self.node(i)

    def merge_origin(self, kept: int, gone: Node) -> None:
        """The kept node now also stands for ``gone``."""
        n = self.node(kept)
        own = n.origin or (n.id,)
        self.e.change(kept, origin=tuple(dict.fromkeys((*own, *(gone.origin or (gone.id,))))))

    def touch(self, i: int) -> None:
        """Ask for another visit."""
        self.fresh.append(i)

    # ---------------------------------------------------------------- end
    def finish(self) -> Graph:
        """The changed graph. Decisions on nodes that were made and removed within the pass are dropped."""
        after = self.e.freeze()
        if self.rounded:
            self.ctx.report(note(list(dict.fromkeys(self.rounded))))
        exists = {n.id for n in self.before} | {n.id for n in after}
        self.ctx.decisions[:] = [d for d in self.ctx.decisions if d.subject.kind != "node" or d.subject.id in exists]
        return after


def perm_of(w: Work, n: Node, shape: Shape | None = None) -> tuple[int, ...] | None:
    """Permutation of a Transpose: attribute ``perm``, or the constant input 1, or (ONNX) the reversed dimensions."""
    perm = n.attrs.get("perm")
    if isinstance(perm, tuple | list) and all(isinstance(p, int) for p in perm):
        return tuple(perm)
    if len(n.inputs) > 1:
        value = w.value(n.inputs[1])
        array = value.array() if value is not None else None
        return None if array is None else tuple(int(p) for p in array.ravel())
    if n.source_op == "Transpose" and perm is None and shape is not None:
        return tuple(reversed(range(len(shape))))
    return None
