"""The graph as GE's memory planner walks it: operators in traversal order, with sizes, readers and streams at hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, VARIABLE_LIKE, Graph, Shape, Tensor
from ge_explorer.memory.aliases import PARENT_INDEX, REUSE_FLAG, REUSE_INDEX, WHILE_LIKE
from ge_explorer.memory.problem import WORKSPACE
from ge_explorer.memory.sizes import padded_size, payload_bytes

SIZE = "size"
"""Output attribute: bytes of the tensor as GE's tensor descriptor states them; without it they follow from the shape."""
SUB_STREAM, THREAD_SCOPE = "_sub_stream_id", "_thread_scope_id"
MERGE = frozenset({"Merge", "StreamMerge"})
CLEANERS = frozenset({"AtomicAddrClean", "MemSet", "Memset"})
NO_BLOCK = CONST_LIKE | VARIABLE_LIKE | {"MultiShape", "HvdWait"}
"""Types whose outputs live elsewhere (mem_assigner CheckIsZeroMemNodeType)."""
SIDE_BY_SIDE = (
    "continuous_input", "continuous_output", "_no_padding_continuous_input", "_no_padding_continuous_output"
)  # fmt: skip
LOCAL_ENGINE = "DNN_VM_GE_LOCAL"


@dataclass(frozen=True, slots=True)
class Anchor:
    """Input or output ``index`` of operator ``op`` (its place in the traversal)."""

    op: int
    index: int
    out: bool


@dataclass(frozen=True, slots=True)
class Source:
    """Output ``index`` of operator ``op``."""

    op: int
    index: int


@dataclass(frozen=True, slots=True)
class Output:
    """One output: ``size`` is the descriptor's, ``payload`` shape x dtype (GE's no-align size), both in bytes.

    ``readers`` are (operator, input) in edge order; ``refers`` is the input it is written over by its descriptor, else -1;
    ``own`` says that it shares no input's bytes although its type would.
    """

    size: int
    payload: int
    shape: Shape
    dtype: str
    readers: tuple[Source, ...]
    refers: int
    attrs: Mapping[str, Any]
    own: bool = False


@dataclass(frozen=True, slots=True)
class Op:
    """One operator. ``place`` is its index in the traversal, ``id`` its topological id (GE's time), ``node`` the graph's node.

    ``holder`` is the place of the node that owns its graph (-1: root graph); ``bodies`` are the places inside each graph it owns.
    ``local`` says that the GE-local engine runs it, so it has no task.
    """

    place: int
    node: int
    id: int
    name: str
    type: str
    stream: int
    inputs: tuple[Source | None, ...]
    outputs: tuple[Output, ...]
    control: tuple[int, ...]
    workspaces: tuple[int, ...]
    holder: int
    bodies: tuple[tuple[int, ...], ...]
    local: bool
    attrs: Mapping[str, Any]

    @property
    def body_input(self) -> bool:
        """Data of a subgraph: stands for an input of its holder."""
        return self.holder >= 0 and self.type in DATA_LIKE

    @property
    def root_input(self) -> bool:
        """Data of the root graph."""
        return self.holder < 0 and self.type in DATA_LIKE

    @property
    def root_output(self) -> bool:
        """NetOutput of the root graph."""
        return self.holder < 0 and self.type == "NetOutput"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All operators in GE's traversal order (a holder, then the graphs it owns).

    ``copied`` are results of loops whose start value must not be written, so that the loop works on a copy. ``grouped`` says
    that some operator wants inputs or outputs side by side.
    """

    ops: tuple[Op, ...]
    attrs: Mapping[str, Any]
    by_name: Mapping[str, int]
    copied: frozenset[Source] = frozenset()
    grouped: bool = False

    def feeding(self, op: Op) -> Source | None:
        """For the Data of a subgraph: the output that feeds the holder's input it stands for."""
        index = int(op.attrs.get(PARENT_INDEX, -1))
        if Source(op.holder, index) in self.copied:
            return Source(op.holder, index)
        holder = self.ops[op.holder]
        return holder.inputs[index] if 0 <= index < len(holder.inputs) else None

    def result_index(self, end: Op, i: int) -> int:
        """Output of the holder that input ``i`` of a subgraph's NetOutput becomes, -1 for none (a loop's condition)."""
        holder = self.ops[end.holder]
        if holder.type in WHILE_LIKE and len(holder.bodies) > 1 and end.place in holder.bodies[0]:
            return -1
        if holder.type == "Loop":  # an ONNX Loop body returns its condition first
            i -= max(len(end.inputs) - len(holder.outputs), 0)
        return i if 0 <= i < len(holder.outputs) else -1

    def input_index(self, op: Op) -> int:
        """Number of a root input: its attribute ``index``, else its place among the root inputs."""
        if "index" in op.attrs:
            return int(op.attrs["index"])
        return sum(o.root_input for o in self.ops[: op.place])

    def out(self, s: Source) -> Output:
        """The output behind a source."""
        return self.ops[s.op].outputs[s.index]


def refers_to(op: Op, o: int) -> int:
    """Input that output ``o`` shares its bytes with, -1 for none (graph_utils.cc IsRefFromInput)."""
    found = -1
    if op.outputs[o].own:
        return -1
    if op.type == "NetOutput" or op.type in WHILE_LIKE or op.body_input:
        found = o
    elif op.type in ("Merge", "Reshape") and o == 0:
        found = 0
    elif op.outputs[o].refers >= 0:
        found = op.outputs[o].refers
    elif op.attrs.get("_output_reuse_input") and (
        op.attrs.get("_no_padding_continuous_input") or op.attrs.get("_no_padding_continuous_output")
    ):
        found = 0
    return found if found < max(len(op.inputs), 1 if op.body_input else 0) else -1


def build_view(
    graph: Graph,
    stream: Sequence[int],
    order: Sequence[int] | None = None,
    sequence: Sequence[int] | None = None,
    local: Collection[int] = (),
    references: Mapping[int, int] | None = None,
    copied: Collection[int] = (),
) -> View:
    """View of ``graph``. ``stream`` and ``order`` (topological ids) are per node id, ``sequence`` is the traversal.

    Defaults: GE's walk over all graphs, ids counted along it. ``local`` are the node ids of the GE-local engine;
    ``references`` (tensor -> input) adds to what the descriptors say; ``copied`` are result tensors of loops on a copy.
    """
    walk = list(graph.walk() if sequence is None else sequence)
    place = {n: i for i, n in enumerate(walk)}
    producer = {t: Source(place[n], o) for n in walk for o, t in enumerate(graph.node(n).outputs)}
    edges: dict[int, list[Source]] = {}
    for e in graph.edges:
        edges.setdefault(graph.node(e.src).outputs[e.src_out], []).append(Source(place[e.dst], e.dst_in))
    names = graph.unique_names
    ops = []
    for i, n in enumerate(walk):
        node = graph.node(n)
        parent = graph.scope(node.scope).parent
        ops.append(
            Op(
                i, n, i if order is None else int(order[n]), names[n], node.op, int(stream[n]),
                tuple(None if t is None else producer[t] for t in node.inputs),
                tuple(_output(graph.tensor(t), edges.get(t, ()), references or {}, copied) for t in node.outputs),
                tuple(place[c] for c in graph.control_out[n]),
                tuple(max(int(w), 0) for w in node.attrs.get(WORKSPACE, ())),
                place[parent] if node.scope and parent >= 0 else -1,
                tuple(tuple(place[m] for m in graph.scope(s).nodes) for s in node.subgraphs),
                n in local, node.attrs,
            )
        )  # fmt: skip
    grouped = any(o.attrs.get(k) for o in ops for k in SIDE_BY_SIDE)
    return View(
        tuple(ops), graph.attrs, {o.name: o.place for o in ops}, frozenset(producer[t] for t in copied), grouped
    )


def _output(t: Tensor, readers: Sequence[Source], references: Mapping[int, int], copied: Collection[int]) -> Output:
    payload = payload_bytes(t)[0]
    refers = int(t.attrs.get(REUSE_INDEX, 0)) if t.attrs.get(REUSE_FLAG) else references.get(t.id, -1)
    size = int(t.attrs[SIZE]) if SIZE in t.attrs else padded_size(payload)
    return Output(size, payload, t.shape or (), t.dtype or "", tuple(readers), refers, t.attrs, t.id in copied)
