"""A profile in a session: times survive fusion and folding, the report, changes on disk, and every place that shows it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import ge_explorer as gx
from ge_explorer.api import open_session
from ge_explorer.cli import main
from ge_explorer.device.cost import cost_table
from ge_explorer.errors import InputError, OptionError
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.loaders import load
from ge_explorer.provenance import Origin
from ge_explorer.session import Session
from ge_explorer.views import issues_view, profile_view

HEAD = "Name,Type,Duration(us)\n"


def imported(g: Graph) -> Graph:
    """As if it came from an ONNX file, so that everything optimises it."""
    return replace(g, attrs={**g.attrs, "_gx_format": "ONNX binary"})


def net() -> Graph:
    """conv -> bn -> relu (these fuse) -> fold (a constant branch) -> add."""
    b = GraphBuilder("net")
    x = b.data("x", (1, 64, 8, 8))
    c = b.op("Conv2D", x, b.const("w", (64, 64, 3, 3)), name="conv", shape=(1, 64, 8, 8), attrs={"pads": [1, 1, 1, 1]})
    n = b.op("BatchNorm", c, *(b.const(k, (64,)) for k in "abcd"), name="bn")
    r = b.op("Relu", n, name="relu")
    return imported(b.build(b.op("SoftmaxV2", r, name="soft")))


def task(s: Session, name: str) -> tuple[int, str]:
    """(duration in ns, where it comes from) of a node in the timeline."""
    t, g = s.timeline, s.trace.final.graph
    k = next(i for i, n in enumerate(t.node.tolist()) if g.node(n).name == name)
    return int(t.end_ns[k] - t.start_ns[k]), t.cost_origin[k]


def test_members_rows_add_up_in_the_fused_kernel_and_it_says_so() -> None:
    s = Session(net(), profile=HEAD + "conv,Conv2D,10\nbn,BatchNorm,2\nrelu,Relu,3\nsoft,SoftmaxV2,4\n")
    g = s.trace.final.graph
    fused = next(n for n in g if n.op == "Conv2D")
    assert fused.attrs["_gx_duration_ns"] == 15_000
    assert fused.attrs["_gx_duration_origin"] == "measured"
    assert task(s, fused.name) == (15_000, "measured")
    r = s.profile_report
    assert r is not None
    found = {m.name: m for m in r.matched}
    assert (found[fused.name].way, found[fused.name].ns) == ("fused", 15_000)
    assert set(found[fused.name].rows) == {"conv", "bn", "relu"}
    assert r.counts == {"name": 1, "original": 0, "order": 0, "fused": 1, "missing": 0, "unused": 0, "gone": 0}
    assert (r.total_ns, r.matched_ns) == (19_000, 19_000)


def test_a_member_without_a_row_counts_as_part_of_the_others() -> None:
    s = Session(net(), profile=HEAD + "conv,Conv2D,10\n")
    fused = next(n for n in s.trace.final.graph if n.op == "Conv2D")
    assert fused.attrs["_gx_duration_ns"] == 10_000
    r = s.profile_report
    assert r is not None
    assert next(m for m in r.matched).members
    assert [name for _, name in r.missing] == ["soft"]
    assert "GX520" in {i.code for i in s.issues}
    assert task(s, "soft")[1] != "measured"


def test_rows_with_the_names_of_the_compiled_graph_fit_after_the_compilation() -> None:
    name = next(n.name for n in Session(net()).trace.final.graph if n.op == "Conv2D")
    assert name != "conv"  # the joined name of a fused kernel
    s = Session(net(), profile=f"{HEAD}{name},Conv2D,7\nSoft_9,SoftmaxV2,5\n")
    assert task(s, name) == (7_000, "measured")
    assert task(s, "soft") == (5_000, "measured")
    r = s.profile_report
    assert r is not None
    assert {m.name: m.way for m in r.matched} == {name: "name", "soft": "order"}


def test_what_the_compilation_removed_is_told() -> None:
    b = GraphBuilder("g")
    y = b.op("Identity", b.op("Relu", b.data("x", (64,)), name="r"), name="gone")
    s = Session(imported(b.build(b.op("Exp", y, name="e"))), profile=HEAD + "gone,Identity,5\nr,Relu,1\ne,Exp,2\n")
    r = s.profile_report
    assert r is not None
    assert r.gone == (("gone", 5_000),)
    assert "gone" in "\n".join(r.lines())
    assert "移除" in "\n".join(r.lines("zh"))


def test_gears_do_not_inherit_a_time_measured_for_one_size() -> None:
    b = GraphBuilder("g")
    g = b.build(b.op("Relu", b.data("x", (-1, 8), "float"), name="r"))
    s = Session(g, options={"ge.dynamicBatchSize": "1,2"}, profile=HEAD + "r,Relu,5\nr_ascend_mbatch_batch_1,Relu,9\n")
    assert task(s, "r_ascend_mbatch_batch_1") == (9_000, "measured")
    assert task(s, "r_ascend_mbatch_batch_0")[1] != "measured"


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text(HEAD + "soft,SoftmaxV2,4\n")
    s = Session(net(), profile=file)
    assert task(s, "soft")[0] == 4_000
    version = s.version
    file.write_text(HEAD + "soft,SoftmaxV2,40\n")
    os.utime(file, ns=(1, 10**18))
    assert task(s, "soft")[0] == 40_000
    assert s.version > version
    file.write_text("nonsense")
    assert task(s, "soft")[0] == 40_000  # what was read before stays
    assert "GX521" in {i.code for i in s.issues}
    file.write_text(HEAD + "soft,SoftmaxV2,6\n\n")
    assert task(s, "soft")[0] == 6_000
    assert "GX521" not in {i.code for i in s.issues}
    file.unlink()
    assert task(s, "soft")[0] == 6_000


def test_a_profile_can_be_set_taken_back_and_removed() -> None:
    s = Session(net())
    plain = task(s, "soft")
    s.set_profile(HEAD + "soft,SoftmaxV2,123\n")
    assert task(s, "soft") == (123_000, "measured")
    assert s.undo()
    assert task(s, "soft") == plain
    assert s.profile_report is None
    assert s.redo()
    assert task(s, "soft")[0] == 123_000
    s.set_profile(None)
    assert s.profile is None


def test_every_entry_takes_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text(HEAD + "A,MatMulV2,12.5\nnobody,Relu,1\n")
    s = open_session("fork_join", profile=file)
    assert task(s, "A") == (12_500, "measured")
    t = gx.compile("fork_join", profile=str(file))
    n = t.final.graph.node("A")
    assert cost_table(t.final.graph, t.final.placement).of(n.id).origin is Origin.MEASURED
    r = load("fork_join", profile=file)
    assert r.graph.node("A").attrs["_gx_duration_ns"] == 12_500
    assert [i.code for i in r.report.issues] == ["GX520"]
    assert any("measured durations" in x.en for x in r.report.found)
    with pytest.raises(InputError, match="cannot read"):
        open_session("fork_join", profile=tmp_path / "none.csv")


def test_the_command_line_prints_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.csv"
    file.write_text(HEAD + "A,MatMulV2,12.5\nnobody,Relu,1\n")
    assert main(["trace", "fork_join", "--profile", str(file)]) == 0
    out = capsys.readouterr().out
    assert f"profile  {file}  [measured]" in out
    assert "rows without a task: nobody" in out
    assert "GX520" in out
    assert main(["trace", "fork_join", "--profile", str(file), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["profile"]["counts"]["name"] == 1
    assert {t["duration_origin"] for t in data["timeline"]["tasks"] if t["node"] == "A"} == {"measured"}
    assert main(["check", "fork_join", "--profile", str(file)]) == 0
    assert "GX520" in capsys.readouterr().out
    html = tmp_path / "out.html"
    assert main(["export", "fork_join", "--profile", str(file), "-o", str(html)]) == 0
    assert "measured (profile)" in html.read_text(encoding="utf-8")
    assert main(["trace", "fork_join", "--profile", str(tmp_path / "none.csv")]) == 2


def test_the_issues_panel_lists_what_was_matched_and_what_was_not() -> None:
    s = open_session("fork_join", profile=HEAD + "A,MatMulV2,12.5\n<b>x</b>,Relu,1\n")
    p = issues_view.build(s.trace.final, s.issues, {})
    full = profile_view.with_profile(p, s.profile_report, s.trace.final)
    table = full.tables[-1]
    cells = [[part.text.en for cell in row.cells for part in cell] for row in table.rows]
    assert ["A", "12.5", "by name"] in cells
    assert any(c[0] == "<b>x</b>" for c in cells)  # text, escaped where it is drawn
    assert profile_view.with_profile(p, None, s.trace.final) is p
    short = profile_view.build(s.profile_report, s.trace.final, 2)  # type: ignore[arg-type]
    assert (len(short.rows), short.left_out) == (2, len(table.rows) - 2)


@pytest.mark.parametrize("wrong", [5, b"x", ["a"], "\0"])
@pytest.mark.parametrize("setting", ["profile", "placement"])
def test_what_is_neither_a_file_nor_a_table_is_refused_in_a_sentence(setting: str, wrong: object) -> None:
    with pytest.raises((InputError, OptionError)):
        gx.compile("fork_join", **{setting: wrong})
