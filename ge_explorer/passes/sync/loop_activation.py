"""Who a loop starts again, and what its switch must wait for: shared by the logical and the physical step (sync.md 9.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ge_explorer.graph.model import Graph
from ge_explorer.passes.sync.activate_by_label import ACTIVE_LABELS
from ge_explorer.passes.sync.event_table import SA
from ge_explorer.passes.sync.switch_activation import SWITCH

LOOP_ACTIVE = "is_loop_active"
SOURCE = f"{SA}: StreamAllocator::SetActiveStreamsForLoop"


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop's active node, the switch that decides on another round (-1: not found), the streams started again.

    ``waits``: the last node of each stream whose end the switch must wait for.
    """

    active: int
    switch: int
    streams: tuple[int, ...]
    waits: tuple[int, ...]


def find_loop(
    graph: Graph, sequence: Iterable[int], stream: Mapping[int, int], count: int, activated: Collection[int]
) -> Loop | None:
    """The one big loop of a graph; None without one.

    ``stream`` is the main stream of each node, ``count`` the number of streams, ``activated`` those that somebody else starts.
    """
    order = list(sequence)
    active = next(
        (
            i
            for i in order
            if graph.node(i).attrs.get(LOOP_ACTIVE) is True and not graph.node(i).attrs.get(ACTIVE_LABELS)
        ),
        None,
    )
    if active is None:
        return None
    free = tuple(x for x in range(count) if x not in activated)
    wanted, last, skip = set(free), dict[int, int](), set[int]()
    for i in order:
        if stream[i] in wanted:
            last[stream[i]] = i
            if graph.node(i).op == SWITCH:
                skip.add(stream[i])
    waits = tuple(last[x] for x in free if x in last and x not in skip and not graph.node(last[x]).scope)
    return Loop(active, _switch_before(graph, active), free, waits)


def _switch_before(graph: Graph, active: int) -> int:
    """The StreamSwitch among the control inputs of the active node, or among those of its control inputs."""
    near = graph.node(active).control_in
    for i in (*near, *(j for k in near for j in graph.node(k).control_in)):
        if graph.node(i).op == SWITCH:
            return i
    return -1
