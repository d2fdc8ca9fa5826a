"""Stream colours, letters and hatches, and who gets which: the identity of a stream over all steps.

GE renumbers streams between steps, so the number cannot carry the colour. An *identity* is engine + label (+ an ordinal where
several streams share both); it is given once, busiest stream first, and every step maps its own numbers to identities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np

from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Clusters, Placement, Snapshot
from ge_explorer.trace.trace import Trace

Hatch = Literal["none", "slash", "backslash", "horizontal", "dots", "vertical", "cross", "plus"]


@dataclass(frozen=True, slots=True)
class Swatch:
    """Colour of one palette place on a light (#fff) and a dark (#212121) ground."""

    light: str
    dark: str


SWATCHES: tuple[Swatch, ...] = (
    Swatch("#2160C4", "#6FA8FF"),
    Swatch("#AD4506", "#F08A3C"),
    Swatch("#185F4E", "#429C79"),
    Swatch("#C46094", "#CA90B4"),
    Swatch("#A38F25", "#FFE77E"),
    Swatch("#461B89", "#955BC7"),
    Swatch("#219ECF", "#95E2FA"),
    Swatch("#60261F", "#B45B3E"),
)
"""Eight colours chosen for protan, deutan and tritan vision: the closest pair is 12.5 CIEDE2000 apart in the worst case."""

NO_STREAM_SWATCH = Swatch("#7A7A7A", "#9A9A9A")
"""Grey of things without a stream (outline only, never a letter)."""

HATCHES: tuple[Hatch, ...] = ("none", "slash", "backslash", "horizontal", "dots", "vertical", "cross", "plus")
"""Hatch of each palette place. From the ninth stream the colours repeat and the hatch moves on by one."""

BOKEH_HATCH: Mapping[Hatch, str] = MappingProxyType(
    {"none": " ", "slash": "/", "backslash": "\\", "horizontal": "-", "dots": ".", "vertical": "|", "cross": "x",
     "plus": "+"}
)  # fmt: skip
"""Bokeh's ``hatch_pattern`` for each hatch."""

NODE_TINT = (13, 17)
"""Per cent of stream colour in a node's fill, (light, dark)."""
BAR_TINT = (24, 30)
"""Per cent of stream colour in a bar's or mark's fill, (light, dark). Text on it must be ink."""

_LABEL_ATTRS = ("_user_stream_label", "_stream_label")


def letters(index: int) -> str:
    """Letter of the index-th identity: A … Z, then AA, AB …

    >>> letters(0), letters(25), letters(26), letters(702)
    ('A', 'Z', 'AA', 'AAA')
    """
    if index < 0:
        raise ValueError(f"identity index must not be negative, got {index}")
    out = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        out = chr(65 + rest) + out
    return out


def swatch(index: int) -> Swatch:
    """Colours of the index-th identity; a negative index is the grey of "no stream"."""
    return NO_STREAM_SWATCH if index < 0 else SWATCHES[index % len(SWATCHES)]


def hatch(index: int) -> Hatch:
    """Hatch of the index-th identity (the ninth has A's colour with B's hatch). No stream: none."""
    return "none" if index < 0 else HATCHES[(index + index // len(SWATCHES)) % len(HATCHES)]


@dataclass(frozen=True, slots=True)
class StreamIdentity:
    """One stream as the user knows it.

    ``index`` gives letter, colour and hatch. ``engine`` is the GE engine of most of its nodes, ``label`` its stream label
    ("" when none), ``ordinal`` tells streams with equal engine and label apart. ``role`` is a short name for the lane head.
    """

    index: int
    engine: str
    label: str
    ordinal: int = 0
    role: Text = field(default_factory=lambda: Text("side", "旁路"))

    @property
    def letter(self) -> str:
        """A, B … Z, AA …"""
        return letters(self.index)

    @property
    def key(self) -> tuple[str, str, int]:
        """What the identity stands on: engine, label, ordinal."""
        return self.engine, self.label, self.ordinal


@dataclass(frozen=True, eq=False)
class Identities:
    """All identities of a session and, per step of one trace, the identity of each GE stream number.

    ``by_step[k + 1]`` maps GE stream number -> identity index after step k; ``by_step[0]`` is the state before the first step.
    ``members`` are the nodes that give an identity its place (those it holds in the final state, or the last it held).
    """

    items: tuple[StreamIdentity, ...]
    by_step: tuple[Mapping[int, int], ...]
    members: tuple[frozenset[int], ...] = ()

    def of(self, step: int, stream: int) -> StreamIdentity | None:
        """Identity of GE stream ``stream`` after ``step`` (-1: before the first step); None when it has none."""
        index = self.by_step[step + 1].get(stream)
        return None if index is None else self.items[index]

    def stream(self, step: int, index: int) -> int | None:
        """GE's number of an identity after ``step``; None when it does not exist there."""
        return next((s for s, i in self.by_step[step + 1].items() if i == index), None)

    def node_index(self, step: int, streams: IntArray) -> IntArray:
        """Identity index per node (-1 none), from GE's stream number per node after ``step``."""
        table = self.by_step[step + 1]
        top = int(streams.max(initial=-1))
        lookup = np.full(top + 2, -1, np.int32)
        for s, i in table.items():
            if 0 <= s <= top:
                lookup[s] = i
        return lookup[np.clip(streams, -1, top)]


def identify(trace: Trace, known: Identities | None = None, busy: Mapping[int, float] | None = None) -> Identities:
    """Give every stream of every step its identity.

    The final state decides: its streams, busiest first (``busy``: weight per final GE stream number such as simulated
    nanoseconds; without it the number of nodes), become A, B, … Streams of earlier steps take the identity whose nodes they
    share most; what is left over gets letters after those. ``known`` are the identities of an earlier run of the session:
    an equal engine + label keeps its letter.
    """
    snapshots = [trace.snapshot(k) for k in range(-1, len(trace.steps))]
    items: list[StreamIdentity] = list(known.items) if known else []
    members: list[frozenset[int]] = list(known.members) if known else []
    weight = dict(busy or {})
    tables: list[Mapping[int, int]] = [MappingProxyType({})] * len(snapshots)
    previous: tuple[IntArray | None, Graph | None] = (None, None)
    table: Mapping[int, int] = MappingProxyType({})
    for at in range(len(snapshots) - 1, -1, -1):
        s = snapshots[at]
        array = s.streams.node if s.streams is not None else None
        if array is None:
            continue
        if array is not previous[0]:
            groups = _groups(s)
            ranked = sorted(groups, key=lambda g: (-(weight.get(g, 0.0) if busy else len(groups[g].nodes)), g))
            table = _match([groups[g] for g in ranked], items, members)
            previous = (array, s.graph)
        tables[at] = table
    return Identities(tuple(items), tuple(tables), tuple(members))


@dataclass(frozen=True, slots=True)
class _Group:
    stream: int
    engine: str
    label: str
    nodes: frozenset[int]


def _groups(s: Snapshot) -> dict[int, _Group]:
    assert s.streams is not None
    array = s.streams.node
    nodes: dict[int, list[int]] = {}
    for i in np.flatnonzero(array >= 0).tolist():
        if i < s.graph.id_bound and s.graph.nodes[i] is not None:
            nodes.setdefault(int(array[i]), []).append(i)
    for holder, ids in s.streams.attached.items():
        for stream in ids:
            if stream >= 0:
                nodes.setdefault(stream, []).append(holder)
    return {
        stream: _Group(stream, _engine(members, s.placement), _label(members, s), frozenset(members))
        for stream, members in nodes.items()
    }


def _engine(nodes: Sequence[int], placement: Placement | None) -> str:
    if placement is None:
        return ""
    names = Counter(placement.engine[i] for i in nodes if i < len(placement.engine) and placement.engine[i])
    return names.most_common(1)[0][0] if names else ""


def _label(nodes: Sequence[int], s: Snapshot) -> str:
    own = [i for i in nodes if s.graph.node(i).op not in SYNC_OPS]  # generated Send and Recv nodes carry no label
    names = Counter(text for i in own if (text := node_label(s.graph, s.clusters, i)))
    if not names:
        return ""
    text, count = names.most_common(1)[0]
    return text if 2 * count > len(own) else ""  # a few labelled nodes do not name a whole stream


def node_label(graph: Graph, clusters: Clusters | None, node: int) -> str:
    """Stream label of a node: its own GE attribute, else its cluster's; "" when none."""
    found = graph.node(node).attrs
    for key in _LABEL_ATTRS:
        if found.get(key):
            return str(found[key])
    if clusters is not None and node < len(clusters.of_node) and clusters.of_node[node] >= 0:
        c = clusters.items[int(clusters.of_node[node])]
        return c.user_label or c.stream_label
    return ""


def _match(groups: Sequence[_Group], items: list[StreamIdentity], members: list[frozenset[int]]) -> Mapping[int, int]:
    """Pair groups with identities, most shared nodes first, equal engine + label before others; the rest become new ones."""
    table: dict[int, int] = {}
    taken: set[int] = set()
    owners: dict[int, list[int]] = {}
    for index, held in enumerate(members):
        for i in held:
            owners.setdefault(i, []).append(index)
    pairs: list[tuple[int, int, int, int]] = []
    for g, group in enumerate(groups):
        shared = Counter(index for i in group.nodes for index in owners.get(i, ()))
        for index, count in shared.items():
            same = (items[index].engine, items[index].label) == (group.engine, group.label)
            pairs.append((-int(same), -count, g, index))
    for _, _, g, index in sorted(pairs):
        if groups[g].stream not in table and index not in taken:
            table[groups[g].stream] = index
            taken.add(index)
    for group in groups:
        if group.stream in table:
            continue
        same_key = [x.index for x in items if (x.engine, x.label) == (group.engine, group.label)]
        free = next((i for i in same_key if i not in taken and not members[i] & group.nodes), None)
        if free is None:
            free = len(items)
            items.append(StreamIdentity(free, group.engine, group.label, len(same_key), _role(free, group.engine)))
            members.append(group.nodes)
        table[group.stream] = free
        taken.add(free)
    return MappingProxyType(dict(sorted(table.items())))


def _role(index: int, engine: str) -> Text:
    if index == 0:
        return Text("main", "主流")
    low = engine.lower()
    if "hccl" in low or "ascend_hccl" in low:
        return Text("collective", "集合通信")
    if "aicpu" in low:
        return Text("AI CPU")
    if "dsa" in low:
        return Text("DSA")
    return Text("side", "旁路")
