"""Every row of the work table by hand: cube FLOPs, vector operations, bytes, blocks (float16 = 2 bytes unless said)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ge_explorer.device.cost import CostModel, collective_ns
from ge_explorer.device.work import Operands, Work, work_of
from ge_explorer.graph.edit import GraphEditor

F16, F32, I64, I8 = "float16", "float", "int64", "int8"


def work(op: str, ins: list[Any], outs: list[Any], *, weights: int = 0, **attrs: Any) -> Work:
    """Work of one operator; its last ``weights`` inputs are constants."""
    e = GraphEditor.empty("g")
    fed = [
        e.output(e.add_node(f"in{i}", "Const" if i >= len(ins) - weights else "Relu", outputs=[spec]))
        for i, spec in enumerate(ins)
    ]
    n = e.add_node("op", op, inputs=fed, outputs=outs, attrs=attrs)
    g = e.freeze()
    return work_of(g.node(n), Operands(g))


def t(*shape: int, dtype: str = F16) -> Any:
    return (shape, dtype)


# ---------------------------------------------------------------- convolution and product
def test_convolution_with_bias() -> None:
    w = work("Conv2D", [t(2, 8, 10, 10), t(16, 8, 3, 3), t(16)], [t(2, 16, 10, 10)], weights=2)
    assert w.flops == 2 * 2 * 16 * 100 * 8 * 9
    assert w.vops == 2 * 16 * 100
    assert (w.hot_bytes, w.cold_bytes) == (2 * (2 * 8 * 100 + 2 * 16 * 100), 2 * (16 * 8 * 9 + 16))
    assert w.cube_blocks == math.ceil(200 / 128) * 1


def test_transposed_convolution_sweeps_the_input() -> None:
    w = work("Conv2DTranspose", [t(1, 8, 10, 10), t(8, 256, 4, 4)], [t(1, 256, 20, 20)], weights=1)
    assert w.flops == 2 * 8 * 100 * 256 * 16
    assert w.cube_blocks == math.ceil(400 / 128) * 2


@pytest.mark.parametrize(("attrs", "a"), [({}, (3, 4, 5)), ({"adj_x1": True}, (3, 5, 4))])
def test_batch_matmul(attrs: dict[str, Any], a: tuple[int, ...]) -> None:
    w = work("BatchMatMulV2", [t(*a), t(3, 5, 6)], [t(3, 4, 6)], **attrs)
    assert (w.flops, w.vops) == (2 * 3 * 4 * 5 * 6, 0)
    assert w.nbytes == 2 * (3 * 4 * 5 + 3 * 5 * 6 + 3 * 4 * 6)
    assert w.cube_blocks == 3


def test_bias_is_vector_work_and_int8_doubles_the_cube() -> None:
    w = work("MatMulV2", [t(4, 5, dtype=I8), t(5, 6, dtype=I8), t(6)], [t(4, 6)], weights=2)
    assert (w.vops, w.cube_speed) == (24, 2.0)


# ---------------------------------------------------------------- vector families
@pytest.mark.parametrize(
    ("op", "weight"),
    [("Add", 1), ("Maximum", 1), ("Greater", 1), ("Cast", 1), ("RealDiv", 4), ("Sqrt", 4), ("Rsqrt", 4), ("Reciprocal", 4),
     ("Exp", 8), ("Log", 8), ("Tanh", 12), ("Sigmoid", 12), ("Erf", 12), ("Gelu", 12), ("Swish", 12), ("Pow", 16)],
)  # fmt: skip
def test_elementwise_weights(op: str, weight: int) -> None:
    ins = [t(6, 7), t(7)] if op in ("Add", "Maximum", "Greater", "RealDiv", "Pow") else [t(6, 7)]
    w = work(op, ins, [t(6, 7)])
    assert (w.flops, w.vops) == (0, weight * 42)
    assert w.nbytes == 2 * (42 + 42 + (7 if len(ins) > 1 else 0))  # a broadcast input counts its own size


def test_elementwise_blocks_are_32_kib() -> None:
    assert work("Relu", [t(1024, 64)], [t(1024, 64)]).vector_blocks == 2 * 1024 * 64 * 2 // (32 * 1024)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ArgMaxV2", "Cumsum"])
def test_reduction(op: str) -> None:
    w = work(op, [t(8, 100)], [t(8)])
    assert (w.vops, w.nbytes) == (800, 2 * 808)


def test_softmax_reads_twice_when_a_row_does_not_fit() -> None:
    small = work("SoftmaxV2", [t(8, 100)], [t(8, 100)])
    assert (small.vops, small.nbytes, small.vector_blocks) == (14 * 800, 2 * 800 * 2, 8)
    long = 200 * 1024
    large = work("SoftmaxV2", [t(2, long)], [t(2, long)])
    assert large.nbytes == 4 * 2 * long * 2
    assert work("SoftmaxV2", [t(long, 2)], [t(long, 2)], axes=[0]).nbytes == 4 * 2 * long * 2


@pytest.mark.parametrize(("op", "weight"), [("LayerNorm", 8), ("RmsNorm", 5), ("GroupNorm", 8), ("BatchNorm", 2)])
def test_norms(op: str, weight: int) -> None:
    w = work(op, [t(8, 100), t(100), t(100)], [t(8, 100)], weights=2)
    assert (w.vops, w.vector_blocks) == (weight * 800, 8)
    assert w.nbytes == 2 * (800 + 800 + 200)
    long = 200 * 1024
    assert work(op, [t(1, long)], [t(1, long)]).nbytes == 3 * 2 * long


def test_transpose_pays_for_short_runs() -> None:
    w = work("Transpose", [t(64, 8)], [t(8, 64)])
    assert (w.vops, w.nbytes, w.efficiency) == (512, 2 * 512 * 2, 1.0)
    assert work("Transpose", [t(8, 64)], [t(64, 8)]).efficiency == 8 * 2 / 64


@pytest.mark.parametrize("op", ["ConcatD", "PadV3", "Tile", "Expand", "SplitD"])
def test_moving_data_costs_its_bytes(op: str) -> None:
    w = work(op, [t(4, 8)], [t(4, 8)])
    assert (w.flops, w.vops, w.nbytes) == (0, 0, 2 * 64)


def test_a_slice_reads_what_it_writes() -> None:
    w = work("StridedSliceV2", [t(1024, 8), t(2, dtype=I64)], [t(2, 8)], weights=1)
    assert w.nbytes == 2 * (2 * 16) + 2 * 8


def test_gather_halves_the_rate_of_short_rows() -> None:
    w = work("GatherV2", [t(1000, 16), t(20, dtype=I64)], [t(20, 16)], weights=2)
    assert (w.nbytes, w.efficiency) == (2 * 20 * 16 * 2 + 20 * 8, 0.5)
    assert work("GatherV2", [t(1000, 256), t(20, dtype=I64)], [t(20, 256)], weights=2).efficiency == 1.0


def test_scatter() -> None:
    w = work("ScatterNdUpdate", [t(1000, 16), t(20, 1, dtype=I64), t(20, 16)], [t(1000, 16)])
    assert (w.vops, w.nbytes) == (320, 2 * 320 * 2 + 20 * 8)


def test_pooling_and_resize() -> None:
    assert work("MaxPoolV3", [t(1, 4, 8, 8)], [t(1, 4, 4, 4)], ksize=[2, 2]).vops == 64 * 4
    assert work("GlobalAveragePool", [t(1, 4, 8, 8)], [t(1, 4, 1, 1)]).vops == 4 * 64
    for op, attrs, weight in (
        ("ResizeNearestNeighborV2", {}, 2),
        ("Resize", {"mode": "linear"}, 8),
        ("Resize", {"mode": "cubic"}, 40),
    ):
        assert work(op, [t(1, 4, 8, 8)], [t(1, 4, 16, 16)], **attrs).vops == weight * 4 * 256


def test_sort() -> None:
    w = work("TopK", [t(8, 1024)], [t(8, 5), t(8, 5, dtype="int32")])
    assert w.vops == 4 * 8192 * 10
    assert 2 <= (w.nbytes - 40 * 2 - 40 * 4) / (8192 * 2) <= 3


def test_attention_formula_and_causal_half() -> None:
    q, k, v = t(2, 4, 64, 16), t(2, 2, 64, 16), t(2, 2, 64, 8)
    w = work("FusedInferAttentionScore", [q, k, v], [t(2, 4, 64, 8)])
    assert w.flops == 2 * 2 * 4 * 64 * 64 * (16 + 8)
    assert w.vops == 14 * 2 * 4 * 64 * 64
    assert w.nbytes == 2 * (2 * 4 * 64 * 16 + 2 * 2 * 64 * 16 + 2 * 2 * 64 * 8 + 2 * 4 * 64 * 8)
    for attrs in ({"sparse_mode": 3}, {"is_causal": 1}):
        assert work("FusedInferAttentionScore", [q, k, v], [t(2, 4, 64, 8)], **attrs).flops == w.flops / 2


@pytest.mark.parametrize(("op", "gates"), [("CommonLSTM", 4), ("CommonGRU", 3)])
def test_recurrent(op: str, gates: int) -> None:
    steps, batch, wide, hidden = 5, 2, 12, 8
    ins = [t(steps, batch, wide), t(1, gates * hidden, wide), t(1, gates * hidden, hidden)]
    w = work(op, ins, [t(steps, 1, batch, hidden)], weights=2)
    assert w.flops == 2 * steps * batch * (wide + hidden) * gates * hidden
    assert w.vops == 20 * steps * batch * hidden
    assert w.cold_bytes == 2 * gates * hidden * (wide + hidden)
    big = 4096
    ins = [t(steps, batch, big), t(1, gates * big, big), t(1, gates * big, big)]
    w = work(op, ins, [t(steps, 1, batch, big)], weights=2)
    assert w.cold_bytes == steps * 2 * 2 * gates * big * big  # too large to stay on chip: read again every step


def test_quantisation_and_copies() -> None:
    assert work("AscendQuant", [t(8, 8)], [t(8, 8, dtype=I8)]).vops == 128
    for op in ("MemcpyAsync", "TensorMove", "Identity"):
        w = work(op, [t(8, 8)], [t(8, 8)])
        assert (w.flops, w.vops, w.nbytes) == (0, 0, 2 * 128)


# ---------------------------------------------------------------- collectives
@pytest.mark.parametrize(
    ("kind", "us"),
    [  # 8 ranks, 56 MB at 56 GB/s = 1000 us, alpha 10 us
        ("all_reduce", 14 * 10 + 2 * 1000 * 7 / 8), ("reduce_scatter", 70 + 875), ("all_gather", 70 + 875),
        ("all_to_all", 70 + 875),
        ("broadcast", 30 + 1000), ("reduce", 30 + 1000), ("send", 10 + 1000),
    ],
)  # fmt: skip
def test_alpha_beta(kind: str, us: float) -> None:
    assert collective_ns(kind, 56e6, 8) == pytest.approx(us * 1000)


def test_small_messages_take_the_tree_and_many_ranks_the_slower_link() -> None:
    assert collective_ns("all_reduce", 56, 8) == pytest.approx(6 * 10_001)
    assert collective_ns("all_gather", 25e6, 16) == pytest.approx((15 * 10 + 1000 * 15 / 16) * 1000)
    assert collective_ns("all_gather", 25e6, 16, CostModel(ranks_per_node=16)) < collective_ns("all_gather", 25e6, 16)


def test_one_fused_all_reduce_saves_latency_only() -> None:
    two, one = 2 * collective_ns("all_reduce", 56e6, 8), collective_ns("all_reduce", 112e6, 8)
    assert two - one == pytest.approx(2 * 7 * 10_000)
