"""Levels and switches: which passes run."""

import pytest

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.base import NodeGroup, OptimizePass
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from tests.passes.optimize.helpers import compute, run


def graph() -> Graph:
    b = GraphBuilder("g")
    x = b.op("Identity", b.data("x", (4,), "float"), name="identity")
    return b.build(b.op("Add", x, b.op("Neg", b.const("c", (4,), "float"), name="folds"), name="add"))


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, ["add"]),
        ({"ge.oo.level": "O3"}, ["add"]),
        ({"ge.oo.level": "O1"}, ["identity", "add"]),
        ({"ge.oo.level": "O1", "ge.optimizationSwitch": "IdentityPass:on"}, ["add"]),
        ({"ge.oo.constantFolding": "false"}, ["folds", "add"]),
        ({"ge.oo.constantFolding": "false", "ge.optimizationSwitch": "ConstantFoldingPass:on"}, ["add"]),
        ({"ge.optimizationSwitch": "ConstantFoldingPass:off;IdentityPass:off"}, ["identity", "folds", "add"]),
        (
            {"ge.disableOptimizations": "ConstantFoldingPass", "ge.optimizationSwitch": "ConstantFoldingPass:on"},
            ["folds", "add"],
        ),
        (
            {"ge.disableOptimizations": "RemoveSameConstPass, ConstantFoldingPass"},
            ["add"],
        ),  # GE does not trim the names
        ({"ge.disableOptimizations": "IdentityPass"}, ["add"]),  # only three passes may be named there
        ({"ge.optimizationSwitch": "nonsense;IdentityPass:maybe"}, ["add"]),
    ],
)
def test_switches(options: dict[str, str], left: list[str]) -> None:
    assert sorted(compute(run(graph(), "", options).final.graph)) == sorted(left)


def test_an_unknown_level_stops_the_compilation() -> None:
    t = run_trace(graph(), parse_pipeline("prune", pipelines.PASSES.get, {}), {"ge.oo.level": "O2"})
    assert t.failed is not None
    assert "E10001" in str(getattr(t.failed.error, "code", ""))


def test_a_member_of_a_group_can_be_left_out() -> None:
    g = run(graph(), "optimise-while-inferring{without=constant-folding+cond-remove},optimise-prepare").final.graph
    assert sorted(compute(g)) == ["add", "folds"]
    t = run(graph(), "optimise-stage2{without=constant-folding+cond-remove+assign-remove}")
    assert t.steps[0].status == "skipped"


def test_a_dump_of_ge_is_not_optimised_again() -> None:
    b = GraphBuilder("g", attrs={"_gx_format": "GE proto text"})
    g = b.build(b.op("Relu", b.op("Identity", b.data("x", (4,)), name="i"), name="r"))
    assert run(g, "optimise-prepare").steps[0].status == "skipped"
    assert "i" not in run(g, "optimise-prepare", {"gx.optimiseDumps": "1"}).final.graph.by_name


def test_a_graph_with_stream_control_is_past_optimisation() -> None:
    b = GraphBuilder("g")
    x = b.op("Identity", b.data("x", (4,)), name="i")
    active = b.op("StreamActive", name="active", outputs=[])
    assert (
        run(b.build(b.op("Relu", x, name="r", control=[active])), "optimise-prepare,prune").steps[1].status == "skipped"
    )


def test_every_pass_names_its_rules_source_and_example() -> None:
    for name in pipelines.PASSES:
        cls = pipelines.PASSES.get(name)
        if not issubclass(cls, OptimizePass):
            continue
        assert cls.__doc__ and ("GE source:" in cls.__doc__), name
        assert bool(cls.rules) == cls.modelled, (
            f"{name}: a pass that decides names its rules, one that is not modelled has none"
        )
        assert all(r.text.en and r.text.zh and r.source for r in cls.rules.values()), name
        assert cls.source, name
        if issubclass(cls, NodeGroup):
            for member in cls.members:
                assert set(member.rules) <= set(cls.rules), (name, member.name)
                assert member.option_keys <= cls.option_keys, (name, member.name)
                assert member.off(PassContext({}, {}, cls.option_keys)) is None, member.name
