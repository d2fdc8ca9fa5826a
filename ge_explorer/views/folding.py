"""Graphs with instances folded to boxes: one box per instance and stream.

A box stands in the lane of its stream, like a node, so lanes keep their meaning and the edges between the parts of an instance
show where it crosses streams; a frame over several lanes would enclose nodes that do not belong to it. A part is split where one
box would make the folded graph cyclic (a path leaves it and comes back), because such a graph has no left and right.

The result are ordinary graphs and snapshots, so canvas, SVG, Mermaid and DOT follow without knowing of folds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ge_explorer.graph.model import Edge, Graph, Node, Tensor
from ge_explorer.trace.state import Snapshot, int_array
from ge_explorer.views.fold_instances import Folding, Instance, Instances, instances
from ge_explorer.views.fold_pieces import Group, pieces
from ge_explorer.views.palette import StreamIdentity


@dataclass(frozen=True)
class Box:
    """A folded part: its node id, the instance, the nodes inside (of all states), the nodes of the whole instance at the end."""

    id: int
    instance: Instance
    members: tuple[int, ...]
    total: int


@dataclass(frozen=True)
class Folded:
    """``states`` with boxes; ``boxes`` by node id; ``of`` maps a folded node to its box in the state it was last seen in."""

    states: tuple[Snapshot, ...]
    boxes: Mapping[int, Box] = field(default_factory=dict)
    of: Mapping[int, int] = field(default_factory=dict)
    known: Instances | None = None


def fold(
    states: Sequence[Snapshot],
    folding: Folding,
    part: Mapping[int, int] | None = None,
    letters: Mapping[int, str] | None = None,
) -> Folded:
    """Fold ``states``, which share node ids.

    ``part`` (node -> key of its lane) splits instances; None: by the stream of the last state. ``letters`` (key -> letter) are
    written on boxes whose instance spans several parts. Box ids start above all node ids and are the same in all states.
    """
    known = instances(states)
    if folding.nothing or not states:
        return Folded(tuple(states), known=known)
    lane = part if part is not None else _streams(states[-1])
    bound = max(s.graph.id_bound for s in states)
    ids: dict[Group, int] = {}
    members: dict[int, set[int]] = {}
    graphs: dict[int, tuple[Graph, dict[int, int]]] = {}
    where: dict[int, int] = {}
    for s in states:
        if id(s.graph) in graphs:
            continue
        at: dict[int, int] = {}
        groups = {i: x for i in s.graph.node_ids if (x := _group(known, folding, s.graph, i, lane)) is not None}
        for i, group in pieces(s.graph, groups).items():
            at[i] = ids.setdefault(group, bound + len(ids))
            members.setdefault(at[i], set()).add(i)
        graphs[id(s.graph)] = (s.graph, at)
        where.update(at)
    present = Counter(k for i in states[-1].graph.node_ids for k in known.chain.get(i, ()))
    boxes = {}
    spans: dict[str, set[int]] = {}
    for group in ids:
        spans.setdefault(group[1], set()).add(group[2])
    for group, b in ids.items():
        boxes[b] = Box(b, known.found[group[1]], tuple(sorted(members[b])), present[group[1]])
    top = bound + len(ids)
    done: dict[int, Graph] = {}
    out = []
    for s in states:
        graph, at = graphs[id(s.graph)]
        if id(graph) not in done:
            inside = Counter(at.values())
            whole = Counter(k for i in graph.node_ids for k in known.chain.get(i, ()))
            labels = {b: _label(boxes[b], n, whole[boxes[b].instance.key], spans, letters) for b, n in inside.items()}
            done[id(graph)] = _folded_graph(graph, at, boxes, labels, top) if at else graph
        out.append(_folded_state(s, done[id(graph)], at, top) if at else s)
    return Folded(tuple(out), boxes, where, known)


def fold_state(s: Snapshot, folding: Folding, identities: Mapping[int, StreamIdentity]) -> Folded:
    """Fold one state by its own streams; ``identities`` (GE stream number -> identity) give the letters."""
    return fold([s], folding, None, {stream: x.letter for stream, x in identities.items()})


def _streams(s: Snapshot) -> dict[int, int]:
    return {} if s.streams is None else dict(enumerate(s.streams.node.tolist()))


def _group(known: Instances, folding: Folding, g: Graph, i: int, lane: Mapping[int, int]) -> Group | None:
    key = known.box_of(folding, i)
    return (g.node(i).scope, key, lane.get(i, -1), 0) if key else None


def _label(b: Box, here: int, total: int, spans: Mapping[str, set[int]], letters: Mapping[int, str] | None) -> str:
    """Second line of a box: what it is, how many nodes it holds (of how many), and the streams of the whole instance."""
    across = spans[b.instance.key]
    count = f"{here}" if here == total else f"{here}/{total}"
    name = b.instance.type.rsplit("::", 1)[-1]
    streams = "".join(sorted({(letters or {}).get(k, "") for k in across})) if len(across) > 1 else ""
    return " ".join(x for x in (f"×{count}", streams, name) if x)


# ---------------------------------------------------------------- graph and snapshot with boxes
def _folded_graph(
    g: Graph, at: Mapping[int, int], boxes: Mapping[int, Box], labels: Mapping[int, str], top: int
) -> Graph:
    tensors: list[Tensor | None] = list(g.tensors)
    outputs: dict[int, list[int]] = {b: [] for b in labels}
    inputs: dict[int, list[int]] = {b: [] for b in labels}
    place: dict[tuple[int, int], int] = {}
    edges: list[Edge] = []
    taken: set[tuple[int, int]] = set()
    for e in g.edges:
        a, b = at.get(e.src, e.src), at.get(e.dst, e.dst)
        if a == b:
            continue
        src_out, dst_in = e.src_out, e.dst_in
        t = g.node(e.src).outputs[e.src_out]
        if a in labels:
            if (a, t) not in place:
                place[a, t] = len(outputs[a])
                outputs[a].append(t)
                tensors[t] = replace(g.tensor(t), producer=a, index=place[a, t])
            src_out = place[a, t]
        if b in labels:
            if (b, t) in taken:
                continue
            taken.add((b, t))
            dst_in = len(inputs[b])
            inputs[b].append(t)
        edges.append(Edge(a, src_out, b, dst_in))
    control = tuple(dict.fromkeys(
        (x, y) for a, b in g.control if (x := at.get(a, a)) != (y := at.get(b, b))
    ))  # fmt: skip
    before: dict[int, list[int]] = {}
    for a, b in control:
        before.setdefault(b, []).append(a)
    nodes: list[Node | None] = []
    for n in g.nodes:
        if n is None or n.id in at:
            nodes.append(None)
        else:
            nodes.append(replace(n, control_in=tuple(before.get(n.id, ()))) if n.control_in else n)
    nodes += [None] * (top - len(nodes))
    scope = {b: g.node(i).scope for i, b in at.items()}
    for b, label in labels.items():
        nodes[b] = Node(
            b,
            boxes[b].instance.title,
            label,
            tuple(inputs[b]),
            tuple(outputs[b]),
            tuple(before.get(b, ())),
            scope=scope[b],
        )
    scopes = tuple(
        None if s is None else replace(s, nodes=tuple(dict.fromkeys(at.get(i, i) for i in s.nodes))) for s in g.scopes
    )
    return replace(g, nodes=tuple(nodes), tensors=tuple(tensors), scopes=scopes, edges=tuple(edges), control=control)


def _folded_state(s: Snapshot, graph: Graph, at: Mapping[int, int], top: int) -> Snapshot:
    streams, sync = s.streams, s.sync
    if streams is not None:
        node = np.full(top, -1, np.int64)
        node[: streams.node.size] = streams.node[:top]
        votes: dict[int, Counter[int]] = {}
        for i, b in at.items():
            if i < streams.node.size and streams.node[i] >= 0:
                votes.setdefault(b, Counter())[int(streams.node[i])] += 1
        for b, found in votes.items():
            node[b] = found.most_common(1)[0][0]
        streams = replace(streams, node=int_array(node))
    if sync is not None:
        events = tuple(
            replace(e, send=a, recv=b)
            for e in sync.events
            if (a := at.get(e.send, e.send)) != (b := at.get(e.recv, e.recv))
        )
        sync = replace(sync, events=events)
    return s.evolve(graph=graph, streams=streams, sync=sync)
