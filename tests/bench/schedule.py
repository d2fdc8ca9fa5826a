"""Row 7: makespan of the best built-in plan on K streams over max(critical path, work / K), beside HEFT on K equal processors.

Durations are our model's; dispatch and events cost nothing and cores are not limited, so the figures compare plans alone. A plan is
a mode of GE with at most K streams under one of GE's four sort modes; streams run in GE's order, HEFT may choose any.
"""

from __future__ import annotations

from dataclasses import replace

import ge_explorer as gx
from ge_explorer.device.chips import CHIPS
from ge_explorer.graph.model import Graph
from ge_explorer.passes.streams.concurrency import task_graph
from ge_explorer.simulator import IDEAL, build_program, simulate_program
from tests.bench.memory import Figure
from tests.bench.orders import NO_MEMORY, geometric, graphs

CHIP = CHIPS["Ascend910B1"]
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


def plans(g: Graph, k: int) -> tuple[int, int, int]:
    """(best makespan on at most ``k`` streams, bound, HEFT's makespan) in ns."""
    best = bound = theirs = 0
    for sort in "0123":
        for mode in MODES:
            value = f"{mode}:{k}" if mode.endswith(("Balance", "Stream")) else mode
            options = {"ge.topoSortingMode": sort, **({"ge.autoMultistreamParallelMode": value} if value else {})}
            trace = gx.compile(g, pipeline=NO_MEMORY, options=options)
            s = trace.final
            if trace.failed is not None or s.streams is None or s.streams.count > k:
                continue
            p = build_program(s, CHIP, launch=IDEAL)
            p = replace(p, tasks=tuple(replace(t, aic=0, aiv=0) for t in p.tasks))
            makespan = simulate_program(p, CHIP).makespan_ns
            best = min(best or makespan, makespan)
            if not theirs:
                tasks = task_graph(s)
                of = {t.node: t.ns for t in p.tasks}
                ns = [of.get(v, 0) for v in tasks.nodes]
                path = [0] * len(ns)
                for v, row in enumerate(tasks.pred):
                    path[v] = ns[v] + max((path[u] for u in row), default=0)
                bound = max(max(path, default=0), -(-sum(ns) // k))
                theirs = heft(ns, tasks.pred, k)
    return best, bound, theirs


def figures() -> list[Figure]:
    """Geometric mean and worst of the ratio for K = 2 and 4, ours and HEFT's; how often ours is above HEFT."""
    rows: list[Figure] = []
    for k in (2, 4):
        ours, theirs = [], []
        for _, g in graphs(3):
            best, bound, other = plans(g, k)
            if bound:
                ours.append(best / bound)
                theirs.append(other / bound)
        worse = sum(a > b for a, b in zip(ours, theirs, strict=True))
        rows += [
            (f"makespan / bound, K = {k}, geo", geometric(ours), geometric(theirs), "x", "<= HEFT, <= 1.07"),
            (f"makespan / bound, K = {k}, worst", max(ours), max(theirs), "x", "<= HEFT"),
            (f"graphs above HEFT, K = {k}, of {len(ours)}", float(worse), None, "", "0"),
        ]
    return rows
