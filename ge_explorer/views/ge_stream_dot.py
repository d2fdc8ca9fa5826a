"""GE's own stream graph, ``StreamAllocationSummary::ToStreamGraph()``, as DOT text for files and other tools.

One rank per stream, from a header through its nodes in order to an end point; Send and Recv are folded into their neighbours and
become dashed edges labelled ``Event<n>``; streams a StreamSwitch activates are blue, followed by who activates what.

Source: compiler/graph/build/stream/stream_info.cc (StreamGraph::Build, DotStreams, DotEdges, DotActives). Two things are ours:
names are escaped, and events whose Send and Recv nodes do not exist yet are drawn as if they did. As in GE, of several pairs with
the same event id the last Recv wins, and notifies are ordinary nodes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final, Literal

from ge_explorer.errors import OptionError
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.views.marks import plain
from ge_explorer.views.stream_summary import logical_stream, model_scopes

SEND: Final = "Send"
RECV: Final = "Recv"
SWITCH = "StreamSwitch"
ACTIVE_LIST = "active_stream_list"
STREAM_LABEL = "_stream_label"
MAX_STREAMS = 65536
"""More streams than any chip has: a stream number from a damaged file, not a picture."""
_BARE_ID = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_KEYWORDS = frozenset({"graph", "digraph", "subgraph", "node", "edge", "strict"})
_EVENT_ID = {SEND: re.compile(r"_Send_\s*(\d+)"), RECV: re.compile(r"_Recv_\s*(\d+)")}
_HEAD = '{\nrankdir="LR";\nnode[shape="plaintext",width=0,height=0];\nedge[arrowhead="none",style="dashed"];\n\n'


@dataclass(slots=True)
class _Item:
    """A node of the list GE draws. ``at`` is its position in that list; ``node`` -1: a Send or Recv that is not made yet."""

    at: int
    kind: Literal["node", "Send", "Recv"]
    stream: int
    node: int = -1
    event: int | None = None
    sends: list[int] = field(default_factory=list)
    recvs: list[int] = field(default_factory=list)

    @property
    def dot_id(self) -> str:
        return f"S{self.stream}N{self.at}"


def stream_graphs(s: Snapshot) -> dict[str, str]:
    """Model graph name -> DOT text, as ``ToStreamGraph()``. Physical streams where they exist, else logical ones."""
    out: dict[str, str] = {}
    for scope in model_scopes(s.graph):
        name = s.graph.name if scope == 0 else s.graph.scope(scope).name
        out[name] = build_ge_dot(s, scope)
    return out


def export_text(s: Snapshot) -> str:
    """All stream graphs of a snapshot one after the other: a DOT file may hold several graphs."""
    return "\n".join(stream_graphs(s).values())


def build_ge_dot(s: Snapshot, scope: int = 0) -> str:
    """Stream graph of one model graph (0: the root), its subgraphs included. OptionError for impossible stream numbers."""
    items = _items(s, scope)
    count = max((i.stream for i in items), default=-1) + 1
    if count > MAX_STREAMS:
        raise OptionError(
            "stream number out of range", where=s.graph.name, got=count - 1, todo=f"At most {MAX_STREAMS - 1}."
        )
    by_stream: list[list[_Item]] = [[] for _ in range(count)]
    for item in items:
        if item.stream >= 0:
            by_stream[item.stream].append(item)
    for row in by_stream:
        _fold(row)
    nodes = [i for i in items if i.kind == "node"]
    active = active_lists(s)
    blue = {k for i in nodes if i.stream >= 0 and s.graph.node(i.node).op == SWITCH for k in active.get(i.node, ())}
    name = s.graph.name if scope == 0 else s.graph.scope(scope).name
    body = "".join(_stream(s, k, row, k in blue, active) for k, row in enumerate(by_stream))
    return f"digraph {_identifier(name)}{_HEAD}{body}{_events(nodes)}{_actives(s, nodes, active) if blue else ''}}}\n"


# ---------------------------------------------------------------- what is drawn
def _items(s: Snapshot, scope: int) -> list[_Item]:
    """GE's node list: every node of the graph and its subgraphs, Recvs in front of and Sends behind the node they belong to."""
    before: dict[int, list[Event]] = {}
    behind: dict[int, list[Event]] = {}
    for e in _unmade_events(s):
        before.setdefault(e.recv, []).append(e)
        behind.setdefault(e.send, []).append(e)
    out: list[_Item] = []
    for i in _walk(s, scope):
        for e in before.get(i, ()):
            out.append(_Item(len(out), RECV, _end_stream(s, i, e.recv_stream), event=e.id))
        n = s.graph.node(i)
        if n.op == SEND or n.op == RECV:
            found = _EVENT_ID[n.op].search(n.name)
            out.append(
                _Item(len(out), SEND if n.op == SEND else RECV, stream_of(s, i), i, int(found[1]) if found else None)
            )
        else:
            out.append(_Item(len(out), "node", stream_of(s, i), i))
        for e in behind.get(i, ()):
            out.append(_Item(len(out), SEND, _end_stream(s, i, e.send_stream), event=e.id))
    return out


def _fold(row: list[_Item]) -> None:
    """Sends go to the ordinary node before them on the stream, Recvs to the next one; without one they are lost."""
    previous: _Item | None = None
    waiting: list[int] = []
    for item in row:
        if item.kind == "node":
            item.recvs, waiting, previous = waiting, [], item
        elif item.event is not None:
            if item.kind == RECV:
                waiting.append(item.event)
            elif previous is not None:
                previous.sends.append(item.event)


def _unmade_events(s: Snapshot) -> list[Event]:
    plans = [p for p in (s.sync, s.physical.sync if s.physical is not None else None) if p is not None]
    made = {uid for p in plans for uid in p.sync_nodes.values()}
    return [e for p in plans for e in p.events if e.kind == "event" and e.uid not in made]


def _walk(s: Snapshot, scope: int) -> list[int]:
    """Pre-order: a node, then the nodes of its subgraphs, first first (``GetAllNodes``)."""
    out: list[int] = []
    stack = list(reversed(s.graph.scope(scope).nodes))
    while stack:
        i = stack.pop()
        out.append(i)
        inner = [k for sub in s.graph.node(i).subgraphs for k in s.graph.scope(sub).nodes]
        stack.extend(reversed(inner))
    return out


def stream_of(s: Snapshot, node: int) -> int:
    """Physical stream of a node where the split was made, else its logical one; -1 for none."""
    if s.physical is not None and node < s.physical.node.size:
        return int(s.physical.node[node])
    return logical_stream(s, node)


def _end_stream(s: Snapshot, node: int, stated: int) -> int:
    """Stream of an event's end; one on its node's main stream follows the node through the split."""
    return stream_of(s, node) if stated == logical_stream(s, node) else stated


def active_lists(s: Snapshot) -> Mapping[int, tuple[int, ...]]:
    """Activating node -> streams: of the split, of the logical plan, or of the attribute in a loaded graph."""
    from_file: dict[int, tuple[int, ...]] = {}
    for n in s.graph:
        value = n.attrs.get(ACTIVE_LIST)
        if isinstance(value, list | tuple):
            from_file[n.id] = tuple(k for k in value if isinstance(k, int) and k >= 0)
    plan = s.physical.sync if s.physical is not None and s.physical.sync.active_streams else s.sync
    lists = {**from_file, **(plan.active_streams if plan is not None else {})}
    return {i: streams for i, streams in lists.items() if streams}


# ---------------------------------------------------------------- text
def _stream(s: Snapshot, k: int, row: list[_Item], blue: bool, active: Mapping[int, tuple[int, ...]]) -> str:
    nodes = [i for i in row if i.kind == "node"]
    labels = (s.graph.node(i.node).attrs.get(STREAM_LABEL) for i in nodes)
    label = next((x for x in labels if isinstance(x, str) and x), "")
    table = [f"<b>Stream{k}</b>", f"{len(row)}({len(nodes)}+{len(row) - len(nodes)})nodes"]
    if label:
        table.append(f"<i>Label:{_html(label)}</i>")
    header = "".join(f"<tr><td>{cell}</td></tr>" for cell in table)
    colour = ',color="blue"' if blue else ""
    lines = [
        "{", 'rank="same";', f'edge[style="solid",penwidth=2{colour}];',
        f'Stream{k}[label=<<table border="0" cellborder="1" cellspacing="0">{header}</table>>{colour}];',
        f'End{k}[shape="point",width=0.1,height=0.1];',
    ]  # fmt: skip
    for i in nodes:
        text = f"{_html(s.graph.node(i.node).name)}<br/>(id:{_topo_id(s, i)})"
        if i.node in active:
            text += f"<br/>(active streams:{','.join(map(str, active[i.node]))})"
        lines.append(f"{i.dot_id}[label=<{text}>];")
    lines += ["->".join([f"Stream{k}", *(i.dot_id for i in nodes), f"End{k}"]) + ";", "}"]
    return "".join(f"{line}\n" for line in lines)


def _events(nodes: list[_Item]) -> str:
    receiver = {event: i for i in nodes for event in i.recvs}
    return "".join(
        f'{i.dot_id}->{receiver[event].dot_id}[label="Event{event}",arrowhead="normal"];\n'
        for i in nodes
        for event in i.sends
        if event in receiver
    )


def _actives(s: Snapshot, nodes: list[_Item], active: Mapping[int, tuple[int, ...]]) -> str:
    lines = ["{"]
    for i in nodes:
        switch = s.graph.node(i.node).op == SWITCH
        colour, font = (',color="blue"', ',fontcolor="blue"') if switch else ("", "")
        if i.node not in active:
            continue
        name = _quoted(s.graph.node(i.node).name).replace("&", "&amp;")
        lines.append(f'AN{i.at}[label="{name}(id: {_topo_id(s, i)},stream: {i.stream})"];')
        for k in active[i.node]:
            lines.append(f'AS{k}[label="Stream{k}"{font}];')
            lines.append(f'AN{i.at}-> AS{k} [label="active", arrowhead="normal"{colour}{font}];')
    return "".join(f"{line}\n" for line in [*lines, "}"])


def _topo_id(s: Snapshot, item: _Item) -> int:
    """GE's node id; its place in the list while no order is known."""
    known = s.order is not None and item.node < s.order.size and s.order[item.node] >= 0
    return int(s.order[item.node]) if known and s.order is not None else item.at


def _html(text: str) -> str:
    return escape(plain(text, 200))


def _quoted(text: str) -> str:
    return plain(text, 200).replace("\\", "\\\\").replace('"', '\\"')


def _identifier(name: str) -> str:
    """GE writes the name as it is; what DOT would not read as one identifier is quoted here."""
    bare = _BARE_ID.fullmatch(name) is not None and name.lower() not in _KEYWORDS
    return name if bare else f'"{_quoted(name)}"'
