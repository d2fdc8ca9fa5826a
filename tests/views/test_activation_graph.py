"""Activation graph: who starts which stream by which mechanism, heads start with the model, boxes never overlap."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ge_explorer.session import Session
from ge_explorer.views import activation_graph
from ge_explorer.views.activation_html import activation_html
from ge_explorer.views.activation_layout import BOX_H, place
from tests.views.activation_cases import SPLIT, split_moe, switches
from tests.views.panel_cases import wide_snapshot
from tests.views.test_stream_load import letters


def picture(s: Session) -> activation_graph.ActivationPicture:
    found = activation_graph.build(s.trace.final, letters(s))
    assert found is not None
    return found


def told(p: activation_graph.ActivationPicture) -> list[tuple[str, str, str, int, list[int]]]:
    return [
        (a.name, a.kind, a.detail, p.boxes[a.home].stream, [p.boxes[t].stream for t in a.targets]) for a in p.activators
    ]


def test_label_switch_and_loop_are_told_apart() -> None:
    p = picture(switches())
    assert told(p) == [
        ("start", "label", "P", 3, [0]), ("switch", "switch", "L", 3, [1]), ("round_end", "switch", "R", 3, [2]),
        ("again", "loop", "", 2, [3]),
    ]  # fmt: skip
    assert [p.boxes[k].stream for k in p.heads] == [3], "what only a loop starts again begins with the model"


def test_after_the_split_a_switch_reaches_the_parts_through_its_stream_active() -> None:
    p = picture(switches(SPLIT))
    branch = next(a for a in p.activators if a.kind == "branch")
    assert [p.boxes[t].stream for t in branch.targets] == [1, 4]
    assert [p.boxes[t].part.en for t in branch.targets] == ["part 1 of 2", "part 2 of 2"]
    assert p.boxes[branch.home].stream == 5
    switch = next(a for a in p.activators if a.name == "switch")
    assert [p.boxes[t].stream for t in switch.targets] == [5]


def test_unstarted_streams_all_start_with_the_model() -> None:
    p = picture(split_moe())
    assert p.activators == ()
    assert len(p.heads) == len(p.boxes) == 5
    assert "5 streams start with the model." in p.alt.en


@pytest.mark.parametrize("case", ["switches", "split switches", "moe", "wide"])
def test_boxes_do_not_overlap_and_only_loops_run_back(case: str) -> None:
    if case == "wide":
        found = activation_graph.build(wide_snapshot(3000, 500), {})
        assert found is not None
        p = found
    else:
        p = picture({"switches": switches(), "split switches": switches(SPLIT), "moe": split_moe()}[case])
    lay = place(p)
    for a in lay.spots:
        assert a.x + a.w <= lay.width
        assert 0 <= a.y <= lay.height - BOX_H
    columns: dict[int, list[int]] = {}
    for a in lay.spots:
        columns.setdefault(a.x, []).append(a.y)
    assert all(b - a >= BOX_H + 6 for ys in columns.values() for a, b in pairwise(sorted(ys)))
    for w in lay.wires:
        src, dst = lay.spots[w.src], lay.spots[w.dst]
        assert w.points[0] == (src.x + src.w, src.y + BOX_H // 2)
        assert w.back == (dst.x < src.x + src.w)
        if w.back:
            assert p.activators[src.index].kind == "loop"
    assert len(lay.spots) <= 90


def test_html_names_every_mechanism_and_escapes_names() -> None:
    p = picture(switches(SPLIT))
    html = activation_html(p)
    for word in (
        "label P",
        "switch R",
        "branch of a switch",
        "loop",
        "SetActiveStreamsForLoop",
        "and again in every round",
    ):
        assert word in html
    assert 'data-ref="part:4"' in html
    assert "循环" in activation_html(p, "zh")


def test_before_events_the_picture_says_that_nothing_is_known() -> None:
    s = switches()
    early = activation_graph.build(s.trace.step("plan-memory").after, {})
    assert early is not None
    assert "nothing is known at this step" in early.notes[0].en
    assert activation_graph.build(s.trace.initial, {}) is None
