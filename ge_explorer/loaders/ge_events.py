"""Events of a finished build, read back from its Send and Recv nodes.

GE writes no edge between a Send and its Recv; they share ``event_id`` (or ``notify_id``), and the id is part of their
names. A Send stands behind its operator, a Recv in front of it, with a control edge. Source:
compiler/graph/build/stream/stream_allocator.cc (GenerateSyncEventNodes), stream_info.cc (reading by name).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from ge_explorer.graph.model import Graph, Node
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.loaders.ge_recorded import RecordedEvent
from ge_explorer.text import Text

SYNC_TYPES = frozenset({"Send", "Recv", "SendNotify", "RecvNotify"})
_NAME = re.compile(r"_(?:Send|Recv)(?:_Notify)?_(\d{1,9})(?:_Reuse_\d{1,9})?$", re.ASCII)
Kind = Literal["event", "notify"]
End = tuple[int, int, int]
"""Operator, its stream, the Send or Recv node (-1: none)."""


def recover_events(graph: Graph, streams: Mapping[int, int]) -> tuple[tuple[RecordedEvent, ...], list[Issue]]:
    """Events in the order of their Recvs' ids, and findings about ends without a partner."""
    sends: dict[tuple[Kind, int], list[End]] = {}
    recvs: dict[tuple[Kind, int], list[End]] = {}
    lost: list[int] = []
    for scope in graph.scopes:
        if scope is None:
            continue
        for place, i in enumerate(scope.nodes):
            node = graph.node(i)
            if node.op in SYNC_TYPES:
                number = event_number(node)
                partner = _operator_of(graph, scope.nodes, place, streams)
                if number is None or partner is None:
                    lost.append(i)
                    continue
                kind: Kind = "notify" if node.op.endswith("Notify") else "event"
                table = sends if node.op.startswith("Send") else recvs
                table.setdefault((kind, number), []).append((partner, streams.get(i, -1), i))
            else:
                for key, table in (("send_event_id_list", sends), ("recv_event_id_list", recvs)):
                    for number in _numbers(node.attrs.get(key)):
                        table.setdefault(("event", number), []).append((i, streams.get(i, -1), -1))
    events, issues = [], []
    for both in sorted({*sends, *recvs}):
        a, b = sends.get(both, []), recvs.get(both, [])
        for s, r in zip(a, b, strict=False):
            events.append(RecordedEvent(both[1], s[0], r[0], s[1], r[1], both[0], s[2], r[2]))
        for end in (*a[len(b) :], *b[len(a) :]):
            lost.append(end[2] if end[2] >= 0 else end[0])
    if lost:
        issues.append(
            Issue(
                "GX333",
                "warning",
                Text(
                    "{n} Send or Recv nodes have no partner or no operator beside them; they are shown, but give no event",
                    "{n} 个 Send 或 Recv 节点没有配对节点或相邻算子；仅显示，不构成事件",
                ).format(n=len(lost)),
                tuple(Ref("node", i) for i in lost[:50]),
                Text("Dump the graph after the build, whole.", "请在构建结束后转储完整的图。"),
            )
        )
    return tuple(events), issues


def event_number(node: Node) -> int | None:
    """Id of the event of a Send or Recv: its attribute, else the number in its name."""
    for key in ("event_id", "notify_id"):
        found = _numbers(node.attrs.get(key))
        if found:
            return found[0]
    m = _NAME.search(node.name)
    return int(m[1]) if m else None


def _numbers(value: object) -> tuple[int, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(v for v in values if isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 2**31)


def _operator_of(graph: Graph, members: tuple[int, ...], place: int, streams: Mapping[int, int]) -> int | None:
    """The operator a Send follows or a Recv precedes: by control edge, else the nearest one of the same stream."""
    node = graph.node(members[place])
    sends = node.op.startswith("Send")
    near = node.control_in if sends else graph.control_out[node.id]
    for i in near:
        if graph.node(i).op not in SYNC_TYPES:
            return i
    own = streams.get(node.id)
    if own is None:
        return None
    step = -1 if sends else 1
    k = place + step
    while 0 <= k < len(members):
        i = members[k]
        if streams.get(i) == own and graph.node(i).op not in SYNC_TYPES:
            return i
        k += step
    return None
