"""Row 7: makespan of the best built-in plan on K streams over max(critical path, work / K), beside HEFT on K equal processors.

Durations are our model's; dispatch and events cost nothing and cores are not limited, so the figures compare plans alone. A plan of
GE is one of its modes with at most K streams under one of its four sort modes, in its order; ours is ``list-schedule:K``. HEFT may
use any order too. The bound of the row is the simple one; the gap that ``list-schedule`` proves is shown beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import ge_explorer as gx
from ge_explorer.device.chips import CHIPS
from ge_explorer.graph.model import Graph
from ge_explorer.passes.streams.concurrency import task_graph
from ge_explorer.passes.streams.schedule.bound import lower_bound
from ge_explorer.passes.streams.schedule.problem import Problem
from ge_explorer.simulator import IDEAL, build_program, simulate_program
from ge_explorer.trace.state import Snapshot
from tests.bench.memory import Figure
from tests.bench.orders import NO_MEMORY, geometric, graphs

CHIP = CHIPS["Ascend910B1"]
WORK = 200_000
"""Tasks placed by the moves of our search; the mode's own default is smaller."""
MODES = ("", "cv", "LoadBalance", "MainStream", "WeightedLoadBalance")


def heft(ns: list[int], pred: tuple[tuple[int, ...], ...], k: int) -> int:
    """Makespan of HEFT: tasks by upward rank, each into the earliest hole of any processor. No communication cost."""
    succ: list[list[int]] = [[] for _ in ns]
    for v, row in enumerate(pred):
        for u in row:
            succ[u].append(v)
    rank = [0] * len(ns)
    for v in reversed(range(len(ns))):
        rank[v] = ns[v] + max((rank[w] for w in succ[v]), default=0)
    end = [0] * len(ns)
    busy: list[list[tuple[int, int]]] = [[] for _ in range(k)]
    for v in sorted(range(len(ns)), key=lambda v: (-rank[v], v)):
        ready = max((end[u] for u in pred[v]), default=0)
        best = None
        for m, spans in enumerate(busy):
            at, place = ready, len(spans)
            # Holes lie behind what was placed; look back from the end to the task's ready time.
            first = len(spans)
            while first and spans[first - 1][1] > ready:
                first -= 1
            for j in range(first, len(spans)):
                if spans[j][0] - at >= ns[v]:
                    place = j
                    break
                at = max(at, spans[j][1])
            if best is None or at < best[0]:
                best = (at, m, place)
        assert best is not None
        at, m, place = best
        busy[m].insert(place, (at, at + ns[v]))
        end[v] = at + ns[v]
    return max(end, default=0)


@dataclass(frozen=True)
class Plans:
    """Makespans in ns on at most K streams: best plan of GE, ours, HEFT; the simple bound and the one ours proves."""

    ge: int
    ours: int
    heft: int
    bound: int
    proven: int


def makespan(s: Snapshot) -> int:
    """Simulated length with free events and dispatch and any number of cores."""
    p = build_program(s, CHIP, launch=IDEAL)
    return simulate_program(replace(p, tasks=tuple(replace(t, aic=0, aiv=0) for t in p.tasks)), CHIP).makespan_ns


def plans(g: Graph, k: int) -> Plans:
    """All plans of a graph."""
    best = bound = theirs = proven = 0
    for sort in "0123":
        for mode in MODES:
            value = f"{mode}:{k}" if mode.endswith(("Balance", "Stream")) else mode
            options = {"ge.topoSortingMode": sort, **({"ge.autoMultistreamParallelMode": value} if value else {})}
            trace = gx.compile(g, pipeline=NO_MEMORY, options=options)
            s = trace.final
            if trace.failed is not None or s.streams is None or s.streams.count > k:
                continue
            length = makespan(s)
            best = min(best or length, length)
            if not theirs:
                tasks = task_graph(s)
                of = {t.node: t.ns for t in build_program(s, CHIP, launch=IDEAL).tasks}
                ns = [of.get(v, 0) for v in tasks.nodes]
                path = [0] * len(ns)
                for v, row in enumerate(tasks.pred):
                    path[v] = ns[v] + max((path[u] for u in row), default=0)
                bound = max(max(path, default=0), -(-sum(ns) // k))
                theirs = heft(ns, tasks.pred, k)
                proven = lower_bound(Problem.of(ns, tasks.pred, k)).ns
    options = {"gx.streamMode": f"list-schedule:{k}", "gx.scheduleCosts": "free"}
    ours = gx.compile(g, pipeline=f"{NO_MEMORY},list-schedule{{work={WORK}}}", options=options)
    assert ours.failed is None
    assert ours.final.streams is not None
    assert ours.final.streams.count <= k
    length = makespan(ours.final)
    assert proven <= length <= min(best, theirs)
    return Plans(best, length, theirs, bound, proven)


def figures() -> list[Figure]:
    """Geometric mean and worst of the ratio for K = 2 and 4, ours and HEFT's; how often ours is above HEFT; the proven gap."""
    rows: list[Figure] = []
    for k in (2, 4):
        found = [p for _, g in graphs(3) if (p := plans(g, k)).bound]
        ge, ours, theirs = ([x / p.bound for x, p in zip(m, found, strict=True)] for m in (
            [p.ge for p in found], [p.ours for p in found], [p.heft for p in found]
        ))  # fmt: skip
        gap = [p.ours / p.proven for p in found]
        worse = sum(p.ours > p.heft for p in found)
        rows += [
            (f"makespan / bound, K = {k}, geo", geometric(ours), geometric(theirs), "x", "<= HEFT, <= 1.07"),
            (f"makespan / bound, K = {k}, worst", max(ours), max(theirs), "x", "<= HEFT"),
            (f"makespan / proven bound, K = {k}, geo", geometric(gap), None, "x", ""),
            (f"makespan / proven bound, K = {k}, worst", max(gap), None, "x", ""),
            (f"graphs above HEFT, K = {k}, of {len(ours)}", float(worse), None, "", "0"),
            (f"best mode of GE / bound, K = {k}, geo", geometric(ge), geometric(theirs), "x", ""),
        ]
    return rows
