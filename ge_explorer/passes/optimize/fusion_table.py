"""Table of graph fusion rules: what they make of what, GE's pass where there is one, and how well that is known.

``status``: V read in GE's or the operator repositories' source, D in GE's public list of fusion rules, I inferred, A ours.
``products`` are those the public list names ("" none stated). Rules of status A have no pass of GE behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize import fusion_conv, fusion_matmul, fusion_vector
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite
from ge_explorer.text import Text

Status = Literal["V", "D", "I", "A"]
Finder = Callable[[Graph, int], Rewrite | None]


@dataclass(frozen=True, slots=True)
class FusionRule:
    """One rule. ``id`` and ``ge_name`` are both accepted by the switches; ``roots`` are the types of the last node.

    ``legacy``: GE's older matcher, where one match with mixed ``_stream_label`` ends the whole pattern for the graph.
    """

    id: str
    ge_name: str
    status: Status
    products: str
    roots: tuple[str, ...]
    text: Text
    find: Finder
    legacy: bool = False
    own_name: str = ""

    @property
    def default(self) -> bool:
        """On without a switch: GE has a pass that does this."""
        return self.status != "A"

    @property
    def source(self) -> str:
        """GE's pass with its status, or "ours"."""
        if self.status == "A":
            return "ours"
        where = f", listed for {self.products}" if self.products else ""
        return f"{self.ge_name} [{self.status}]{where}"


_ALL = "950, A3, A2 and earlier"

RULES: tuple[FusionRule, ...] = (
    FusionRule("pad-conv", "PadConv2dFusionPass", "D", _ALL, ("Conv2D", "DepthwiseConv2D"),
               Text("Zero padding joins the padding of the convolution.", "零填充并入卷积自身的 padding。"), fusion_conv.pad),
    FusionRule("conv-bn", "ConvBatchnormFusionPass", "D", "910, 310P, 310B", ("BatchNorm",),
               Text("Batch norm with constant parameters is folded into the convolution's weights and bias.",
                    "参数为常量的 BatchNorm 折叠进卷积的权重与偏置。"), fusion_conv.batch_norm, legacy=True),
    FusionRule("conv-mul", "AConv2dMulFusion", "D", _ALL, ("Mul",),
               Text("A constant scale per channel is folded into the convolution's weights.",
                    "按通道的常量缩放折叠进卷积权重。"), fusion_conv.scale, legacy=True),
    FusionRule("conv-bias", "AABiasaddConvFusion", "D", "950, A2 and earlier", ("Add", "BiasAdd"),
               Text("A constant per channel becomes the convolution's bias.", "按通道的常量成为卷积的偏置。"),
               fusion_conv.bias, legacy=True),
    FusionRule("matmul-bias", "MatMulBiasAddFusionPass", "V", "950, A3, A2", ("Add", "BiasAdd"),
               Text("A constant added on the last axis becomes the bias of the matrix multiplication.",
                    "最后一维上相加的常量成为矩阵乘的偏置。"), fusion_matmul.matmul_bias),
    FusionRule("matmul-transpose", "BatchMatMulTransposeFusionPass", "D", "950", fusion_matmul.MATMUL,
               Text("A transpose of the last two axes becomes a flag of the matrix multiplication.",
                    "最后两维的转置变成矩阵乘的转置标志。"), fusion_matmul.matmul_transpose),
    FusionRule("layer-norm", "LayerNormONNXFusionPass", "D", "950", ("Add", "Adds"),
               Text("Mean, centre, variance, divide, scale and shift are one LayerNorm.",
                    "均值、中心化、方差、相除、缩放、平移合为一个 LayerNorm。"), fusion_vector.layer_norm),
    FusionRule("rms-norm", "", "A", "", ("Mul",),
               Text("Mean of squares, root, divide and scale are one RmsNorm.", "平方均值、开方、相除、缩放合为一个 RmsNorm。"),
               fusion_vector.rms_norm, own_name="ExplorerRmsNormFusion"),
    FusionRule("add-rms-norm", "AddRmsNormFusionGraphPass", "D", "950, A3, A2", ("RmsNorm",),
               Text("Add and RmsNorm are one AddRmsNorm; the sum stays available.", "Add 与 RmsNorm 合为 AddRmsNorm，和仍可用。"),
               fusion_vector.add_rms_norm),
    FusionRule("add-layer-norm", "AddLayerNormFusionPass", "D", "950, A2", ("LayerNorm", "LayerNormV3", "LayerNormV4"),
               Text("Add and LayerNorm are one AddLayerNorm; the sum stays available.",
                    "Add 与 LayerNorm 合为 AddLayerNorm，和仍可用。"), fusion_vector.add_layer_norm),
    FusionRule("gelu", "GeluFusionPass", "D", "A3, A2 and earlier", ("Mul", "Muls"),
               Text("Gelu written out with Erf or Tanh is one Gelu.", "以 Erf 或 Tanh 展开的 Gelu 合为一个 Gelu。"),
               fusion_vector.gelu),
    FusionRule("swish", "", "A", "", ("Mul",),
               Text("x times sigmoid of x is one Swish.", "x 乘以 sigmoid(x) 合为一个 Swish。"), fusion_vector.swish,
               own_name="ExplorerSwishFusion"),
    FusionRule("attention", "", "A", "", fusion_matmul.MATMUL,
               Text("Softmax of scaled, masked Q·K times V is one attention kernel.",
                    "缩放、加掩码的 Q·K 经 softmax 再乘 V，合为一个注意力核函数。"), fusion_matmul.attention,
               own_name="ExplorerAttentionFusion"),
    FusionRule("slices-to-split", "StridedSliceDToSplitFusionPass", "V", "", ("StridedSliceV2", "StridedSlice", "SliceD"),
               Text("Slices that tile one axis are one split.", "铺满一个轴的多个切片合为一个 Split。"),
               fusion_matmul.slices_to_split),
    FusionRule("cast-relu-cast", "CastReluCastFusionPass", "V", "", ("Cast",),
               Text("Casting up and down around Relu changes nothing.", "Relu 前后的升降精度 Cast 没有作用。"),
               fusion_vector.cast_relu_cast),
    FusionRule("real-div", "RealDiv2MulsFusionPass", "D", "A2 and earlier", ("RealDiv", "Div"),
               Text("Division by a constant is a multiplication by its reciprocal.", "除以常量改为乘以其倒数。"),
               fusion_matmul.real_div),
)  # fmt: skip
"""In the order they run. Rules that make larger operators come before rules that rewrite their parts."""
