"""Roofline by hand: launch, cube, vector, memory and link terms, cores, and where each number comes from."""

from __future__ import annotations

from typing import Any

import pytest

from ge_explorer.device.chips import CHIPS
from ge_explorer.device.cost import CostModel, NodeCost, collective_ns, cost_table
from ge_explorer.device.work import Operands, work_of
from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.provenance import Origin
from ge_explorer.trace.state import Placement

B1 = CHIPS["Ascend910B1"]


def one(op: str, ins: list[Any], outs: list[Any], *, engine: str = "AIcoreEngine", core: str = "AIV", weights: int = 0,
        **attrs: Any) -> tuple[Graph, NodeCost]:  # fmt: skip
    """Graph of one operator; its last ``weights`` inputs are Const."""
    e = GraphEditor.empty("g")
    fed = []
    for i, spec in enumerate(ins):
        kind = "Const" if i >= len(ins) - weights else "Relu"
        fed.append(e.output(e.add_node(f"in{i}", kind, outputs=[spec])))
    n = e.add_node("op", op, inputs=fed, outputs=outs, attrs=attrs)
    g = e.freeze()
    bound = g.id_bound
    p = Placement((engine,) * bound, (core,) * bound)
    return g, cost_table(g, p, B1).of(n)


def test_large_matmul_is_compute_bound() -> None:
    m, k, n = 4096, 4096, 4096
    spec = lambda a, b: ((a, b), "float16")  # noqa: E731
    _, cost = one("MatMulV2", [spec(m, k), spec(k, n)], [spec(m, n)], core="AIC", weights=1)
    peak = 2 * 4096 * 24 * 1850e6
    expected = 2200 - 430 + 2 * m * k * n / (peak * 0.85) * 1e9  # launch of 24 blocks: 450 + 55 * 24 = 1770
    assert cost.ns == pytest.approx(expected, abs=2)
    assert (cost.bound, cost.aic, cost.aiv, cost.origin) == ("compute", 24, 0, Origin.MODEL)


def test_transposed_first_input_and_batch() -> None:
    g, cost = one("BatchMatMulV2", [((8, 64, 256), "float16"), ((8, 64, 32), "float16")], [((8, 256, 32), "float16")],
                  core="AIC", adj_x1=True)  # fmt: skip
    work = work_of(g.node("op"), Operands(g))
    assert work.flops == 2 * 8 * 256 * 32 * 64
    assert cost.aic == 8 * 2  # 256 rows are two blocks, 32 columns one


def test_int8_is_twice_as_fast_and_float_four_times_slower() -> None:
    def compute(dtype: str) -> float:
        spec = ((4096, 4096), dtype)
        return one("MatMulV2", [spec, spec], [((4096, 4096), "float16")], core="AIC")[1].terms["compute"]

    assert compute("int8") == pytest.approx(compute("float16") / 2)
    assert compute("float") == pytest.approx(compute("float16") * 4)


def test_convolution_flops_and_blocks() -> None:
    g, cost = one("Conv2D", [((1, 64, 56, 56), "float16"), ((128, 64, 3, 3), "float16")], [((1, 128, 56, 56), "float16")],
                  core="AIC", weights=1)  # fmt: skip
    assert work_of(g.node("op"), Operands(g)).flops == 2 * 128 * 56 * 56 * 64 * 9
    assert cost.aic == 24  # ceil(3136 / 128) = 25 blocks, 24 cores


def test_grouped_convolution_counts_the_filters_of_one_group() -> None:
    g, _ = one(
        "DepthwiseConv2D", [((1, 64, 8, 8), "float16"), ((64, 1, 3, 3), "float16")], [((1, 64, 8, 8), "float16")]
    )
    assert work_of(g.node("op"), Operands(g)).flops == 2 * 64 * 8 * 8 * 9


def test_large_add_is_memory_bound_at_device_memory_rate() -> None:
    spec = ((64, 1024, 1024), "float16")  # 3 x 128 MiB: beyond half of L2
    _, cost = one("Add", [spec, spec], [spec])
    assert cost.bound == "memory"
    assert cost.ns == pytest.approx(2200 + 3 * 2**27 / (0.9 * 32 * 24 * 1.85), rel=1e-3)
    assert cost.aiv == 48


def test_small_activation_comes_from_l2_and_weights_from_memory() -> None:
    spec = ((4096, 1024), "float16")
    _, hot = one("Add", [spec, spec], [spec])
    _, cold = one("Add", [spec, spec], [spec], weights=1)
    assert hot.terms["memory"] < cold.terms["memory"]


def test_tiny_op_takes_one_block_and_the_least_time() -> None:
    _, cost = one("Relu", [((16,), "float16")], [((16,), "float16")])
    assert (cost.ns, cost.bound, cost.aiv) == (1000, "launch", 1)


def test_nothing_runs_for_views_and_sources() -> None:
    g, cost = one("Reshape", [((4, 4), "float16")], [((16,), "float16")], engine="DNN_VM_GE_LOCAL", core="NONE")
    assert (cost.ns, cost.task, cost.origin) == (0, False, Origin.GE_RULE)
    assert cost_table(g).of(g.node("op").id).task is False  # also without a placement


def test_unknown_dimension_and_unknown_operator_are_assumed() -> None:
    _, cost = one("Relu", [(("batch", 64), "float16")], [(("batch", 64), "float16")])
    assert (cost.origin, cost.why) == (Origin.ASSUMED, "dims")
    _, cost = one("MyCustomOp", [((4, 4), "float16")], [((4, 4), "float16")])
    assert (cost.origin, cost.why) == (Origin.ASSUMED, "family")


def test_given_duration_wins_and_a_core_limit_makes_it_a_model() -> None:
    spec = ((512, 4096), "float16")
    given = {"_gx_duration_ns": 20_000, "_gx_duration_origin": "measured"}
    _, cost = one("MatMulV2", [spec, ((4096, 4096), "float16")], [spec], core="AIC", **given)
    assert (cost.ns, cost.origin, cost.bound, cost.aic) == (20_000, Origin.MEASURED, "given", 24)
    _, cost = one("MatMulV2", [spec, ((4096, 4096), "float16")], [spec], core="AIC", **given, _op_aicore_num="12")
    assert (cost.ns, cost.origin, cost.aic) == (30_000, Origin.MODEL, 12)


@pytest.mark.parametrize(
    ("key", "value"), [("_gx_duration_ns", -1), ("_gx_duration_ns", "5"), ("_gx_duration_ns", True)]
)
def test_bad_given_duration(key: str, value: object) -> None:
    with pytest.raises(OptionError, match="nanoseconds"):
        one("Relu", [((4,), "float16")], [((4,), "float16")], **{key: value})


def test_limit_lowers_the_cores_and_raises_the_time() -> None:
    spec = ((4096, 4096), "float16")
    _, free = one("MatMulV2", [spec, spec], [spec], core="AIC")
    _, held = one("MatMulV2", [spec, spec], [spec], core="AIC", _op_aicore_num="12")
    launch = 450 + 55 * 24
    assert held.aic == 12
    assert held.ns - launch == pytest.approx(1.5 * (free.ns - launch), abs=3)


def test_mix_takes_two_vector_cores_per_cube_core() -> None:
    spec = ((1, 8, 1024, 128), "float16")
    _, cost = one("FusedInferAttentionScore", [spec, spec, spec], [spec], core="MIX")
    assert (cost.aic, cost.aiv) == (24, 48)


def test_attention_work() -> None:
    q, k, v = ((2, 16, 100, 64), "float16"), ((2, 4, 300, 64), "float16"), ((2, 4, 300, 32), "float16")
    g, _ = one("FusedInferAttentionScore", [q, k, v], [((2, 16, 100, 32), "float16")], core="MIX")
    work = work_of(g.node("op"), Operands(g))
    assert work.flops == 2 * 2 * 16 * 100 * 300 * (64 + 32)
    assert work.cube_blocks == 2 * 16


def test_vector_work_on_a_chip_without_vector_cores_takes_ai_cores() -> None:
    spec = ((4096, 4096), "float16")
    g, _ = one("Add", [spec, spec], [spec])
    cost = cost_table(g, None, CHIPS["Ascend910A"]).of(g.node("op").id)
    assert (cost.aic, cost.aiv) == (32, 0)


def test_stated_block_number_is_used() -> None:
    spec = ((4096, 4096), "float16")
    _, cost = one("Add", [spec, spec], [spec], tvm_blockdim=5)
    assert cost.aiv == 5


def test_aicpu_time() -> None:
    _, cost = one("Where", [((1000,), "bool")], [((500,), "int64")], engine="DNN_VM_AICPU_ASCEND", core="AICPU")
    assert (cost.ns, cost.aic, cost.aiv) == (101_000, 0, 0)


def test_all_reduce_takes_the_cheaper_of_ring_and_tree() -> None:
    # alpha 10 us, beta 56 GB/s. 8 ranks, 56 MB: ring 14 * 10 us + 2 * 7/8 * 1000 us; tree 6 * (10 us + 1000 us).
    assert collective_ns("all_reduce", 56e6, 8) == pytest.approx((140 + 1750) * 1000)
    assert collective_ns("all_reduce", 56e3, 8) == pytest.approx(6 * 11 * 1000)
    assert collective_ns("all_gather", 56e6, 8) == pytest.approx((70 + 875) * 1000)
    assert collective_ns("broadcast", 56e6, 8) == pytest.approx((30 + 1000) * 1000)
    assert collective_ns("all_reduce", 56e6, 1) == 0


def test_collective_without_a_known_group_is_assumed() -> None:
    spec = ((1024, 1024), "float16")
    _, cost = one("HcomAllReduce", [spec], [spec], engine="DNN_HCCL", core="HCCL")
    assert (cost.origin, cost.why, cost.bound) == (Origin.ASSUMED, "ranks", "link")
    _, cost = one("HcomAllReduce", [spec], [spec], engine="DNN_HCCL", core="HCCL", rank_size=8)
    assert cost.origin is Origin.MODEL


def test_sensitivity_scales_modelled_times_only() -> None:
    spec = ((4096, 4096), "float16")
    g, _ = one("Add", [spec, spec], [spec], _gx_duration_ns=5000)
    op, fed = g.node("op").id, g.node("in0").id
    plain, double = cost_table(g, None, B1), cost_table(g, None, B1, CostModel(scale=2.0))
    assert double.of(op).ns == plain.of(op).ns == 5000
    assert double.of(fed).ns == pytest.approx(2 * plain.of(fed).ns, abs=1)
