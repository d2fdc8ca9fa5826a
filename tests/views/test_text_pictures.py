"""Tables, Mermaid and Chrome trace: totals, limits, hostile names, no overlapping slices."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from ge_explorer.ids import node
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.trace import Trace
from ge_explorer.views import (
    chrome_trace,
    diff_view,
    events,
    issues_view,
    markdown,
    memory_map,
    mermaid,
    streams,
    svg_memory,
    svg_timeline,
)
from ge_explorer.views import timeline as timeline_view
from ge_explorer.views.export_html import safe_json
from ge_explorer.views.table_html import picture_html
from tests.views.panel_cases import HOSTILE, hostile_snapshot, moe_session, moe_snapshot, moe_timeline, wide_snapshot


class Tags(HTMLParser):
    """Collects element names and attribute names; knows nothing of our writers."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {k for k, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(html: str) -> Tags:
    p = Tags()
    p.feed(html)
    return p


def test_event_totals_balance_and_every_removed_event_names_its_rule() -> None:
    s = moe_session()
    p = events.build(s.trace.final, {}, trace=s.trace, timeline=s.timeline)
    inserted, removed, kept = (f.value.en for f in p.figures)
    assert (inserted, removed, kept) == ("3", "−1", "2")
    gone = next(r for r in p.tables[0].rows if r.tone == "muted")
    words = " ".join(x.text.en for x in gone.cells[3])
    assert "same sender" in words
    assert "event 0" in words
    assert "stream_utils.cc" in words
    assert p.tables[0].rows[0].cells[4][0].text.en == "5.6 us"


@pytest.mark.parametrize(("minimum", "link"), [(2, "="), (1, ">"), (None, "")])
def test_minimum_stands_beside_what_is_kept(minimum: int | None, link: str) -> None:
    s = moe_session()
    last = events.build(s.trace.final, {}, trace=s.trace, minimum=minimum).figures[-1]
    shown = (last.value.en, last.label.en, last.link)
    wanted = (str(minimum), "provable minimum for the same order", link)
    assert shown == (wanted if minimum is not None else ("2", "kept", "→"))


def test_streams_table_shows_identity_number_load_and_activator() -> None:
    s = moe_session()
    known = {n: x for n in (0, 1) if (x := s.identities.of(1, n)) is not None}
    rows = streams.build(s.trace.final, known, timeline=s.timeline).tables[0].rows
    side = [" ".join(x.text.en for x in c) for c in rows[1].cells]
    assert side == ["side label 22", "0", "4", "–", "–", "69.1 us 42 %", "post_norm"]


@pytest.mark.parametrize(("limit", "tone"), [(1984, ""), (1, "error")])
def test_streams_stand_against_the_limit_of_the_chip(limit: int, tone: str) -> None:
    figures = streams.build(moe_snapshot(), {}, stream_limit=limit).figures
    assert figures[0].value.en == "2"
    assert (figures[1].label.en, figures[1].value.en.replace(",", ""), figures[1].tone) == (
        "the chip's limit",
        str(limit),
        tone,
    )


def test_diff_counts_first_and_equal_steps_say_so() -> None:
    s = moe_session()
    p = diff_view.build(s.trace, 0, 1, {}, {})
    assert {f.label.en: f.value.en for f in p.figures}["events"] == "+2 −0"
    assert len([r for r in p.tables[0].rows if r.cells[0][0].text.en == "+"]) == 2
    assert diff_view.build(s.trace, 1, 1, {}, {}).tables[0].rows == ()


def test_issues_come_errors_first_with_fix() -> None:
    s = moe_session()
    p = issues_view.build(s.trace.final, s.issues, {})
    assert [r.cells[1][0].text.en for r in p.tables[0].rows] == ["GX101", "GX204"]
    assert "Fix: Add an event." in [x.text.en for x in p.tables[0].rows[0].cells[2]]


def test_mermaid_of_a_small_graph_has_streams_events_and_all_edges() -> None:
    s = moe_snapshot()
    m = mermaid.build(s, {})
    assert m.text.count("subgraph ") == 2
    assert m.text.count(' -. "event ') == 2
    assert m.edges == len(s.graph.dependencies) + 2


@pytest.mark.parametrize(("nodes", "n_streams"), [(1000, 3), (1000, 60), (3000, 500)])
def test_mermaid_stays_below_its_limits_by_grouping(nodes: int, n_streams: int) -> None:
    m = mermaid.build(wide_snapshot(nodes, n_streams), {})
    assert m.grouped == "groups"
    assert m.edges < 400
    assert len(m.text) < 40_000
    arrows = len(re.findall(r"(-->|\.->|-\.-o)", m.text))
    assert arrows == m.edges


def test_mermaid_says_how_wide_it_is() -> None:
    """A chain of n boxes has n ranks; groups that point at each other end somewhere."""
    chain = "".join(f"  n{i} --> n{i + 1}\n" for i in range(8))
    assert mermaid.MermaidText(chain, 9, 8, "", Text("")).ranks == 9
    assert mermaid.MermaidText('  a -. "0" .-> b\n  a -->|"2"| c\n  b -.-o c\n', 3, 3, "", Text("")).ranks == 3
    assert mermaid.MermaidText("  a --> b\n  b --> a\n", 2, 2, "", Text("")).ranks == 2
    assert mermaid.MermaidText("flowchart LR\n", 0, 0, "", Text("")).ranks == 0


def test_mermaid_of_a_selection_shows_its_neighbourhood() -> None:
    s = wide_snapshot(1000, 3)
    m = mermaid.build(s, {}, selected=[node(500)])
    assert m.grouped == "neighbourhood"
    assert "picked" in m.text
    assert m.edges < 400


def test_mermaid_labels_keep_hostile_names_inside_their_quotes() -> None:
    text = mermaid.build(hostile_snapshot(), {}).text
    for row in text.splitlines():
        assert row.count('"') in (0, 2)
        label = row.split('"')[1] if '"' in row else ""
        assert not set(label.replace("<br/>", "")) & set('<>"`[](){}|\\')
    assert text.splitlines().count("  end") == text.count("subgraph s")


def every_html(lang: str) -> list[str]:
    s = hostile_snapshot()
    t = moe_timeline(moe_snapshot().graph)
    ids = [i for i in s.graph.node_ids if not s.graph.node(i).is_source]
    n = len(ids)
    start = np.arange(n, dtype=np.int64) * 1000
    zero = np.zeros(n, np.int32)
    t = Timeline(
        np.array(ids, np.int32), s.streams.node[ids] if s.streams else zero, start, start + 900, zero, zero, ("model",) * n,
        (), (), "<b>chip", 24, 48,
    )  # fmt: skip
    out = [picture_html(x, lang) for x in (events.build(s, {}), streams.build(s, {}))]
    return [*out, svg_timeline.svg(timeline_view.build(s, t, {}), lang)]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_names_from_files_never_become_markup(lang: str) -> None:
    pages = [parsed(html) for html in every_html(lang)]
    for p in pages:
        assert not p.found & {"script", "img"}
        assert not {a for a in p.attributes if a.startswith("on")}
    for shown in (pages[0], pages[2]):  # events and timeline show node names: as text, whole
        assert any(HOSTILE[0] in t for t in shown.text)


def test_json_in_a_page_cannot_close_its_element() -> None:
    text = safe_json({"a": list(HOSTILE), "b": "\u2028"})
    assert "<" not in text
    assert json.loads(text) == {"a": list(HOSTILE), "b": "\u2028"}


def test_svg_is_wellformed_xml() -> None:
    import xml.etree.ElementTree as ET

    s = moe_session()
    pictures = [svg_timeline.svg(timeline_view.build(s.trace.final, s.timeline, {}))]
    m = memory_map.build(s.trace.final, {}, timeline=s.timeline)
    assert m is not None
    pictures += [svg_memory.svg(m, "zh"), *[h for h in every_html("en") if h.startswith("<svg")]]
    for svg in pictures:
        root = ET.fromstring(svg)
        assert root.get("aria-label")


def slices(trace: dict[str, object]) -> list[dict[str, float]]:
    return [e for e in trace["traceEvents"] if e["ph"] == "X"]  # type: ignore[attr-defined, index]


def test_chrome_trace_has_no_two_overlapping_slices_on_a_track() -> None:
    s = moe_snapshot()
    t = moe_timeline(s.graph)
    touching = replace(t, start_ns=t.start_ns // 3, end_ns=t.start_ns // 3 + (t.end_ns - t.start_ns))
    for clock in (t, touching):
        rows = slices(chrome_trace.build(s, clock, {}))
        assert len(rows) == len(clock.node)
        for tid in {r["tid"] for r in rows}:
            spans = sorted((round(r["ts"] * 1000), round((r["ts"] + r["dur"]) * 1000)) for r in rows if r["tid"] == tid)
            assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_chrome_trace_times_are_relative_numbers_and_ids_small() -> None:
    s = moe_snapshot()
    t = moe_timeline(s.graph)
    late = replace(t, start_ns=t.start_ns + 10**15, end_ns=t.end_ns + 10**15)
    text = chrome_trace.to_text(s, late, {})
    got = json.loads(text)
    assert min(r["ts"] for r in slices(got)) == 0
    assert all(isinstance(e.get("id", 0), int) and e.get("id", 0) < 2**53 for e in got["traceEvents"])
    flows = [e for e in got["traceEvents"] if e["ph"] in "sf"]
    assert len(flows) == 4


def test_markdown_rows_keep_their_columns_whatever_the_names() -> None:
    s = hostile_snapshot(("a|b", "`x`", "<img src=x>", "中文"))
    text = markdown.build(Trace(s, ()), {})
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        columns = {len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}
        assert len(columns) == 1
    assert "\\<img" in text
    assert "Simulated, not measured" in text
