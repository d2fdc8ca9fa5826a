"""torch operator -> GE operator type, for display and cost.

torchair's converters (fx2ge_converter) often write several GE operators for one torch operator; here it stays one, with
the type of the GE operator that does the work. The torch target stays in attribute ``target``.
"""

from __future__ import annotations

_ATEN = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "RealDiv", "neg": "Neg", "abs": "Abs", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "rsqrt": "Rsqrt", "pow": "Pow", "reciprocal": "Reciprocal", "relu": "Relu", "sigmoid": "Sigmoid",
    "tanh": "Tanh", "gelu": "Gelu", "silu": "Swish", "mm": "MatMulV2", "addmm": "MatMulV2", "bmm": "BatchMatMulV2",
    "matmul": "BatchMatMulV2", "linear": "MatMulV2", "convolution": "Conv2D", "t": "Transpose", "transpose": "Transpose",
    "permute": "Transpose", "view": "Reshape", "reshape": "Reshape", "_unsafe_view": "Reshape", "unsqueeze": "Unsqueeze",
    "squeeze": "Squeeze", "expand": "BroadcastTo", "cat": "ConcatV2", "split": "SplitV", "split_with_sizes": "SplitV",
    "slice": "StridedSlice", "select": "GatherV2", "index_select": "GatherV2", "gather": "GatherElements",
    "embedding": "GatherV2", "scatter": "ScatterElements", "select_scatter": "ScatterUpdate", "where": "SelectV2",
    "_softmax": "SoftmaxV2", "softmax": "SoftmaxV2", "_log_softmax": "LogSoftmaxV2", "mean": "ReduceMean",
    "sum": "ReduceSum", "amax": "ReduceMax", "amin": "ReduceMin", "max": "ReduceMax", "min": "ReduceMin",
    "argmax": "ArgMaxV2", "topk": "TopKV2", "sort": "Sort", "cumsum": "Cumsum", "native_layer_norm": "LayerNorm",
    "_to_copy": "Cast", "clone": "Identity", "copy": "TensorMove", "full": "Fill", "zeros": "Fill", "ones": "Fill",
    "arange": "Range", "clamp": "ClipByValueV2", "eq": "Equal", "ne": "NotEqual", "gt": "Greater", "lt": "Less",
    "ge": "GreaterEqual", "le": "LessEqual", "logical_and": "LogicalAnd", "logical_or": "LogicalOr",
    "logical_not": "LogicalNot", "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_not": "Invert",
}  # fmt: skip
_NPU = {
    "npu_rms_norm": "RmsNorm", "npu_add_rms_norm": "AddRmsNorm", "npu_rotary_mul": "RotaryMul", "npu_swiglu": "SwiGlu",
    "npu_grouped_matmul": "GroupedMatmul", "npu_quant_matmul": "QuantBatchMatmulV3", "npu_dynamic_quant": "DynamicQuant",
    "npu_fused_infer_attention_score": "FusedInferAttentionScore", "npu_moe_distribute_dispatch": "MoeDistributeDispatch",
    "npu_moe_distribute_combine": "MoeDistributeCombine", "npu_moe_gating_top_k": "MoeGatingTopK",
    "npu_prompt_flash_attention": "PromptFlashAttention", "npu_incre_flash_attention": "IncreFlashAttention",
    "npu_mm_all_reduce_base": "MatmulAllReduce", "npu_dtype_cast": "Cast",
}  # fmt: skip
_COLLECTIVE = {
    "all_reduce": "HcomAllReduce", "allreduce": "HcomAllReduce", "all_gather_into_tensor": "HcomAllGather",
    "allgather": "HcomAllGather", "reduce_scatter_tensor": "HcomReduceScatter", "all_to_all_single": "HcomAllToAllV",
    "broadcast": "HcomBroadcast", "wait_tensor": "Identity",
}  # fmt: skip


def ge_type_of(target: str, kind: str = "call_function") -> str:
    """GE type of an FX node's target; an unknown operator keeps its own name in GE's spelling.

    >>> ge_type_of("torch.ops.aten.addmm.default"), ge_type_of("torch.ops.npu.npu_rms_norm.default")
    ('MatMulV2', 'RmsNorm')
    >>> ge_type_of("torch.ops.my.fast_norm.default"), ge_type_of("view", "call_method")
    ('FastNorm', 'Reshape')
    """
    parts = target.split(".")
    if target.startswith("torch.ops.") and len(parts) >= 4:
        space, name = parts[2], parts[3]
    else:
        space, name = "aten", parts[-1]
    for table in (_ATEN, _NPU, _COLLECTIVE) if space == "aten" else (_NPU, _COLLECTIVE, _ATEN):
        if name in table:
            return table[name]
    words = [w for w in name.split("_") if w]
    return "".join(w[:1].upper() + w[1:] for w in words) or "Unknown"
