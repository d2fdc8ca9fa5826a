"""Collectives: groups, chains, fusion, copies (worked example 8), and what streams make of them."""

from __future__ import annotations

from typing import Any

import pytest

from ge_explorer import pipelines
from ge_explorer.device.cost import collective_ns, cost_table
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace

ALL = "hccl-prepare,hccl-memcpy,hccl-fuse,hccl-memcpy,hccl-continuous-memcpy,hccl-chain"


def run(g: Graph, passes: str = ALL, **options: str) -> Trace:
    values = {"gx.hccl": "on", **{k.replace("__", "."): v for k, v in options.items()}}
    t = run_trace(g, parse_pipeline(passes, pipelines.PASSES.get, {}), values)
    assert t.failed is None, t.failed and t.failed.error
    return t


def gradients(
    count: int = 2, shape: tuple[int, ...] = (256, 256), groups: tuple[str, ...] = ("w",), **attrs: Any
) -> Graph:
    b = GraphBuilder("g")
    outs: list[Value] = []
    for k in range(count):
        grad = b.op("Sigmoid", b.data(f"x{k}", shape), name=f"g{k}")
        own = {"group": groups[k % len(groups)], "reduction": "sum", "rank_size": 8, **attrs}
        outs.append(b.op("HcomAllReduce", grad, name=f"AllReduce{k}", attrs=own))
    outs.append(b.op("MatMulV2", b.data("m", (64, 64)), b.const("w", (64, 64)), name="matmul"))
    return b.build(*outs)


def test_8a_one_communicator_is_one_group_and_one_order() -> None:
    g = run(gradients()).final.graph
    a, b = g.node("AllReduce0"), g.node("AllReduce1")
    assert (a.attrs["_parallel_group"], b.attrs["_parallel_group"]) == ("hcom_op_1", "hcom_op_1")
    assert a.attrs["continuous_input"] is True
    assert a.attrs["_input_mutable"] is True
    assert {frozenset((x, y)) for x, y in g.control} == {frozenset((a.id, b.id))}


def test_8b_fusion_by_id_pays_the_latency_once() -> None:
    g = gradients(fusion=2, fusion_id=7)
    t = run(g)
    after = t.final.graph
    fused = after.node("AllReduce0_fused")
    assert (len(fused.inputs), len(fused.outputs)) == (2, 2)
    assert fused.attrs["_hccl_fused_node"] is True
    assert fused.attrs["_datadump_original_op_names"] == ("AllReduce0", "AllReduce1")
    two = sum(cost_table(g).of(g.node(f"AllReduce{k}").id).ns for k in range(2))
    one = cost_table(after).of(fused.id).ns
    size = 256 * 256 * 2
    assert two - one == pytest.approx(
        2 * collective_ns("all_reduce", size, 8) - collective_ns("all_reduce", 2 * size, 8), abs=3
    )
    note = next(d.note for s in t.steps for d in s.decisions if d.rule == "by-id" and d.note)
    assert f"{(two - one) / 1000:.1f} us" in note.en


def test_8b_latency_of_one_collective_is_saved() -> None:
    """Large tensors take the ring: 2 (p - 1) alpha is paid once instead of twice."""
    g = gradients(shape=(4096, 4096), fusion=2, fusion_id=7)
    after = run(g).final.graph
    two = sum(cost_table(g).of(g.node(f"AllReduce{k}").id).ns for k in range(2))
    one = cost_table(after).of(after.node("AllReduce0_fused").id).ns
    assert two - one == pytest.approx(2 * (8 - 1) * 10_000, abs=3)


@pytest.mark.parametrize(("groups", "same"), [(("w",), True), (("a", "b"), False)])
def test_8_streams_of_collectives(groups: tuple[str, ...], same: bool) -> None:
    """One stream a parallel group (streams.md 3.7): one communicator runs in order, two may overlap."""
    t = run_trace(gradients(groups=groups), pipelines.static(), {"gx.hccl": "on"})
    assert t.failed is None, t.failed and t.failed.error
    s = t.final
    assert s.streams is not None
    a, b = (int(s.streams.node[s.graph.node(f"AllReduce{k}").id]) for k in range(2))
    assert (a == b) is same
    assert int(s.streams.node[s.graph.node("matmul").id]) not in (a, b)


def test_8c_two_communicators_may_overlap() -> None:
    g = run(gradients(groups=("a", "b"))).final.graph
    assert [g.node(f"AllReduce{k}").attrs["_parallel_group"] for k in range(2)] == ["hcom_op_1", "hcom_op_2"]
    assert not g.control


def test_8d_an_input_read_later_is_copied_first() -> None:
    b = GraphBuilder("g")
    grad = b.op("Sigmoid", b.data("x", (64,)), name="grad")
    total = b.op("HcomAllReduce", grad, name="AllReduce1", attrs={"group": "w"})
    g = b.build(b.op("Sub", total, grad, name="sub"))
    after = run(g).final.graph
    copy = after.node("AllReduce1_HcclMemcpyPass_Identity0")
    assert after.node("AllReduce1").inputs == copy.outputs
    assert after.node("sub").inputs[1] == after.node("grad").outputs[0]
    assert run(after).final.graph is after  # once is enough


def test_shape_readers_and_earlier_readers_need_no_copy() -> None:
    b = GraphBuilder("g")
    grad = b.op("Sigmoid", b.data("x", (64,)), name="grad")
    early = b.op("Relu", grad, name="early")
    total = b.op("HcomAllReduce", grad, name="ar", attrs={"group": "w"})
    shape = b.op("Shape", grad, name="shape", shape=(1,), dtype="int64")
    g = b.build(early, total, shape)
    after = run(g, ge__topoSortingMode="3").final.graph  # the order of the list
    assert not [n for n in after if n.op == "Identity"]
    # GE sorts before it looks, and its depth-first order puts the collective before its elder sibling
    after = run(g).final.graph
    assert [n.name for n in after if n.op == "Identity"] == ["ar_HcclMemcpyPass_Identity0"]


def test_a_constant_input_is_always_copied() -> None:
    b = GraphBuilder("g")
    after = run(b.build(b.op("HcomAllReduce", b.const("c", (64,)), name="ar", attrs={"group": "w"}))).final.graph
    assert [n.name for n in after if n.op == "Identity"] == ["ar_HcclMemcpyPass_Identity0"]


def test_a_reshape_that_only_shape_readers_follow_needs_no_copy_size_does() -> None:
    b = GraphBuilder("g")
    grad = b.op("Sigmoid", b.data("x", (64,)), name="grad")
    total = b.op("HcomAllReduce", grad, name="ar", attrs={"group": "w"})
    r = b.op("Reshape", grad, b.const("s", (2,), "int64"), name="r", shape=(8, 8))
    g = b.build(total, b.op("Shape", r, name="shape", shape=(2,), dtype="int64"))
    assert not [n for n in run(g).final.graph if n.op == "Identity"]
    assert run(g).final.graph.node("ar").attrs["_skip_rw_conflict"] is True
    b = GraphBuilder("g")
    grad = b.op("Sigmoid", b.data("x", (64,)), name="grad")
    total = b.op("HcomAllReduce", grad, name="ar", attrs={"group": "w"})
    g = b.build(total, b.op("Size", grad, name="size", shape=(), dtype="int64"))
    after = run(g, ge__topoSortingMode="3").final.graph
    assert [n.name for n in after if n.op == "Identity"] == ["ar_HcclMemcpyPass_Identity0"]


# ---------------------------------------------------------------- continuous inputs
def test_a_model_input_is_copied_before_a_collective_that_wants_it_continuous() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (64,))
    g = b.build(*(b.op("HcomAllReduce", x, name=f"ar{k}", attrs={"group": "w"}) for k in range(2)))
    after = run(g, "hccl-prepare,hccl-continuous-memcpy").final.graph
    made = [n for n in after if n.op == "Identity"]
    assert sorted(n.name for n in made) == [
        "x_HcclContinuousMemcpyPass_Identity",
        "x_HcclContinuousMemcpyPass_Identity_1",
    ]
    assert all(n.attrs["_cannot_be_deleted"] is True and n.attrs["no_need_constant_folding"] is False for n in made)


def test_of_two_continuous_readers_the_first_gets_the_copy() -> None:
    b = GraphBuilder("g")
    s = b.op("Sigmoid", b.data("x", (64,)), name="s")
    g = b.build(*(b.op("HcomAllReduce", s, name=f"ar{k}", attrs={"group": "w"}) for k in range(2)))
    t = run(g, "hccl-prepare,hccl-continuous-memcpy")
    after = t.final.graph
    assert [n.name for n in after if n.op == "Identity"] == ["s_HcclContinuousMemcpyPass_Identity"]
    assert after.node("ar0").inputs == after.node("s_HcclContinuousMemcpyPass_Identity").outputs
    assert after.node("ar1").inputs == after.node("s").outputs
    assert run(after, "hccl-continuous-memcpy").final.graph is after  # once is enough


@pytest.mark.parametrize("kind", [17, 2])
def test_p2p_memory_is_asked_for_by_attribute(kind: int) -> None:
    b = GraphBuilder("g")
    r = b.op("HcomAllGather", b.data("x", (64,)), name="ag", attrs={"group": "w", "_input_memory_type": [kind]})
    after = run(b.build(r), "hccl-prepare,hccl-continuous-memcpy").final.graph
    assert bool([n for n in after if n.op == "Identity"]) is (kind == 17)


def test_a_broadcast_variable_gets_its_value_back() -> None:
    b = GraphBuilder("g")
    v = b.op("Variable", name="v", shape=(64,))
    r = b.op("HcomBroadcast", v, name="bc", attrs={"group": "w"}, shape=(64,))
    g = b.build(b.op("Relu", r, name="use"))
    after = run(g).final.graph
    copy, assign = after.node("v_HcclContinuousMemcpyPass_Identity"), after.node("v_Assign")
    assert after.node("bc").inputs == copy.outputs
    assert assign.inputs == (after.node("v").outputs[0], after.node("bc").outputs[0])
    assert assign.attrs["_node_need_compile"] is True
    assert (assign.id, after.node("use").id) in after.control
    assert run(after).final.graph is after


def test_an_assigned_variable_and_a_mutable_broadcast() -> None:
    b = GraphBuilder("g")
    v = b.op("Variable", name="v", shape=(64,))
    r = b.op("HcomBroadcast", v, name="bc", attrs={"group": "w", "_input_mutable": True}, shape=(64,))
    after = run(b.build(r), "hccl-prepare,hccl-memcpy").final.graph
    assert {n.name for n in after} >= {"bc_HcclMemcpyPass_Identity0", "bc_Assign_0"}
    b = GraphBuilder("g")
    v = b.op("Variable", name="v", shape=(64,))
    r = b.op("HcomBroadcast", v, name="bc", attrs={"group": "w"}, shape=(64,))
    after = run(b.build(b.op("Assign", v, r, name="own", shape=(64,)))).final.graph
    assert [n.name for n in after if n.op == "Assign"] == ["own"]


def members(t: Trace) -> list[int]:
    return [len(n.inputs) for n in t.final.graph if n.op == "HcomAllReduce"]


def test_gradient_segments_by_index_and_by_share() -> None:
    g = gradients(6, fusion=1, fusion_id=-1)
    assert members(run(g, gx__hcclShares="50,50")) == [3, 3]
    assert sorted(members(run(g, gx__hcclSegments="0,3"))) == [1, 2, 3]
    assert sorted(members(run(g, gx__hcclSegments="0,3", gx__hcclShares="50,50"))) == [3, 3]  # shares win
    assert max(members(run(g, ge__fusionTensorSize=str(2 * 256 * 256 * 2)))) == 2


def test_default_segments_are_the_ones_of_the_manual() -> None:
    """HCCL's manual: 96.54 % and 3.46 % of the bytes; a gradient belongs where it begins."""
    assert members(run(gradients(6, fusion=1, fusion_id=-1))) == [6]
    b = GraphBuilder("g")
    own = {"group": "w", "reduction": "sum", "fusion": 1, "fusion_id": -1}
    sizes = (9654, 100, 246)
    outs = [b.op("HcomAllReduce", b.op("Sigmoid", b.data(f"x{k}", (n,)), name=f"s{k}"), name=f"a{k}", attrs=own)
            for k, n in enumerate(sizes)]  # fmt: skip
    assert sorted(members(run(b.build(*outs)))) == [1, 2]


def test_the_tensor_limit_is_500_mib_unless_set() -> None:
    big = gradients(3, (200 * 2**20,), fusion=2, fusion_id=0)  # 400 MiB each in float16
    assert members(run(big)) == [1, 1, 1]
    assert sorted(members(run(big, ge__fusionTensorSize=str(800 * 2**20)))) == [1, 2]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("gx.hcclSegments", "3,1"), ("gx.hcclSegments", "a"), ("gx.hcclSegments", "0,1,2,3,4,5,6,7,8"), ("gx.hcclShares", "60,20"),
        ("gx.hcclShares", "nan,1"), ("gx.hcclShares", "-1,101"), ("ge.fusionTensorSize", "0"), ("ge.fusionTensorSize", "1e9"),
    ],
)  # fmt: skip
def test_bad_segment_options_are_named(key: str, text: str) -> None:
    g = gradients(2, fusion=1, fusion_id=-1)
    t = run_trace(g, parse_pipeline("hccl-fuse", pipelines.PASSES.get, {}), {"gx.hccl": "on", key: text})
    assert t.failed is not None
    assert key in str(t.failed.error)


def test_different_types_reductions_and_no_fusion_stay_apart() -> None:
    assert len([n for n in run(gradients(fusion=0)).final.graph if n.op == "HcomAllReduce"]) == 2
    g = gradients(fusion=2, fusion_id=1)
    other = g.with_attrs({g.node("AllReduce1").id: {"reduction": "max"}})
    assert len([n for n in run(other).final.graph if n.op == "HcomAllReduce"]) == 2


def test_collectives_that_depend_on_each_other_are_not_fused() -> None:
    b = GraphBuilder("g")
    attrs = {"group": "w", "fusion": 2, "fusion_id": 1, "reduction": "sum"}
    first = b.op("HcomAllReduce", b.op("Sigmoid", b.data("x", (64,))), name="a", attrs=attrs)
    g = b.build(b.op("HcomAllReduce", b.op("Relu", first, name="r"), name="b", attrs=attrs))
    t = run(g)
    assert len([n for n in t.final.graph if n.op == "HcomAllReduce"]) == 2
    assert any(d.rule == "cycle" for s in t.steps for d in s.decisions)


def test_a_group_inside_a_branch_chains_its_holder() -> None:
    b = GraphBuilder("g")
    p, x = b.data("p", (), "bool"), b.data("x", (8,))
    own = {"group": "w"}
    first = b.op("HcomAllReduce", b.op("Sigmoid", x, name="s"), name="ar", attrs=own)
    branch = b.op("If", p, x, name="if", shape=(8,))
    for k in range(2):
        with b.subgraph(branch, f"b{k}") as (inner,):
            b.outputs(b.op("HcomAllReduce", b.op("Relu", inner, name="r"), name="c", attrs=own))
    g = run(b.build(first, branch), "hccl-prepare,hccl-chain").final.graph
    assert {frozenset(c) for c in g.control} == {frozenset((g.node("ar").id, g.node("if").id))}


def test_hand_made_graphs_are_left_alone_and_imported_ones_are_not() -> None:
    g = gradients()
    assert all(s.status == "skipped" for s in run(g, gx__hccl="auto").steps)
    from dataclasses import replace

    imported = replace(g, attrs={"_gx_format": "ONNX binary"})
    assert run(imported, gx__hccl="auto").final.graph.control
    assert not run(imported, gx__hccl="off").final.graph.control


def test_in_the_whole_pipeline_a_serial_collective_keeps_its_own_stream() -> None:
    """Without the group a serial Relu-AllReduce-Relu collapses to one stream; with it (a real compile) it does not."""
    b = GraphBuilder("g")
    r = b.op("Relu", b.data("x", (64,)), name="r")
    a = b.op("HcomAllReduce", r, name="a", attrs={"group": "w"})
    g = b.build(b.op("Relu", a, name="z"))
    counts = {}
    for mode in ("off", "on"):
        t = run_trace(g, pipelines.static(), {"gx.hccl": mode})
        assert t.failed is None
        assert t.final.streams is not None
        counts[mode] = t.final.streams.count
    assert counts["off"] < counts["on"]
