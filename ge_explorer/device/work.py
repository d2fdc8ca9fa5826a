"""Work of a node, independent of any chip: cube FLOPs, vector operations, bytes, and the blocks it splits into.

Formulas follow optimize.md section 6.2. A dimension that is unknown is bound to 1 and the result says so (``assumed``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.device.op_table import place_of
from ge_explorer.graph.model import DTYPE_BITS, SOURCE_LIKE, Graph, Node, Tensor

TILE = 128
"""Rows and columns of one cube block."""
VECTOR_BLOCK_BYTES = 32 * 1024
"""Bytes one vector block handles."""
UNIFIED_BUFFER = 192 * 1024
"""Bytes of the vector unit's buffer: a row that fits is read once (assumed for all chips)."""
RESIDENT_WEIGHTS = 16 << 20
"""Recurrent weights up to this size stay on chip between steps (assumed)."""
FUSED_FLOPS, FUSED_VOPS = "_gx_fused_flops", "_gx_fused_vops"
"""Our attributes of a node made by buffer fusion: the cube FLOPs and vector operations of all its members."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a node has to do. ``flops`` on cube, ``vops`` vector operations, bytes split by where they come from.

    ``hot_bytes`` were just written by another operator or are written now (L2 candidates); ``cold_bytes`` are weights and
    graph inputs. ``cube_blocks``/``vector_blocks`` are the blocks wanted. ``element_bytes`` is the width the vector unit
    works on, ``cube_speed`` the rate of this data type against FP16.
    """

    family: str
    flops: float = 0.0
    vops: float = 0.0
    hot_bytes: float = 0.0
    cold_bytes: float = 0.0
    cube_blocks: int = 1
    vector_blocks: int = 1
    element_bytes: float = 2.0
    cube_speed: float = 1.0
    efficiency: float = 1.0
    assumed: bool = False

    @property
    def nbytes(self) -> float:
        """Bytes read and written."""
        return self.hot_bytes + self.cold_bytes


@dataclass(frozen=True, slots=True)
class Operand:
    """One input or output as numbers: shape with unknown dimensions bound to 1, elements, bits, where it comes from.

    ``shape`` and ``elements`` are what is stored; ``origin`` is the shape before a storage format padded and cut it.
    """

    shape: tuple[int, ...]
    elements: int
    bits: int
    cold: bool
    assumed: bool
    origin: tuple[int, ...] | None = None

    @property
    def meant(self) -> tuple[int, ...]:
        """Shape the operator computes on, whatever its storage format."""
        return self.shape if self.origin is None else self.origin

    @property
    def meant_elements(self) -> int:
        """Elements of that shape."""
        return self.elements if self.origin is None else math.prod(self.origin)

    @property
    def nbytes(self) -> float:
        """Bytes without padding."""
        return self.elements * self.bits / 8


NONE = Operand((), 0, 16, False, False)


class Operands:
    """Operands of every tensor of a graph, computed once per tensor."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._made: dict[int, Operand] = {}
        self._equal: dict[Operand, Operand] = {}
        self.works: dict[tuple[object, ...], Work] = {}
        """Work of the nodes without attributes so far, by type and operands: large graphs repeat themselves."""

    def of(self, tensor: int) -> Operand:
        """Operand of a tensor id."""
        found = self._made.get(tensor)
        if found is None:
            t = self._graph.tensor(tensor)
            known = t.shape is not None and all(isinstance(d, int) and d >= 0 for d in t.shape)
            shape = tuple(d if isinstance(d, int) and d >= 0 else 1 for d in t.shape or ())
            bits = DTYPE_BITS.get(t.dtype or "")
            producer = self._graph.nodes[t.producer]
            cold = producer is not None and producer.op in SOURCE_LIKE
            origin = _origin(t) if t.attrs else None
            found = Operand(shape, math.prod(shape), bits or 16, cold, not known or bits is None, origin)
            # Equal operands are one object, so that costs of equal nodes can be looked up by identity.
            found = self._made[tensor] = self._equal.setdefault(found, found)
        return found

    def inputs(self, node: Node) -> list[Operand]:
        """Inputs in order; an absent optional input is an empty operand."""
        return [NONE if t is None else self.of(t) for t in node.inputs]

    def outputs(self, node: Node) -> list[Operand]:
        """Outputs in order."""
        return [self.of(t) for t in node.outputs]


def _origin(t: Tensor) -> tuple[int, ...] | None:
    """Shape before a storage format changed it (GE's ``origin_shape``), unknown dimensions as 1; None when nothing did."""
    given = t.attrs.get("origin_shape")
    if t.attrs.get("format") not in STORED or not isinstance(given, tuple | list) or not given:
        return None
    return tuple(d if isinstance(d, int) and d >= 0 else 1 for d in given)


STORED = frozenset({"NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"})
"""Storage formats whose shape is not that of the tensor the operator computes on."""
_CUBE_SPEED = MappingProxyType({32: 0.25, 64: 0.25, 16: 1.0, 8: 2.0, 4: 4.0})
"""Cube rate by bits of the operands against FP16: INT8 twice, INT4 four times, FP32 a quarter (assumed)."""

_ELEMENTWISE_WEIGHT: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys(("Div", "RealDiv", "Sqrt", "Rsqrt", "Reciprocal", "FloorDiv", "Mod", "FloorMod"), 4.0),
        **dict.fromkeys(("Exp", "Log", "Expm1", "Log1p", "Softplus", "SoftplusV2", "Softsign", "Elu", "Selu", "Celu"), 8.0),
        **dict.fromkeys(
            ("Tanh", "Sigmoid", "Erf", "Gelu", "GeluV2", "FastGelu", "Swish", "Silu", "Mish", "HardSwish", "Sin", "Cos", "Tan",
             "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "SwiGlu", "SwigluQuant"),
            12.0,
        ),
        "Pow": 16.0,
        **dict.fromkeys(
            ("Add", "AddV2", "Sub", "Mul", "Muls", "Adds", "Maximum", "Minimum", "Max", "Min", "Neg", "Abs", "Relu", "Relu6",
             "LeakyRelu", "PRelu", "HardSigmoid", "ThresholdedRelu", "Cast", "Sign", "Floor", "Ceil", "Round", "Rint",
             "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "LogicalNot",
             "LogicalXor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Select", "SelectV2", "Where", "ClipByValue", "AddN", "Sum",
             "Square", "BiasAdd", "Axpy", "IsNan", "IsInf", "ZerosLike", "OnesLike", "Accumulate", "AccumulateNV2", "Assign",
             "AssignAdd", "AssignSub", "RotaryMul", "ApplyRotaryPosEmb", "MaskedFill", "ReluGrad",
             "CastLike", "Dropout", "DropOutDoMask", "DropOutDoMaskV3", "ApplyAdam",
             "ApplyMomentum", "ApplyAdamW", "ApplyGradientDescent"),
            1.0,
        ),
    }
)  # fmt: skip

_CONV = ("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2D", "DeformableConv2D", "QuantConv2D", "Convolution")
_DECONV = ("Conv2DTranspose", "Conv3DTranspose", "Conv2DTransposeD", "Conv2DBackpropInput", "ConvTranspose")
_MATMUL = (
    "MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Gemm", "FullyConnection",
    "QuantBatchMatmul", "QuantBatchMatmulV2", "QuantBatchMatmulV3", "QuantBatchMatmulV4", "WeightQuantBatchMatmul",
    "WeightQuantBatchMatmulV2", "TransposeBatchMatMul", "GroupedMatmul", "GroupedMatMul", "Einsum",
)  # fmt: skip
_ATTENTION = (
    "FlashAttentionScore", "FusedInferAttentionScore", "PromptFlashAttention", "PromptFlashAttentionV3", "FlashAttention",
    "IncreFlashAttention", "IncreFlashAttentionV4", "MultiHeadAttention", "Attention", "MlaProlog", "FusedAttention",
)  # fmt: skip
_REDUCE = (
    "ReduceSum", "ReduceSumD", "ReduceMean", "ReduceMeanD", "ReduceMax", "ReduceMaxD", "ReduceMin", "ReduceMinD", "ReduceProd",
    "ReduceAll", "ReduceAny", "ReduceLogSumExp", "ReduceLogSum", "ArgMax", "ArgMaxV2", "ArgMaxD", "ArgMin", "ArgMinD", "Cumsum",
    "CumsumD", "Cumprod", "LpNorm", "LpNormV2", "L2Normalize", "L2Loss", "ReduceStd", "SquareSumV1",
)  # fmt: skip
_NORM: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys(("LayerNorm", "LayerNormV3", "LayerNormV4", "GroupNorm", "GroupNormSilu", "InstanceNorm",
                         "InstanceNormV3", "AddLayerNorm"), 8.0),
        **dict.fromkeys(("RmsNorm", "AddRmsNorm", "AddRmsNormDynamicQuant"), 5.0),
        **dict.fromkeys(("BatchNorm", "BNInfer", "BNInference", "BNInferenceD", "FusedBatchNorm", "Scale", "BatchNormV3"), 2.0),
    }
)  # fmt: skip
_MOVE = (
    "Concat", "ConcatD", "ConcatV2", "ConcatV2D", "Split", "SplitD", "SplitV", "SplitVD", "Pack", "Unpack", "Pad", "PadD", "PadV2",
    "PadV3", "PadV3D", "MirrorPad", "Slice", "SliceD", "SliceDV2", "StridedSlice", "StridedSliceD", "StridedSliceV2", "Tile",
    "TileD", "Expand", "ExpandD", "BroadcastTo", "BroadcastToD", "Fill", "FillD", "Range", "RangeD", "OneHot", "OneHotD", "Trilu",
    "Tril", "Triu", "Eye", "ReverseV2", "ReverseV2D", "Roll", "SpaceToDepth", "DepthToSpace", "KVCacheUpdate", "MemSet",
)  # fmt: skip
_POOL = (
    "MaxPool", "MaxPoolV2", "MaxPoolV3", "MaxPool3D", "MaxPoolWithArgmax", "AvgPool", "AvgPoolV2", "AvgPool1D", "AvgPool3D",
    "AvgPool3DD", "Pooling", "GlobalAveragePool", "GlobalMaxPool", "AdaptiveAvgPool2d", "AdaptiveMaxPool2d", "LRN", "ROIAlign",
    "GridSampler2D", "GridSample", "LpPool",
)  # fmt: skip
_RESIZE: Mapping[str, float] = MappingProxyType(
    {"ResizeNearestNeighborV2": 2.0, "ResizeNearestNeighborV2D": 2.0, "ResizeBilinearV2": 8.0, "ResizeBilinearV2D": 8.0,
     "ResizeBicubic": 40.0, "Resize": 8.0, "UpsampleNearest": 2.0, "Resize3D": 8.0}
)  # fmt: skip
_QUANT = (
    "AscendQuant", "AscendQuantV2", "AscendDequant", "AscendAntiQuant", "DynamicQuant", "DynamicQuantV2", "DynamicMxQuant",
    "DequantSwigluQuant", "SwigluGroupQuant", "Quantize", "Dequantize", "QuantizeLinear", "FakeQuant", "DynamicQuantize",
)  # fmt: skip
_SORT = (
    "TopK", "TopKV2", "TopKD", "Sort", "SortV2", "ArgSort", "NonMaxSuppression", "NonMaxSuppressionV6", "NonZero", "Unique",
    "UniqueWithCountsAndSorting", "MoeGatingTopK", "MoeGatingTopKSoftmax", "MoeGatingTopKSoftmaxV2", "MoeInitRouting",
    "MoeInitRoutingV2", "MoeInitRoutingV3",
)  # fmt: skip
_RNN: Mapping[str, float] = MappingProxyType(
    {
        "CommonLSTM": 20.0,
        "DynamicRNN": 20.0,
        "DynamicRNNV2": 20.0,
        "LSTM": 20.0,
        "CommonGRU": 20.0,
        "DynamicGRUV2": 20.0,
        "GRU": 20.0,
    }
)

FAMILY: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_ELEMENTWISE_WEIGHT, "elementwise"),
        **dict.fromkeys(_CONV, "conv"),
        **dict.fromkeys(_DECONV, "deconv"),
        **dict.fromkeys(_MATMUL, "matmul"),
        **dict.fromkeys(_ATTENTION, "attention"),
        **dict.fromkeys(_REDUCE, "reduce"),
        **dict.fromkeys(("SoftmaxV2", "Softmax", "LogSoftmaxV2", "LogSoftmax", "SoftmaxGrad", "HardMax"), "softmax"),
        **dict.fromkeys(_NORM, "norm"),
        **dict.fromkeys(("Transpose", "TransposeD", "TransData", "TransDataRNN"), "transpose"),
        **dict.fromkeys(_MOVE, "move"),
        **dict.fromkeys(("Gather", "GatherV2", "GatherV2D", "GatherElements", "GatherNd", "EmbeddingLookup"), "gather"),
        **dict.fromkeys(("ScatterNd", "ScatterNdUpdate", "ScatterUpdate", "ScatterElements", "ScatterElementsV2", "ScatterAdd",
                         "TensorScatterUpdate", "Scatter", "InplaceUpdate"), "scatter"),
        **dict.fromkeys(_POOL, "pool"),
        **dict.fromkeys(_RESIZE, "resize"),
        **dict.fromkeys(_QUANT, "quant"),
        **dict.fromkeys(_SORT, "sort"),
        **dict.fromkeys(_RNN, "rnn"),
        **dict.fromkeys(("MemcpyAsync", "MemcpyAddrAsync", "TensorMove", "Identity", "IdentityN", "ViewCopy"), "copy"),
        **dict.fromkeys(("RandomUniform", "RandomStandardNormal", "DropOutGenMask", "DropOutGenMaskV3", "DSARandomUniform",
                         "DSARandomNormal", "DSARandomTruncatedNormal", "DSAGenBitMask", "RandomNormal"), "random"),
    }
)  # fmt: skip
"""Operator type -> work family. A type that is not here is estimated like a light elementwise op and marked assumed."""


_FAMILY_OF_PLACE: Mapping[str, str] = MappingProxyType(
    {
        "convolution": "conv", "matmul": "matmul", "quantised matmul": "matmul", "attention": "attention", "recurrent": "rnn",
        "elementwise": "elementwise", "compare": "elementwise", "activation": "elementwise", "optimizer": "elementwise",
        "rotary": "elementwise", "reduction": "reduce", "softmax": "softmax", "norm": "norm", "data movement": "move",
        "gather": "gather", "scatter": "scatter", "pooling": "pool", "resize and region": "resize", "sort": "sort",
        "quantisation": "quant", "random": "random",
    }
)  # fmt: skip
"""Group of the placement table -> work family, for types that have no row of their own above."""


def family_of(op: str) -> str:
    """Work family of an operator type: its own row, else that of its group in the placement table, else ``unknown``."""
    found = FAMILY.get(op)
    if found is None:
        place, _ = place_of(op)
        found = _FAMILY_OF_PLACE.get(place.family) if place is not None else None
    return found or "unknown"


def _ceil(a: float, b: float) -> int:
    return max(1, math.ceil(a / b))


def _conv(node: Node, ins: list[Operand], outs: list[Operand], base: Work, *, transposed: bool = False) -> Work:
    x, w, y = ins[0] if ins else NONE, ins[1] if len(ins) > 1 else NONE, outs[0] if outs else NONE
    kernel = w.meant
    per_filter = w.meant_elements / max(1, kernel[0]) if kernel else 1.0
    channels = kernel[0] if kernel else 1
    if transposed:  # the filter's first dimension is the input's channels
        channels = y.meant[1] if len(y.meant) > 1 else 1
    swept, made = (x if transposed else y).meant_elements, y.meant_elements
    bias = made if len(ins) > 2 and ins[2].elements else 0
    blocks = _ceil(made / max(1, channels), TILE) * _ceil(channels, TILE)
    return replace(base, flops=2.0 * swept * per_filter, vops=float(bias), cube_blocks=blocks,
                   cube_speed=_CUBE_SPEED.get(w.bits if w.elements else x.bits, 1.0))  # fmt: skip


def _matmul(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    a, y = ins[0] if ins else NONE, outs[0] if outs else NONE
    left, made = a.meant, y.meant
    turned = any(node.attrs.get(k) for k in ("transpose_x1", "adj_x1", "transpose_a", "transA"))
    k = 1
    if left:
        k = left[-2] if turned and len(left) > 1 else left[-1]
    n = made[-1] if made else 1
    m = made[-2] if len(made) > 1 else 1
    elements = y.meant_elements
    batch = max(1, elements // max(1, m * n))
    epilogue = elements if len(ins) > 2 and ins[2].elements else 0
    return replace(base, flops=2.0 * elements * k, vops=float(epilogue), cube_blocks=batch * _ceil(m, TILE) * _ceil(n, TILE),
                   cube_speed=_CUBE_SPEED.get(a.bits, 1.0))  # fmt: skip


def _attention(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    q = ins[0] if ins else NONE
    k = ins[1] if len(ins) > 1 and ins[1].elements else q
    v = ins[2] if len(ins) > 2 and ins[2].elements else k
    layout = str(node.attrs.get("input_layout", ""))
    seq = layout.find("S") if "S" in layout and len(layout) == len(q.shape) else max(0, len(q.shape) - 2)
    sq = q.shape[seq] if seq < len(q.shape) else 1
    sk = k.shape[seq] if seq < len(k.shape) else 1
    masked = node.attrs.get("sparse_mode") in (2, 3) or node.attrs.get("is_causal") in (1, True)
    causal = 0.5 if sq == sk and sq > 1 and masked else 1.0
    width_v = q.elements * (v.shape[-1] / max(1, k.shape[-1])) if v.shape and k.shape else q.elements
    heads = node.attrs.get("head_num", node.attrs.get("num_heads"))
    if len(q.shape) == 4:
        rows = q.elements // max(1, q.shape[-1])
    else:
        rows = (q.elements // max(1, q.shape[-1] if q.shape else 1)) * (
            heads if isinstance(heads, int) and heads > 0 else 1
        )
    assumed = base.assumed or (len(q.shape) < 4 and not isinstance(heads, int))
    blocks = _ceil(rows, max(1, sq)) * _ceil(sq, TILE)
    return replace(base, flops=2.0 * sk * (q.elements + width_v) * causal, vops=14.0 * rows * sk * causal, cube_blocks=blocks,
                   vector_blocks=2 * blocks, cube_speed=_CUBE_SPEED.get(q.bits, 1.0), assumed=assumed)  # fmt: skip


def _elementwise(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    return replace(base, vops=_ELEMENTWISE_WEIGHT.get(node.op, 4.0) * sum(o.elements for o in outs[:1]))


def _reduce(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    return replace(base, vops=float(ins[0].elements if ins else 0))


def _rows(x: Operand) -> int:
    return max(1, x.elements // max(1, x.shape[-1] if x.shape else 1))


def _row_bytes(x: Operand, node: Node) -> float:
    """Bytes along the axis that is worked on (``axes`` or ``axis``, else the last one)."""
    axis = node.attrs.get("axes", node.attrs.get("axis", -1))
    axis = axis[0] if isinstance(axis, list | tuple) and axis else axis
    if not x.shape or not isinstance(axis, int) or not -len(x.shape) <= axis < len(x.shape):
        axis = -1
    return (x.shape[axis] if x.shape else 1) * x.bits / 8


def _softmax(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    x = ins[0] if ins else NONE
    # a row that does not fit is read and written once more
    again = 0.0 if _row_bytes(x, node) <= UNIFIED_BUFFER else 2 * x.nbytes
    return replace(base, vops=14.0 * x.elements, vector_blocks=_rows(x), hot_bytes=base.hot_bytes + again)


def _norm(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    x = ins[0] if ins else NONE
    again = 0.0 if _row_bytes(x, node) <= UNIFIED_BUFFER else x.nbytes  # one pass for the mean, one for the result
    return replace(
        base, vops=_NORM.get(node.op, 8.0) * x.elements, vector_blocks=_rows(x), hot_bytes=base.hot_bytes + again
    )


def _transpose(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    y = outs[0] if outs else NONE
    # a layout conversion gathers or scatters on one of its sides, so the shorter inner run counts
    sides = (*ins[:1], y) if node.op == "TransData" else (y,)
    run = min((x.shape[-1] if x.shape else 1) * x.bits / 8 for x in sides)
    return replace(base, vops=float(y.elements), efficiency=max(1 / 16, min(1.0, run / 64)))


def _gather(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    data, index, y = ins[0] if ins else NONE, ins[1] if len(ins) > 1 else NONE, outs[0] if outs else NONE
    row = y.nbytes / max(1, index.elements)
    moved = y.nbytes
    return replace(base, hot_bytes=moved + index.nbytes + (0 if data.cold else moved), cold_bytes=moved if data.cold else 0.0,
                   efficiency=0.5 if row < 512 else 1.0, vector_blocks=_ceil(2 * moved, VECTOR_BLOCK_BYTES))  # fmt: skip


def _scatter(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    index, update = ins[1] if len(ins) > 1 else NONE, ins[2] if len(ins) > 2 else NONE
    moved = 2 * update.nbytes + index.nbytes
    return replace(base, vops=float(update.elements), hot_bytes=moved, cold_bytes=0.0,
                   vector_blocks=_ceil(moved, VECTOR_BLOCK_BYTES))  # fmt: skip


def _pool(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    window = node.attrs.get("ksize", node.attrs.get("kernel_shape", node.attrs.get("window")))
    x, y = ins[0] if ins else NONE, outs[0] if outs else NONE
    k = math.prod(window) if isinstance(window, (list, tuple)) and window else x.elements / max(1, y.elements)
    return replace(base, vops=float(y.elements * max(1.0, k)))


def _resize(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    weight = {"nearest": 2.0, "linear": 8.0, "cubic": 40.0}.get(
        str(node.attrs.get("mode", "")), _RESIZE.get(node.op, 8.0)
    )
    return replace(base, vops=weight * sum(o.elements for o in outs[:1]))


def _sort(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    x = ins[0] if ins else NONE
    length = max(2, x.shape[-1] if x.shape else 2)
    return replace(base, vops=4.0 * x.elements * math.log2(length), hot_bytes=base.hot_bytes + 1.5 * x.nbytes)


def _quant(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    x = ins[0] if ins else NONE
    return replace(base, vops=(14.0 if "Swiglu" in node.op else 2.0) * x.elements)


def _rnn(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    x = ins[0] if ins else NONE
    rows = _rows(x)
    weights = sum(i.elements for i in ins[1:3])
    hidden = outs[-1].shape[-1] if outs and outs[-1].shape else 1
    steps = x.shape[0] if len(x.shape) > 2 else 1
    read = sum(i.nbytes for i in ins[1:3])
    again = 0.0 if read <= RESIDENT_WEIGHTS else read * (steps - 1)
    return replace(base, flops=2.0 * rows * weights, vops=20.0 * rows * hidden, cube_blocks=_ceil(hidden * 4, TILE),
                   cube_speed=_CUBE_SPEED.get(x.bits, 1.0), cold_bytes=base.cold_bytes + again)  # fmt: skip


def _move(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    if "Slice" not in node.op:
        return base
    x, moved = ins[0] if ins else NONE, sum(o.nbytes for o in outs)  # a slice reads what it writes, not the whole input
    rest = sum(o.nbytes for o in ins[1:])
    hot, cold = moved + rest + (0.0 if x.cold else moved), moved if x.cold else 0.0
    return replace(base, hot_bytes=hot, cold_bytes=cold, vector_blocks=_ceil(hot + cold, VECTOR_BLOCK_BYTES))


def _plain(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    return base


def _deconv(node: Node, ins: list[Operand], outs: list[Operand], base: Work) -> Work:
    return _conv(node, ins, outs, base, transposed=True)


_FORMULA: Mapping[str, Callable[[Node, list[Operand], list[Operand], Work], Work]] = MappingProxyType(
    {
        "conv": _conv, "deconv": _deconv, "matmul": _matmul, "attention": _attention, "elementwise": _elementwise,
        "reduce": _reduce, "softmax": _softmax, "norm": _norm, "transpose": _transpose, "move": _move, "gather": _gather,
        "scatter": _scatter, "pool": _pool, "resize": _resize, "quant": _quant, "sort": _sort, "rnn": _rnn, "copy": _plain,
        "random": _plain, "unknown": _elementwise,
    }
)  # fmt: skip


def work_of(node: Node, operands: Operands) -> Work:
    """Work of one node. Its bytes are all inputs once and all outputs once unless the family says otherwise."""
    ins, outs = operands.inputs(node), operands.outputs(node)
    if node.attrs:
        return _work(node, ins, outs)
    key = (node.op, *map(id, ins), None, *map(id, outs))
    found = operands.works.get(key)
    if found is None:
        found = operands.works[key] = _work(node, ins, outs)
    return found


def _work(node: Node, ins: list[Operand], outs: list[Operand]) -> Work:
    family = family_of(node.op)
    hot = sum(o.nbytes for o in ins if not o.cold) + sum(o.nbytes for o in outs)
    cold = sum(o.nbytes for o in ins if o.cold)
    widest = max((o.bits for o in outs[:1] + ins[:1]), default=16)
    base = Work(
        family,
        hot_bytes=hot,
        cold_bytes=cold,
        vector_blocks=_ceil(hot + cold, VECTOR_BLOCK_BYTES),
        element_bytes=widest / 8,
        assumed=family == "unknown" or any(o.assumed for o in ins if o is not NONE) or any(o.assumed for o in outs),
    )
    work = _FORMULA[family](node, ins, outs, base)
    flops, vops = node.attrs.get(FUSED_FLOPS), node.attrs.get(FUSED_VOPS)
    if isinstance(flops, int | float) and isinstance(vops, int | float):
        return replace(work, flops=float(flops), vops=float(vops), hot_bytes=hot, cold_bytes=cold)
    return work
