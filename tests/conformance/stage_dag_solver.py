"""Inner steps of the weighted solver, one GE function per case. State and arguments follow GE's field and parameter names."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from conformance.registry import Case, Report, Unsupported, handles
from ge_explorer.passes.streams.dag import simulation as sim
from ge_explorer.passes.streams.dag import weighted
from ge_explorer.passes.streams.dag.unit_times import (
    UnitTimes,
    WeightedState,
    bottom_ranks,
    origin_stream_hint,
    resource_profile,
    size_to_int32,
)
from ge_explorer.passes.streams.dag.units import (
    Candidate,
    MergeError,
    MergeOptions,
    Units,
    better,
    both_ways,
    compact,
    first_distinct,
    unit_dependencies,
    window_end,
)

SOLVER = "WeightedStreamMergeSolver::"
UNUSED = {"ressimspan_weight", "stage_var_weight", "event_weight", "time_imbalance_weight", "stream_count_weight"}
Steps = dict[str, Callable[[Case], dict[str, Any]]]
STEPS: Steps = {}


def step(*names: str) -> Callable[[Callable[[Case], dict[str, Any]]], Callable[[Case], dict[str, Any]]]:
    """Register a function that returns what the step gives, by the case's expectation keys."""

    def add(f: Callable[[Case], dict[str, Any]]) -> Callable[[Case], dict[str, Any]]:
        STEPS.update({SOLVER + n: f for n in names})
        return f

    return add


def check(case: Case, report: Report) -> None:
    """Every expected value against what the function gives; a value nobody computes is unsupported."""
    try:
        got = STEPS[case.run](case)
    except KeyError as e:
        raise Unsupported(f"{case.run.removeprefix(SOLVER)} without {e.args[0]}") from e
    for key, want in case.expect.items():
        if key not in got:
            raise Unsupported(f"{case.run.removeprefix(SOLVER)} gives no {key}")
        report.equal(key, got[key], want)


# ------------------------------------------------------------------ the given
def numbered(row: Mapping[str, Any]) -> dict[int, Any]:
    return {int(k): v for k, v in row.items()}


def named(row: Mapping[int, Any]) -> dict[str, Any]:
    return {str(k): v for k, v in row.items()}


def options_of(case: Case) -> MergeOptions:
    given = {k: v for k, v in case.call.get("options", {}).items() if k not in UNUSED}
    unknown = given.keys() - {f.name for f in fields(MergeOptions)}
    if unknown:
        raise Unsupported(f"solver option {sorted(unknown)[0]}")
    return MergeOptions(**{"candidate_limit": weighted.CANDIDATE_LIMIT, **given})


def times_of(case: Case) -> UnitTimes:
    s = case.call.get("solver", {})
    pred = [numbered(r) for r in s.get("unit_pred_edges", [])]
    succ = [numbered(r) for r in s.get("unit_succ_edges", [])]
    hints = s.get("unit_origin_stream_hint")
    given = case.call.get("origin_hint", {})
    aiv, aic = s.get("unit_total_aiv_time", []), s.get("unit_total_aic_time", [])
    return UnitTimes(
        s.get("max_level", 0),
        s.get("unit_total_duration", []),
        [dict(enumerate(row)) for row in s.get("unit_duration_hist", [])],
        s.get("unit_active_levels", []),
        both_ways(succ, pred),
        hints if hints is not None else [given.get(str(u), -1) for u in range(max(map(int, given), default=-1) + 1)],
        [a + b for a, b in zip(aiv, aic, strict=True)],
        [max(a, b) for a, b in zip(s.get("unit_peak_aiv", []), s.get("unit_peak_aic", []), strict=True)],
        s.get("unit_interaction", s.get("interaction", [])),
    )


def state_of(case: Case) -> WeightedState:
    given = {**case.call, **case.call.get("state", {})}
    counts = {k: numbered(v) for k, v in numbered(given.get("origin_counts", {})).items()}
    return WeightedState(
        list(given.get("assignment", [])),
        list(given.get("stream_total_durations", [])),
        [list(r) for r in given.get("stream_duration_hists", [])],
        given.get("active_stream_count", 0),
        counts,
    )


def nodes_of(case: Case) -> sim.SimulationNodes:
    s = case.call.get("solver", {})
    count = max(len(s.get(k, [])) for k in ("nodes", "node_to_unit", "node_durations", "topo_position"))
    nodes = sim.SimulationNodes(
        s.get("node_to_unit", [0] * count),
        s.get("topo_order", []),
        s.get("node_durations", []),
        s.get("node_bottom_ranks", []),
        s.get("preds", []),
    )
    if "topo_position" in s:
        nodes.position = list(s["topo_position"])
    return nodes


def merger_of(case: Case, *, simulated: bool = False) -> weighted.WeightedMerger:
    nodes = nodes_of(case) if simulated and case.call.get("solver", {}).get("node_to_unit") else None
    merger = weighted.WeightedMerger(times_of(case), state_of(case), options_of(case), nodes)
    args = case.call.get("args", {})
    merger.open_level(args.get("level", args.get("start_level", 0)))
    return merger


def after(merger: weighted.WeightedMerger, **extra: Any) -> dict[str, Any]:
    """State after a step, by GE's names."""
    state = merger.state
    return {
        "assignment": state.assignment,
        "stream_total_durations": state.duration,
        "stream_duration_hists": state.hist,
        "active_stream_count": state.active,
        "origin_counts": {str(k): named(v) for k, v in state.hints.items()},
        **extra,
    }


def args_of(case: Case, *names: str) -> Any:
    """The argument under the first of several names GE uses for it."""
    given = {**case.call, **case.call.get("args", {})}
    for name in names:
        if name in given:
            return given[name]
    raise KeyError(names[0])


def allow_new(case: Case) -> bool:
    return bool(args_of(case, "allow_new", "include_new_flow"))


# ---------------------------------------------------------------- comparisons
@step("RunningNodeGreater")
def running_node_greater(case: Case) -> dict[str, Any]:
    return {"return": [sim.RunningNode(*a).after(sim.RunningNode(*b)) for a, b in case.call["pairs"]]}


@step("RunningNodeHeap")
def running_node_heap(case: Case) -> dict[str, Any]:
    heap = [sim.RunningNode(*n) for n in args_of(case, "running", "nodes")]
    heapq.heapify(heap)
    return {"return": [heapq.heappop(heap).node for _ in range(len(heap))]}


@step("LiteScoreLess")
def lite_score_less(case: Case) -> dict[str, Any]:
    order = ("time_conflict", "event_local", "time_load", "candidate_stream")

    def candidate(s: Mapping[str, float]) -> Candidate:
        return Candidate(
            int(s.get("candidate_stream", 0)), False, s.get("total", 0.0), (), tuple(s.get(k, 0) for k in order)
        )

    return {"return": [better(candidate(a), candidate(b)) for a, b in case.call["pairs"]]}


@step("SelectOriginStreamHint")
def select_origin_hint(case: Case) -> dict[str, Any]:
    return {"return": origin_stream_hint(numbered(case.call["counts"]))}


@step("SizeToInt32")
def size(case: Case) -> dict[str, Any]:
    return {"return": [size_to_int32(v) for v in case.call["values"]]}


@step("CompactAssignment")
def compact_assignment(case: Case) -> dict[str, Any]:
    names = compact(case.call["assignment"])
    return {"return": [names[s] for s in case.call["assignment"]] if names else []}


# ----------------------------------------------------------------- candidates
@step("AdjacentAssignedFlows")
def adjacent(case: Case) -> dict[str, Any]:
    return {"return": named(merger_of(case).adjacent(args_of(case, "unit")))}


@step("AdjacentCandidateFlows")
def adjacent_candidates(case: Case) -> dict[str, Any]:
    m = merger_of(case)
    return {"return": m.by_count(m.adjacent(args_of(case, "unit")))}


@step("OriginHintFlows")
def origin_hints(case: Case) -> dict[str, Any]:
    return {"return": merger_of(case).origin_hinted(args_of(case, "unit"))}


@step("LightCandidateFlows")
def light(case: Case) -> dict[str, Any]:
    return {"return": merger_of(case).lightest()}


@step("UniqueLimitedCandidates")
def unique(case: Case) -> dict[str, Any]:
    return {"return": first_distinct(args_of(case, "candidates"), options_of(case).candidate_limit)}


@step("FallbackCandidateFlows")
def fallback(case: Case) -> dict[str, Any]:
    return {"return": merger_of(case).fallback(new=allow_new(case))}


@step("CandidateFlows")
def candidates(case: Case) -> dict[str, Any]:
    return {"return": merger_of(case).candidates(args_of(case, "unit"), new=allow_new(case))}


# --------------------------------------------------------------------- window
@step("WindowEnd")
def end_of_window(case: Case) -> dict[str, Any]:
    level = args_of(case, "level", "start_level")
    return {"return": window_end(times_of(case).max_level, level, options_of(case).window_width)}


@step("WindowMass", "StreamWindowDurationLoad")
def window_load(case: Case) -> dict[str, Any]:
    return {"return": merger_of(case).window_load(args_of(case, "stream", "physical_stream"))}


@step("WindowActiveLevels")
def window_levels(case: Case) -> dict[str, Any]:
    return {"return": list(merger_of(case).active_in_window(args_of(case, "unit")))}


# ------------------------------------------------------------ score and moves
@step("EvaluateLiteScore")
def evaluate(case: Case) -> dict[str, Any]:
    (c,) = merger_of(case).score(args_of(case, "unit"), [args_of(case, "candidate_stream", "stream", "candidate")])
    conflict, events, load, stream = c.ties
    return {
        "total": c.total, "time_conflict": conflict, "event_local": events, "time_load": load, "candidate_stream": stream,
    }  # fmt: skip


@step("ApplyUnitToStream")
def apply(case: Case) -> dict[str, Any]:
    m = merger_of(case)
    stream = args_of(case, "candidate_stream", "stream", "candidate")
    opens = stream == m.state.active
    m.place(args_of(case, "unit"), stream)
    return after(m, **{"return": opens})


@step("RemoveUnitFromStream")
def remove(case: Case) -> dict[str, Any]:
    m = merger_of(case)
    return after(m, **{"return": m.remove(args_of(case, "unit"))})


@step("SelectBestStream")
def select_best(case: Case) -> dict[str, Any]:
    """With GE's simulation of the best candidates; without it the choice is the same wherever the simulation runs through."""
    unit, streams = args_of(case, "unit"), args_of(case, "candidates", "candidate_flows")
    m = merger_of(case, simulated=True)
    return after(m, **{"return": m.choose(unit, m.score(unit, streams)).stream})


@step("RepairRecentUnits")
def repair(case: Case) -> dict[str, Any]:
    m = merger_of(case, simulated=True)
    m.repair(args_of(case, "recent_units"), args_of(case, "level"))
    return after(m)


# ------------------------------------------------------------------- profiles
@step("BuildResourceUnitProfile", "BuildUnitActiveLevels")
def profile(case: Case) -> dict[str, Any]:
    s = case.call["solver"]
    count = len(s["node_durations"])
    none = [0] * count
    p = resource_profile(
        s["units"][args_of(case, "unit")], s["levels"], s["node_durations"], s.get("node_aiv_cores", none),
        s.get("node_aic_cores", none), s.get("node_origin_stream_hints", none),
    )  # fmt: skip
    return {
        "total_duration": p.duration, "total_aiv_time": p.aiv_time, "total_aic_time": p.aic_time, "peak_aiv": p.peak_aiv,
        "peak_aic": p.peak_aic, "origin_hint": p.origin_hint, "active_levels": list(p.active_levels),
    }  # fmt: skip


@step("BuildUnitDependencyGraph")
def dependencies(case: Case) -> dict[str, Any]:
    succ, pred, interaction = unit_dependencies(case.call["node_to_unit"], map(tuple, case.call["edges"]))  # type: ignore[arg-type]
    return {"succ": [named(r) for r in succ], "pred": [named(r) for r in pred], "interaction": interaction}


@step("ComputeBottomRanks")
def ranks(case: Case) -> dict[str, Any]:
    s = case.call["solver"]
    found = bottom_ranks(s["topo_order"], s["succs"], s["node_durations"])
    return {"return": found, "node_bottom_ranks": found}


@step("Solve")
def solve(case: Case) -> dict[str, Any]:
    """An empty graph; the mapping is a new one, whatever it was before."""
    return {"status": "success", "mapping": list(weighted.merge([], [], options_of(case), [], [], []).mapping)}


@step("BuildUnitProfile")
def unit_profile(case: Case) -> dict[str, Any]:
    s = case.call["solver"]
    routes, levels = case.call["routes"], s["levels"]
    succ: list[list[int]] = [[] for _ in levels]
    try:
        units = Units(succ, routes)
    except MergeError:
        return {"status": "failed"}
    nodes = sorted(units.paths[args_of(case, "route")], key=lambda i: s["topo_position"][i])
    return {
        "status": "success", "node_indices": nodes, "earliest_level": min(levels[i] for i in nodes),
        "latest_level": max(levels[i] for i in nodes),
    }  # fmt: skip


# ----------------------------------------------------------------- simulation
def flags(members: set[int], count: int) -> list[int]:
    return [int(i in members) for i in range(count)]


@step("BuildSimulationNodeStreams")
def sim_streams(case: Case) -> dict[str, Any]:
    found = sim.node_streams(nodes_of(case), args_of(case, "assignment"), full=args_of(case, "require_full"))
    if found is None:
        return {"return": -1}
    active = [int(s >= 0) for s in found]
    return {"return": sum(active), "node_streams": found, "active": active}


@step("BuildSimulationQueues", "BuildSimulationFilteredPreds")
def sim_prepared(case: Case) -> dict[str, Any]:
    active = args_of(case, "active", "active_mask")
    streams = case.call.get("args", {}).get("node_streams", [0] * len(active))
    run = sim.new_simulation(nodes_of(case), [s if on else -1 for s, on in zip(streams, active, strict=True)])
    queues = {str(s): list(q) for s, q in run.queues.items()}
    preds = [list(r) for r in run.preds]
    return {"return": queues if case.run.endswith("Queues") else preds, "queues": queues, "filtered_preds": preds}


def given_run(case: Case) -> sim.Simulation:
    """A simulation in the state the case names."""
    given = {**case.call, **case.call.get("state", {}), **case.call.get("args", {}), **case.call.get("context", {})}
    running = [sim.RunningNode(*n) for n in given.get("running", [])]
    heapq.heapify(running)
    queues = given.get("queues", given.get("stream_to_queue", {}))
    streams = given.get("node_streams", [])
    busy_flags = given.get("running_in_stream", [])
    busy = {i for i, on in enumerate(busy_flags) if on} or {streams[n.node] for n in running}
    if not streams:
        streams = sorted_streams(queues)
    return sim.Simulation(
        streams,
        {int(k): deque(v) for k, v in queues.items()},
        given.get("filtered_preds", [[] for _ in streams]),
        {i for i, on in enumerate(given.get("finished", [])) if on},
        busy,
        running,
        given.get("current_time", 0.0),
        given.get("executed_count", 0),
    )


def sorted_streams(queues: Mapping[str, Sequence[int]]) -> list[int]:
    """Stream of each queued node, by node index."""
    of = {i: int(s) for s, q in queues.items() for i in q}
    return [of.get(i, -1) for i in range(max(of, default=-1) + 1)]


def after_run(run: sim.Simulation, **extra: Any) -> dict[str, Any]:
    return {
        "executed_count": run.executed,
        "current_time": run.now,
        "finished": flags(run.finished, len(run.streams)),
        "running_in_stream": flags(run.busy, max(run.streams, default=-1) + 1),
        "running": [n.node for n in sorted(run.running)],
        **extra,
    }


@step("FinishNextSimulationNodes")
def sim_finish(case: Case) -> dict[str, Any]:
    run = given_run(case)
    sim.finish_next(run)
    return after_run(run)


@step("SimulationReadyHeads")
def sim_ready(case: Case) -> dict[str, Any]:
    found = sim.ready_heads(nodes_of(case), given_run(case))
    return {"return": found, "ready": found}


@step("AreSimulationPredsFinished")
def sim_preds_finished(case: Case) -> dict[str, Any]:
    run = given_run(case)
    return {"return": run.finished.issuperset(run.preds[args_of(case, "node", "node_index")])}


@step("SortSimulationReadyHeads")
def sim_sort(case: Case) -> dict[str, Any]:
    found = sim.sort_ready(nodes_of(case), args_of(case, "ready", "ready_heads"))
    return {"ready": found, "return": found}


@step("StartSimulationReadyHead")
def sim_start(case: Case) -> dict[str, Any]:
    run = given_run(case)
    started = sim.start_head(nodes_of(case), run, args_of(case, "ready", "ready_heads"))
    return after_run(run, **{"return": started})


@step("RunSimulationStep")
def sim_step(case: Case) -> dict[str, Any]:
    run = given_run(case)
    went_on = sim.run_step(nodes_of(case), run)
    return after_run(run, **{"return": went_on})


@step("BuildAndRunSimulation", "SimulateAssignment")
def simulate(case: Case) -> dict[str, Any]:
    span = sim.makespan(nodes_of(case), args_of(case, "assignment"), full=args_of(case, "require_full"))
    return {"feasible": span is not None, "makespan": span or 0.0}


handles(*STEPS)(check)
