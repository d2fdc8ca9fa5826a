"""Examples that carry a multi-stream plan: labelled operators, measured durations, a hidden barrier."""

from __future__ import annotations

from contextlib import nullcontext

from ge_explorer.errors import OptionError
from ge_explorer.examples.lesson import example
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text

TOKENS, HIDDEN, EXPERTS, TOP_K, INTER = 64, 7168, 64, 8, 2048
"""Decode batch on one card; hidden size, top-k and expert width as in DeepSeek-V3, experts cut from 256 to fit one node."""
RANKS = 8
"""Cards of one node. Over more ranks the latency of dispatch and combine covers everything else."""
LOCAL_EXPERTS = EXPERTS // RANKS


@example(
    Text("MoE with a shared expert", "带共享专家的 MoE"),
    Text(
        "The shared expert needs only the block's input, so it can run beside routing and hide behind dispatch, which "
        "holds no core in our model. Four operators carry the stream label 22; the join is the final add. C1 is the "
        "labels alone: it gains, but sh.gate_up takes every core, so topk waits for it and dispatch starts late. C2 also "
        "limits cores, 8 cube and 16 vector for the side, 16 and 32 for routing: side operators get slower, routing no "
        "longer waits, dispatch starts early and the block gets faster. The grouped matmuls keep all cores, as nothing "
        "runs beside them. C3 lets sh.gate_up start after topk: the overlap rises while the makespan stays, at the price "
        "of one event. A better overlap is not always less time. All times are simulated.",
        "共享专家只依赖本块的输入，可以与路由同时执行，并隐藏在分发之后（本模型中分发不占核）。四个算子带流标签 22，汇合点是最后的"
        "加法。C1 只打标签：有收益，但 sh.gate_up 占满所有核，topk 要等它，分发因此推迟。C2 再限核，侧流用 8 个 cube、16 个"
        " vector，路由用 16 和 32：侧流算子变慢，但路由不再等待，分发提前，整块更快。分组矩阵乘旁边没有别的算子，所以保留"
        "全部核。C3 让 sh.gate_up 在 topk 之后开始：重叠率上升，总时长不变，多一个事件。重叠率更高不一定更快。时间均为仿真值。",
    ),
    plan_variants=("C1", "C2", "C3"),
)
def moe_shared_expert() -> Graph:
    """One MoE block in w8a8: routed experts on the main stream, the shared expert labelled 22."""
    b = GraphBuilder("moe_shared_expert")
    t, h, rows, f16, i8 = TOKENS, HIDDEN, TOKENS * TOP_K, "float16", "int8"
    comm = {"group_ep": "ep", "ep_world_size": RANKS, "moe_expert_num": EXPERTS}
    x, residual, gamma = b.data("x", (t, h)), b.data("residual", (t, h)), b.const("gamma", (h,))
    w_gate, w_up, w_down = (
        b.const("w_gate", (h, EXPERTS)),
        b.const("w_up", (h, 2 * INTER), i8),
        b.const("w_down", (INTER, h), i8),
    )
    w1, w2 = b.const("w_gmm1", (LOCAL_EXPERTS, h, 2 * INTER), i8), b.const("w_gmm2", (LOCAL_EXPERTS, INTER, h), i8)

    def quantised(*shape: int) -> list[tuple[tuple[int, ...], str]]:
        return [(shape, i8), (shape[:1], "float")]

    norm = b.op(
        "AddRmsNorm", x, residual, gamma, name="post_norm", outputs=[((t, h), f16), ((t, 1), "float"), ((t, h), f16)]
    )
    with b.label("22"):
        quant = b.op("DynamicQuant", norm, name="sh.quant", outputs=quantised(t, h))
        up = b.op("QuantBatchMatmulV3", quant, w_up, name="sh.gate_up", shape=(t, 2 * INTER), dtype="int32")
        act = b.op("DequantSwigluQuant", up, quant[1], name="sh.swiglu", outputs=quantised(t, INTER))
        shared = b.op("QuantBatchMatmulV3", act, w_down, act[1], name="sh.down", shape=(t, h), dtype=f16)
    logits = b.op("MatMulV2", norm, w_gate, name="gate", shape=(t, EXPERTS), dtype="float")
    top = b.op(
        "MoeGatingTopK", logits, name="topk", outputs=[((t, TOP_K), "float"), ((t, TOP_K), "int32")], attrs={"k": TOP_K}
    )
    disp = b.op(
        "MoeDistributeDispatchV2",
        norm,
        top[1],
        name="dispatch",
        outputs=[*quantised(rows, h), ((rows, 3), "int32")],
        attrs=comm,
    )
    g1 = b.op("GroupedMatmul", disp, w1, name="gmm1", shape=(rows, 2 * INTER), dtype="int32")
    mid = b.op("DequantSwigluQuant", g1, disp[1], name="swiglu", outputs=quantised(rows, INTER))
    clear = b.op("MemSet", name="memset", shape=(rows, h), dtype=f16, control=[top])
    g2 = b.op("GroupedMatmul", mid, w2, mid[1], name="gmm2", shape=(rows, h), dtype=f16, control=[clear])
    comb = b.op("MoeDistributeCombineV2", g2, top[1], disp[2], top[0], name="combine", shape=(t, h), attrs=comm)
    return b.build(b.op("Add", comb, shared, name="add"))


@example(
    Text("The silu(z) barrier", "silu(z) 屏障"),
    Text(
        "Two streams that never overlap. In variant A the cast and swish of z stay on the main stream, in front of the "
        "big matmul: main waits for the side stream and the overlap is fake. Variant B pins both to the side stream, and "
        "the matmul hides the whole side window. Durations are the figures of the article, not estimates.",
        "看似双流却毫无重叠。变体 A 中 z 的 cast 和 swish 留在主流、排在大矩阵乘之前：主流要等侧流，是假并行。变体"
        " B 把两者固定到侧流，矩阵乘完全掩盖侧流窗口。时长取自原文数字，不是估算。",
    ),
    variants=("A", "B"),
    plan_variants=("C1",),
)
def silu_barrier(variant: str = "A") -> Graph:
    """z on the side stream, silu(z) on main (A, fake parallel) or on the side stream too (B, real)."""
    if variant not in ("A", "B"):
        raise OptionError("silu_barrier has variants A and B", got=variant)
    b = GraphBuilder(f"silu_barrier_{variant}")
    x = b.data("x", (256, 4096))
    w_z, w_qkv = b.const("w_z", (4096, 4096)), b.const("w_qkv", (4096, 6144))
    measured, split = (
        ("measured", "article figures"),
        ("assumed", "article figures: 3.25 us for cast and swish together"),
    )

    # Half of the cube cores each, so that both can run at once as they do in the article; the split is ours.
    half = {"tvm_blockdim": 12}

    def timed(op: str, us: float, origin: tuple[str, str], *inputs: Value, name: str, n: int, dtype: str) -> Value:
        return b.op(
            op, *inputs, name=name, shape=(256, n), dtype=dtype, attrs=half if op == "MatMulV2" else None,
            duration_us=us, duration_origin=origin[0], duration_source=origin[1],
        )  # fmt: skip

    with b.label("z"):
        z = timed("MatMulV2", 19.50, measured, x, w_z, name="z", n=4096, dtype="float16")
    with b.label("z") if variant == "B" else nullcontext():
        cast = timed("Cast", 1.25, split, z, name="cast", n=4096, dtype="float")
        silu = timed("Swish", 2.00, split, cast, name="swish", n=4096, dtype="float16")
    qkv = timed("MatMulV2", 22.75, measured, x, w_qkv, name="qkv", n=6144, dtype="float16")
    if variant == "A":
        b.note("cast and swish come before qkv in the order of the main stream; that is the barrier")
    core = b.op("FusedInferAttentionScore", qkv, name="core", shape=(256, 4096))
    return b.build(b.op("Mul", core, silu, name="mulz"))
