"""Lower bounds on the length of any schedule, each with the name of its proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ge_explorer.passes.streams.schedule.problem import FREE, Problem
from ge_explorer.text import Text

POINTS = 48
"""Times looked at for either end of a window."""
Ints = NDArray[np.int64]

PROOFS = {
    "path": Text("critical path", "关键路径"),
    "streams": Text("work over streams", "总工作量 / 流数"),
    "aic": Text("cube work over cores", "Cube 工作量 / 核数"),
    "aiv": Text("vector work over cores", "Vector 工作量 / 核数"),
    "window": Text(
        "work that any schedule has to do inside one window of time", "任何调度都必须在某一时间窗内完成的工作量"
    ),
}


@dataclass(frozen=True, slots=True)
class Bound:
    """No schedule is shorter than ``ns``; ``proof`` is a key of PROOFS. ``window``: its start and end, for that proof."""

    ns: int
    proof: str
    window: tuple[int, int] = (0, 0)


def lower_bound(p: Problem) -> Bound:
    """Largest of the bounds. Leads count where no schedule escapes them: before a free task that needs another one."""
    n = len(p.ns)
    if not n:
        return Bound(0, "path")
    free = [f == FREE for f in p.fixed]
    head, tail = [0] * n, [0] * n
    for v in range(n):
        if p.pred[v]:
            head[v] = max(head[u] + p.ns[u] for u in p.pred[v]) + (p.lead[v] if free[v] else 0)
    for v in range(n - 1, -1, -1):
        if p.succ[v]:
            tail[v] = max(tail[w] + p.ns[w] + (p.lead[w] if free[w] else 0) for w in p.succ[v])
    path = max(h + d + t for h, d, t in zip(head, p.ns, tail, strict=True))
    found = Bound(path, "path")
    ns, fits = np.array(p.ns, np.int64), np.array(free)
    spared = p.streams * max(
        (x for x, f in zip(p.lead, free, strict=True) if f), default=0
    )  # a first task may have no lead
    work = int(ns[fits].sum()) + max(0, int(np.array(p.lead, np.int64)[fits].sum()) - spared)
    needs = [("streams", fits.astype(np.int64), p.streams, work)]
    for name, cores, have in (("aic", p.aic, p.pools[0]), ("aiv", p.aiv, p.pools[1])):
        held = np.array(cores, np.int64)
        if have and held.any():
            needs.append((name, held, have, int((ns * held).sum())))
    for name, _, have, amount in needs:
        if -(-amount // have) > found.ns:
            found = Bound(-(-amount // have), name)
    early, late = np.array(head, np.int64), path - np.array(tail, np.int64)
    for _, weight, have, _ in needs:
        excess, window = _window(early, late, ns, weight, have, path)
        if path + -(-excess // have) > found.ns:
            found = Bound(path + -(-excess // have), "window", window)
    return found


def _window(early: Ints, late: Ints, ns: Ints, weight: Ints, have: int, path: int) -> tuple[int, tuple[int, int]]:
    """Largest (work that has to lie inside a window, beyond what ``have`` do in it), and that window.

    Tasks run between ``early`` and ``late``, which is when they must be over for everything to be over at ``path``. Every later
    end moves a window's end with it, so the excess must be worked off after ``path`` (Fernandez and Bussell 1973).
    """
    share = np.linspace(0, 1, POINTS)
    ends = np.concatenate([np.quantile(early, share), np.quantile(late, share), [0, path]])
    points = np.unique(ends.astype(np.int64))
    best, where = 0, (0, 0)
    used = weight > 0
    early, late, ns, weight = early[used], late[used], ns[used], weight[used]
    for i, a in enumerate(points):
        left = np.minimum(ns, early + ns - a)  # what is left of a task started as early as can be
        some = left > 0
        rest, lst, w = left[some], late[some] - ns[some], weight[some]
        for b in points[i + 1 :]:
            inside = np.minimum(np.minimum(rest, b - lst), b - a)
            amount = int((w * np.maximum(inside, 0)).sum()) - have * int(b - a)
            if amount > best:
                best, where = amount, (int(a), int(b))
    return best, where
