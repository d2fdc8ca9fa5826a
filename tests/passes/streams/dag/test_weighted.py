"""The weighted solver step by step, its simulation, and the claim that the simulation never changes a choice."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.passes.streams.dag import simulation as sim
from ge_explorer.passes.streams.dag import weighted
from ge_explorer.passes.streams.dag.allocator import default_options
from ge_explorer.passes.streams.dag.path_cover import match_successors, routes
from ge_explorer.passes.streams.dag.unit_times import (
    UnitTimes,
    WeightedState,
    bottom_ranks,
    origin_stream_hint,
    resource_profile,
)
from ge_explorer.passes.streams.dag.units import MergeError, MergeOptions, Units
from tests.passes.streams.dag.dags import dags

OPTIONS = MergeOptions(physical_stream_limit=4, candidate_limit=4, light_stream_limit=2)


def times(**changes: object) -> UnitTimes:
    """Two units of 10 and 1 µs: the first on levels 0 and 2, the second on level 1."""
    base: dict[str, object] = {
        "max_level": 2, "duration": [10.0, 1.0], "hist": [{0: 5.0, 2: 5.0}, {1: 1.0}], "active_levels": [[0, 2], [1]],
        "neighbours": [{}, {}], "origin_hint": [-1, -1],
    }  # fmt: skip
    return UnitTimes(**{**base, **changes})  # type: ignore[arg-type]


def test_hinted_streams_come_before_light_ones() -> None:
    state = WeightedState(
        [-1, -1], [8.0, 4.0, 2.0, 0.0], [[3.0, 0, 0], [2.0, 0, 0], [1.0, 0, 0], [0.0, 0, 0]], 3, {9: {0: 1, 1: 2, 2: 1}}
    )
    m = weighted.WeightedMerger(times(origin_hint=[9, -1]), state, OPTIONS)
    assert m.candidates(0, new=True) == [1, 2, 0, 3]


def test_neighbours_then_light_then_new_cut_at_the_limit() -> None:
    state = WeightedState(
        [0, 2], [8.0, 1.0, 3.0, 0.0], [[4.0, 4.0, 0], [1.0, 0, 0], [2.0, 0, 1.0], [0.0, 0, 0]], active=3
    )
    options = MergeOptions(physical_stream_limit=4, candidate_limit=3, light_stream_limit=2)
    m = weighted.WeightedMerger(times(neighbours=[{1: 3}, {0: 2}]), state, options)
    assert m.adjacent(1) == {0: 2}
    assert m.lightest() == [1, 2]
    assert m.candidates(0, new=True) == [2, 1, 3]


def test_fallback_streams() -> None:
    options = MergeOptions(physical_stream_limit=3, candidate_limit=2)
    assert weighted.WeightedMerger(times(), WeightedState([], active=1), options).fallback(new=True) == [1]
    assert weighted.WeightedMerger(times(), WeightedState([], active=3), options).fallback(new=False) == [0, 1]


def test_a_window_without_activity_looks_at_all_active_levels() -> None:
    m = weighted.WeightedMerger(times(), WeightedState([-1, -1]), MergeOptions(window_width=2))
    m.open_level(1)
    assert list(m.active_in_window(0)) == [2]
    m.open_level(2)
    assert list(m.active_in_window(1)) == [1]


def test_score_place_and_remove_keep_the_counters() -> None:
    state = WeightedState([-1, 1], [3.0, 2.0, 0.0], [[1.0, 1.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], active=2)
    units = times(neighbours=[{1: 3}, {0: 5}], origin_hint=[7, 9])
    m = weighted.WeightedMerger(units, state, MergeOptions(physical_stream_limit=3, window_width=3))
    (c,) = m.score(0, [2])
    assert c.is_new
    assert c.ties == (0.0, 3, 10.0, 2)
    assert c.total == 3 * 3 + 2 * 10 + 2
    m.place(0, 2)
    assert (state.active, state.assignment, state.duration[2], state.hints) == (3, [2, 1], 10.0, {7: {2: 1}})
    assert m.remove(0) == 2
    assert (state.active, state.assignment, state.duration[2], state.hints) == (3, [-1, 1], 0.0, {})
    assert m.remove(0) == -1


def test_repair_moves_only_what_gains() -> None:
    units = UnitTimes(0, [10.0, 1.0], [{0: 10.0}, {0: 1.0}], [[0], [0]], [{}, {}], [-1, -1])
    options = MergeOptions(physical_stream_limit=2, candidate_limit=2, light_stream_limit=2, repair_moves=5)
    crowded = weighted.WeightedMerger(units, WeightedState([0, 0], [11.0, 0.0], [[11.0], [0.0]], 2), options)
    (move,) = crowded.repair([0], 0)
    assert crowded.assignment == [1, 0]
    assert move.gain == pytest.approx(4 * 10 + 2)
    apart = weighted.WeightedMerger(units, WeightedState([0, 1], [10.0, 1.0], [[10.0], [1.0]], 2), options)
    assert apart.repair([0, 1], 0) == []
    assert apart.assignment == [0, 1]


def test_profile_of_a_unit() -> None:
    p = resource_profile([0, 1], [0, 1, 1], [2.0, 5.0, 3.0], [1, 2, 3], [2, 1, 1], [4, 4, 2])
    assert (p.duration, p.aiv_time, p.aic_time, p.peak_aiv, p.peak_aic) == (7.0, 12.0, 9.0, 2, 2)
    assert (p.origin_hint, p.active_levels) == (4, (0, 1))
    assert origin_stream_hint({}) == -1


def test_most_blocks_of_a_unit_are_those_of_its_busier_core_kind() -> None:
    """Equal time, equal block-time: 3 blocks of one kind beat 2 of each, though both add up to 4."""
    assert merged_order([10.0, 10.0], vec=[2, 1], cube=[2, 3]) == [1, 0]


def merged_order(time: list[float], vec: list[int], cube: list[int]) -> list[int]:
    n = len(time)
    result = weighted.merge([[]] * n, [(i,) for i in range(n)], default_options("WeightedLoadBalance"), time, vec, cube)
    return [p.unit for p in result.placements]


def test_order_inside_a_level() -> None:
    assert merged_order([1.0, 5.0, 3.0], vec=[0, 0, 0], cube=[0, 0, 0]) == [1, 2, 0]
    assert merged_order([1.0, 1.0], vec=[0, 1], cube=[0, 0]) == [1, 0], "more block-time first"


def test_huge_block_numbers_are_cut_to_32_bits() -> None:
    assert merged_order([1.0, 1.0], vec=[1 << 63, (1 << 64) - 1], cube=[0, 0]) == [0, 1], "both count as the same"


@pytest.mark.parametrize(
    ("paths", "word"), [([()], "no node"), ([(0,), (0,)], "two units"), ([(3,)], "not exist"), ([(0,)], "no unit")]
)
def test_units_gone_wrong(paths: list[tuple[int, ...]], word: str) -> None:
    with pytest.raises(MergeError, match=word):
        Units([[1], []], paths)


@pytest.mark.parametrize(
    ("name", "value", "refused_by"),
    [
        ("window_width", 0, {"LoadBalance", "MainStream", "WeightedLoadBalance"}),
        ("repair_moves", -1, {"LoadBalance", "MainStream", "WeightedLoadBalance"}),
        ("light_stream_limit", 0, {"LoadBalance", "WeightedLoadBalance"}),
        ("low_conflict_limit", 0, {"MainStream"}),
        ("main_stream", -1, {"MainStream"}),
        ("resim_candidate_limit", -1, {"WeightedLoadBalance"}),
    ],
)
def test_each_strategy_checks_its_own_options(name: str, value: int, refused_by: set[str]) -> None:
    found = set()
    for strategy in ("LoadBalance", "MainStream", "WeightedLoadBalance"):
        try:
            MergeOptions(**{name: value}).check(strategy)
        except MergeError:
            found.add(strategy)
    assert found == refused_by


# ----------------------------------------------------------------- simulation
NODES = sim.SimulationNodes([0, 1, 2], [0, 1, 2], [5.0, 3.0, 3.0], [8.0, 3.0, 3.0], [[], [0], []])


def test_running_nodes_leave_by_end_position_and_index() -> None:
    heap = [sim.RunningNode(*n) for n in ((3.0, 0, 0), (1.0, 2, 0), (1.0, 1, 3), (1.0, 1, 2))]
    heapq.heapify(heap)
    assert [heapq.heappop(heap).node for _ in range(4)] == [2, 3, 0, 0]


def test_makespan_is_the_sum_of_times_because_one_node_starts_per_step() -> None:
    assert sim.makespan(NODES, [0, 1, 0], full=True) == 11.0
    assert sim.makespan(NODES, [0, 1, 2], full=True) == 11.0, "three streams are no faster"
    assert sim.makespan(NODES, [0, -1, 0], full=True) is None
    assert sim.makespan(NODES, [0, -1, 0]) == 8.0
    assert sim.makespan(NODES, [-1, -1, -1]) == 0.0


def test_a_cycle_cannot_be_simulated_and_the_best_score_stands() -> None:
    stuck = sim.SimulationNodes([0, 1], [0, 1], [10.0, 1.0], [11.0, 1.0], [[1], [0]])
    assert sim.makespan(stuck, [0, 0]) is None
    m = weighted.WeightedMerger(
        times(neighbours=[{1: 3}, {0: 2}]), WeightedState([-1, 0], [1.0], [[0, 1.0, 0]], 1), OPTIONS, stuck
    )
    scored = m.score(0, [0, 1])
    assert m.choose(0, scored).stream == 0


def test_ready_heads_skip_busy_streams_and_waiting_nodes() -> None:
    nodes = sim.SimulationNodes([0] * 5, range(5), [0.0, 1.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 4.0, 4.0], [[]] * 5)
    run = sim.new_simulation(nodes, [0, 1, 2, 3, 4])
    run.queues[0].clear()
    run.preds = [[], [0], [], [], []]
    run.busy = {2}
    assert sim.ready_heads(nodes, run) == [4, 3]
    assert not sim.start_head(nodes, run, [0]), "not at the head of its queue"
    assert sim.start_head(nodes, run, [])
    assert not run.running


def test_bottom_ranks_are_the_longest_way_to_the_end() -> None:
    assert bottom_ranks([0, 1, 2, 3], [[1, 2], [3], [3], []], [1.0, 2.0, 5.0, 1.0]) == [7.0, 3.0, 6.0, 1.0]


@settings(max_examples=60, deadline=None)
@given(dags(max_nodes=14), st.data())
def test_simulating_never_changes_a_choice(succ: list[list[int]], data: st.DataObject) -> None:
    n = len(succ)
    time = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.25, 60.0]), min_size=n, max_size=n))
    blocks = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    options = MergeOptions(
        physical_stream_limit=data.draw(st.integers(1, 5)), candidate_limit=8, repair_moves=data.draw(st.integers(0, 2))
    )
    paths = routes(match_successors(succ))
    plain = weighted.merge(succ, paths, options, time, blocks, blocks)
    assert weighted.merge(succ, paths, options, time, blocks, blocks, simulate=True).mapping == plain.mapping
