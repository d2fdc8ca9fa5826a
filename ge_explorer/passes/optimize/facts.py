"""What the optimisation passes need to know of operator types and tensors."""

from __future__ import annotations

from ge_explorer.graph.model import Dim, Node, Shape, Tensor

CONST = frozenset({"Const", "Constant"})
"""GE's CONSTANT and CONSTANTOP: constants whose value is in the graph."""
SWITCH = frozenset({"Switch", "RefSwitch"})
MERGE = frozenset({"Merge", "RefMerge"})
LOOP_V1 = frozenset({"Enter", "RefEnter", "NextIteration", "RefNextIteration", "Exit", "RefExit", "LoopCond"})
CONTROL_V1 = SWITCH | MERGE | LOOP_V1
"""Control flow of TensorFlow 1: plain operators, no subgraphs."""

TRANS = frozenset({
    "TransData", "Transpose", "TransposeD", "Reshape", "ReFormat", "Cast", "Squeeze", "SqueezeV2", "SqueezeV3", "UnsqueezeV2",
    "UnsqueezeV3", "ExpandDims",
})  # fmt: skip
"""Operators that only change layout, shape or type; the data is input 0 (base/common/op/transop_util.cc)."""

SIZES_ONLY = frozenset({
    "Reshape", "ReFormat", "Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "ExpandDims", "Flatten",
    "FlattenV2",
})  # fmt: skip
"""Types that move no data: the result has the same bytes under another shape."""

_FLOATS = frozenset({"float", "float16", "double", "bfloat16"})

NO_FOLD = "no_need_constant_folding"
DO_NOT_FOLD = "_do_not_constant_folding"
BY_GE = "_is_inserted_by_ge"
FROM_FOLDING = "_is_from_constant_folding"
"""GE's mark on a Const that constant folding made."""
ORIGIN_SCALAR = "_gx_origin_scalar"
"""Our attribute of a folded Const: id of the one-element Const it was broadcast from (GE: ``origin element num`` is 1, and the
data pointer is that of the scalar)."""
ORIGINAL_NAMES = "_datadump_original_op_names"


def loses_precision(source: str | None, target: str | None) -> bool:
    """GE's table of casts that lose more than rounding: anything to bool, a float to int32 or int64.

    >>> loses_precision("float", "float16"), loses_precision("float", "int32"), loses_precision("bool", "bool")
    (False, True, False)
    """
    if target == "bool":
        return source != "bool"
    return source in _FLOATS and target in ("int32", "int64")


def known(shape: Shape | None) -> bool:
    """True if rank and every dimension are known."""
    return shape is not None and all(isinstance(d, int) and d >= 0 for d in shape)


def sizes(shape: Shape | None) -> tuple[int, ...] | None:
    """The dimensions as numbers, None unless all are known."""
    if shape is None:
        return None
    out = tuple(d for d in shape if isinstance(d, int) and d >= 0)
    return out if len(out) == len(shape) else None


def unknown_dims(shape: Shape | None) -> int:
    """Number of unknown dimensions; -2 (as in GE) when even the rank is unknown."""
    return -2 if shape is None else sum(not _number(d) for d in shape)


def _number(d: Dim) -> bool:
    return isinstance(d, int) and d >= 0


def layout(t: Tensor, *, origin: bool = False) -> str:
    """Storage format of a tensor ("" when nothing says), or its origin format."""
    value = t.attrs.get("origin_format" if origin else "format", "")
    return value if isinstance(value, str) else ""


def static(n: Node, inputs: list[Tensor], outputs: list[Tensor]) -> bool:
    """True if every shape of a node is known (GE's GetNodeUnknownShapeStatus of a node without subgraphs)."""
    return not n.subgraphs and all(known(t.shape) for t in (*inputs, *outputs))
