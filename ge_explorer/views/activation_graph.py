"""Activation graph: which streams start with the model, and which node starts each of the others, by which mechanism."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.ids import Ref
from ge_explorer.ids import node as node_ref
from ge_explorer.ids import part as part_ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.passes.sync.activate_by_label import ACTIVE_LABELS
from ge_explorer.passes.sync.activate_by_subgraph import FIRST_ACTIVE
from ge_explorer.passes.sync.loop_activation import LOOP_ACTIVE
from ge_explorer.passes.sync.switch_activation import BRANCH_LABEL, SWITCH
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot
from ge_explorer.views.ge_stream_dot import active_lists, stream_of
from ge_explorer.views.marks import NO_MARK, Mark, node_name, plain, stream_marks
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.stream_budget import logical_of

KINDS: Mapping[str, Text] = {
    "label": Text("label", "标签"),
    "body": Text("body head", "子图首节点"),
    "switch": Text("switch", "switch"),
    "branch": Text("branch of a switch", "switch 分支"),
    "loop": Text("loop", "循环"),
    "file": Text("stated by the file", "文件中给出"),
    "other": Text("activation", "激活"),
}
SOURCES: Mapping[str, str] = {
    "label": "SetActiveStreamsByLabel",
    "body": "SetActiveStreamsForSubgraphs",
    "switch": "UpdateStreamSwitchByLogicStream",
    "branch": "AddActiveNodes",
    "loop": "SetActiveStreamsForLoop",
}
"""GE function behind a mechanism (all in stream_allocator.cc)."""
LIMIT = 400
"""Streams listed; the picture draws fewer (see activation_layout)."""


@dataclass(frozen=True, slots=True)
class StreamBox:
    """A stream: physical where the split was made. ``starters`` are indices of activators; () starts with the model.

    ``part`` says which part of its logical stream it is ("" when it has one part only).
    """

    stream: int
    ref: Ref
    refs: tuple[Ref, ...]
    mark: Mark
    part: Text
    nodes: int
    starters: tuple[int, ...] = ()
    with_model: bool = True
    """Nobody starts it, or only a loop does, which starts again what already runs."""


@dataclass(frozen=True, slots=True)
class Activator:
    """A node that starts ``targets`` (indices of boxes) from box ``home`` (-1: it runs on none)."""

    node: int
    name: str
    op: str
    kind: str
    detail: str
    home: int
    targets: tuple[int, ...]

    @property
    def ref(self) -> Ref:
        """Its node."""
        return node_ref(self.node)


@dataclass(frozen=True, slots=True)
class ActivationPicture:
    """Boxes by stream id, activators in traversal order. ``idle`` are activators that start nothing."""

    boxes: tuple[StreamBox, ...]
    activators: tuple[Activator, ...]
    idle: tuple[Activator, ...]
    left_out: int
    alt: Text
    notes: tuple[Text, ...] = ()

    @property
    def heads(self) -> tuple[int, ...]:
        """Indices of the boxes that start with the model."""
        return tuple(k for k, b in enumerate(self.boxes) if b.with_model)


def build(s: Snapshot, identities: Mapping[int, StreamIdentity], *, limit: int = LIMIT) -> ActivationPicture | None:
    """Picture of who starts what in state ``s``; None before streams are assigned."""
    if s.streams is None:
        return None
    lists = active_lists(s)
    plan = s.physical.sync if s.physical is not None else s.sync
    of = _nodes_by_stream(s)
    listed = {k for streams in lists.values() for k in streams}
    activated = plan.activated if plan is not None else frozenset()
    started = set(activated) | listed
    ids = sorted(set(of) | started)
    keep = sorted(ids, key=lambda k: (k not in started, k))[:limit]
    keep.sort()
    at = {k: n for n, k in enumerate(keep)}
    marks = stream_marks(s, identities)
    parts = Counter(logical_of(s, k) for k in ids)
    seen: Counter[int] = Counter()
    spot: dict[int, int] = {}
    for k in ids:
        seen[logical_of(s, k)] += 1
        spot[k] = seen[logical_of(s, k)]
    actors: list[Activator] = []
    idle: list[Activator] = []
    known = set(plan.active_streams if plan is not None else ()) | set(lists)
    place = {i: n for n, i in enumerate(s.sequence or s.graph.walk())}
    for i in sorted((i for i in known if s.graph.nodes[i] is not None), key=lambda i: place.get(i, i)):
        kind, detail = mechanism(s, i)
        targets = tuple(dict.fromkeys(at[k] for k in lists.get(i, ()) if k in at))
        a = Activator(i, node_name(s, i, 60), s.graph.node(i).op, kind, detail, at.get(stream_of(s, i), -1), targets)
        (actors if targets else idle).append(a)
    boxes = []
    for n, k in enumerate(keep):
        logical = logical_of(s, k)
        several = parts[logical] > 1
        ref = part_ref(k) if s.physical is not None and several else stream_ref(logical)
        who = tuple(m for m, a in enumerate(actors) if n in a.targets)
        text = (
            Text(f"part {spot[k]} of {parts[logical]}", f"第 {spot[k]} / {parts[logical]} 部分")
            if several
            else Text("")
        )
        boxes.append(
            StreamBox(k, ref, (ref, part_ref(k), stream_ref(logical)), marks.get(logical, NO_MARK), text, of.get(k, 0), who,
                      k not in activated and all(actors[m].kind == "loop" for m in who))
        )  # fmt: skip
    return ActivationPicture(
        tuple(boxes), tuple(actors), tuple(idle), len(ids) - len(keep), _alt(boxes, actors), _notes(s, idle)
    )


def mechanism(s: Snapshot, i: int) -> tuple[str, str]:
    """(kind, detail) of an activating node, from its own marks; ``detail`` names labels or the body."""
    n = s.graph.node(i)
    labels = ", ".join(plain(str(x), 30) for x in n.attrs.get(ACTIVE_LABELS) or ())
    if n.op == SWITCH:
        made = {str(s.graph.node(k).attrs.get(BRANCH_LABEL, "")) for k in s.graph.control_out[i]}
        own = [str(x) for x in n.attrs.get(ACTIVE_LABELS) or () if str(x) not in made]
        return "switch", ", ".join(plain(x, 30) for x in own)
    if BRANCH_LABEL in n.attrs and labels:
        return "branch", labels
    if n.attrs.get(LOOP_ACTIVE) is True:
        return "loop", ""
    if labels:
        return "label", labels
    if n.attrs.get(FIRST_ACTIVE) is True:
        return "body", plain(s.graph.scope(n.scope).name, 40) if n.scope else ""
    plan = s.physical.sync if s.physical is not None else s.sync
    return ("other", "") if plan is not None and i in plan.active_streams else ("file", "")


def _nodes_by_stream(s: Snapshot) -> Counter[int]:
    """Operators per stream; streams that only hold Send, Recv or inputs are there with 0."""
    out: Counter[int] = Counter()
    before = s.streams.node if s.streams is not None else ()
    for n in s.graph:
        k = stream_of(s, n.id)
        if k >= 0 and (n.id >= len(before) or before[n.id] >= 0):
            out[k] += n.op not in SYNC_OPS
    attached = s.physical.attached if s.physical is not None else s.streams.attached if s.streams is not None else {}
    for ids in attached.values():
        for k in ids:
            if k >= 0:
                out[k] += 1
    return out


def _alt(boxes: list[StreamBox], actors: list[Activator]) -> Text:
    heads = sum(b.with_model for b in boxes)
    rest = len(boxes) - heads
    en = f"{heads} stream{'s' * (heads != 1)} start{'s' * (heads == 1)} with the model"
    zh = f"{heads} 条流随模型启动"
    if rest:
        en += f", {rest} {'are' if rest > 1 else 'is'} started by {len(actors)} node{'s' * (len(actors) != 1)}"
        zh += f"，{rest} 条由 {len(actors)} 个节点启动"
    return Text(f"{en}.", f"{zh}。")


def _notes(s: Snapshot, idle: list[Activator]) -> tuple[Text, ...]:
    out = []
    if s.sync is None:
        out.append(Text("Activation is decided in the events chapter; nothing is known at this step.",
                        "激活关系在事件阶段确定，此步骤尚未知。"))  # fmt: skip
    elif s.physical is None:
        out.append(Text("Logical streams: the split has not run at this step.", "逻辑流：此步骤尚未切分。"))
    if idle:
        names = ", ".join(a.name for a in idle[:3]) + (f" +{len(idle) - 3}" if len(idle) > 3 else "")
        out.append(
            Text(
                f"{names}: may start streams, but nothing else runs in their body or under their label.",
                f"{names}：可以启动流，但其子图或标签下没有其他流。",
            )
        )
    return tuple(out)
