"""Placement: the fixed rows of GE, the defaults, overrides, and honesty about the unknown."""

import collections

import pytest

from ge_explorer import examples, pipelines
from ge_explorer.device.engines import GE_ENGINES
from ge_explorer.device.op_table import _ROWS, CORES, OP_TABLE, place_of
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace


def place(graph: object) -> Trace:
    t = run_trace(graph, parse_pipeline("place-engines", pipelines.PASSES.get, {}), {})  # type: ignore[arg-type]
    assert t.failed is None, t.failed and t.failed.error
    return t


def test_table_names_each_type_once_and_only_known_engines() -> None:
    count = collections.Counter(op for *_, ops in _ROWS for op in ops.split())
    assert [op for op, k in count.items() if k > 1] == []
    assert len(OP_TABLE) >= 600
    assert {p.engine for p in OP_TABLE.values()} <= set(GE_ENGINES)
    assert {p.core for p in OP_TABLE.values()} <= set(CORES)


@pytest.mark.parametrize(
    ("op", "engine", "core"),
    [
        ("NetOutput", "DNN_VM_RTS", "NONE"), ("Identity", "DNN_VM_RTS", "NONE"), ("Reshape", "DNN_VM_GE_LOCAL", "NONE"),
        ("If", "DNN_VM_GE_LOCAL", "NONE"), ("HcomAllReduce", "DNN_HCCL", "HCCL"), ("DSARandomUniform", "DSAEngine", "DSA"),
        ("Conv2D", "AIcoreEngine", "AIC"), ("MatMulV2", "AIcoreEngine", "AIC"), ("GroupedMatmul", "AIcoreEngine", "MIX"),
        ("FusedInferAttentionScore", "AIcoreEngine", "MIX"), ("SoftmaxV2", "AIcoreEngine", "AIV"),
        ("Where", "DNN_VM_AICPU_ASCEND", "AICPU"), ("Unique", "DNN_VM_AICPU", "AICPU"), ("Data", "DNN_VM_GE_LOCAL", "NONE"),
    ],
)  # fmt: skip
def test_rows(op: str, engine: str, core: str) -> None:
    entry, used = place_of(op)
    assert entry is not None
    assert (entry.engine, entry.core, used) == (engine, core, op)


def test_one_decision_per_node_with_a_known_rule() -> None:
    g = examples.mixed_engines()
    t = place(g)
    assert sorted(d.subject.id for d in t.steps[0].decisions) == list(g.node_ids)
    p = t.final.placement
    assert p is not None
    got = {n.name: (p.engine[n.id], p.core[n.id]) for n in g}
    assert got["mask"] == ("DSAEngine", "DSA")
    assert got["unique"] == ("DNN_VM_AICPU", "AICPU")
    assert got["gather"] == ("DNN_HCCL", "HCCL")
    assert got["proj"] == ("AIcoreEngine", "AIC")


def test_user_override_wins_and_core_follows_the_engine() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4, 4))
    r = b.op("Relu", x, name="r", engine="DNN_VM_AICPU")
    s = b.op("SoftmaxV2", r, name="s", core="MIX")
    t = place(b.build(s))
    p, g = t.final.placement, t.final.graph
    assert p is not None
    assert (p.engine[g.by_name["r"]], p.core[g.by_name["r"]]) == ("DNN_VM_AICPU", "AICPU")
    assert (p.engine[g.by_name["s"]], p.core[g.by_name["s"]]) == ("AIcoreEngine", "MIX")
    assert p.reason[g.by_name["s"]] == "user"
    assert not t.steps[0].issues


def test_unknown_type_is_assumed_and_said_once() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4, 4))
    t = place(b.build(b.op("MyOp", b.op("MyOp", x, name="a"), name="b")))
    (issue,) = t.steps[0].issues
    assert issue.code == "GX320"
    assert len(issue.refs) == 2


def test_impossible_override_is_reported_not_followed() -> None:
    b = GraphBuilder("g")
    t = place(b.build(b.op("Relu", b.data("x", (4,)), name="r", core="GPU")))
    p, g = t.final.placement, t.final.graph
    assert p is not None
    assert p.core[g.by_name["r"]] == "AIV"
    assert [i.code for i in t.steps[0].issues] == ["GX321"]


def test_double_goes_to_the_ai_cpu() -> None:
    b = GraphBuilder("g")
    t = place(b.build(b.op("Relu", b.data("x", (4,), "double"), name="r")))
    p, g = t.final.placement, t.final.graph
    assert p is not None
    assert (p.core[g.by_name["r"]], p.reason[g.by_name["r"]]) == ("AICPU", "dtype")
