"""Rules around matrix multiplication: bias input, transposes as flags, attention, division by a constant."""

from __future__ import annotations

from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.fusion_match import (
    Either,
    In,
    Number,
    Op,
    Pattern,
    integers,
    is_const,
    match,
    number,
    value_of,
)
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite, in_order

MATMUL = ("MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
_FLAGS = {k: ("adj_x1", "adj_x2") if k.startswith("Batch") else ("transpose_x1", "transpose_x2") for k in MATMUL}
_BIASED = Op(
    ("Add", "BiasAdd"), (Op(MATMUL, (In("a"), In("b")), name="mm"), In("bias", const=True)), name="add", swap=True
)
_SOFTMAX_TYPES = ("SoftmaxV2", "Softmax")
_SCALED: Pattern = Either(
    (
        Op(("Mul", "Muls"), (Op(MATMUL, (In("q"), In("k")), name="qk"), Number(name="mul")), swap=True),
        Op(("RealDiv", "Div"), (Op(MATMUL, (In("q"), In("k")), name="qk"), Number(name="div"))),
        Op(MATMUL, (In("q"), In("k")), name="qk"),
    )
)
_MASKED: Pattern = Either((Op(("Add",), (_SCALED, In("mask")), swap=True, name="masked"), _SCALED))
_ATTENTION = Op(MATMUL, (Op(_SOFTMAX_TYPES, (_MASKED,), name="softmax"), In("v")), name="pv")


def matmul_bias(g: Graph, root: int) -> Rewrite | None:
    """MatMul → Add of a 1-D constant on the last axis → MatMul with bias."""
    m = match(g, _BIASED, root)
    if m is None:
        return None
    mm, out = g.node(m.nodes["mm"]), g.tensor(g.node(m.nodes["mm"]).outputs[0])
    shape = g.tensor(m.tensors["bias"]).shape
    if not shape or not out.shape or len(shape) != 1 or shape[0] != out.shape[-1] or len(mm.inputs) > 2:
        return None
    outs = g.node(root).outputs[:1]
    return Rewrite((mm.id, root), mm.op, mm.name, (*mm.inputs, m.tensors["bias"]), outs, mm.attrs)


def matmul_transpose(g: Graph, root: int) -> Rewrite | None:
    """A transpose of the last two axes before MatMul becomes its flag."""
    mm = g.node(root)
    for k, t in enumerate(mm.inputs[:2]):
        if t is None:
            continue
        before = g.node(g.tensor(t).producer)
        if before.op not in ("Transpose", "TransposeD") or len(g.data_out[before.id]) != 1:
            continue
        rank = len(g.tensor(t).shape or ())
        perm = integers(g, before, ("perm",), 1)
        if rank < 2 or perm != (*range(rank - 2), rank - 1, rank - 2):
            continue
        flag = _FLAGS[mm.op][k]
        inputs = (*mm.inputs[:k], before.inputs[0], *mm.inputs[k + 1 :])
        attrs = {**mm.attrs, flag: not mm.attrs.get(flag, False)}
        return Rewrite(in_order(g, (before.id, root)), mm.op, mm.name, inputs, mm.outputs, attrs)
    return None


def attention(g: Graph, root: int) -> Rewrite | None:
    """softmax(Q·K·scale + mask)·V → one attention kernel. The last axis must be the softmax axis; ranks 3 or 4."""
    m = match(g, _ATTENTION, root)
    if m is None:
        return None
    soft, pv, qk = (g.node(m.nodes[k]) for k in ("softmax", "pv", "qk"))
    q = g.tensor(m.tensors["q"])
    rank = len(q.shape or ())
    axis = integers(g, soft, ("axes", "axis")) or (-1,)
    if rank not in (3, 4) or axis not in ((-1,), (rank - 1,)) or len(pv.inputs) > 2 or len(qk.inputs) > 2:
        return None
    if _flag(qk, 0) or _flag(pv, 0) or _flag(pv, 1):
        return None
    scale = m.numbers.get("mul", 1 / m.numbers["div"] if m.numbers.get("div") else 1.0)
    attrs = {
        "scale": float(scale), "input_layout": "BNSD" if rank == 4 else "BSH", "_gx_key_transposed": not _flag(qk, 1),
        **({"num_heads": 1} if rank == 3 else {}),
    }  # fmt: skip
    inputs = (m.tensors["q"], m.tensors["k"], m.tensors["v"], m.tensors.get("mask"))
    return Rewrite(in_order(g, m.members), "FusedInferAttentionScore", soft.name, inputs, pv.outputs[:1], attrs)


def _flag(n: Node, side: int) -> bool:
    return bool(n.attrs.get(_FLAGS[n.op][side], False))


def real_div(g: Graph, root: int) -> Rewrite | None:
    """Division by a constant number → Muls by its reciprocal."""
    n = g.node(root)
    if len(n.inputs) != 2 or n.inputs[0] is None or is_const(g, n.inputs[0]):
        return None
    divisor = number(g, n.inputs[1])
    shape = g.tensor(n.inputs[1]).shape if n.inputs[1] is not None else None
    t = g.tensor(n.outputs[0])
    if not divisor or shape is None or any(d != 1 for d in shape) or t.dtype not in ("float", "float16", "bfloat16"):
        return None
    if g.tensor(n.inputs[0]).shape != t.shape:
        return None
    attrs = {**n.attrs, "value": 1.0 / divisor}
    return Rewrite((root,), "Muls", n.name, (n.inputs[0],), n.outputs, attrs)


def slices_to_split(g: Graph, root: int) -> Rewrite | None:
    """Slices of one tensor that tile one axis without gap or overlap → SplitVD. ``root`` is the first slice."""
    first = g.node(root)
    if not first.inputs or first.inputs[0] is None:
        return None
    x = g.tensor(first.inputs[0])
    readers = [g.node(e.dst) for e in g.data_out[x.producer] if e.src_out == x.index]
    parts = [(_slice(g, n, len(x.shape or ())), n) for n in readers if n.op == first.op and n.inputs[0] == x.id]
    known = [(p, n) for p, n in parts if p is not None]
    if len(known) < 2 or len(known) != len(readers) or len({n.id for n in readers}) != len(readers):
        return None
    axis = known[0][0][0]
    known.sort(key=lambda row: row[0][1])
    if any(p[0] != axis for p, _ in known) or known[0][1].id != root or known[0][0][1] != 0:
        return None
    ends = [p[2] for p, _ in known]
    starts = [p[1] for p, _ in known]
    size = (x.shape or ())[axis]
    if starts[1:] != ends[:-1] or ends[-1] != size:
        return None
    members = in_order(g, [n.id for _, n in known])
    attrs = {
        "split_dim": axis,
        "num_split": len(known),
        "size_splits": [e - s for s, e in zip(starts, ends, strict=True)],
    }
    outs = tuple(n.outputs[0] for _, n in known)
    return Rewrite(members, "SplitVD", first.name, (x.id,), outs, attrs)


def _slice(g: Graph, n: Node, rank: int) -> tuple[int, int, int] | None:
    """(axis, begin, end) of a slice with step 1 along one axis; None for anything else."""
    x = g.tensor(n.inputs[0]) if n.inputs and n.inputs[0] is not None else None
    if x is None or x.shape is None or len(n.inputs) < 4 or any(t is None for t in n.inputs[1:4]):
        return None
    begin, end, axes = (value_of(g, t) for t in n.inputs[1:4])
    steps = value_of(g, n.inputs[4]) if len(n.inputs) > 4 else None
    if begin is None or end is None or axes is None or begin.size != 1 or end.size != 1 or axes.size != 1:
        return None
    if len(n.inputs) > 4 and n.inputs[4] is not None and (steps is None or int(steps.ravel()[0]) != 1):
        return None
    axis = int(axes.ravel()[0]) % max(1, rank)
    size = x.shape[axis] if axis < len(x.shape) else None
    if not isinstance(size, int):
        return None
    a, b = int(begin.ravel()[0]), int(end.ravel()[0])
    a, b = (max(0, v + size) if v < 0 else min(v, size) for v in (a, b))
    return (axis, a, b) if a < b else None
