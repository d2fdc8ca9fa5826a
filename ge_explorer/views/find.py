"""Search: which nodes, streams and events a query means."""

from __future__ import annotations

import re
from collections.abc import Callable

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.palette import Identities

LIMIT = 2000
MAX_QUERY = 200
_FIELD = re.compile(r"^(op|shape|attr|stream|event|label)[:\s]+(.+)$", re.IGNORECASE)


def find(trace: Trace, step: int, query: str, identities: Identities | None = None) -> list[Ref]:
    """References at ``step`` that match, in node order, at most ``LIMIT``.

    ``stream A`` or ``stream 3`` (letter or GE id), ``event 2`` (GE id), ``op:MatMul``, ``shape:7168``, ``attr:_parallel_group``
    (key or ``key=value``), ``label:22``; anything else is a regular expression, or plain text where it is not a valid one, over
    name and type, upper and lower case alike.
    """
    query = query.strip()[:MAX_QUERY]
    if not query:
        return []
    s = trace.snapshot(step)
    field = _FIELD.match(query)
    if field:
        kind, value = field[1].lower(), field[2].strip()
        if kind == "stream":
            return _streams(trace, step, value, identities)
        if kind == "event":
            return [Ref("event", e.uid) for e in (s.sync.events if s.sync else ()) if str(e.id) == value]
        return _nodes(s, _matcher(s, kind, value))
    match = pattern(query)
    return _nodes(
        s, lambda n: match(s.graph.unique_names[n.id]) or match(n.op) or (bool(n.source_op) and match(n.source_op))
    )


def pattern(query: str) -> Callable[[str], bool]:
    """Case-blind test for a regular expression, or for plain text where the query is not a valid or a safe one."""
    low = query.lower()
    if re.search(r"[+*}]\)?[+*{]|\([^)]*[+*|][^)]*\)[+*{]", query):  # nested repeats can take for ever
        return lambda text: low in text.lower()
    try:
        compiled = re.compile(query, re.IGNORECASE)
    except re.error:
        return lambda text: low in text.lower()
    return lambda text: low in text.lower() or compiled.search(text[:500]) is not None


def _nodes(s: Snapshot, test: Callable[[Node], bool]) -> list[Ref]:
    out: list[Ref] = []
    for n in s.graph:
        if test(n):
            out.append(Ref("node", n.id))
            if len(out) >= LIMIT:
                break
    return out


def _matcher(s: Snapshot, kind: str, value: str) -> Callable[[Node], bool]:
    match = pattern(value)
    if kind == "op":
        return lambda n: match(n.op) or match(n.source_op)
    if kind == "label":
        return lambda n: str(n.attrs.get("_user_stream_label", n.attrs.get("_stream_label", ""))) == value
    if kind == "attr":
        key, eq, wanted = value.partition("=")
        return lambda n: key in n.attrs and (not eq or str(n.attrs[key]) == wanted)
    tensors = s.graph.tensors
    wanted_dims = [d for d in re.split(r"[\s,x×\[\]]+", value) if d]

    def shape(n: Node) -> bool:
        for i in n.outputs:
            t = tensors[i]
            if t is not None and t.shape is not None and wanted_dims:
                dims = [str(d) for d in t.shape]
                k = len(wanted_dims)
                if any(dims[j : j + k] == wanted_dims for j in range(len(dims) - k + 1)):
                    return True
        return False

    return shape


def _streams(trace: Trace, step: int, value: str, identities: Identities | None) -> list[Ref]:
    s = trace.snapshot(step)
    if s.streams is None:
        return []
    used = sorted({int(i) for i in s.streams.node if i >= 0})
    if value.lstrip("#").isdigit():
        return [Ref("stream", i) for i in used if i == int(value.lstrip("#"))]
    if identities is None:
        return []
    hits = [(i, identities.of(step, i)) for i in used]
    return [Ref("stream", i) for i, who in hits if who is not None and value.upper() in (who.letter, who.label.upper())]
