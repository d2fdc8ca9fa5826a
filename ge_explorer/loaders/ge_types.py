"""ONNX operator type -> GE (Ascend IR) operator type.

Source: the REGISTER_CUSTOM_OP plug-ins of the operator repositories (ops-nn, ops-math, ops-cv), read for opset 8 to 18.
Where GE's plug-in expands one ONNX node into a small graph, the type here is the operator that does the work; the node
count then stays that of the file ("raw ONNX" view).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

OLDEST_OPSET, NEWEST_OPSET = 8, 18
"""Opsets for which GE's plug-ins register the standard operators."""

_SAME = [
    "Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
    "Cast", "CastLike", "Ceil", "Celu", "Cos", "Cosh", "Dropout", "Einsum", "Elu", "Equal", "Erf", "Exp", "Expand",
    "Flatten", "Floor", "GatherElements", "GlobalAveragePool", "Greater", "HardSigmoid", "HardSwish", "Identity",
    "IsInf", "LRN", "LeakyRelu", "Less", "Log", "Mish", "Mod", "Mul", "Neg", "PRelu", "Pow", "Range", "Reciprocal",
    "Relu", "Reshape", "ReverseSequence", "Round", "ScatterElements", "Selu", "Shape", "Shrink", "Sigmoid", "Sign",
    "Sin", "Sinh", "Size", "Softplus", "Softsign", "SpaceToDepth", "DepthToSpace", "Sqrt", "Sub", "Tan", "Tanh",
    "Tile", "If", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
    "SequenceLength", "SplitToSequence", "ConcatFromSequence", "SoftmaxCrossEntropyLoss", "GlobalLpPool",
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp", "TopK",
    "NonZero",
]  # fmt: skip

_RENAMED = {
    "And": "LogicalAnd", "Or": "LogicalOr", "Not": "LogicalNot", "BitwiseNot": "Invert", "Div": "RealDiv",
    "GreaterOrEqual": "GreaterEqual", "LessOrEqual": "LessEqual", "IsNaN": "IsNan", "Where": "SelectV2",
    "Det": "MatrixDeterminant", "Sum": "AccumulateNV2", "CumSum": "Cumsum", "MatMul": "BatchMatMulV2", "Softmax": "SoftmaxV2",
    "LogSoftmax": "LogSoftmaxV2", "Hardmax": "HardMax", "BatchNormalization": "BatchNorm", "InstanceNormalization": "InstanceNorm",
    "MeanVarianceNormalization": "MVNV2", "GatherND": "GatherNd", "GridSample": "GridSampler2D", "Scatter": "ScatterElements",
    "MaxRoiPool": "ROIPooling", "ReduceL1": "LpNormV2", "ReduceL2": "LpNormV2", "LSTM": "CommonLSTM", "GRU": "CommonGRU",
    "AffineGrid": "AffineGrid", "RNN": "DynamicRNN",
}  # fmt: skip

_EXPANDED = {
    "Conv": "Conv2D", "ConvTranspose": "Conv2DTranspose", "Gemm": "MatMulV2", "LayerNormalization": "LayerNorm",
    "Clip": "ClipByValue", "Concat": "ConcatD", "Split": "SplitV", "Gather": "GatherV2", "Transpose": "Transpose",
    "Resize": "Resize", "Upsample": "Resize", "MaxPool": "MaxPoolV3", "AveragePool": "AvgPoolV2",
    "GlobalMaxPool": "ReduceMax", "LpPool": "AvgPoolV2", "ArgMax": "ArgMaxV2", "ArgMin": "ArgMin", "Max": "Maximum",
    "Min": "Minimum", "Mean": "AccumulateNV2", "ConstantOfShape": "Fill", "OneHot": "OneHot",
    "NonMaxSuppression": "NonMaxSuppressionV6", "Compress": "GatherV2", "Unique": "UniqueWithCountsAndSorting",
    "Trilu": "Trilu", "EyeLike": "MatrixDiagV2", "Xor": "BitwiseXor", "BitShift": "RightShift",
    "RandomNormal": "RandomStandardNormal", "RandomNormalLike": "RandomStandardNormal",
    "RandomUniform": "RandomUniform", "RandomUniformLike": "RandomUniform", "Multinomial": "Multinomial",
    "Bernoulli": "StatelessBernoulliV2", "LpNormalization": "LpNormV2", "ThresholdedRelu": "Threshold",
    "RoiAlign": "ROIAlign", "MaxUnpool": "ScatterElements", "Col2Im": "Col2ImV2", "ScatterND": "ScatterNdUpdate",
    "ReduceSumSquare": "SquareSumV1", "Pad": "PadV3", "Slice": "StridedSliceV2",
}  # fmt: skip

_OURS = {
    "QuantizeLinear": "AscendQuant", "DequantizeLinear": "AscendDequant", "DynamicQuantizeLinear": "DynamicQuant",
    "MatMulInteger": "BatchMatMulV2", "QLinearMatMul": "QuantBatchMatmulV3", "ConvInteger": "Conv2D", "QLinearConv": "Conv2D",
    "GroupNormalization": "GroupNorm", "RMSNormalization": "RmsNorm", "Gelu": "Gelu", "Swish": "Swish",
    "Attention": "FusedInferAttentionScore", "RotaryEmbedding": "RotaryMul", "TensorScatter": "ScatterNdUpdate",
    "NegativeLogLikelihoodLoss": "NLLLoss", "DeformConv": "DeformableConv2D", "DFT": "DFT", "CenterCropPad": "PadV3",
    "BitCast": "Bitcast", "CumProd": "Cumprod", "SwiGLU": "SwiGlu",
}  # fmt: skip
"""Types no plug-in was found for; the GE type is our choice for display and cost."""

_NPU = {
    "NPURmsNorm": "RmsNorm", "NPUAddRmsNorm": "AddRmsNorm", "NPUFastGelu": "FastGelu", "NPUGeluV2": "GeluV2", "NPUGeglu": "GeGluV2",
    "NPURotaryMul": "RotaryMul", "NPUMish": "Mish", "NPUGroupNormSilu": "GroupNormSilu", "NPUDynamicQuant": "DynamicQuant",
    "NPUDynamicQuantV2": "DynamicQuantV2", "NPUQuantize": "Quantize", "NPUWeightQuantBatchMatmulV2": "WeightQuantBatchMatmulV2",
    "NPUAntiQuant": "AscendAntiQuantV2", "NPUDtypeCast": "Cast", "NPUFormatCast": "Identity", "NPUSlice": "Slice",
    "NPUIndexing": "StridedSlice", "NPULstm": "DynamicRNN", "NPUGru": "DynamicGRUV2",
}  # fmt: skip
"""Operators of the ``npu`` domain that the torch exporter writes."""

_MICROSOFT = {
    "FusedMatMul": "BatchMatMulV2", "FusedGemm": "MatMulV2", "Gelu": "Gelu", "BiasGelu": "Gelu", "FastGelu": "FastGelu",
    "QuickGelu": "Gelu", "SkipLayerNormalization": "AddLayerNorm", "SkipSimplifiedLayerNormalization": "AddRmsNorm",
    "SimplifiedLayerNormalization": "RmsNorm", "EmbedLayerNormalization": "LayerNorm", "Attention": "FusedInferAttentionScore",
    "MultiHeadAttention": "FusedInferAttentionScore", "GroupQueryAttention": "FusedInferAttentionScore",
    "RotaryEmbedding": "RotaryMul", "MatMulNBits": "WeightQuantBatchMatmulV2", "QuantizeLinear": "AscendQuant",
    "DequantizeLinear": "AscendDequant", "FusedConv": "Conv2D", "MoE": "GroupedMatmul", "QMoE": "GroupedMatmul",
    "AllReduce": "HcomAllReduce", "AllGather": "HcomAllGather", "AllToAll": "HcomAllToAll", "NcclAllReduce": "HcomAllReduce",
    "NcclAllGather": "HcomAllGather", "NcclReduceScatter": "HcomReduceScatter",
}  # fmt: skip
"""Contributed operators of ONNX Runtime (domain ``com.microsoft``); no GE plug-in, the types are ours."""

_COLLECTIVES = {
    "HcomBroadcast", "HcomReduce", "HcomAllReduce", "HcomAllGather", "HcomAllGatherV", "HcomReduceScatter", "HcomReduceScatterV",
    "HcomSend", "HcomReceive", "HcomAllToAllV", "HcomAllToAllVC", "HcomAllToAll", "HorovodAllreduce",
}  # fmt: skip
COLLECTIVES = frozenset(_COLLECTIVES)
"""GE's collective operators (framework_types_internal.h)."""

NO_SUBGRAPH_ADAPTER = frozenset({"Loop", "Scan", "SequenceMap"})
"""Types with a body that GE's ONNX parser has no adapter for: it stops with an error (optimize.md: If only)."""

CONTROL_TYPES = MappingProxyType({"Loop": "Loop", "Scan": "Scan", "SequenceMap": "SequenceMap"})


@dataclass(frozen=True, slots=True)
class Mapped:
    """GE type of an ONNX operator. ``kind``: same, renamed, expanded (GE makes a small graph), ours (no plug-in seen) or none."""

    op: str
    kind: str


_TABLE = {
    **{t: Mapped(t, "same") for t in _SAME},
    **{t: Mapped(g, "renamed") for t, g in _RENAMED.items()},
    **{t: Mapped(g, "expanded") for t, g in _EXPANDED.items()},
    **{t: Mapped(g, "ours") for t, g in _OURS.items()},
    **{t: Mapped(g, "ours") for t, g in CONTROL_TYPES.items()},
}


def ge_type(op: str, domain: str, version: int, rank: int | None = None, inputs: int = 1) -> Mapped:
    """GE type of an ONNX operator; an unknown type keeps its name with kind "none".

    ``rank`` is the rank of the first input (chooses Conv2D or Conv3D, 2-D or 3-D pooling), ``inputs`` their number.

    >>> ge_type("Conv", "ai.onnx", 13, rank=5)
    Mapped(op='Conv3D', kind='expanded')
    """
    if op in COLLECTIVES or domain == "ge":  # our own export writes GE's operators under this domain
        return Mapped(op, "same")
    if domain == "npu":
        return Mapped(_NPU[op], "renamed") if op in _NPU else Mapped(op, "none")
    if domain == "com.microsoft":
        return Mapped(_MICROSOFT[op], "ours") if op in _MICROSOFT else Mapped(op, "none")
    if domain != "ai.onnx":
        return Mapped(op, "none")
    if op in ("Squeeze", "Unsqueeze"):
        return Mapped(op if version < 13 else f"{op}V3", "same" if version < 13 else "renamed")
    if op == "Split":
        return Mapped("Split" if inputs == 1 else "SplitV", "expanded")
    if op in ("Max", "Min", "Concat") and inputs == 1:
        return Mapped("Identity", "expanded")
    if op in _DIMENSIONS and rank == 5:
        return Mapped(_DIMENSIONS[op], "expanded")
    return _TABLE.get(op, Mapped(op, "none"))


_DIMENSIONS = {
    "Conv": "Conv3D",
    "ConvTranspose": "Conv3DTranspose",
    "MaxPool": "MaxPool3D",
    "AveragePool": "AvgPool3D",
}

_BACK = {
    **{t: t for t in _SAME},
    **{g: t for t, g in _RENAMED.items() if list(_RENAMED.values()).count(g) == 1 and g not in _SAME},
    "Conv2D": "Conv", "Conv3D": "Conv", "DepthwiseConv2D": "Conv", "Conv2DTranspose": "ConvTranspose",
    "BatchMatMulV2": "MatMul", "MatMulV2": "MatMul", "SqueezeV3": "Squeeze", "UnsqueezeV3": "Unsqueeze", "ConcatD": "Concat",
    "StridedSliceV2": "Slice", "PadV3": "Pad", "MaxPoolV3": "MaxPool", "AvgPoolV2": "AveragePool", "Transpose": "Transpose",
    "Tanh": "Tanh", "Trilu": "Trilu",
}  # fmt: skip


def onnx_type(op: str) -> str:
    """ONNX operator of a GE type whose inputs and attributes mean the same in both; "" for any other.

    >>> onnx_type("RealDiv"), onnx_type("Muls")
    ('Div', '')
    """
    return _BACK.get(op, "")
