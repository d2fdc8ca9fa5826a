"""Which nodes go into one box: groups are cut into pieces wherever folding them whole would close a cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ge_explorer.graph.model import Graph

Group = tuple[int, str, int, int]
"""Scope id, instance key, lane key, number of the piece."""


def pieces(g: Graph, groups: Mapping[int, Group]) -> dict[int, Group]:
    """Node -> piece, from node -> group; nodes without a group and pieces of one node are left out.

    Folding all pieces gives an acyclic graph.

    A group is kept whole unless it takes part in a cycle of the folded graph. There, nodes are numbered along every path: the
    number grows by one wherever a path changes its group; a piece is what has one number. Numbers never fall along an edge and
    grow between groups, so no cycle is left.
    """
    own = dict(groups)
    while True:
        cyclic = _in_cycles(g, own)
        if not cyclic:
            break
        level = _levels(g, own, cyclic)
        cut = {i: (*own[i][:3], own[i][3] * len(g) + level[i]) for i in cyclic if i in own}
        if all(cut[i] == own[i] for i in cut):
            break
        own.update(cut)
    size: dict[Group, int] = {}
    for group in own.values():
        size[group] = size.get(group, 0) + 1
    numbers: dict[tuple[int, str, int], dict[int, int]] = {}
    out = {}
    for i, group in own.items():
        if size[group] > 1:
            known = numbers.setdefault(group[:3], {})
            out[i] = (*group[:3], known.setdefault(group[3], len(known)))
    return out


def _in_cycles(g: Graph, own: dict[int, Group]) -> set[int]:
    """Nodes whose box lies on a cycle of the folded graph."""
    succ: dict[object, set[object]] = {}
    for a, b in g.dependencies:
        x, y = own.get(a, a), own.get(b, b)
        if x != y:
            succ.setdefault(x, set()).add(y)
            succ.setdefault(y, set())
    left = _without_ends(succ)
    if not left:
        return set()
    import networkx as nx  # only where something is cyclic, which is rare

    graph = nx.DiGraph((x, y) for x in left for y in succ[x] if y in left)
    bad = {x for part in nx.strongly_connected_components(graph) if len(part) > 1 for x in part}
    return {i for i in g.node_ids if own.get(i, i) in bad}


def _without_ends(succ: dict[object, set[object]]) -> set[object]:
    """What is left after taking away everything without producers again and again: empty for an acyclic graph."""
    waiting = dict.fromkeys(succ, 0)
    for targets in succ.values():
        for y in targets:
            waiting[y] += 1
    ready = [x for x, n in waiting.items() if n == 0]
    left = set(succ)
    while ready:
        x = ready.pop()
        left.discard(x)
        for y in succ[x]:
            waiting[y] -= 1
            if waiting[y] == 0:
                ready.append(y)
    return left


def _levels(g: Graph, own: dict[int, Group], inside: set[int]) -> dict[int, int]:
    """Changes of group on the way to each node of ``inside``, counted along the longest way within ``inside``."""
    pred = {i: [p for p in g.pred[i] if p in inside] for i in inside}
    level: dict[int, int] = {}
    for i in _in_order(pred, inside):
        level[i] = max((level[p] + (own.get(p, p) != own.get(i, i)) for p in pred[i]), default=0)
    return level


def _in_order(pred: dict[int, list[int]], inside: set[int]) -> Iterable[int]:
    waiting = {i: len(pred[i]) for i in inside}
    succ: dict[int, list[int]] = {}
    for i, before in pred.items():
        for p in before:
            succ.setdefault(p, []).append(i)
    ready = [i for i in sorted(inside) if waiting[i] == 0]
    while ready:
        i = ready.pop()
        yield i
        for j in succ.get(i, ()):
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
