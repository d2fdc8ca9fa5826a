"""May these nodes become one? GE's test before any fusion, and what the fused node inherits.

Source: graph_metadef/graph/normal_graph/compute_graph.cc (ComputeGraph::IsSupportFuse, InheritUserSteamLabelFromOriginNodes).
Values are compared among the nodes that *have* the attribute, so an unlabelled node fuses with a labelled one and the result
carries the label: label capture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_explorer.graph.model import Graph

USER_LABEL, INNER_LABEL = "_user_stream_label", "_stream_label"
CORE_LIMITS = ("_op_aicore_num", "_op_vectorcore_num")
SUPER_KERNEL = ("_super_kernel_scope", "_super_kernel_options")
DETERMINISM = ("_deterministic", "_deterministic_level")
COMPARED: tuple[str, ...] = (USER_LABEL, *SUPER_KERNEL, *CORE_LIMITS, *DETERMINISM)
"""Attributes of which a fused set may hold one value at most."""
INHERITED: tuple[str, ...] = (*COMPARED, "_user_stream_priority")
SOURCE = "graph_metadef/graph/normal_graph/compute_graph.cc: ComputeGraph::IsSupportFuse"


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a set may not fuse: the attribute, and the two values that differ (or ``cycle``/``scope`` with no values)."""

    rule: str
    key: str = ""
    values: tuple[str, ...] = ()


def blocked(g: Graph, members: Sequence[int], *, capture: bool = True) -> Blocked | None:
    """First reason against fusing ``members``; None when GE would fuse them.

    ``capture`` False also refuses {no label, label} and {no limit, limit}: our stricter choice, not GE's.
    """
    nodes = [g.node(m) for m in members]
    if len({n.scope for n in nodes}) > 1:
        return Blocked("scope")
    for key in COMPARED:
        present = dict.fromkeys(str(n.attrs[key]) for n in nodes if key in n.attrs)
        if len(present) > 1 or (not capture and present and any(key not in n.attrs for n in nodes)):
            return Blocked(_rule(key), key, (*present, *(("",) if len(present) == 1 else ())))
    inner = dict.fromkeys(str(n.attrs.get(INNER_LABEL, "null")) for n in nodes)  # here a missing label is a value
    if len(inner) > 1:
        return Blocked("inner-label", INNER_LABEL, tuple(inner))
    return Blocked("cycle") if makes_cycle(g, members) else None


def _rule(key: str) -> str:
    if key == USER_LABEL:
        return "label"
    if key in CORE_LIMITS:
        return "core-limit"
    return "super-kernel" if key in SUPER_KERNEL else "determinism"


def makes_cycle(g: Graph, members: Sequence[int]) -> bool:
    """True if a path leaves the set and comes back into it: as one node it would wait for itself."""
    inside = set(members)
    exits = [m for m in members if any(s not in inside for s in g.succ[m])]
    if len(exits) < 2 and _all_feed(g, inside, exits):  # a way back in would be a loop of the graph as it is
        return False
    seen: set[int] = set()
    todo = [s for m in members for s in g.succ[m] if s not in inside]
    while todo:
        i = todo.pop()
        if i in inside:
            return True
        if i not in seen:
            seen.add(i)
            todo.extend(g.succ[i])
    return False


def _all_feed(g: Graph, inside: set[int], exits: Sequence[int]) -> bool:
    """True if every member leads to the only exit without leaving the set (or nothing leaves it at all)."""
    if not exits:
        return True
    reached, todo = {exits[0]}, [exits[0]]
    while todo:
        for p in g.pred[todo.pop()]:
            if p in inside and p not in reached:
                reached.add(p)
                todo.append(p)
    return reached == inside


@dataclass(frozen=True, slots=True)
class Captured:
    """Nodes that had no value of ``key`` and get ``value`` by fusing."""

    key: str
    value: str
    nodes: tuple[int, ...]


def captured(g: Graph, members: Sequence[int]) -> tuple[Captured, ...]:
    """What fusing does to members without a label or core limit."""
    out = []
    for key in (USER_LABEL, *CORE_LIMITS):
        values = [str(g.node(m).attrs[key]) for m in members if key in g.node(m).attrs]
        without = tuple(m for m in members if key not in g.node(m).attrs)
        if values and without:
            out.append(Captured(key, values[0], without))
    return tuple(out)


def inherited(g: Graph, members: Sequence[int]) -> dict[str, Any]:
    """Attributes the fused node gets: the one value present of each compared key, ``_stream_label`` of the first node."""
    out: dict[str, Any] = {}
    for key in INHERITED:
        for m in members:
            if key in g.node(m).attrs:
                out[key] = g.node(m).attrs[key]
                break
    first = g.node(members[0]).attrs.get(INNER_LABEL)
    if first is not None:
        out[INNER_LABEL] = first
    return out
