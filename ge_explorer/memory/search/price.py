"""What running in parallel costs in memory: the same graph on its streams and in one queue (memory.md C5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.memory.bounds import best_bound, serial_live
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.problem import build_problem, order_before_events


@dataclass(frozen=True, slots=True)
class Price:
    """All in bytes. ``bound``/``peak`` on the streams, ``bound_one``/``peak_one`` in one queue, ``no_reuse`` every buffer apart.

    Bounds hold for every safe plan, so ``bytes`` is not an effect of the planner.
    """

    bound: int
    peak: int
    bound_one: int
    peak_one: int
    no_reuse: int

    @property
    def bytes(self) -> int:
        """Price of the streams: how much more every safe plan needs. Never negative: fewer orders, fewer sharing pairs."""
        return self.bound - self.bound_one


def price_of_streams(graph: Graph, sequence: Sequence[int], stream: IntArray, order: IntArray | None = None) -> Price:
    """Plan the graph twice, on ``stream`` (per node id) and with all tasks on one stream in the same issue order."""
    hb = order_before_events(graph, sequence, stream)
    problem = build_problem(graph, sequence, stream, order, hb)
    plan = plan_hb(problem)
    one = np.where(np.asarray(stream) >= 0, 0, stream).astype(np.int32)
    serial = build_problem(graph, sequence, one, order)
    alone = plan_hb(serial)
    return Price(
        best_bound(problem, hb, plan).bytes, plan.peak, serial_live(serial).bytes, alone.peak,
        sum(b.size for b in problem.buffers),
    )  # fmt: skip
