"""The harness itself: a wrong value fails, an unknown step is unsupported, ``--cases`` runs that folder only."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.build import build_graph, build_snapshot
from conformance.registry import HERE, Case, Report, Unsupported, check, load_stages, read_cases

load_stages()
ROOT = HERE.parents[1]


def stored(name: str, wanted: str | None = None) -> dict[str, Any]:
    for raw in json.loads((HERE / "cases" / name).read_text(encoding="utf-8")):
        if wanted is None or raw["id"] == wanted:
            return copy.deepcopy(raw)
    raise KeyError(wanted)


def test_right_case_passes_and_each_changed_value_fails() -> None:
    raw = stored("oracle_logical.json")
    assert check(Case(raw)).mismatches == []
    for path in (
        ("node_streams", "n0"),
        ("main_stream_count",),
        ("passes", 0, "steps", 3, "next_stream"),
        ("passes", 0, "steps", 4, "node_streams", 2),
        ("passes", 0, "steps", 1, "cluster_streams", 0),
        ("passes", 0, "default_stream"),
    ):
        wrong = copy.deepcopy(raw)
        place: Any = wrong["expect"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] += 1
        assert check(Case(wrong)).mismatches, path
    for change in ({"engine": "DNN_HCCL"}, {"nodes": []}, {"inputs_from": ["r1"]}):
        wrong = copy.deepcopy(raw)
        wrong["expect"]["clusters"]["g"][1].update(change)
        assert check(Case(wrong)).mismatches, change


def test_swapped_order_fails() -> None:
    raw = stored("oracle_topo.json")
    raw["expect"]["order"][1:3] = reversed(raw["expect"]["order"][1:3])
    assert "order" in check(Case(raw)).mismatches[0]


def test_support_is_decided_by_run_and_features_not_by_id() -> None:
    raw = stored("oracle_topo.json")
    raw["id"] = "never/heard-of"
    assert check(Case(raw)).mismatches == []
    raw["run"] = "NeverHeardOf"
    with pytest.raises(Unsupported, match="NeverHeardOf"):
        check(Case(raw))


def test_derived_values_are_hints_only() -> None:
    raw = stored("logical.json", "logical/reused-not-yet-assigned")
    raw["derived"]["cluster_streams"]["subgraph1"] = 9
    report = check(Case(raw))
    assert report.mismatches == []
    assert len(report.hints) == 1


def test_first_mismatch_names_the_place() -> None:
    report = Report()
    report.equal("streams", [0, 1, 2], [0, 2, 2])
    report.equal("nodes", {"a": 0, "b": 1}, {"a": 0, "b": 2})
    assert "first difference at 1" in report.mismatches[0]
    assert "'b'" in report.mismatches[1]


def test_ids_and_order_of_a_built_graph_follow_the_traversal() -> None:
    for case in read_cases(HERE / "cases"):
        if case.row == "oracle_logical" and case.graph.get("subgraphs"):
            graph = build_graph(case)
            assert graph.walk() == list(graph.node_ids)
            s = build_snapshot(case, graph)
            assert s.sequence == tuple(graph.walk())
            return
    raise AssertionError("no stored case with a subgraph")


def test_cases_option_runs_only_that_folder_and_prints_the_table(tmp_path: Path) -> None:
    good, bad = stored("oracle_topo.json"), stored("oracle_topo.json")
    bad["id"] = "topo/wrong"
    bad["expect"]["order"] = bad["expect"]["order"][::-1]
    (tmp_path / "mine.json").write_text(json.dumps([good, bad]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/conformance", "--cases", str(tmp_path), "-p", "no:cacheprovider"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "topo/wrong" in done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("oracle_topo"))
    assert row[:4] == ["oracle_topo", "1", "1", "0"]
