"""Our own file: a graph as versioned JSON, without loss, with what was recorded about it and parts of other modules.

``{"format": "ge_explorer.graph/1", "graph": {…}, "recorded": {…}, "parts": {"plan": {…}}}``. Plain numbers, texts and flags
stay as they are; everything JSON has no form for is a one-key object ``{"$tuple": […]}`` (own_json_values.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import GraphError, InputError
from ge_explorer.graph.model import Edge, Graph, Node, Scope, Tensor
from ge_explorer.loaders.ge_recorded import BufferLine, Recorded, RecordedEvent
from ge_explorer.loaders.own_json_check import check_graph
from ge_explorer.loaders.own_json_values import BadValue, pack, unpack
from ge_explorer.loaders.pbtxt import text_head
from ge_explorer.loaders.report import LoadReport, LoadResult
from ge_explorer.loaders.source import Source
from ge_explorer.text import Text

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

FORMAT = "ge_explorer.graph/1"
_OTHERS = {
    "ge_explorer.plan/1": ("a plan, not a graph", "Read it with Plan.from_json(text) and give it as plan=…."),
    "ge_explorer.trace/1": ("the report of a trace, not a graph", "Save the graph with to_json(graph) and load that."),
}


@dataclass(frozen=True, eq=False)
class Document:
    """Content of a file: the graph, what a dump recorded about it, and JSON values of other modules by name."""

    graph: Graph
    recorded: Recorded | None = None
    parts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def to_json(graph: Graph, recorded: Recorded | None = None, parts: Mapping[str, Any] | None = None) -> str:
    """Text of a graph; ``from_json`` gives back an equal one. ``parts``: JSON-able values kept beside it, such as a plan."""
    return json.dumps(
        {
            "format": FORMAT,
            "graph": _graph_out(graph),
            "recorded": None if recorded is None else _recorded_out(recorded),
            "parts": dict(parts or {}),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def from_json(text: str, name: str = "<text>") -> Document:
    """Graph of a text. InputError with line and column, field or id of what is wrong."""
    return _document(_json(text, name), name)


class OwnJsonLoader:
    """Our JSON, recognised by its ``format`` field."""

    def sniff(self, source: Source) -> bool:
        """True for a JSON object that names one of our formats in its first 4 KiB."""
        return source.is_text and text_head(source).startswith("{") and b'"ge_explorer.' in source.head

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Read and check. InputError with the place."""
        raw = _json(_decode(source), source.name)
        d = _document(raw, source.name)
        if len(d.graph) > settings.node_limit:
            raise InputError("the graph is too large", where=source.name, got=f"{len(d.graph)} nodes",
                             todo="Raise node_limit=… if the memory is there.")  # fmt: skip
        found = [
            Text(
                "{f}: {n} nodes, {e} data and {c} control edges", "{f}：{n} 个节点，{e} 条数据边、{c} 条控制边"
            ).format(f=FORMAT, n=len(d.graph), e=len(d.graph.edges), c=len(d.graph.control))
        ]
        if d.recorded is not None:
            found.append(Text("what a compiler dump recorded", "编译转储记录的信息"))
        if d.parts:
            found.append(Text("parts: {s}", "附带内容：{s}").format(s=", ".join(d.parts)))
        counts = {"format": FORMAT, "parts": dict(d.parts)}
        return LoadResult(d.graph, LoadReport(FORMAT, source.name, tuple(found), (), (), counts), d.recorded)


OWN_JSON = OwnJsonLoader()


# ---------------------------------------------------------------- reading
def _decode(source: Source) -> str:
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(
            "the text is not UTF-8", where=f"{source.name}, byte {e.start}", todo="Save it as UTF-8."
        ) from e


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        raise InputError("this is no JSON", where=f"{name}, line {e.lineno}, column {e.colno}", got=e.msg,
                         todo="The file is cut or was edited: write it again.") from None  # fmt: skip
    except (ValueError, RecursionError) as e:
        raise InputError("this JSON is too deep or holds an impossible number", where=name, got=str(e)[:80],
                         todo="Write the file again.") from None  # fmt: skip


def _document(raw: Any, name: str) -> Document:
    kind = raw.get("format") if isinstance(raw, dict) else None
    if isinstance(kind, str) and kind in _OTHERS:
        what, todo = _OTHERS[kind]
        raise InputError(f"this is {what}", where=name, todo=todo)
    if kind != FORMAT or not isinstance(raw.get("graph"), dict):
        raise InputError("this is no graph file we can read", where=name, got=kind,
                         todo=f"Expected format {FORMAT}: a newer version needs a newer ge_explorer.")  # fmt: skip
    try:
        graph = _graph_in(raw["graph"])
        recorded = None if raw.get("recorded") is None else _recorded_in(raw["recorded"])
        parts = raw.get("parts") or {}
        if not isinstance(parts, dict):
            raise BadValue("parts is no object")
        check_graph(graph)
    except (BadValue, KeyError, TypeError, ValueError, RecursionError) as e:
        what = f"missing {e}" if isinstance(e, KeyError) else str(e)
        raise InputError("a field of the graph file is missing or wrong", where=name, got=what,
                         todo="Write the file again with to_json(graph).") from None  # fmt: skip
    except GraphError as e:
        raise InputError(f"the graph in this file is not sound: {e.what}", where=f"{name}, {e.where}", got=e.got,
                         todo="Write the file again with to_json(graph).") from None  # fmt: skip
    return Document(graph, recorded, MappingProxyType(parts))


def _graph_out(g: Graph) -> dict[str, Any]:
    return {
        "name": g.name,
        "nodes": [None if n is None else [pack(getattr(n, f.name)) for f in fields(Node)] for n in g.nodes],
        "tensors": [None if t is None else [pack(getattr(t, f.name)) for f in fields(Tensor)] for t in g.tensors],
        "scopes": [None if s is None else [pack(getattr(s, f.name)) for f in fields(Scope)] for s in g.scopes],
        "edges": [[e.src, e.src_out, e.dst, e.dst_in] for e in g.edges],
        "control": [list(c) for c in g.control],
        "attrs": pack(g.attrs),
        "notes": list(g.notes),
    }


def _graph_in(raw: dict[str, Any]) -> Graph:
    def rows(key: str, kind: Any) -> tuple[Any, ...]:
        if not isinstance(raw[key], list):
            raise BadValue(f"{key} is no list")
        return tuple(None if r is None else _row(r, kind) for r in raw[key])

    return Graph(
        _text(raw["name"]), rows("nodes", Node), rows("tensors", Tensor), rows("scopes", Scope),
        tuple(Edge(*_ints(e, 4)) for e in raw["edges"]), tuple((a, b) for a, b in (_ints(c, 2) for c in raw["control"])),
        _mapping(unpack(raw["attrs"])), tuple(_text(n) for n in raw["notes"]),
    )  # fmt: skip


def _recorded_out(r: Recorded) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for f in fields(Recorded):
        value = getattr(r, f.name)
        if f.name in ("events", "buffers"):
            out[f.name] = [[pack(getattr(x, g.name)) for g in fields(x)] for x in value]
        else:
            out[f.name] = pack(value)
    return out


def _recorded_in(raw: Any) -> Recorded:
    values: dict[str, Any] = {}
    for f in fields(Recorded):
        if f.name == "events":
            values[f.name] = tuple(_row(row, RecordedEvent) for row in raw[f.name])
        elif f.name == "buffers":
            values[f.name] = tuple(_row(row, BufferLine) for row in raw[f.name])
        elif f.name == "stage":
            values[f.name] = _text(raw[f.name])
        else:
            values[f.name] = _mapping(unpack(raw[f.name]))
    return Recorded(**values)


def _row(row: Any, kind: Any) -> Any:
    if not isinstance(row, list) or len(row) != len(fields(kind)):
        raise BadValue(f"a row of {kind.__name__} has the wrong length")
    return kind(*(unpack(v) for v in row))


def _ints(row: Any, count: int) -> list[int]:
    if (
        not isinstance(row, list)
        or len(row) != count
        or any(not isinstance(v, int) or isinstance(v, bool) for v in row)
    ):
        raise BadValue(f"expected {count} whole numbers, got {row!r:.60}")
    return row


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(f"expected a text, got {value!r:.60}")
    return value


def _mapping(value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise BadValue(f"expected a mapping, got {value!r:.60}")
    return value
