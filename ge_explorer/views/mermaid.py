"""Mermaid text of a graph: one subgraph per stream, stream colours, events dashed with their number.

Mermaid refuses more than 500 edges or 50,000 characters, so the text stays below 400 edges and 40,000 characters: large graphs
show the neighbourhood of the selection, else groups of nodes (scope and stream), never an error box. Ids are synthetic and
labels quoted and escaped, because op names contain ``/ : [ ] ( ) "``, ``end`` and anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ge_explorer.ids import Ref
from ge_explorer.ids import node as node_ref
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.drawn import drawn_graph
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.folding import fold_state
from ge_explorer.views.marks import NO_MARK, Mark, by_letter, plain, stream_marks
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.theme import Theme

MAX_EDGES = 399
MAX_CHARS = 39_000
LABEL = 40


_ARROW = re.compile(r"^  (\w+) (?:-->|-\.).* (\w+)$", re.MULTILINE)
MIME = "text/vnd.mermaid"
"""JupyterLab draws this kind itself, offline."""


@dataclass(frozen=True, slots=True)
class MermaidText:
    """The text, how it was reduced (``grouped``: "", "neighbourhood" or "groups"), and the sentence that says so."""

    text: str
    nodes: int
    edges: int
    grouped: str
    note: Text

    @property
    def ranks(self) -> int:
        """Boxes on the longest way through the drawing, cycles cut: how wide it wants to be."""
        rank: dict[str, int] = {}
        for a, b in _ARROW.findall(self.text):  # written in the order of the senders
            rank[b] = max(rank.get(b, 1), rank.setdefault(a, 1) + 1)
        return min(max(rank.values(), default=1), self.nodes)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {MIME: self.text, "text/plain": self.text}


@dataclass(frozen=True, slots=True)
class _Item:
    """A box: one node, or a group of nodes of one stream."""

    key: str
    label: str
    mark: Mark
    selected: bool = False


@dataclass(frozen=True, slots=True)
class _Link:
    a: str
    b: str
    kind: str
    label: str = ""


def build(
    s: Snapshot,
    identities: Mapping[int, StreamIdentity],
    *,
    selected: Iterable[Ref] = (),
    theme: Theme | None = None,
    max_edges: int = MAX_EDGES,
    max_chars: int = MAX_CHARS,
    folding: Folding | None = None,
) -> MermaidText:
    """Mermaid flowchart of ``s`` within the limits. Constants and weights are left out (they run nothing).

    ``folding``: functions or modules as one box per stream.
    """
    theme = theme or Theme()
    s = s.evolve(graph=drawn_graph(s.graph))
    if folding is not None and not folding.nothing:
        folded = fold_state(s, folding, identities)
        s = folded.states[0]
        selected = [node_ref(folded.of.get(r.id, r.id)) if r.kind == "node" else r for r in selected]
    marks = stream_marks(s, identities)
    chosen = [
        r.id
        for r in dict.fromkeys(selected)
        if r.kind == "node" and 0 <= r.id < s.graph.id_bound and s.graph.nodes[r.id]
    ]
    work = [
        i for i in s.graph.node_ids if not (s.graph.node(i).is_source and s.graph.node(i).op not in ("Data", "RefData"))
    ]
    total = len(work)
    text, edges = _write(*_nodes(s, work, marks, set(chosen)), theme)
    if edges <= max_edges and len(text) <= max_chars:
        return MermaidText(
            text, total, edges, "", Text(f"{total} nodes, {edges} edges.", f"{total} 个节点，{edges} 条边。")
        )
    if chosen:
        for radius in (6, 5, 4, 3, 2, 1, 0):
            near = _around(s, chosen, radius, set(work))
            text, edges = _write(*_nodes(s, near, marks, set(chosen)), theme)
            if edges <= max_edges and len(text) <= max_chars:
                note = Text(f"{len(near)} of {total} nodes: the selection and up to {radius} edges around it.",
                            f"显示 {total} 个节点中的 {len(near)} 个：所选节点及其 {radius} 条边以内的邻居。")  # fmt: skip
                return MermaidText(text, len(near), edges, "neighbourhood", note)
    for depth in (4, 3, 2, 1, 0):
        items, links = _groups(s, work, marks, depth)
        text, edges = _write(items, links, theme)
        if edges <= max_edges and len(text) <= max_chars:
            note = Text(f"{total} nodes in {len(items)} groups by scope and stream; select a node to see its surroundings.",
                        f"{total} 个节点按作用域和流合并为 {len(items)} 组；选中节点可看其周边。")  # fmt: skip
            return MermaidText(text, len(items), edges, "groups", note)
    items, links = _busiest(items, links, max_edges)
    text, edges = _write(items, links, theme)
    while len(text) > max_chars and len(items) > 1:  # hundreds of streams: keep the largest groups
        items, links = _busiest(items[: max(1, len(items) * 3 // 4)], links, max_edges)
        text, edges = _write(items, links, theme)
    note = Text(f"{total} nodes; only the {len(items)} largest groups and {edges} edges fit.",
                f"{total} 个节点；只放得下最大的 {len(items)} 组和 {edges} 条边。")  # fmt: skip
    return MermaidText(text, len(items), edges, "groups", note)


def escape(name: str, limit: int = LABEL) -> str:
    """Label text that Mermaid takes literally: everything but letters, digits and a few signs becomes an entity code.

    >>> escape('a["x"]')
    'a#91;#34;x#34;#93;'
    """
    return "".join(c if c.isalnum() or c in " _,=/" else f"#{ord(c)};" for c in plain(name, limit))


def _stream(s: Snapshot, i: int) -> int:
    return int(s.streams.node[i]) if s.streams is not None and i < s.streams.node.size else -1


def _nodes(s: Snapshot, ids: list[int], marks: Mapping[int, Mark], chosen: set[int]) -> tuple[list[_Item], list[_Link]]:
    names = s.graph.unique_names
    key = {i: f"n{k}" for k, i in enumerate(ids)}
    items = [
        _Item(
            key[i],
            f"{escape(names[i])}<br/>{escape(s.graph.node(i).op, 24)}",
            marks.get(_stream(s, i), NO_MARK),
            i in chosen,
        )
        for i in ids
    ]
    links = [
        _Link(key[a], key[b], "data")
        for a, b in dict.fromkeys((e.src, e.dst) for e in s.graph.edges)
        if a in key and b in key
    ]
    links += [_Link(key[a], key[b], "control") for a, b in s.graph.control if a in key and b in key]
    for e in s.sync.events if s.sync else ():
        if e.send in key and e.recv in key:
            links.append(_Link(key[e.send], key[e.recv], "event", f"{e.kind} {e.id}"))
    return items, links


def _around(s: Snapshot, chosen: list[int], radius: int, allowed: set[int]) -> list[int]:
    seen = {i for i in chosen if i in allowed} or set(chosen)
    edge = set(seen)
    for _ in range(radius):
        edge = {x for i in edge for x in (*s.graph.succ[i], *s.graph.pred[i]) if x in allowed} - seen
        seen |= edge
    return sorted(seen)


def _groups(s: Snapshot, ids: list[int], marks: Mapping[int, Mark], depth: int) -> tuple[list[_Item], list[_Link]]:
    """Group by subgraph, stream and the first ``depth`` parts of the name; depth 0: by stream only."""
    of: dict[int, tuple[int, int, str]] = {}
    count: dict[tuple[int, int, str], int] = {}
    for i in ids:
        n = s.graph.node(i)
        parts = [p for p in n.name.replace("/", ".").split(".") if p][:-1][:depth]
        k = (n.scope if depth else 0, _stream(s, i), ".".join(parts))
        of[i] = k
        count[k] = count.get(k, 0) + 1
    ranked = sorted(count, key=lambda k: (-count[k], k))
    key = {k: f"g{n}" for n, k in enumerate(ranked)}
    items = []
    for k in ranked:
        scope = s.graph.scope(k[0]).name + " " if k[0] else ""
        items.append(
            _Item(key[k], f"{escape(scope + (k[2] or 'nodes'))}<br/>{count[k]} nodes", marks.get(k[1], NO_MARK))
        )
    data: dict[tuple[str, str], int] = {}
    for a, b in dict.fromkeys([(e.src, e.dst) for e in s.graph.edges] + list(s.graph.control)):
        if a in of and b in of and of[a] != of[b]:
            pair = (key[of[a]], key[of[b]])
            data[pair] = data.get(pair, 0) + 1
    events: dict[tuple[str, str], int] = {}
    for e in s.sync.events if s.sync else ():
        if e.send in of and e.recv in of:
            pair = (key[of[e.send]], key[of[e.recv]])
            events[pair] = events.get(pair, 0) + 1
    links = [_Link(a, b, "data", str(n) if n > 1 else "") for (a, b), n in data.items()]
    links += [_Link(a, b, "event", f"{n} event{'s' * (n != 1)}") for (a, b), n in events.items()]
    return items, links


def _busiest(items: list[_Item], links: list[_Link], limit: int) -> tuple[list[_Item], list[_Link]]:
    keys = {i.key for i in items}
    inside = [x for x in links if x.a in keys and x.b in keys]
    events = [x for x in inside if x.kind == "event"]
    return items, (events + [x for x in inside if x.kind != "event"])[:limit]


def _write(items: list[_Item], links: list[_Link], theme: Theme) -> tuple[str, int]:
    lines = ["flowchart LR"]
    lanes: dict[int, list[_Item]] = {}
    for item in items:
        lanes.setdefault(item.mark.stream, []).append(item)
    present = {i.mark.stream: i.mark for i in items}
    for m in by_letter(present.values()):
        inside = lanes[m.stream]
        if m.index < 0:
            lines += [f'  {i.key}["{i.label}"]:::none' for i in inside]
            continue
        label = f", label {escape(m.label, 24)}" if m.label else ""
        lines.append(f'  subgraph s{m.stream}["{m.letter} {escape(m.role.en)}, GE id {m.stream}{label}"]')
        lines += [f'    {i.key}["{i.label}"]:::c{m.index}' for i in inside]
        lines.append("  end")
    for x in links:
        if x.kind == "event":
            lines.append(f'  {x.a} -. "{escape(x.label)}" .-> {x.b}')
        elif x.kind == "control":
            lines.append(f"  {x.a} -.-o {x.b}")
        else:
            lines.append(f'  {x.a} -->|"{x.label}"| {x.b}' if x.label else f"  {x.a} --> {x.b}")
    for m in by_letter(present.values()):
        name = "none" if m.index < 0 else f"c{m.index}"
        fill = theme.bg if m.index < 0 else theme.node(m.index)
        lines.append(f"  classDef {name} fill:{fill},stroke:{theme.stream(m.index)},color:{theme.ink}")
    for m in by_letter(present.values()):
        if m.index >= 0:
            lines.append(f"  style s{m.stream} fill:{theme.bg},stroke:{theme.line2},color:{theme.ink}")
    picked = [i.key for i in items if i.selected]
    if picked:
        lines.append(f"  classDef picked stroke:{theme.ink},stroke-width:3px")
        lines.append(f"  class {','.join(picked)} picked")
    return "\n".join(lines) + "\n", len(links)
