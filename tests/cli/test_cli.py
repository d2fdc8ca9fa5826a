"""The command line: exit codes, JSON that a stranger can re-check, one clear line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ge_explorer import examples
from ge_explorer.cli import main
from tests.recheck import recheck


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.parametrize("mode", ["default", "cv", "LoadBalance:4"])
@pytest.mark.parametrize("name", examples.names())
def test_every_example_traces_clean_in_every_mode(capsys: pytest.CaptureFixture[str], name: str, mode: str) -> None:
    code, out, err = run(capsys, "trace", name, "--mode", mode, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["format"] == "ge_explorer.trace/1"
    assert [s["name"] for s in report["steps"] if s["status"] == "failed"] == []
    recheck(report)


def test_text_output_names_steps_and_origins(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "trace", "moe_shared_expert")
    assert code == 0
    assert "assign-by-label" in out
    assert "[simulated, not measured]" in out
    assert "[GE rule]" in out


def test_pipeline_with_a_pass_off(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "trace", "fork_join", "--pipeline", "static,-optimize-by-recv", "--json")
    assert code == 0
    status = {s["name"]: s["status"] for s in json.loads(out)["steps"]}
    assert status["optimize-by-recv"] == "disabled"


def test_pass_others_need_switched_off_fails_with_the_repair(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "trace", "fork_join", "--pipeline", "static,-second-partition")
    assert code == 1
    assert "Switch 'second-partition' on again" in out


def test_why_prints_the_trail(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "trace", "moe_shared_expert", "--why", "sh.gate_up")
    assert code == 0
    assert "assign-by-label" in out


def test_check_says_ok_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "three_stream_crossing")
    assert code == 0
    assert out.splitlines()[-1].startswith("ok:")


def test_check_finds_the_race_when_events_are_off(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "three_stream_crossing", "--pipeline", "static,-insert-events", "--json")
    assert code == 1
    report = json.loads(out)
    assert report["ok"] is False
    assert {i["severity"] for i in report["issues"]} >= {"error"}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["trace", "fork_jion"], "fork_join"),
        (["trace", "fork_join", "--pipeline", "static,-nope"], "nope"),
        (["trace", "fork_join", "--option", "novalue"], "key=value"),
        (["trace", "fork_join", "--mode", "Balanced"], "mode"),
        (["trace", "fork_join", "--chip", "Ascend9999"], "Ascend9999"),
        (["load", "/nonexistent.onnx"], "nonexistent"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str], argv: list[str], says: str) -> None:
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert says in err


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 64, b"hello", b"\x08\x07\x12", b"PK\x03\x04zip", b"IMOD" + bytes(60), b"{", b"<html>"]
)
def test_a_file_that_is_no_graph_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "x.onnx"
    file.write_bytes(content)
    code, out, err = run(capsys, "trace", str(file))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize("what", ["passes", "examples", "chips", "modes"])
def test_list_prints_rows(capsys: pytest.CaptureFixture[str], what: str) -> None:
    code, out, _ = run(capsys, "list", what, "--json")
    assert code == 0
    rows = json.loads(out)
    assert len(rows) >= 5
    assert all(r["name"] and r["text"] for r in rows)
    code, out, _ = run(capsys, "list", what)
    lines = out.splitlines()
    assert all(any(r["name"] in line and r["text"] in line for line in lines) for r in rows)


def test_list_passes_names_both_paths_and_what_is_not_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "list", "passes", "--json")
    rows = {r["name"]: r for r in json.loads(out)}
    assert rows["dynamic-start"]["pipelines"] == ["dynamic"]
    assert rows["place-engines"]["pipelines"] == ["static", "dynamic"]
    assert rows["optimise-stage2"]["members"][0] == "ConstantFoldingPass"
    assert not [n for n, r in rows.items() if not r["source"]]
    assert not [n for n, r in rows.items() if r["fidelity"] == "exact" and not r["ge_name"]]
    _, out, _ = run(capsys, "list", "passes", "--lang", "zh")
    line = next(x for x in out.splitlines() if x.split()[:1] == ["buffer-pool"])
    assert "BufferPoolMemoryPass" in line and "未建模" in line


def test_load_reports_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "load", "moe_shared_expert", "--json")
    assert code == 0
    assert json.loads(out)["format"]


def test_lab_copies_notebooks_and_keeps_edits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "lab", "--dir", str(tmp_path / "n"), "--copy-only")
    start = Path(out.strip())
    assert code == 0
    assert start.name == "00_start.ipynb"
    start.write_text("mine")
    run(capsys, "lab", "--dir", str(tmp_path / "n"), "--copy-only")
    assert start.read_text() == "mine"


def test_export_writes_one_file_without_addresses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, _ = run(capsys, "export", "fork_join", "-o", str(tmp_path / "p.html"))
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["p.html"]
    for word in ('src="http', 'href="http', "@import", "cdn"):
        assert word not in page


def test_export_writes_graphviz_text_for_a_dot_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, _ = run(capsys, "export", "fork_join", "-o", str(tmp_path / "g.dot"))
    assert code == 0
    assert (tmp_path / "g.dot").read_text(encoding="utf-8").startswith("digraph")


def test_check_lists_the_fourteen_invariants(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "three_stream_crossing", "--json")
    assert code == 0
    rows = json.loads(out)["invariants"]
    assert [r["number"] for r in rows] == list(range(1, 15))
    assert {r["status"] for r in rows} <= {"pass", "not applicable"}
    assert all(r["reason"] for r in rows if r["status"] == "not applicable")
    _, out, _ = run(capsys, "check", "three_stream_crossing", "--lang", "zh")
    assert "不变式" in out


def test_check_shows_which_invariant_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "three_stream_crossing", "--pipeline", "static,-insert-events")
    assert code == 1
    assert "   2  fail" in out
    assert "(GX110 x" in out
    assert "   4  not applicable" in out
    assert "(there are no events yet)" in out


def test_trace_speaks_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "trace", "fork_join", "--lang", "zh")
    assert "[GE 规则]" in out and "[模拟，非实测]" in out
    assert "[GE rule]" not in out and " skipped " not in out
