"""Which element type operators work in: GE's precision modes, in the part that inserts Cast nodes."""

from __future__ import annotations

from ge_explorer.device.work import FAMILY
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import SIZES_ONLY
from ge_explorer.passes.optimize.format_choice import ADOPTERS, Choices
from ge_explorer.passes.optimize.work import EXPECTED, Work

PRECISION = "ge.exec.precision_mode"
HALF = frozenset({"force_fp16", "allow_fp32_to_fp16"})
"""Modes that change types here; all others leave the model's types."""
_CUBE = frozenset({"conv", "deconv", "matmul"})
_VECTOR = frozenset({"elementwise", "pool", "move", "softmax", "norm", "reduce", "transpose", "resize", "gather"})
_VECTOR_TYPES = (ADOPTERS | SIZES_ONLY | {op for op, f in FAMILY.items() if f in _VECTOR}) - {"Cast", "CastLike"}
"""Types that ``force_fp16`` takes along: the vector unit's, and those that move no data. A Cast's type is its meaning."""


def choose_types(w: Work, scope: int, c: Choices, mode: str) -> None:
    """float16 for what runs on the cube unit; with ``force_fp16`` for vector operators as well."""
    if mode not in HALF:
        return
    for i in w.e.members(scope):
        n = w.node(i)
        cube = FAMILY.get(n.op) in _CUBE
        if EXPECTED in n.attrs or not (cube or (mode == "force_fp16" and n.op in _VECTOR_TYPES)):
            continue
        ins = [(k, t) for k, t in enumerate(w.inputs(n)) if t is not None and t.dtype == "float"]
        outs = [t for t in w.outputs(n) if t.dtype == "float"]
        if not ins or not outs:
            continue
        c.in_type.update({(n.id, k): "float16" for k, _ in ins})
        c.out_type.update({t.id: "float16" for t in outs})
        w.ctx.decide(Ref("node", n.id), "dtype", "float", "float16", "cube-type" if cube else "vector-type")
