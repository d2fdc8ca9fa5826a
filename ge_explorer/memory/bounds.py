"""Lower bounds on the peak. Each comes with a certificate: buffers of which no two may ever share a byte.

``serial_live``: the largest sum of buffers alive at one point of the topological order. Two buffers alive at the same point
cannot be one before the other, so they need disjoint bytes in every safe plan: the bound holds for any number of streams.
The certificate is checked against ``before`` all the same, and does not rest on that argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.memory.antichain import heaviest_antichain
from ge_explorer.memory.model import FOREVER, MemoryPlan, MemoryProblem


@dataclass(frozen=True, slots=True)
class Bound:
    """``bytes`` no safe plan can go below; ``name`` of the argument; ``buffers`` that must be disjoint and sum to it."""

    bytes: int
    name: str
    buffers: tuple[int, ...]


def is_antichain(before: Sequence[int], buffers: Sequence[int]) -> bool:
    """True if no buffer of the set is finished before another one starts."""
    mask = 0
    for b in buffers:
        mask |= 1 << b
    return all(before[b] & mask == 0 for b in buffers)


def serial_live(problem: MemoryProblem) -> Bound:
    """Bound by the topological order (GE prints a similar number as theory_min; memory.md C5)."""
    n = len(problem.buffers)
    if n == 0:
        return Bound(0, "serial live", ())
    size = np.array([b.size for b in problem.buffers], dtype=np.int64)
    begin = np.array([x.begin for x in problem.lifetimes], dtype=np.int64)
    end = np.array([x.end for x in problem.lifetimes], dtype=np.int64)
    times = np.concatenate([begin, end[end < FOREVER] + 1])
    change = np.concatenate([size, -size[end < FOREVER]])
    order = np.argsort(times, kind="stable")
    times, change = times[order], change[order]
    live = np.cumsum(change)
    settled = np.append(times[1:] != times[:-1], True)
    for k in np.argsort(-np.where(settled, live, -1), kind="stable").tolist():
        if not settled[k]:
            break
        members = np.flatnonzero((begin <= times[k]) & (end >= times[k])).tolist()
        if is_antichain(problem.before, members):
            return Bound(int(live[k]), "serial live", tuple(members))
    widest = int(np.argmax(size))
    return Bound(int(size[widest]), "largest buffer", (widest,))


def is_certificate(problem: MemoryProblem, bound: Bound) -> bool:
    """Check a bound from scratch: its buffers exclude each other and add up to it."""
    total = sum(problem.buffers[b].size for b in bound.buffers)
    return total == bound.bytes and is_antichain(problem.before, bound.buffers)


def best_bound(problem: MemoryProblem, hb: HappensBefore, plan: MemoryPlan) -> Bound:
    """Best proven bound: the serial one, or the maximum-weight antichain when ``plan`` leaves a gap above it.

    At equality the plan is optimal and nothing needs to be searched. The antichain is accepted only with its certificate.
    """
    serial = serial_live(problem)
    if plan.peak <= serial.bytes:
        return serial
    found = heaviest_antichain(problem, hb, plan)
    if found is None:
        return serial
    wider = Bound(sum(problem.buffers[b].size for b in found), "antichain", found)
    return wider if wider.bytes >= serial.bytes and is_certificate(problem, wider) else serial
