"""``ge-explorer memory`` and ``ge-explorer check plan.json``: what is printed, exit codes, one clear error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ge_explorer.cli import main

CSV = "id,lower,upper,size\nx,0,2,4\ny,2,5,4\nz,0,5,3\n"


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out = capsys.readouterr()
    return code, out.out, out.err


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    code, out, err = run(capsys, "memory", *argv)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("planner", "peak", "optimal"), [("search", 7, True), ("hb", 7, True), ("none", 11, False)])
def test_a_minimalloc_csv_is_planned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, planner: str, peak: int, optimal: bool
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(CSV)
    found = answer(capsys, str(path), "--planner", planner)
    assert {"peak", "lower_bound", "optimal", "planner", "seconds", "offsets"} <= set(found)
    assert (found["peak"], found["lower_bound"], found["optimal"], found["planner"]) == (peak, 7, optimal, planner)
    offsets = found["offsets"]
    assert set(offsets) == {"x", "y", "z"}
    assert max(offsets["x"] + 4, offsets["y"] + 4, offsets["z"] + 3) == peak
    for other in ("x", "y"):
        assert offsets[other] + 4 <= offsets["z"] or offsets["z"] + 3 <= offsets[other]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("p.csv", "id,lower,upper,size\na,1,x,3\n", "upper must be a whole number"),
        ("p.csv", "a;b\n", "holds no placement problem"),
        ("none.csv", None, "cannot be read"),
    ],
)
def test_a_bad_csv_is_one_line_of_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, text: str | None, words: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    code, out, err = run(capsys, "memory", str(path))
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_graph_on_one_and_on_more_streams(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = {k: answer(capsys, "needs_splitting", "--streams", str(k), "--json") for k in (1, 4)}
    for k, a in found.items():
        assert a["lower_bound"] <= a["peak"] <= a["no_reuse"]
        assert a["optimal"] == (a["peak"] == a["lower_bound"])
        assert a["streams"] <= k
        assert a["price_of_streams"] == a["lower_bound"] - a["lower_bound_one_stream"] >= 0
    assert found[1]["price_of_streams"] == 0
    code, out, _ = run(capsys, "memory", "moe_shared_expert", "--lang", "zh")
    assert code == 0
    assert "多流代价" in out


def test_check_accepts_a_written_plan_and_finds_a_race_in_a_changed_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    assert run(capsys, "memory", "moe_shared_expert", "-o", str(path))[0] == 0
    code, out, _ = run(capsys, "check", str(path))
    assert code == 0
    assert "happens-before" in out
    plan = json.loads(path.read_text())
    for t in plan["tensor_allocations"]:
        t["offset"] = 0
    path.write_text(json.dumps(plan))
    code, out, _ = run(capsys, "check", str(path), "--json")
    assert code == 1
    report = json.loads(out)
    assert not report["ok"]
    assert {i["code"] for i in report["issues"]} == {"GX201"}
    path.write_text('{"tensor_allocations": 1}')
    code, out, err = run(capsys, "check", str(path))
    assert (code, out) == (2, "")
    assert "tensor_allocations" in err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["fork_join", "--planner", "nix"], "no memory planner named 'nix'"),
        (["fork_join", "--streams", "0"], "--streams takes"),
        (["fork_join", "--seconds", "nan"], "--seconds takes"),
        (["fork_join", "--seconds", "-1"], "--seconds takes"),
        (["fork_join", "--streams", "1"], "single"),
    ],
)
def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    code, out, err = run(capsys, "memory", *argv)
    assert (code, out) == (2, "")
    assert words in err
