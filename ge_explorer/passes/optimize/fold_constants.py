"""fold-constants: nodes that compute nothing new at run time become constants."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.errors import ContractError
from ge_explorer.graph.constant import NUMPY_DTYPES, VALUE, ConstantValue
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import CONST_LIKE, Graph, Node, Shape, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.folding_kernels import BUILTIN, HOST, SHAPE_ONLY, Array, compute
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_POLICY = "ge.exec.memoryOptimizationPolicy"
_P = "compiler/graph/passes/standard_optimize/constant_folding"
FROM_FOLDING = "_is_from_constant_folding"
"""GE's mark on a Const that constant folding made."""


@dataclass(slots=True)
class _Plan:
    """What the analysis found: folded node -> rule, and the values of constant tensors (None: shape and type only)."""

    rule: dict[int, str] = field(default_factory=dict)
    value: dict[int, ConstantValue | None] = field(default_factory=dict)


@dataclass(frozen=True)
class FoldConstants(Pass):
    """Replace nodes whose result is known at compile time by ``Const`` nodes.

    Rule:
    1. A ``Constant`` node of the model becomes ``Const`` (GE's parser does this while it reads the file).
    2. A ``Fill`` with constant shape becomes a ``Const`` of that shape.
    3. Shape, Size and Rank of a tensor with a known shape fold, whatever produces the tensor.
    4. Other types with a host kernel fold when all inputs are constant.
    5. Never: unknown output shape, ``_do_not_constant_folding``, ``no_need_constant_folding``; with memory priority also a
       constant input of more than 8 elements that has other readers.
    Chains fold completely. Constants that lose their last reader disappear. Large results keep shape and type only.

    GE source: constant_folding_pass.cc, dimension_compute_pass.cc, folding_pass.cc. Simplified: GE folds in five places; the
    list of types the operator package folds on the host is assumed.

    Example: ``Const [64,3,7,7] -> ConstantOfShape -> Conv2D`` becomes ``Const -> Conv2D``.
    """

    name: ClassVar[str] = "fold-constants"
    title: ClassVar[Text] = Text("Fold", "常量折叠")
    summary: ClassVar[Text] = Text(
        "Turns what is known at compile time into constants.", "把编译期已知的结果变成常量。"
    )
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = frozenset({_POLICY})
    ge_name: ClassVar[str] = "ConstantFoldingPass"
    source: ClassVar[str] = f"{_P}/constant_folding_pass.cc: ConstantFoldingPass::Run"
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "constant-node": Rule(
                Text("A constant of the model file.", "模型文件中的常量。"),
                "parser/parser/onnx/onnx_constant_parser.cc",
            ),
            "fill": Rule(
                Text("A fill whose shape is constant.", "形状为常量的填充。"), "compiler/host_kernels: FillKernel"
            ),
            "shape": Rule(
                Text("The shape of its input is known.", "输入形状已知。"), f"{_P}/dimension_compute_pass.cc"
            ),
            "builtin": Rule(
                Text(
                    "All inputs are constant; GE has a host kernel for this type.",
                    "输入全为常量，且 GE 有该类型的主机核函数。",
                ),
                f"{_P}/constant_folding_pass.cc",
            ),
            "host": Rule(
                Text(
                    "All inputs are constant; the operator package is assumed to compute this type on the host.",
                    "输入全为常量；假设算子包能在主机上计算该类型。",
                ),
                f"{_P}/constant_folding_pass.cc (host kernels assumed)",
            ),
            "unread": Rule(Text("Its only readers were folded.", "其读者都已折叠。"), f"{_P}/folding_pass.cc"),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Analyse the graph as it is, then rewrite once."""
        g = s.graph
        plan = _analyse(g, ctx.option(_POLICY) == "MemoryPriority")
        renamed = [n for n in g if n.op == "Constant"]
        if not plan.rule and not renamed:
            ctx.status = "NOT_CHANGED"
            return s
        ctx.status = "SUCCESS"
        editor = GraphEditor(g)
        unread = _unread(g, plan)
        for n in renamed:
            if n.id not in unread:
                editor.change(n.id, op="Const")
                ctx.decide(Ref("node", n.id), "op", n.op, "Const", "constant-node")
        fresh = _rewrite(g, editor, plan, ctx)
        for i in sorted(unread):
            ctx.decide(Ref("node", i), "op", g.node(i).op, "", "unread")
        editor.remove_nodes([*plan.rule, *unread])
        return s.evolve(graph=_to_front(editor.freeze(), fresh))

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Every reader that had an input still has one, and of the same shape and type."""
        for n in after.graph:
            old = before.graph.nodes[n.id] if n.id < before.graph.id_bound else None
            for t_old, t_new in zip(old.inputs if old else (), n.inputs, strict=False):
                if t_old is None or t_old == t_new:
                    continue
                a = before.graph.tensor(t_old)
                b = None if t_new is None else after.graph.tensor(t_new)
                if b is None or (a.shape is not None and a.nbytes != b.nbytes):
                    raise ContractError("folding lost or changed an input", where=n.name)


def _known(t: Tensor, shape: Shape | None = None) -> bool:
    dims = t.shape if shape is None else shape
    return dims is not None and all(isinstance(d, int) and d >= 0 for d in dims)


def _analyse(g: Graph, memory_priority: bool) -> _Plan:
    plan = _Plan()
    for n in g:
        if n.op in CONST_LIKE and n.op != "FileConstant":
            value = n.attrs.get(VALUE)
            plan.value[n.outputs[0]] = value if isinstance(value, ConstantValue) else None
    todo = deque(i for i in g.walk() if _candidate(g.node(i)))
    queued = set(todo)
    while todo:
        i = todo.popleft()
        queued.discard(i)
        n = g.node(i)
        if i in plan.rule or not _try(g, n, plan, memory_priority):
            continue
        for e in g.data_out[i]:
            if e.dst not in queued and e.dst not in plan.rule and _candidate(g.node(e.dst)):
                queued.add(e.dst)
                todo.append(e.dst)
    return plan


def _candidate(n: Node) -> bool:
    return (n.op in BUILTIN or n.op in HOST or n.op in SHAPE_ONLY) and bool(n.outputs) and not n.subgraphs


def _try(g: Graph, n: Node, plan: _Plan, memory_priority: bool) -> bool:
    """Fold one node if its rule holds; writes the result into ``plan``."""
    if n.attrs.get("_do_not_constant_folding") or "no_need_constant_folding" in n.attrs:
        return False
    outs = [g.tensor(t) for t in n.outputs]
    if n.op in SHAPE_ONLY:
        return _fold_shape(g, n, plan)
    inputs = [t for t in n.inputs if t is not None]
    if not inputs or any(t not in plan.value for t in inputs):
        return False
    if memory_priority and any((g.tensor(t).elements or 0) > 8 and _readers(g, t) > 1 for t in inputs):
        return False
    kernel, rule = (BUILTIN[n.op], "builtin") if n.op in BUILTIN else (HOST[n.op], "host")
    results: list[ConstantValue | None] = [None] * len(outs)
    arrays = [v.array() if (v := plan.value[t]) is not None else None for t in inputs]
    if kernel is not None and len(outs) == 1 and len(inputs) == len(n.inputs):
        ready = [a for a in arrays if a is not None]
        got = compute(kernel, n, ready) if len(ready) == len(arrays) else None
        if got is not None:
            results = [_result(outs[0], got[0])]
    for t, value in zip(outs, results, strict=True):
        if value is None and not (_known(t) and t.dtype is not None):
            return False
    if all(t.elements == 0 for t in outs):  # GE leaves known-empty results to another pass
        return False
    plan.rule[n.id] = "fill" if n.op == "Fill" else rule
    plan.value.update(zip(n.outputs, results, strict=True))
    return True


def _result(t: Tensor, array: Array) -> ConstantValue | None:
    """Computed value as the tensor's type; None when it contradicts the recorded shape."""
    kinds = {np.dtype(k): name for name, k in NUMPY_DTYPES.items()}
    dtype = t.dtype if t.dtype in NUMPY_DTYPES else kinds.get(array.dtype)
    if dtype is None or (_known(t) and tuple(t.shape or ()) != array.shape):
        return None
    return ConstantValue.of(array, dtype)


def _fold_shape(g: Graph, n: Node, plan: _Plan) -> bool:
    source = g.tensor(n.inputs[0]) if n.inputs and n.inputs[0] is not None else None
    if source is None or not _known(source) or len(n.inputs) != 1 or len(n.outputs) != 1:
        return False
    dims = [int(d) for d in source.shape or () if isinstance(d, int)]
    start, end = n.attrs.get("start", 0), n.attrs.get("end", len(dims))
    if not isinstance(start, int) or not isinstance(end, int):
        return False
    values = {"Shape": dims[start:end], "Size": int(np.prod(dims, dtype=np.int64)), "Rank": len(dims)}[n.op]
    dtype = g.tensor(n.outputs[0]).dtype
    plan.rule[n.id] = "shape"
    plan.value[n.outputs[0]] = ConstantValue.of(np.array(values), dtype if dtype in ("int32", "int64") else "int64")
    return True


def _readers(g: Graph, tensor: int) -> int:
    t = g.tensor(tensor)
    return sum(e.src_out == t.index for e in g.data_out[t.producer])


def _unread(g: Graph, plan: _Plan) -> set[int]:
    """Constants whose readers were all folded (those without any reader stay: nobody folded them away)."""
    out: set[int] = set()
    for n in g:
        if n.op in CONST_LIKE and g.data_out[n.id] and all(e.dst in plan.rule for e in g.data_out[n.id]):
            out.add(n.id)
    return out


def _rewrite(g: Graph, editor: GraphEditor, plan: _Plan, ctx: PassContext) -> list[int]:
    """New Const per output that somebody still reads; returns their ids in creation order."""
    fresh: list[int] = []
    taken = {n.name for n in g}
    for i, rule in plan.rule.items():
        n = g.node(i)
        sources = tuple(Ref("node", g.tensor(t).producer) for t in n.inputs if t is not None)
        made: list[int] = []
        for k, t in enumerate(n.outputs):
            readers = [e for e in g.data_out[i] if e.src_out == k and e.dst not in plan.rule]
            if not readers:
                continue
            name = _unique(n.name if len(n.outputs) == 1 else f"{n.name}_{k}", taken)
            made.append(_constant(editor, n, g.tensor(t), plan.value[t], name))
            for e in readers:
                editor.connect(editor.output(made[-1]), e.dst, e.dst_in)
            ctx.decide(Ref("node", made[-1]), "op", n.op, "Const", rule, (Ref("node", i), *sources))
        _carry_control(g, editor, n, made, plan.rule)
        fresh += made
        ctx.decide(Ref("node", i), "op", n.op, "", rule, [Ref("node", m) for m in made])
    return fresh


def _constant(editor: GraphEditor, n: Node, t: Tensor, value: ConstantValue | None, name: str) -> int:
    attrs: dict[str, object] = {FROM_FOLDING: True}
    if value is not None:
        attrs[VALUE] = value
    if "_stream_label" in n.attrs:
        attrs["_stream_label"] = n.attrs["_stream_label"]
    spec = (value.shape, value.dtype) if value is not None else (t.shape, t.dtype)
    return editor.add_node(
        name,
        "Const",
        outputs=[spec],
        attrs=attrs,
        scope=n.scope,
        source_op=n.source_op,
        origin=(n.id,),
        tensor_names=[t.name],
    )


def _carry_control(g: Graph, editor: GraphEditor, n: Node, made: list[int], folded: Iterable[int]) -> None:
    """Control order survives: what ran before the node runs before its constants and before its control successors."""
    gone = set(folded) if n.control_in or g.control_out[n.id] else set()
    before = [c for c in n.control_in if c not in gone]
    for c in before:
        for m in made:
            editor.add_control(c, m)
    for after in g.control_out[n.id]:
        if after in gone:
            continue
        for source in made or before:
            editor.add_control(source, after)


def _unique(wanted: str, taken: set[str]) -> str:
    name, k = f"{wanted}_const", 1
    while name in taken:
        k += 1
        name = f"{wanted}_const{k}"
    taken.add(name)
    return name


def _to_front(g: Graph, fresh: list[int]) -> Graph:
    """GE appends a folded constant at the front of its graph, so the last one made comes first."""
    lists: dict[int, list[int]] = {}
    for i in reversed(fresh):
        lists.setdefault(g.node(i).scope, []).append(i)
    marked = set(fresh)
    return g.with_scope_order(
        {s: [*front, *(i for i in g.scope(s).nodes if i not in marked)] for s, front in lists.items()}
    )
