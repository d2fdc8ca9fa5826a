"""Attached resources: what operators ask for (streams, notifies, events beside their main stream), grouped by key.

Both generations of attributes are read. Source: compiler/graph/build/stream/attach_resource_assign_helper.{h,cc} and the three
assign_attached_*_pass.cc. Groups stand in a hash map in GE; here they are taken by name, keys are ordered in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph, Node

Resource = Literal["stream", "event", "notify"]
STREAM_LIST, SYNC_LIST = "_attached_stream_info_list", "_attached_sync_res_info_list"
STREAM_INFO, SYNC_INFO, NOTIFY_INFO = "_attached_stream_info", "_attached_sync_res_info", "_attached_notify_info"
DISABLED = "_disable_attached_resource"
RESOURCE_ID, IS_VALID = "_attached_resource_id", "_attached_resource_is_valid"
EVENT_ID, NOTIFY_ID = "event_id", "notify_id"
_NAME, _KEY, _TYPE = "_attached_resource_name", "_attached_resource_reuse_key", "_attached_resource_type"
_REQUIRED, _FORCE = "_attached_resource_required_flag", "_attached_resource_force_reuse"
_STREAM_GROUP, _EVENT_GROUP = "_default_stream_info_group", "_default_event_info_group"
_KIND: Mapping[int, Resource] = {0: "event", 1: "notify"}


@dataclass
class Wish:
    """Nodes that share one resource. ``items`` are positions in the node's list attribute (-1: older form)."""

    group: str
    key: str
    num: int
    nodes: list[tuple[int, int]] = field(default_factory=list)


class KeyCounter:
    """Makes keys of entries that want a resource of their own; one counter for a whole compile, as in GE."""

    def __init__(self) -> None:
        self.next = 0

    def own(self, name: str, node: Node) -> str:
        """Key nobody else has."""
        self.next += 1
        return f"{name}{node.name}_attr_{self.next - 1}"


def wishes(graph: Graph, scope: int, kind: Resource, main: Mapping[int, int], counter: KeyCounter) -> list[Wish]:
    """What the direct nodes of a scope ask for, in the order GE hands out ids. PassFailed for a malformed request."""
    found: dict[tuple[str, str, int], Wish] = {}
    for i in graph.scope(scope).nodes:
        n = graph.node(i)
        if DISABLED in n.attrs:
            continue
        newer = STREAM_LIST in n.attrs or SYNC_LIST in n.attrs
        read = _newer(n, kind, main[i], counter) if newer else _older(n, kind, main[i], counter)
        for group, key, num, item in read:
            found.setdefault((group, key, num), Wish(group, key, num)).nodes.append((i, item))
    return [found[k] for k in sorted(found)]


def entries(value: Any, n: Node, attr: str) -> list[Mapping[str, Any]]:
    """A list attribute of named entries; PassFailed when it is something else."""
    rows = [value] if isinstance(value, Mapping) else list(value) if isinstance(value, list | tuple) else None
    if rows is None or any(not isinstance(r, Mapping) for r in rows):
        raise _bad(n, attr, value, "a list of named entries")
    return rows


def entry_key(row: Mapping[str, Any], n: Node, kind: Resource, main: int, counter: KeyCounter | None) -> str | None:
    """Final key of a newer entry; None for one without its own key when no counter is given."""
    name = row.get(_NAME)
    if not isinstance(name, str):
        raise _bad(n, _NAME, name, "a name in every entry")
    reuse = str(row.get(_KEY, ""))
    if kind == "stream":
        return reuse + name + ("" if row.get(_FORCE) is True else f"_stream_{main}")
    if reuse:
        return name + reuse
    return counter.own(name, n) if counter is not None else None


def _newer(
    n: Node, kind: Resource, main: int, counter: KeyCounter
) -> Iterator[tuple[str, str, int, int]]:  # fmt: skip
    attr = STREAM_LIST if kind == "stream" else SYNC_LIST
    rows = entries(n.attrs.get(attr, ()), n, attr)
    mine = [
        (k, r)
        for k, r in enumerate(rows)
        if r.get(_REQUIRED) is True and (kind == "stream" or _KIND.get(r.get(_TYPE)) == kind)  # type: ignore[arg-type]
    ]
    bare = [k for k, r in enumerate(rows) if _KEY not in r]
    if kind == "notify" and any(b != k for k, _ in mine for b in bare):
        # GE reads the reuse key of every entry back and stops at one that has none (recorded).
        raise _bad(n, _KEY, None, "a reuse key (an empty one will do) in every entry beside a notify")
    for k, r in mine:
        key = entry_key(r, n, kind, main, counter)
        assert key is not None
        yield _STREAM_GROUP, key, 1, k


def _older(n: Node, kind: Resource, main: int, counter: KeyCounter) -> Iterator[tuple[str, str, int, int]]:
    if kind == "stream" and STREAM_INFO in n.attrs:
        value = n.attrs[STREAM_INFO]
        if isinstance(value, Mapping):
            yield _group(n, value, "stream"), str(value.get("_attached_stream_key", "")), 1, -1
        else:
            for row in entries(value, n, STREAM_INFO):
                yield _STREAM_GROUP, f"{row.get('_attached_stream_key', '')}_stream_{main}", 1, -1
    elif kind == "notify" and NOTIFY_INFO in n.attrs:
        value = n.attrs[NOTIFY_INFO]
        if not isinstance(value, Mapping):
            raise _bad(n, NOTIFY_INFO, value, "named attributes")
        key, num = str(value.get("_attached_notify_key", "")), int(value.get("_attached_notify_num", 1))
        yield _group(n, value, "notify"), key, num, -1
    elif kind == "event" and SYNC_INFO in n.attrs:
        for row in entries(n.attrs[SYNC_INFO], n, SYNC_INFO):
            if row.get("_attached_sync_res_type") == "event":
                own = row.get("_attached_sync_res_key")
                yield _EVENT_GROUP, str(own) if own is not None else counter.own("", n), 1, -1


def _group(n: Node, value: Mapping[str, Any], kind: str) -> str:
    policy = value.get(f"_attached_{kind}_policy")
    group = n.attrs.get("group")
    if policy != "group" or not isinstance(group, str):
        raise _bad(n, f"_attached_{kind}_policy", policy, "policy group and a string attribute group")
    return group


def _bad(n: Node, attr: str, got: object, want: str) -> PassFailed:
    return PassFailed(
        f"attribute {attr} is not usable", code="E19999", ge_status="PARAM_INVALID", inner_status="FAILED",
        where=f"node {n.name}", got=got, todo=f"GE expects {want}.",
    )  # fmt: skip
