"""Buffer (UB) fusion: which operators may join, and what GE calls the pass that does it.

Names are those declared in GE's fusion_pass_name.h [V]. What each of them accepts is in the closed operator package; the
conditions here are ours, in the spirit of the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.device.work import FAMILY
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule


@dataclass(frozen=True, slots=True)
class BufferRule:
    """``id`` and ``ge_name`` switch it; ``default`` says whether it runs for imported models without being asked."""

    id: str
    ge_name: str
    default: bool
    text: Text


CUBE_CHAIN = BufferRule(
    "cube-chain", "TbeFixPipeFusionPass", True,
    Text("What follows the cube operator is done while its result leaves the cube.", "Cube 算子的后续运算在结果写出途中完成。"),
)  # fmt: skip
ELTWISE = BufferRule(
    "eltwise", "TbeEltwiseFusionPass", False,
    Text("Neighbouring elementwise operators are one kernel: the tensor between them stays on chip.",
         "相邻的逐元素算子合为一个核函数，中间张量不出片上缓存。"),
)  # fmt: skip
ELTWISE_CAST = BufferRule(
    "eltwise-cast", "TbeEltwiseCastFusionPass", False,
    Text("A cast joins the elementwise kernel beside it.", "Cast 并入相邻的逐元素核函数。"),
)  # fmt: skip
REDUCE = BufferRule(
    "reduce-eltwise", "TbeReduceElemwiseFusionPass", False,
    Text("A reduction and the elementwise operators around it are one kernel.", "归约与其前后的逐元素算子合为一个核函数。"),
)  # fmt: skip
BUFFER_RULES = (CUBE_CHAIN, ELTWISE, ELTWISE_CAST, REDUCE)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{r.id: Rule(r.text, f"{r.ge_name} [V name; conditions ours]") for r in BUFFER_RULES},
        "no-gain": Rule(Text("One kernel would not be faster (our cost model).",
                             "合为一个核函数并不更快（本工具代价模型）。"), "ours"),
        "too-large": Rule(Text("The tiles would not fit the unified buffer.", "分块放不进统一缓冲区。"), "ours"),
    }
)  # fmt: skip

CUBE = frozenset(
    {"Conv2D", "Conv3D", "DepthwiseConv2D", "MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}
)  # fmt: skip
FOLLOWERS = frozenset(
    {"Relu", "Relu6", "LeakyRelu", "PRelu", "AscendQuant", "AscendDequant", "AscendRequant", "Cast"}
)  # fmt: skip
"""Types the fixed-function pipe behind the cube can do (convert and activation units)."""
CHAIN_LIMIT = 3
MEMBER_LIMIT = 8


def vector_rule(op: str) -> BufferRule | None:
    """Rule under which a vector operator may join a buffer-fused kernel; None: never."""
    family = FAMILY.get(op)
    if op == "Cast":
        return ELTWISE_CAST
    if family == "elementwise":
        return ELTWISE
    return REDUCE if family == "reduce" and op.startswith("Reduce") else None
