"""Operator type -> engine and core kind, for graphs that do not say it themselves.

GE asks the installed operator package which engine supports a type; that list is not public. What GE's own sources fix
(RTS, GE local, HCCL, DSA) is exact here; the rest is a default drawn from the kernels in the public operator
repositories (optimize.md section 6.1) and marked so by its reason. Every type can be overridden on the node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Core = Literal["AIC", "AIV", "MIX", "AICPU", "HCCL", "DSA", "NONE"]
CORES: tuple[str, ...] = ("AIC", "AIV", "MIX", "AICPU", "HCCL", "DSA", "NONE")

AICORE, RTS, LOCAL, HCCL, DSA = "AIcoreEngine", "DNN_VM_RTS", "DNN_VM_GE_LOCAL", "DNN_HCCL", "DSAEngine"
AICPU_TF, AICPU_ASCEND, DVPP = "DNN_VM_AICPU", "DNN_VM_AICPU_ASCEND", "DNN_VM_DVPP"

Reason = Literal[
    "rts", "ge-local", "control-flow", "hccl", "dsa", "dvpp", "kernel", "fused-kernel", "no-kernel", "no-mapping"
]


@dataclass(frozen=True, slots=True)
class OpPlace:
    """Where an operator type runs. ``family`` groups types of one kind; ``reason`` says how sure the row is:
    rts, ge-local, control-flow, hccl, dsa, dvpp: registered so in GE's sources; kernel, fused-kernel: an AI Core kernel
    folder exists; no-kernel: only an AI CPU kernel (or none) was found; no-mapping: ONNX type without a GE operator.
    """

    engine: str
    core: Core
    family: str
    reason: Reason


_ROWS: tuple[tuple[str, Core, str, Reason, str], ...] = (
    # ---- fixed by GE's sources
    (RTS, "NONE", "runtime", "rts", """
        NetOutput LabelSet LabelGoto LabelGotoEx LabelSwitch LabelSwitchByIndex Enter RefEnter LoopCond
        NextIteration RefNextIteration Exit RefExit Identity ReadVariableOp ModelExit NPUClearFloatStatus
        NPUGetFloatStatus NPUClearFloatStatusV2 NPUGetFloatStatusV2 NPUClearFloatDebugStatus
        NPUGetFloatDebugStatus Recv Send RecvMem SendMem RecvNotify SendNotify StreamActive StreamMerge
        StreamSwitch StreamSwitchN Cmo MemcpyAsync MemcpyAddrAsync
    """),
    (LOCAL, "NONE", "source", "ge-local", """
        Data RefData AippData AnnData QueueData UnfedData Const Constant FileConstant ConstPlaceHolder
        Variable VariableV2 VarHandleOp VarIsInitializedOp Placeholder PlaceholderV2 PlaceholderWithDefault
    """),
    (LOCAL, "NONE", "shape", "ge-local", """
        Reshape ReFormat Flatten FlattenV2 Squeeze SqueezeV2 SqueezeV3 Unsqueeze UnsqueezeV2 UnsqueezeV3
        ExpandDims Bitcast PhonyConcat PhonySplit TransShape Shape ShapeN Rank Size Empty GatherShapes NoOp
        ControlTrigger IdentityN StopGradient PreventGradient ConditionCalc OpTiling End _Retval Merge
        RefMerge Switch RefSwitch Stack StackPush StackPop StackClose
    """),
    (LOCAL, "NONE", "control flow", "control-flow", """
        If StatelessIf _If Case StatelessCase While StatelessWhile _While For PartitionedCall
        StatefulPartitionedCall
    """),
    (HCCL, "HCCL", "collective", "hccl", """
        HcomBroadcast HcomReduce HcomAllReduce HcomAllGather HcomAllGatherV HcomReduceScatter
        HcomReduceScatterV HcomSend HcomReceive HcomAllToAllV HcomAllToAllVC HcomAllToAll HcomGather
        HcomRemoteRead HcomRemoteWrite HorovodAllreduce HorovodAllgather HorovodBroadcast
    """),
    (DSA, "DSA", "random", "dsa", """
        DSAGenBitMask DSARandomTruncatedNormal DSARandomNormal DSARandomUniform DSAStatelessGenBitMask
        DSAStatelessRandomTruncatedNormal DSAStatelessRandomNormal DSAStatelessRandomUniform
    """),
    (DVPP, "NONE", "media", "dvpp", """
        DecodeJpeg DecodeAndCropJpeg NormalizeV2 YUVToRGB AdjustContrast RgbToGrayscale
    """),
    # ---- AI Core, cube
    (AICORE, "AIC", "convolution", "kernel", """
        Conv2D Conv3D Conv2DTranspose Conv3DTranspose Conv2DTransposeD Conv3DTransposeD DepthwiseConv2D
        DepthwiseConv2DD DeformableConv2D Conv2DBackpropInput Conv2DBackpropInputD Conv2DBackpropFilter
        Conv2DBackpropFilterD Conv3DBackpropInput Conv3DBackpropFilter Conv1D QuantConv2D Convolution
        ConvTranspose
    """),
    (AICORE, "AIC", "matmul", "kernel", """
        MatMul MatMulV2 MatMulV3 BatchMatMul BatchMatMulV2 BatchMatMulV3 Gemm FullyConnection
        TransposeBatchMatMul MatMulCompress
    """),
    (AICORE, "MIX", "quantised matmul", "fused-kernel", """
        QuantBatchMatmul QuantBatchMatmulV2 QuantBatchMatmulV3 QuantBatchMatmulV4 WeightQuantBatchMatmul
        WeightQuantBatchMatmulV2 GroupedMatmul GroupedMatmulV2 GroupedMatmulFinalizeRouting
        GroupedMatmulSwigluQuant MatmulAllReduce MatmulAllReduceAddRmsNorm MatmulReduceScatter
        AllGatherMatmul FFN GroupedMatMul
    """),
    # ---- AI Core, cube and vector together
    (AICORE, "MIX", "attention", "fused-kernel", """
        FlashAttention FlashAttentionScore FlashAttentionScoreGrad PromptFlashAttention IncreFlashAttention
        FusedInferAttentionScore FusedAttention MultiHeadAttention MlaProlog MlaPrologV2 MlaPreprocess
        SparseFlashAttention LightningIndexer NsaCompressAttention RingAttentionUpdate PagedAttention
        Attention
    """),
    (AICORE, "MIX", "expert routing", "fused-kernel", """
        MoeDistributeDispatch MoeDistributeDispatchV2 MoeDistributeCombine MoeDistributeCombineV2
        MoeDistributeCombineAddRmsNorm AlltoAllAllGatherBatchMatMul BatchMatMulReduceScatterAlltoAll
    """),
    (AICORE, "MIX", "recurrent", "kernel", """
        CommonLSTM CommonGRU DynamicRNN DynamicRNNV2 DynamicLSTM DynamicGRU DynamicGRUV2 BasicLSTMCell
        DynamicRNNGrad LSTM GRU
    """),
    # ---- AI Core, vector
    (AICORE, "AIV", "expert routing", "kernel", """
        MoeGatingTopK MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 MoeInitRouting MoeInitRoutingV2
        MoeInitRoutingQuant MoeInitRoutingV3 MoeFinalizeRouting MoeFinalizeRoutingV2 MoeComputeExpertTokens
        MoeReRouting MoeTokenPermute MoeTokenUnpermute
    """),
    (AICORE, "AIV", "elementwise", "kernel", """
        Add AddV2 Adds Sub Mul Muls Div RealDiv DivNoNan FloorDiv FloorMod Mod TruncateDiv Maximum Minimum
        Pow Power Abs Neg Sign Sqrt Rsqrt Square SquaredDifference Reciprocal Exp Expm1 Log Log1p Log2 Ceil
        Floor Round Rint Trunc Erf Erfc Erfinv Sin Cos Tan Asin Acos Atan Atan2 Sinh Cosh Asinh Acosh Atanh
        AddN AccumulateNV2 Axpy Lerp Addcmul Addcdiv Cast CastLike ClipByValue ClipByValueV2 Threshold
        BiasAdd Scale Eltwise ZerosLike OnesLike Xlogy Hypot InplaceAdd MulNoNan Max Min Sum Accumulate
        ThresholdedRelu
    """),
    (AICORE, "AIV", "compare", "kernel", """
        Equal NotEqual Greater GreaterEqual Less LessEqual LogicalAnd LogicalOr LogicalNot LogicalXor
        BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift IsNan IsInf IsFinite Select SelectV2
        MaskedFill ApproximateEqual
    """),
    (AICORE, "AIV", "activation", "kernel", """
        Relu Relu6 ReluV2 ReluGrad LeakyRelu PRelu Elu Celu CeluV2 Selu Sigmoid HardSigmoid HardSwish Swish
        SwishGrad Silu Mish Gelu GeluV2 FastGelu FastGeluV2 GeluGrad GeGluV2 QuickGelu Tanh TanhGrad
        Softplus SoftplusV2 Softsign Shrink HardShrink SoftShrink SwiGlu SwiGluGrad SigmoidGrad LogSigmoid
        GLU
    """),
    (AICORE, "AIV", "reduction", "kernel", """
        ReduceSum ReduceSumD ReduceMean ReduceMeanD ReduceMax ReduceMaxD ReduceMin ReduceMinD ReduceProd
        ReduceProdD ReduceAll ReduceAny ReduceLogSum ReduceLogSumExp ReduceStd ReduceStdV2 SquareSumV1
        SquareSumAll LpNormV2 LpNorm L2Loss ArgMaxV2 ArgMaxD ArgMin ArgMinD Cumsum CumsumD Cumprod
        LogCumsumExp BNTrainingReduce ArgMax
    """),
    (AICORE, "AIV", "softmax", "kernel", """
        SoftmaxV2 Softmax LogSoftmaxV2 SoftmaxGrad LogSoftmaxGrad ScaledMaskedSoftmax
        ScaledMaskedSoftmaxGrad SoftmaxCrossEntropyLoss SoftmaxCrossEntropyWithLogits
        SparseSoftmaxCrossEntropyWithLogits HardMax NLLLoss SoftmaxV2WithDropOutDoMaskV3D LogSoftmax
    """),
    (AICORE, "AIV", "norm", "kernel", """
        LayerNorm LayerNormV3 LayerNormV4 LayerNormGrad AddLayerNorm RmsNorm RmsNormGrad AddRmsNorm
        AddRmsNormCast AddRmsNormDynamicQuant AddRmsNormQuant InplaceAddRmsNorm DeepNorm BatchNorm
        BatchNormV3 BatchNormGrad BatchNormInferenceD BNInference BNInferenceD BNTrainingUpdate InstanceNorm
        InstanceNormV3 GroupNorm GroupNormV2 GroupNormSilu GroupNormSwish MVNV2 LRN L2Normalize Renorm
        BNInfer FusedBatchNorm
    """),
    (AICORE, "AIV", "data movement", "kernel", """
        Transpose TransposeD TransData Concat ConcatD ConcatV2 ConcatV2D Split SplitD SplitV SplitVD Pack
        Unpack Tile TileD Expand BroadcastTo BroadcastToD Pad PadD PadV2 PadV3 MirrorPad Slice SliceD
        StridedSlice StridedSliceV2 StridedSliceD Fill FillD Range RangeD Trilu Triu Tril SpaceToDepth
        DepthToSpace SpaceToBatchND BatchToSpaceND ReverseV2 ReverseSequence Roll Im2col Col2ImV2 TensorMove
        ViewCopy AsStrided Diag DiagPart Eye Assign AssignAdd AssignSub KvQuantSparse PixelShuffle
        ShuffleChannel MemSet TransDataRNN
    """),
    (AICORE, "AIV", "gather", "kernel", """
        MapIndex Gather GatherV2 GatherV2D GatherNd GatherElements GatherElementsV2 EmbeddingDenseGrad EmbeddingBag
        Index IndexSelect OneHot OneHotD EmbeddingLookup
    """),
    (AICORE, "AIV", "scatter", "kernel", """
        ScatterElements ScatterElementsV2 ScatterNd ScatterNdUpdate ScatterNdAdd ScatterNdMax ScatterNdMin
        ScatterUpdate ScatterAdd TensorScatterUpdate Scatter IndexPutV2 InplaceUpdate UnsortedSegmentSum
        SegmentSum ScatterPaKvCache KvRmsNormRopeCache KVCacheUpdate
    """),
    (AICORE, "AIV", "rotary", "kernel", """
        RotaryMul RotaryPositionEmbedding ApplyRotaryPosEmb InterleaveRope RotaryPositionEmbeddingGrad
        DequantRopeQuantKvcache
    """),
    (AICORE, "AIV", "pooling", "kernel", """
        MaxPool MaxPoolV2 MaxPoolV3 MaxPool3D MaxPoolGrad MaxPoolWithArgmax AvgPool AvgPoolV2 AvgPool3D
        AvgPoolGrad Pooling GlobalAveragePool GlobalLpPool AdaptiveAvgPool2d AdaptiveMaxPool2d AvgPool1D
        GlobalMaxPool LpPool
    """),
    (AICORE, "AIV", "resize and region", "kernel", """
        Resize ResizeD ResizeBilinearV2 ResizeBilinearV2D ResizeNearestNeighborV2 ResizeNearestNeighborV2D
        ResizeBicubicV2 ResizeLinear ResizeTrilinear Upsample UpsampleNearest2d UpsampleNearest3d ROIAlign
        ROIPooling PSROIPooling GridSampler2D GridSampler3D AffineGrid Aipp CropAndResize Iou GridSample
        ResizeBicubic UpsampleNearest Resize3D
    """),
    (AICORE, "AIV", "sort", "kernel", """
        TopK TopKV2 TopKD Sort SortV2 ArgSort NonZero UniqueWithCountsAndSorting NonMaxSuppressionV6
        NMSWithMask TopKTopPSample SearchSorted Bincount Histogram
    """),
    (AICORE, "AIV", "quantisation", "kernel", """
        AscendQuant AscendQuantV2 AscendDequant AscendRequant AscendAntiQuant AscendAntiQuantV2 Quantize
        DynamicQuant DynamicQuantV2 DynamicMxQuant DequantSwigluQuant SwiGluQuant DequantBias
        FakeQuantAffine FlatQuant TransQuantParamV2 SwigluQuant SwigluGroupQuant Dequantize QuantizeLinear
        FakeQuant DynamicQuantize
    """),
    (AICORE, "AIV", "optimizer", "kernel", """
        ApplyGradientDescent ApplyMomentum ApplyMomentumD ApplyAdam ApplyAdamD ApplyAdamW ApplyRMSProp
        ApplyRMSPropD ApplyAdagrad ApplyAdagradD ApplyFtrl ApplyAdaMax LambApplyOptimizerAssign SGD
        ClipByNorm
    """),
    (AICORE, "AIV", "random", "kernel", """
        RandomUniform DropOutDoMask DropOutDoMaskV3 DropOutDoMaskV3D Dropout DropoutV3 DropOutGenMask
        StatelessDropOutGenMask RandomStandardNormal StatelessRandomUniformV2 StatelessRandomNormalV2
        StatelessBernoulliV2 RandomNormal
    """),
    # ---- AI CPU
    (AICPU_ASCEND, "AICPU", "host-like", "no-kernel", """
        Where Multinomial RandomChoiceWithMask SparseToDense MatrixDiagV2 MatrixDiag MatrixDiagPart
        MatrixSetDiag MatrixBandPart DFT STFT BlackmanWindow HannWindow HammingWindow Compress CTCLoss
        CTCLossV2 CTCGreedyDecoder DataFormatVecPermute
    """),
    (AICPU_TF, "AICPU", "host-like", "no-kernel", """
        Einsum Unique UniqueV2 UniqueWithCounts UniqueExt2 MatrixDeterminant MatrixInverse Cholesky Svd Qr
        SelfAdjointEig NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
        RandomGamma RandomShuffle Ragged DenseToSparse Print Assert LookupTableFind HashTableV2 StringJoin
        StringSplit StringToNumber AsString RegexReplace StringLower StringUpper DecodeRaw GetNext
        IteratorV2 SparseFillEmptyRows ListDiff
    """),
    (AICPU_ASCEND, "AICPU", "sequence", "no-kernel", """
        SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
        SplitToSequence ConcatFromSequence
    """),
    # ---- ONNX types without a GE operator, shown with their own name
    (LOCAL, "NONE", "control flow", "no-mapping", "Loop Scan SequenceMap"),
    (LOCAL, "NONE", "shape", "no-mapping", "Optional OptionalGetElement OptionalHasElement"),
    (AICPU_ASCEND, "AICPU", "host-like", "no-mapping", """
        StringNormalizer StringConcat RegexFullMatch TfIdfVectorizer LabelEncoder MelWeightMatrix
        ImageDecoder ArrayFeatureExtractor Binarizer CategoryMapper DictVectorizer FeatureVectorizer Imputer
        LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler
        TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap
    """),
    (AICORE, "AIV", "optimizer", "no-mapping", "Adam Adagrad Momentum Gradient"),
)  # fmt: skip

OP_TABLE: Mapping[str, OpPlace] = MappingProxyType(
    {op: OpPlace(engine, core, family, reason) for engine, core, family, reason, ops in _ROWS for op in ops.split()}
)
"""Operator type -> place. About 600 types; the first row that names a type must be the only one (tested)."""

VARIANT_SUFFIXES = ("Grad", "D", "V2", "V3", "V4")
"""Endings that name another version of the same operator; stripped one after another when a type is not in the table."""

AICPU_DTYPES = frozenset({"double", "complex64", "complex128", "string"})
"""Element types AI Core kernels do not take; such nodes fall to the AI CPU."""


def place_of(op: str) -> tuple[OpPlace | None, str]:
    """Place of an operator type and the table entry used: the type itself, a related version of it, or ("", None).

    >>> place_of("MatMulV2")[0].core
    'AIC'
    >>> place_of("SoftmaxV4")[1]
    'Softmax'
    """
    found = OP_TABLE.get(op)
    if found is not None:
        return found, op
    base = op
    while True:
        shorter = next(
            (base.removesuffix(s) for s in VARIANT_SUFFIXES if base.endswith(s) and len(base) > len(s) + 1), ""
        )
        if not shorter:
            return None, ""
        if shorter in OP_TABLE:
            return OP_TABLE[shorter], shorter
        base = shorter
