"""Build the picture of the graph canvas from a trace: all steps at once, so that stepping needs no message to Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ge_explorer.graph.model import CONST_LIKE, SOURCE_LIKE, VARIABLE_LIKE, Graph, IntArray
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.drawn import drawn
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.folding import Folded, fold
from ge_explorer.views.layout_frames import frame_of
from ge_explorer.views.palette import Identities, StreamIdentity, identify
from ge_explorer.views.picture import (
    KIND_BOX,
    KIND_CONST,
    KIND_DATA,
    KIND_OP,
    KIND_SYNC,
    NO_COMPARE,
    BoxPicture,
    EventPicture,
    Frame,
    GraphPicture,
    Insides,
    LayoutName,
    StepPicture,
)

_CONST = CONST_LIKE | VARIABLE_LIKE
_SYNC = frozenset({
    "Send", "Recv", "SendMem", "RecvMem", "SendNotify", "RecvNotify", "StreamActive", "StreamSwitch", "StreamSwitchN",
    "StreamMerge", "LabelSet", "LabelGoto", "LabelGotoEx", "LabelSwitch", "LabelSwitchByIndex",
})  # fmt: skip
"""Types that only steer streams."""
_INITIAL = Text("Before the first step", "第一步之前")


@dataclass(frozen=True, eq=False)
class _Universe:
    """All nodes of all steps: ids ascending, position of each id, and the last snapshot's version of each node."""

    ids: tuple[int, ...]
    index: IntArray
    names: tuple[str, ...]
    ops: tuple[str, ...]
    kinds: NDArray[np.uint8]


def build(
    trace: Trace,
    step: int | None = None,
    compare: int | None = None,
    layout: LayoutName = "lanes",
    identities: Identities | None = None,
    columns: Mapping[int, int] | None = None,
    lane_keys: Sequence[int] = (),
    folding: Folding | None = None,
) -> GraphPicture:
    """Picture of every step of ``trace``.

    ``step`` is shown first (None: the last one), ``compare`` the second step of a comparison (None: none); both count from -1,
    the state before the first step. ``identities`` keep letters and colours of an earlier run (default: given afresh).
    ``columns`` (node id -> column) and ``lane_keys`` line the lane layout up with that of another graph.
    ``folding``: functions, modules or scopes drawn as one box per stream (see ``views/folding.py``).
    """
    who = identities or identify(trace)
    snapshots = drawn([trace.snapshot(k) for k in range(-1, len(trace.steps))])
    universe = _universe(snapshots)
    whole, folded = snapshots, None
    if folding is not None:
        own = [_colours(who, k - 1, s, universe) for k, s in enumerate(snapshots)] if not folding.nothing else []
        parts = dict(zip(universe.ids, _lanes(own, snapshots, universe).tolist(), strict=True)) if own else {}
        folded = fold(snapshots, folding, parts, {x.index: x.letter for x in who.items})
        snapshots = list(folded.states)
        if folded.boxes:
            universe = _universe(snapshots, folded.boxes)
    wide = len(who.items) > 250
    palette = np.full((len(snapshots), len(universe.ids)), 0xFFFF if wide else 0xFF, np.uint16 if wide else np.uint8)
    colours = [_colours(who, k - 1, s, universe) for k, s in enumerate(snapshots)]
    for row, colour in zip(palette, colours, strict=True):
        row[colour >= 0] = colour[colour >= 0]
        row[colour == -1] = np.iinfo(palette.dtype).max - 1
    lane = _lanes(colours, snapshots, universe)
    events, event_at = _events(snapshots, universe)
    ends = [(e.src, e.dst) for e in events]
    given = None if columns is None else np.asarray([columns.get(i, -1) for i in universe.ids], np.int32)
    frames: list[Frame] = []
    known: dict[tuple[object, ...], int] = {}
    frame_no: list[int] = []
    for s in snapshots:
        key = _structure(s.graph)
        if key not in known:
            known[key] = len(frames)
            before = frames[-1] if frames else None
            frames.append(frame_of(s.graph, universe.index, universe.kinds, lane, ends, before, given, lane_keys))
        frame_no.append(known[key])
    steps = []
    for k, (s, f) in enumerate(zip(snapshots, frame_no, strict=True)):
        title = trace.steps[k - 1].title if k else _INITIAL
        name = trace.steps[k - 1].name if k else ""
        streams = _streams(whole[k], who, k - 1)
        alive = tuple((event_at[e.uid, e.send, e.recv], e.id) for e in (s.sync.events if s.sync else ()))
        count = len(s.sync.events) if (s := whole[k]).sync is not None else 0
        alt = _alt(k, len(trace.steps), title, s, who, streams, count)
        steps.append(StepPicture(name, title, f, streams, alive, alt))
    return GraphPicture(
        trace.initial.graph.name, universe.ids, universe.names, universe.ops, universe.kinds, who.items, palette,
        tuple(frames), tuple(steps), events, _rules(trace),
        len(trace.steps) - 1 if step is None else step, NO_COMPARE if compare is None else compare, layout,
        boxes=_boxes(folded, universe) if folded is not None else {}, insides=_insides(folded, universe, folding),
    )  # fmt: skip


def _boxes(folded: Folded, u: _Universe) -> dict[int, BoxPicture]:
    """Row -> what a box stands for."""
    at = {i: k for k, i in enumerate(u.ids)}
    return {
        at[b.id]: BoxPicture(b.instance.key, b.instance.title, b.instance.type, b.members, b.total)
        for b in folded.boxes.values()
        if b.id in at
    }


def _insides(folded: Folded | None, u: _Universe, folding: Folding | None) -> Insides | None:
    """For the control of the canvas: what can be folded here, and the instance each drawn node is in."""
    known = folded.known if folded is not None else None
    if known is None or folding is None or not known.kinds:
        return None
    keys = [k for k in known.found if known.sizes[k] > 1]
    number = {k: n for n, k in enumerate(keys)}
    inner = tuple(next((number[k] for k in reversed(known.chain.get(i, ())) if k in number), -1) for i in u.ids)
    rows = tuple((k, known.found[k].title, known.found[k].type, number.get(known.found[k].parent, -1)) for k in keys)
    return Insides(known.kinds, folding.kind, tuple(sorted(folding.flipped)), rows, inner)


def _universe(snapshots: Sequence[Snapshot], boxes: Collection[int] = ()) -> _Universe:
    graphs: list[Graph] = []
    for s in snapshots:
        if not graphs or s.graph is not graphs[-1]:
            graphs.append(s.graph)
    latest: dict[int, tuple[str, str]] = {}
    for g in graphs:
        if g is not graphs[0] and len(graphs) > 1 and g.nodes is graphs[0].nodes:
            continue
        names = g.unique_names
        latest.update({n.id: (n.name if n.id in boxes else names[n.id], n.op) for n in g})
    ids = tuple(sorted(latest))
    index = np.full((ids[-1] + 1) if ids else 0, -1, np.int32)
    index[list(ids)] = np.arange(len(ids), dtype=np.int32)
    ops = tuple(latest[i][1] for i in ids)
    kinds = np.fromiter(
        (KIND_BOX if i in boxes else _kind(op) for i, op in zip(ids, ops, strict=True)), np.uint8, len(ops)
    )
    return _Universe(ids, index, tuple(latest[i][0] for i in ids), ops, kinds)


def _kind(op: str) -> int:
    if op in _CONST:
        return KIND_CONST
    if op in SOURCE_LIKE:
        return KIND_DATA
    return KIND_SYNC if op in _SYNC else KIND_OP


def _colours(who: Identities, step: int, s: Snapshot, u: _Universe) -> IntArray:
    """Per node of the universe: identity index, -1 no stream, -2 absent."""
    out = np.full(len(u.ids), -2, np.int32)
    present = np.asarray(s.graph.node_ids, np.int64)
    out[u.index[present]] = -1
    if s.streams is not None:
        held = who.node_index(step, s.streams.node)
        present = present[present < len(held)]
        out[u.index[present]] = held[present]
    return out


def _lanes(colours: Sequence[IntArray], snapshots: Sequence[Snapshot], u: _Universe) -> IntArray:
    """Lane of every node for the whole trace: the last stream it held, else its heirs' or its neighbours', else none (-1).

    One lane for all steps keeps nodes in place while stepping; the colour says what holds at the step.
    """
    lane = np.full(len(u.ids), -1, np.int32)
    for colour in colours:
        lane[colour >= 0] = colour[colour >= 0]
    source = (u.kinds == KIND_CONST) | (u.kinds == KIND_DATA)
    lane[source] = -1
    last = snapshots[-1].graph
    gone = [i for i in u.ids if (i >= last.id_bound or last.nodes[i] is None) and not source[u.index[i]]]
    if not gone:
        return lane
    heirs: dict[int, int] = {}
    for s in snapshots:
        for n in s.graph:
            for o in n.origin:
                heirs.setdefault(o, n.id)
    for i in gone:
        heir, hops = heirs.get(i), 0
        while heir is not None and lane[u.index[i]] < 0 and hops < 16:
            if heir < len(u.index) and u.index[heir] >= 0:
                lane[u.index[i]] = lane[u.index[heir]]
            heir, hops = heirs.get(heir), hops + 1
    graphs = {id(s.graph): s.graph for s in reversed(snapshots)}
    for g in graphs.values():
        for i in reversed(gone):
            if lane[u.index[i]] < 0 and i < g.id_bound and g.nodes[i] is not None:
                near = Counter(int(lane[u.index[j]]) for j in (*g.succ[i], *g.pred[i]))
                near.pop(-1, None)
                if near:
                    lane[u.index[i]] = near.most_common(1)[0][0]
    return lane


def _events(
    snapshots: Sequence[Snapshot], u: _Universe
) -> tuple[tuple[EventPicture, ...], dict[tuple[int, int, int], int]]:
    at: dict[tuple[int, int, int], int] = {}
    out: list[EventPicture] = []
    before: object = None
    for s in snapshots:
        if s.sync is None or s.sync.events is before:
            continue
        before = s.sync.events
        for e in s.sync.events:
            if (e.uid, e.send, e.recv) not in at:
                at[e.uid, e.send, e.recv] = len(out)
                out.append(EventPicture(e.uid, int(u.index[e.send]), int(u.index[e.recv]), e.kind, e.cause))
    return tuple(out), at


def _rules(trace: Trace) -> dict[int, Text]:
    """Why an event was removed, by uid: the text of the rule, or its key where the pass gives no text."""
    sync = trace.final.sync
    if sync is None:
        return {}
    passes = {s.name: s.pass_ for s in trace.steps} | {s.pass_.name: s.pass_ for s in trace.steps}
    out: dict[int, Text] = {}
    for r in sync.removed:
        owner = passes.get(r.step)
        rule = owner.rules.get(r.rule) if owner is not None else None
        out[r.event.uid] = rule.text if rule is not None else Text(r.rule.replace("-", " "))
    return out


def _structure(g: Graph) -> tuple[object, ...]:
    """Key that is equal for graphs with the same nodes and edges."""
    return g.node_ids, g.dependencies, g.edges if len(g.edges) < 64 else len(g.edges)


def _streams(s: Snapshot, who: Identities, step: int) -> tuple[tuple[int, int, int], ...]:
    if s.streams is None:
        return ()
    array = s.streams.node[np.asarray([i for i in s.graph.node_ids if i < s.streams.node.size], np.int64)]
    counts = np.bincount(array[array >= 0], minlength=1)
    table = who.by_step[step + 1]
    rows = [(i, ge, int(counts[ge]) if ge < len(counts) else 0) for ge, i in table.items()]
    return tuple(sorted(rows))


def _alt(
    k: int, total: int, title: Text, s: Snapshot, who: Identities, streams: Sequence[tuple[int, int, int]], events: int
) -> Text:
    """The generated sentence: step, nodes, streams with letter and GE number, events."""
    n = len(s.graph)
    en = f"Step {k} of {total}, {title.en}: " if k else "Before the first step: "
    zh = f"第 {k} 步（共 {total} 步），{title.get('zh')}：" if k else "第一步之前："
    en += f"{n:,} node{'s' * (n != 1)}"
    zh += f"{n:,} 个节点"
    if not streams:
        return Text(f"{en}, no streams assigned yet.", f"{zh}，尚未分配流。")
    parts_en = [_stream_words(who.items[i], ge, c).en for i, ge, c in streams[:4]]
    parts_zh = [_stream_words(who.items[i], ge, c).zh for i, ge, c in streams[:4]]
    more = len(streams) - 4
    en += f" on {len(streams)} stream{'s' * (len(streams) != 1)}: " + "; ".join(parts_en)
    zh += f"，{len(streams)} 条流：" + "；".join(parts_zh)
    if more > 0:
        en += f"; {more} more"
        zh += f"；另有 {more} 条"
    en += f". {events:,} event{'s' * (events != 1)}."
    zh += f"。{events:,} 个事件。"
    return Text(en, zh)


def _stream_words(x: StreamIdentity, ge: int, count: int) -> Text:
    label_en = f", label {x.label}" if x.label else ""
    label_zh = f"，标签 {x.label}" if x.label else ""
    return Text(
        f"{x.letter} {x.role.en}, GE id {ge}{label_en}, {count:,} node{'s' * (count != 1)}",
        f"{x.letter} {x.role.get('zh')}，GE 编号 {ge}{label_zh}，{count:,} 个节点",
    )
