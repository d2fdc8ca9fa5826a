"""Collectives inside the branches of a StreamSwitch: their order is set between switch and merge, not between themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.hccl_prepare import PARALLEL_GROUP
from ge_explorer.passes.optimize.hccl_scope import has_path

TRUE_BRANCH, SWITCH_TYPE, LABEL = "_switch_true_branch_flag", "_stream_switch_type", "_stream_label"
LOOP_TYPE = 1
_SOURCE = "parallel_group_pass.cc"


@dataclass(frozen=True, slots=True)
class Branched:
    """Where a collective inside branches begins (the nodes that decide the switches) and ends (the merge)."""

    begins: tuple[int, ...]
    merge: int


def branched(g: Graph, scope: int, rank: Mapping[int, int]) -> dict[int, Branched]:
    """Collectives of a graph that sit behind a StreamSwitch of an If (not of a loop).

    PassFailed where GE fails: a switch without a merge behind it, or collectives behind nested switches (ProcessGroupNodeInSwitch,
    MappingNodeToSwitchAndMerge).
    """
    found: dict[int, Branched] = {}
    for i in g.scope(scope).nodes:
        n = g.node(i)
        if n.op != "StreamSwitch" or TRUE_BRANCH not in n.attrs or n.attrs.get(SWITCH_TYPE) == LOOP_TYPE:
            continue
        members, merges, labels = _behind(g, i)
        if not merges or (members and len(labels) > 1):
            raise PassFailed("no merge behind a switch, or collectives behind nested switches", where=n.name,
                             got=f"{len(merges)} merges, {len(labels)} stream labels", ge_status="FAILED")  # fmt: skip
        merge = max(merges, key=lambda m: rank.get(m, -1))
        decides = g.tensor(n.inputs[0]).producer if n.inputs and n.inputs[0] is not None else i
        for m in members:
            old = found.get(m)
            if old is not None and old.merge != merge:
                raise PassFailed("a collective ends in two merges", where=g.node(m).name,
                                 got=(g.node(old.merge).name, g.node(merge).name), ge_status="FAILED")  # fmt: skip
            found[m] = Branched(tuple(dict.fromkeys((*(old.begins if old else ()), decides))), merge)
    return found


def _behind(g: Graph, switch: int) -> tuple[list[int], list[int], set[str]]:
    """(collectives, merges, stream labels) met from a switch on; a merge ends the look."""
    members: dict[int, None] = {}
    merges: list[int] = []
    labels: set[str] = set()
    todo, seen = [switch], {switch}
    for i in todo:  # grows while it is walked
        for j in g.succ[i]:
            n = g.node(j)
            if n.op == "StreamMerge":
                merges.append(j)
                continue
            if PARALLEL_GROUP in n.attrs:
                members[j] = None
            if j not in seen:
                seen.add(j)
                todo.append(j)
                if isinstance(n.attrs.get(LABEL), str):
                    labels.add(n.attrs[LABEL])
    return list(members), merges, labels


def links(g: Graph, before: int, after: int, inside: Mapping[int, Branched], rank: Mapping[int, int]
          ) -> Sequence[tuple[int, int]]:  # fmt: skip
    """Control edges that put one collective before another (ReplaceWithSwitchAndMerge); none between branches of one switch."""
    a, b = inside.get(before), inside.get(after)
    if a is not None and b is not None:
        return [] if set(a.begins) & set(b.begins) else [(a.merge, s) for s in b.begins]
    if a is not None:
        return [(a.merge, after)]
    if b is None:
        return [(before, after)]
    out = []
    for s in b.begins:
        turned = rank[before] > rank[s] and has_path(g, s, before)  # the switch leads to it: order it behind the merge
        out.append((b.merge, before) if turned else (before, s))
    return out
