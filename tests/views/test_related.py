"""Related references: one click, every view; and the view state's round trips."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.errors import OptionError
from ge_explorer.ids import Ref
from ge_explorer.views.related import related
from ge_explorer.views.selection_state import LAYOUTS, TABS, SelectionState
from tests.views import small_trace

T = small_trace.trace()
TL = small_trace.timeline(T)
AT = T.final.graph.by_name


def test_node_brings_stream_events_buffers_tasks() -> None:
    r = related(T, [Ref("node", AT["post_norm"])], timeline=TL)
    assert (r.nodes, r.streams, r.events, r.buffers, r.tasks) == ((AT["post_norm"],), (1,), (0,), (0,), (0,))


def test_event_brings_both_ends() -> None:
    r = related(T, [Ref("event", 2)], timeline=TL)
    assert set(r.nodes) == {AT[small_trace.EVIL], AT["add"]}
    assert r.streams == (0, 1)
    assert len(r.tasks) == 2


def test_stream_brings_its_nodes_only() -> None:
    r = related(T, [Ref("stream", 0)], timeline=TL)
    assert set(r.nodes) == {AT["sh.quant"], AT[small_trace.EVIL]}
    assert r.events == (0, 2)
    assert r.tasks == (1, 2)


def test_buffer_brings_writer_and_readers() -> None:
    r = related(T, [Ref("buffer", 1)])
    assert set(r.nodes) == {AT["gate"], AT["gmm1"]}
    assert r.streams == (1,)


def test_task_and_node_are_the_same_thing() -> None:
    assert related(T, [Ref("task", 3)], timeline=TL).refs == related(T, [Ref("node", AT["gate"])], timeline=TL).refs


def test_what_does_not_exist_is_ignored() -> None:
    refs = [Ref("node", 999), Ref("event", 77), Ref("event", 1), Ref("stream", 9), Ref("buffer", 50), Ref("task", 99)]
    assert related(T, refs, timeline=TL).refs == ()
    assert related(T, [Ref("event", 1)], step=5).events == (1,)


REFS = st.builds(Ref, st.sampled_from(["node", "event", "stream", "buffer", "task"]), st.integers(0, 10**6))
STATES = st.builds(
    SelectionState,
    step=st.integers(-1, 500), compare=st.integers(-2, 500), selected=st.lists(REFS, max_size=5).map(tuple),
    window=st.none() | st.integers(0, 10**9).map(lambda a: (a, a + 7)), tick=st.none() | st.integers(0, 9),
    query=st.text(max_size=30),
    strength=st.sampled_from(["", "single", "C2"]), disabled=st.frozensets(st.sampled_from(["a", "topological-sort#2"])),
    options=st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3), chip=st.sampled_from(["", "Ascend910B1"]),
    lang=st.sampled_from(["en", "zh"]), layout=st.sampled_from(LAYOUTS), tab=st.sampled_from(TABS),
)  # fmt: skip


@settings(derandomize=True, max_examples=60, deadline=None)
@given(STATES)
def test_state_survives_json_and_share_text(state: SelectionState) -> None:
    assert SelectionState.from_json(state.to_json()) == state
    assert SelectionState.from_share(state.to_share()) == state
    assert hash(SelectionState.from_share(state.to_share())) == hash(state)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gx1.",
        "gx1.@@@",
        "gx2.abc",
        SelectionState(step=3, query="x" * 50).to_share()[:-9],
        "gx1.eJw",
        "gx1.AAAA",
        "gx1.éNqrrg",
    ],
)
def test_damaged_share_text_is_an_option_error(text: str) -> None:
    with pytest.raises(OptionError):
        SelectionState.from_share(text)


@pytest.mark.parametrize(
    "data",
    [
        {"step": "x"},
        {"selected": ["node"]},
        {"selected": "node:1"},
        {"lang": "fr"},
        {"window": [3]},
        {"nope": 1},
        {"tab": 3},
        {"step": -5},
    ],
)
def test_unusable_fields_are_named(data: dict) -> None:
    with pytest.raises(OptionError):
        SelectionState.from_dict(data)
