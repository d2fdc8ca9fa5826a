"""From a compiled snapshot to tasks: issue order, markers, events, activation, unordered states."""

from __future__ import annotations

import pytest

from ge_explorer import api, examples
from ge_explorer.device.chips import chip_named
from ge_explorer.simulator import IDEAL, build_program, simulate, simulate_program
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.simulator.verify import verify
from ge_explorer.trace.state import SYNC_OPS, Snapshot


def ends_before(s: Snapshot, t: Timeline) -> list[tuple[int, int]]:
    """Dependencies of the graph that the timeline breaks; knows nothing of streams and events."""
    row = {int(n): i for i, n in enumerate(t.node)}
    return [(a, b) for a, b in s.graph.dependencies if a in row and b in row and t.end_ns[row[a]] > t.start_ns[row[b]]]


@pytest.mark.parametrize("name", examples.names())
@pytest.mark.parametrize("mode", ["default", "single", "cv", "LoadBalance:4"])
def test_every_example_in_every_mode(name: str, mode: str) -> None:
    trace = api.compile(name, mode=mode)
    if trace.failed is not None:
        pytest.skip(f"{name} does not compile as {mode}: {trace.failed.error}")  # labels in single-stream mode: E10055
    s = trace.final
    t = simulate(s)
    assert verify(build_program(s, chip_named()), t) == []
    assert ends_before(s, t) == []
    assert s.streams is not None
    assert sorted(t.node.tolist()) == [n.id for n in s.graph if s.streams.node[n.id] >= 0 and n.op not in SYNC_OPS]


def test_states_before_events_and_before_streams() -> None:
    trace = api.compile("three_stream_crossing")
    early = trace.final.evolve(sync=None)
    t = simulate(early)
    assert any("not inserted yet" in n for n in t.notes)
    assert ends_before(early, t) == []
    bare = trace.final.evolve(sync=None, streams=None)
    assert set(simulate(bare).stream.tolist()) == {0}


def test_unordered_streams_really_run_at_once() -> None:
    """Events matter: without them the same streams break dependencies, and the check on the graph sees it."""
    trace = api.compile("three_stream_crossing")
    sync = trace.final.sync
    assert sync is not None and sync.events
    from dataclasses import replace

    broken = trace.final.evolve(sync=replace(sync, events=()))
    assert ends_before(broken, simulate(broken))


def test_markers_keep_their_place_without_time() -> None:
    s = api.compile("attention_block").final
    t = simulate(s)
    names = [s.graph.unique_names[int(n)] for n in t.node]
    views = [i for i, n in enumerate(t.node) if s.graph.node(int(n)).op in ("Reshape", "NetOutput")]
    assert views
    assert all(t.start_ns[i] == t.end_ns[i] for i in views)
    assert len(names) == len(set(names))
    assert any("zero-duration" in n for n in t.notes)


def test_launch_costs_are_optional_and_only_add_time() -> None:
    s = api.compile("chain").final
    ideal = simulate(s, launch=IDEAL)
    assert ideal.makespan_ns == sum(ideal.busy_ns(k) for k in set(ideal.stream.tolist()))
    assert simulate(s).makespan_ns > ideal.makespan_ns


def test_chip_changes_the_timeline_and_is_named() -> None:
    s = api.compile("attention_block").final
    big, small = simulate(s, "Ascend910B1"), simulate(s, "Ascend310P3")
    assert small.makespan_ns > big.makespan_ns
    assert (small.chip, small.total_aic, small.total_aiv) == ("Ascend310P3", 8, 0)
    assert simulate(s, "Ascend910B").chip == "Ascend910B1"


def test_program_and_shortcut_agree() -> None:
    s = api.compile("fork_join").final
    chip = chip_named()
    assert simulate_program(build_program(s, chip), chip).end_ns.tolist() == simulate(s).end_ns.tolist()
