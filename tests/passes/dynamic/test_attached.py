"""Attached streams and notifies of dynamic-shape graphs: which graphs get them, shared keys, repeated rounds, errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ge_explorer.errors import PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.trace import Trace
from tests.passes.dynamic.dynamic_cases import AI, HCCL, RTS, graph_of, run

ROWS = [("data", "", []), ("a", AI, ["data"]), ("ar", HCCL, ["a"]), ("out", RTS, ["ar"])]


def stream(key: str, *, force: bool = False, required: bool = True) -> Mapping[str, Any]:
    entry = {
        "_attached_resource_name": "as", "_attached_resource_reuse_key": key, "_attached_resource_required_flag": required,
        "_attached_resource_force_reuse": force,
    }  # fmt: skip
    return {"_attached_stream_info_list": [entry]}


def notify(key: str, **more: int) -> Mapping[str, Any]:
    info = {"_attached_notify_policy": "group", "_attached_notify_key": key, **more}
    return {"group": "g", "_attached_notify_info": info}


def attached(t: Trace) -> dict[str, tuple[int, ...]]:
    assert t.failed is None, t.failed.error
    assert t.final.streams is not None
    return {t.final.graph.node(i).name: ids for i, ids in t.final.streams.attached.items()}


def owned(t: Trace) -> dict[str, list[int]]:
    assert t.failed is None, t.failed.error
    assert t.final.sync is not None
    return {t.final.graph.node(i).name: [k for _, k in ids] for i, ids in t.final.sync.owned.items()}


def nested(root: Mapping[str, Any], branch: Mapping[str, Any], *, dynamic: bool = True) -> Graph:
    e = GraphEditor.empty("g", dynamic=True)
    data = e.add_node("data", "Data", outputs=1)
    a = e.add_node("a", "Relu", inputs=[e.output(data)], outputs=1, attrs={"_gx_engine": AI, **root})
    holder = e.add_node("if", "If", inputs=[e.output(a)], outputs=1)
    e.add_node("out", "NetOutput", inputs=[e.output(holder)])
    scope = e.add_scope("then", holder, dynamic=dynamic)
    x = e.add_node("x", "Data", outputs=1, scope=scope)
    b = e.add_node("b", "Relu", inputs=[e.output(x)], outputs=1, attrs={"_gx_engine": AI, **branch}, scope=scope)
    e.add_node("then_out", "NetOutput", inputs=[e.output(b)], scope=scope)
    return e.freeze()


def test_attached_streams_count_on_from_the_main_ones() -> None:
    t = run(graph_of(ROWS, {"a": stream("k"), "ar": stream("k")}))
    assert attached(t) == {"a": (2,), "ar": (3,)}, "the key includes the main stream"
    assert t.final.streams is not None
    assert (t.final.streams.main_count, t.final.streams.next_stream) == (2, 4)
    entry = t.final.graph.node("a").attrs["_attached_stream_info_list"][0]
    assert (entry["_attached_resource_id"], entry["_attached_resource_is_valid"]) == (2, True)


def test_forced_reuse_shares_over_main_streams() -> None:
    t = run(graph_of(ROWS, {"a": stream("k", force=True), "ar": stream("k", force=True)}))
    assert attached(t) == {"a": (2,), "ar": (2,)}


def test_they_are_handed_out_with_the_allocator_off_too() -> None:
    t = run(graph_of(ROWS, {"a": stream("k")}), on=False)
    assert attached(t) == {"a": (1,)}


def test_optional_entries_get_nothing() -> None:
    assert attached(run(graph_of(ROWS, {"a": stream("k", required=False)}))) == {}


def test_a_branch_of_known_shapes_gets_none_here() -> None:
    assert attached(run(nested({}, stream("k"), dynamic=False))) == {}
    assert attached(run(nested({}, stream("k")))) == {"b": (1,)}


def test_a_key_is_shared_between_graphs_and_every_graph_starts_a_new_round() -> None:
    t = run(nested(stream("k"), stream("k")))
    assert attached(t) == {"a": (2,), "b": (2,)}
    assert t.final.streams is not None
    assert t.final.streams.next_stream == 3, "id 1 was handed out in the first round and again as 2"
    assert [w.decision.after for w in t.why("a", "attached stream")] == [(1,), (2,)]


def test_a_graph_that_asks_for_nothing_repeats_the_round_all_the_same() -> None:
    assert attached(run(nested(stream("k"), {}))) == {"a": (2,)}


def test_notifies_are_numbered_and_events_stay() -> None:
    t = run(graph_of(ROWS, {"a": notify("n", _attached_notify_num=2), "ar": notify("m")}))
    assert owned(t) == {"a": [1, 2], "ar": [0]}, "keys in order of their text"
    assert t.final.sync is not None
    assert (t.final.sync.notify_num, t.final.sync.event_num, t.final.sync.notify_types) == (3, 2, (0, 0, 0))
    assert t.final.graph.node("a").attrs["notify_id"] == [1, 2]


def test_operators_of_one_notify_must_agree_on_its_type() -> None:
    agreeing = {"a": notify("n", _attached_notify_type=1), "ar": notify("n", _attached_notify_type=1)}
    t = run(graph_of(ROWS, agreeing))
    assert owned(t) == {"a": [0], "ar": [0]}
    assert t.final.sync is not None
    assert t.final.sync.notify_types == (1,)
    t = run(graph_of(ROWS, {**agreeing, "ar": notify("n")}))
    assert t.failed is not None
    assert isinstance(t.failed.error, PassFailed)
    assert t.failed.error.ge_status == "PARAM_INVALID"


def test_newer_notify_entries_without_a_key_have_one_each() -> None:
    entry = {"_attached_resource_name": "n", "_attached_resource_type": 1, "_attached_resource_required_flag": True}
    both = {"_attached_sync_res_info_list": [{**entry, "_attached_resource_reuse_key": ""}]}
    t = run(graph_of(ROWS, {"a": both, "ar": both}))
    assert sorted(x for ids in owned(t).values() for x in ids) == [0, 1]
    rows = t.final.graph.node("a").attrs["_attached_sync_res_info_list"]
    assert rows[0]["_attached_resource_is_valid"] is True


@pytest.mark.parametrize(
    "bad", [{"_attached_stream_info_list": 3}, {"_attached_stream_info": {"_attached_stream_key": "k"}}]
)
def test_a_request_that_cannot_be_read_fails_with_the_node_named(bad: Mapping[str, Any]) -> None:
    t = run(graph_of(ROWS, {"a": bad}))
    assert t.failed is not None
    assert isinstance(t.failed.error, PassFailed)
    assert "node a" in str(t.failed.error)
