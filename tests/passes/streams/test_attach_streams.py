"""Attached streams by key, in both generations of attributes."""

from __future__ import annotations

from typing import Any

import pytest

import ge_explorer as gx
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.trace import Trace

NEW, OLD = "_attached_stream_info_list", "_attached_stream_info"


def item(name: str = "g", key: str = "k", *, required: bool = True, force: bool = False) -> dict[str, Any]:
    return {
        "_attached_resource_name": name, "_attached_resource_reuse_key": key, "_attached_resource_required_flag": required,
        "_attached_resource_force_reuse": force,
    }  # fmt: skip


def graph(**attrs: dict[str, Any]) -> Graph:
    """A chain of MatMuls a, b, c … with these attributes."""
    e = GraphEditor.empty("g")
    x = e.output(e.add_node("x", "Data", outputs=[((8, 8), "float")]))
    for name, value in attrs.items():
        x = e.output(e.add_node(name, "MatMul", inputs=[x, x], outputs=[((8, 8), "float")], attrs=value))
    e.add_node("out", "NetOutput", inputs=[x])
    return e.freeze()


def attached(t: Trace) -> dict[str, tuple[int, ...]]:
    assert t.failed is None, t.failed.error
    s = t.final
    assert s.streams is not None
    return {s.graph.node(i).name: ids for i, ids in s.streams.attached.items()}


def test_equal_keys_share_and_keys_are_numbered_by_their_text() -> None:
    t = gx.compile(graph(a={NEW: [item(key="k2")]}, b={NEW: [item(key="k1")]}, c={NEW: [item(key="k2")]}))
    assert attached(t) == {"a": (2,), "b": (1,), "c": (2,)}
    row = t.final.graph.node("a").attrs[NEW][0]
    assert (row["_attached_resource_id"], row["_attached_resource_is_valid"]) == (2, True)
    assert "a" in str(t.why("c", "attached stream")[0].decision.note or "") or t.why("c", "attached stream")


def test_several_entries_give_several_streams_and_optional_ones_none() -> None:
    t = gx.compile(graph(a={NEW: [item(key="k1"), item(key="k2", required=False)]}, b={NEW: [item(required=False)]}))
    assert attached(t) == {"a": (1, -1)}


def test_the_older_forms() -> None:
    named = {"group": "g0", OLD: {"_attached_stream_policy": "group", "_attached_stream_key": "as0"}}
    t = gx.compile(graph(a=named, b={OLD: [{"_attached_stream_key": "tiling"}]}))
    assert sorted(attached(t)) == ["a", "b"]
    assert OLD not in t.final.graph.node("a").attrs


@pytest.mark.parametrize("bad", [3, [3], [{"_attached_resource_required_flag": True}]])
def test_a_malformed_request_names_the_node(bad: Any) -> None:
    failed = gx.compile(graph(a={NEW: bad})).failed
    assert failed is not None and failed.error is not None
    assert failed.name == "attach-streams"
    assert "node a" in str(failed.error)


def test_the_output_waits_for_every_attached_stream() -> None:
    t = gx.compile(graph(a={NEW: [item(key="k1")]}, b={NEW: [item(key="k1")]}, c={}))
    s = t.final
    assert s.sync is not None
    cover = [e for e in s.sync.events if e.cause == "attached-end"]
    names = s.graph.unique_names
    assert [(names[e.send], names[e.recv], e.send_on, e.send_stream) for e in cover] == [("b", "out", "by-stream", 1)]
    send = next(n for n in s.graph if n.op == "Send")
    assert int(s.streams.node[send.id]) == 1  # type: ignore[union-attr]
