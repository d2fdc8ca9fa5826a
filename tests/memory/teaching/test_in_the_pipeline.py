"""Teaching planners by option and on the command line: labelled, safe, or shown to race."""

from __future__ import annotations

import json

import pytest

import ge_explorer as gx
from ge_explorer.checks import check_trace
from ge_explorer.cli import main
from ge_explorer.memory.teaching.catalogue import TEACHING, plans_by_lifetime
from ge_explorer.pipelines import mode_options


@pytest.mark.parametrize("planner", TEACHING)
def test_by_option(planner: str) -> None:
    trace = gx.compile("fork_join", options={**mode_options("LoadBalance:2"), "gx.memoryPlanner": planner})
    assert trace.failed is None
    memory = trace.final.memory
    assert memory is not None
    assert memory.plan.planner == planner
    races = [i for i in check_trace(trace) if i.code == "GX201"]
    assert bool(races) == plans_by_lifetime(planner)
    assert memory.lower_bound == 10488320, "the bound is that of safe plans, whatever the planner"
    step = next(s for s in trace if s.name == "plan-memory")
    rules = {d.rule for d in step.decisions if d.facet == "offset"}
    assert ("by-lifetime" in rules) == plans_by_lifetime(planner)


def test_command_line_shows_races(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "fork_join", "--planner", "interval", "--streams", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["races"], answer["optimal"], answer["origin"]) == (2, False, "article")
    assert answer["peak"] < answer["lower_bound"]
    main(["memory", "fork_join", "--planner", "interval", "--streams", "2"])
    shown = capsys.readouterr().out
    assert "this plan is not safe" in shown
    assert "GX201 error: A:0 and B2:0 share bytes" in shown
    assert "article's idea" in shown


def test_command_line_on_one_stream_is_safe(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memory", "chain", "--planner", "interval", "--streams", "1", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (answer["races"], answer["optimal"]) == (0, True)
