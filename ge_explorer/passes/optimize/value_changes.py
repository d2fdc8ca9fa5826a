"""Where a rule of GE changes values: casts it takes out although they round, conditions it asks for their size. Notes say so."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text

ROUNDED, SIZE_ASKED = "GX347", "GX348"
CHANGES = frozenset({ROUNDED, SIZE_ASKED})
"""Codes of the notes that say a result may differ from the model's by GE's own rule."""
_SOURCE = "base/common/op/transop_util.cc: IsPrecisionLoss"
_FLOATS = {"float16": (11, 5), "bfloat16": (8, 8), "float": (24, 8), "double": (53, 11)}
"""Type -> bits of the significand and of the exponent."""
_WHOLE = {
    "bool": (0, 1), "int8": (1, 7), "uint8": (0, 8), "int16": (1, 15), "uint16": (0, 16), "int32": (1, 31), "uint32": (0, 32),
    "int64": (1, 63), "uint64": (0, 64),
}  # fmt: skip
"""Type -> sign and value bits."""


def exact(source: str | None, target: str | None) -> bool:
    """True if every value of ``source`` survives the conversion to ``target``.

    >>> exact("float16", "float"), exact("float", "float16"), exact("int32", "float"), exact("bool", "float16")
    (True, False, False, True)
    """
    if source == target:
        return True
    if source in _FLOATS and target in _FLOATS:
        return all(a <= b for a, b in zip(_FLOATS[source], _FLOATS[target], strict=True))
    if source not in _WHOLE:
        return False
    sign, bits = _WHOLE[source]
    if target in _FLOATS:
        return bits <= _FLOATS[target][0]
    return target in _WHOLE and target != "bool" and sign <= _WHOLE[target][0] and bits <= _WHOLE[target][1]


def rounds(start: str | None, middle: Sequence[str | None]) -> bool:
    """True if going through these types and back changes some value."""
    return any(not exact(start, m) for m in middle)


def note(nodes: Sequence[int]) -> Issue:
    """The finding of one pass."""
    text = Text(
        "{n} casts that round are taken out: GE's table does not count them as a loss, so values differ slightly from the model's.",
        "{n} 处会舍入的 Cast 被去掉：GE 的精度损失表未把它们计入，因此数值与原模型略有不同。",
    ).format(n=len(nodes))  # fmt: skip
    fix = Text(
        "To keep them: ge.optimizationSwitch=CastRemovePass:off;TransOpSymmetryEliminationPass:off.",
        "若要保留：ge.optimizationSwitch=CastRemovePass:off;TransOpSymmetryEliminationPass:off。",
    )
    return Issue(ROUNDED, "note", text, tuple(Ref("node", i) for i in nodes), fix, _SOURCE)


def size_asked(node: int, name: str) -> Issue:
    """The finding about a condition that is no scalar."""
    text = Text(
        "The condition of {name} has dimensions: GE asks whether it has elements, ONNX asks their value. "
        "A false one takes the other branch.",
        "{name} 的条件不是标量：GE 只看是否有元素，ONNX 看其取值；条件为假时两者走的分支不同。",
    ).format(name=name)  # fmt: skip
    fix = Text("Squeeze the condition to a scalar in the model.", "在模型中把条件 Squeeze 为标量。")
    return Issue(SIZE_ASKED, "note", text, (Ref("node", node),), fix, "cond_pass.cc, cond_remove_pass.cc")
