"""Comparison of two states: who is who, what differs, common ids, aligned pictures, escaped page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ge_explorer as gx
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.ids import Ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views import compare_html, compare_tables, svg_memory_ab
from ge_explorer.views.compare_picture import EVENT_SHIFT, pictures
from ge_explorer.views.comparison import CompareSide, Comparison, settings_title


def two_strengths(a: str = "single", b: str = "C2") -> Comparison:
    found = gx.compare(
        gx.open_session("moe_shared_expert", strength=a), gx.open_session("moe_shared_expert", strength=b)
    )
    assert isinstance(found, Comparison)
    return found


def cells(c: Comparison, name: str) -> list[str]:
    for row in compare_tables.figures(c).rows:
        texts = ["".join(p.text.en for p in cell) for cell in row.cells]
        if texts[0] == name:
            return texts[1:]
    raise KeyError(name)


@pytest.fixture(scope="module")
def c() -> Comparison:
    return two_strengths()


def test_figures_are_those_of_both_sessions_with_their_change(c: Comparison) -> None:
    one, two = (gx.open_session("moe_shared_expert", strength=s) for s in ("single", "C2"))
    spans = [s.timeline.makespan_ns for s in (one, two)]
    told = cells(c, "makespan")
    assert told[0] == f"{spans[0] / 1000:.1f} us"
    assert told[1] == f"{spans[1] / 1000:.1f} us"
    assert told[2].startswith(f"−{(spans[0] - spans[1]) / 1000:.1f} us")
    assert cells(c, "streams") == ["1", "2", "+1"]
    assert cells(c, "events")[2] == "+2"


def test_moved_nodes_are_those_with_another_letter(c: Comparison) -> None:
    names = [{s: x.letter for s, x in c.identities(n).items()} for n in (0, 1)]
    a, b = c.a.state, c.b.state
    assert a.streams is not None
    assert b.streams is not None
    moved = {m.id for m in c.diff.moved or ()}
    by_letter = {
        j for i, j in c.diff.match.pairs if names[0].get(int(a.streams.node[i])) != names[1].get(int(b.streams.node[j]))
    }
    assert moved == by_letter
    assert {c.b.state.graph.node(i).name for i in moved} == {"sh.quant", "sh.gate_up", "sh.swiglu", "sh.down"}


def test_a_state_against_itself_differs_in_nothing() -> None:
    same = two_strengths("C2", "C2")
    assert same.diff.empty
    assert same.signs == {}
    assert "Nothing differs" in str(same)
    assert compare_tables.differences(same).tables[0].rows == ()


def test_equal_nodes_stand_in_equal_columns_and_lanes_are_the_same(c: Comparison) -> None:
    a, b = pictures(c)
    at = {i: k for k, i in enumerate(b.ids)}
    pairs = [(k, at[i]) for k, i in enumerate(a.ids) if i in at]
    xa, xb = a.frames[0].positions[0][:, 0], b.frames[0].positions[0][:, 0]
    drawn = [(k, n) for k, n in pairs if not np.isnan(xa[k]) and not np.isnan(xb[n]) and a.kinds[k] == 0]
    assert len(drawn) > 10
    assert all(xa[k] == xb[n] for k, n in drawn)
    assert [x.key for x in a.frames[0].lanes] == [x.key for x in b.frames[0].lanes]
    assert a.frames[0].size == b.frames[0].size


def test_nodes_that_only_one_side_has_are_marked_and_selectable() -> None:
    session = gx.open_session("moe_shared_expert", strength="single")
    editor = GraphEditor(session.graph)
    gone = session.graph.by_name["gate"]
    editor.remove_nodes([gone])
    less = gx.open_session(replace(editor.freeze(), name="less"), strength="single")
    found = gx.compare(session, less)
    assert isinstance(found, Comparison)
    common = found.to_common[gone]
    assert common >= found.bound
    assert found.signs[common] == "−"
    a, b = pictures(found)
    assert common in a.ids
    assert common not in b.ids
    rows = compare_tables.differences(found, "node", "gate").tables[0].rows
    assert any(r.ref == Ref("node", common) for r in rows)
    back = gx.compare(less, session)
    assert isinstance(back, Comparison)
    assert back.signs[gone] == "+"


def test_filter_by_kind_and_text(c: Comparison) -> None:
    def texts(**given: str) -> list[str]:
        rows = compare_tables.differences(c, **given).tables[0].rows
        return [" ".join(p.text.en for cell in r.cells for p in cell) for r in rows]

    assert len(texts(kind="event")) == 2
    assert all("sh.quant" in t for t in texts(query="SH.QUANT"))
    assert texts(kind="stream", query="gate_up") == ["~ stream sh.gate_up A (GE 0) → B (GE 0)"]
    empty = compare_tables.differences(c, query="nothing of the kind").tables[0]
    assert empty.rows == ()
    assert "filter" in empty.empty.en


def test_settings_or_a_plan_on_top_of_the_same_source() -> None:
    found = gx.compare("fork_join", {"mode": "single"})
    assert isinstance(found, Comparison)
    assert "enableSingleStream" in found.b.title.en
    plan = gx.open_session("moe_shared_expert").plan
    assert plan is not None
    assert gx.compare("moe_shared_expert", plan, strength="C1").diff.empty
    assert "makespan" in repr(gx.compare("moe_shared_expert")), "one source: the table of strengths, as before"


def test_events_of_a_alone_never_share_an_id_with_events_of_b() -> None:
    back = two_strengths("C2", "single")
    a, b = pictures(back)
    assert all(e.uid >= EVENT_SHIFT for e in a.events)
    assert not {e.uid for e in a.events} & {e.uid for e in b.events}


def test_page_needs_nothing_and_escapes_names(c: Comparison, tmp_path: Path) -> None:
    bad = '<img src=x onerror="boom()">'
    side = replace(c.a, title=Text(bad, bad))
    path = Comparison(side, c.b).to_html(tmp_path / "c.html")
    html = path.read_text(encoding="utf-8")
    assert bad not in html
    assert "&lt;img" in html
    assert "default-src 'none'" in html
    assert not re.findall(r"https?://(?!www\.w3\.org)", html)
    for word in ("Times are simulated, not measured", "时间为仿真结果", 'data-part="memory"'):
        assert word in html


def test_memory_curves_share_one_axis(c: Comparison) -> None:
    held = compare_html.both_lives(c)
    assert held is not None
    drawing = svg_memory_ab.svg(*held, (Text("one"), Text("two")))
    lines = re.findall(r'<polyline[^>]*points="([^"]+)"', drawing)
    assert len(lines) == 2
    ends = [float(p.split()[-1].split(",")[0]) for p in lines]
    b_end, a_end = ends
    assert a_end > b_end, "the longer run ends further right"
    assert a_end - svg_memory_ab.LEFT == pytest.approx(
        (b_end - svg_memory_ab.LEFT) * held[0].end / held[1].end, abs=0.3
    )


def test_a_side_without_timeline_and_memory_is_said_in_words(c: Comparison) -> None:
    bare = CompareSide(Text("dump", "转储"), c.a.state.evolve(memory=None), origin=Origin.MEASURED)
    found = Comparison(bare, c.b)
    assert cells(found, "makespan") == ["–", f"{c.b.timeline.makespan_ns / 1000:.1f} us", "–"]  # type: ignore[union-attr]
    assert compare_html.NO_MEMORY.en in compare_html.memory_html(found, "en")
    assert any("what GE wrote" in n.en for n in compare_tables.notes(found))


def test_titles_of_settings() -> None:
    assert settings_title("", {}, frozenset(), "x").en == "GE's defaults"
    told = settings_title("C1", {"ge.a.mode": "cv"}, frozenset({"insert-events"}), "x")
    assert told.en == "C1, mode=cv, −insert-events"
    assert told.get("zh") == "C1，mode=cv，−insert-events"
