"""Worked examples of event insertion and clean-up, with their numbers, and what each pass says about them."""

from __future__ import annotations

import random

import pytest

from ge_explorer.errors import PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from tests.passes.sync.sync_cases import alive, events_of, graph


def test_example_1_fan_out_keeps_the_first_wait() -> None:
    t = events_of(graph("A:0 B:1 C:1", "A>B A>C B>C"))
    assert alive(t, "insert-events") == [(0, "A", "B"), (1, "A", "C")]
    assert alive(t, "optimize-by-send") == [(0, "A", "B")]
    assert alive(t, "renumber-events") == [(0, "A", "B")]
    assert t.final.sync is not None
    assert t.final.sync.event_num == 1


def test_example_2_fan_in_keeps_the_last_send() -> None:
    t = events_of(graph("A:0 B:0 C:0 D:1", "A>D B>D C>D"))
    assert len(alive(t, "optimize-by-send")) == 3
    assert alive(t, "optimize-by-recv") == [(2, "C", "D")]
    assert alive(t, "renumber-events") == [(0, "C", "D")]


def test_example_3_a_crossing_pair_is_kept_though_one_event_implies_the_other() -> None:
    t = events_of(graph("A1:0 A2:0 B1:1 B2:1", "A1>B2 A2>B1"))
    assert len(alive(t, "renumber-events")) == 2


def test_example_4_three_streams_are_numbered_by_sender_name() -> None:
    t = events_of(graph("z:0 x:1 y:2 m:0", "z>x z>y x>m y>m z>m"))
    assert alive(t, "insert-events") == [(0, "z", "x"), (1, "z", "y"), (2, "x", "m"), (3, "y", "m")]
    assert alive(t, "renumber-events") == [(0, "x", "m"), (1, "y", "m"), (2, "z", "x"), (3, "z", "y")]


def test_example_4_no_transitive_reduction() -> None:
    t = events_of(graph("P:0 Q:1 R:2", "P>Q Q>R P>R"))
    assert len(alive(t, "renumber-events")) == 3


def test_example_5_the_chain_of_starts_covers_the_long_edge() -> None:
    t = events_of(
        graph(
            "A:0 SAa:1 SAb:2 C:3", "A>SAa SAa>SAb SAb>C A>C",
            attrs={
                "SAa": {"_stream_label": "label1", "_active_label_list": ["label2"]},
                "SAb": {"_stream_label": "label2", "_active_label_list": ["label3"]},
                "C": {"_stream_label": "label3"},
            },
        )
    )  # fmt: skip
    names = t.initial.graph.by_name
    sync = t.step("activate-by-label").after.sync
    assert sync is not None
    assert dict(sync.active_streams) == {names["SAa"]: (2,), names["SAb"]: (3,)}
    assert alive(t, "insert-events") == [(0, "A", "SAa"), (1, "A", "C")]
    assert alive(t, "optimize-by-recv") == [(0, "A", "SAa"), (1, "A", "C")]
    assert alive(t, "optimize-by-activation") == [(0, "A", "SAa")]
    assert alive(t, "renumber-events") == [(0, "A", "SAa")]


def test_parallel_edges_give_two_events_and_one_stays() -> None:
    t = events_of(graph("A:0 B:1", "A>B A>B"))
    assert len(alive(t, "insert-events")) == 2
    assert alive(t, "optimize-by-send") == [(0, "A", "B")]


def test_a_producer_without_a_stream_sends_nothing() -> None:
    t = events_of(graph("A:-1 B:1 C:0", "A>B A>C"))
    assert alive(t, "insert-events") == []


def test_a_consumer_without_a_stream_fails_as_ge_does() -> None:
    t = events_of(graph("A:0 B:-1", "A>B"))
    assert t.failed is not None
    assert t.failed.name == "insert-events"
    error = t.failed.error
    assert isinstance(error, PassFailed)
    assert (error.code, error.ge_status, error.inner_status) == ("E19999", "PARAM_INVALID", "FAILED")
    threaded = events_of(graph("A:0 B:-1", "A>B", attrs={"B": {"_thread_scope_id": 1}}))
    assert threaded.failed is None
    assert alive(threaded, "renumber-events") == []


def test_only_a_stream_active_waits_for_enter() -> None:
    t = events_of(graph("E:0 x:1 act:2", "E>x E>act", types={"E": "Enter", "act": "StreamActive"}))
    assert alive(t, "renumber-events") == [(0, "E", "act")]


def test_no_event_when_the_label_is_started_later_on_the_senders_stream() -> None:
    attrs = {"act": {"_active_label_list": ["L"]}, "x": {"_stream_label": "L"}}
    before = events_of(graph("u:0 act:0 x:1", "u>x", control="act>x", attrs=attrs))
    assert alive(before, "insert-events") == []
    after = events_of(graph("act:0 u:0 x:1", "u>x", control="act>x", attrs=attrs))
    assert alive(after, "insert-events") == [(0, "u", "x")]


def test_what_a_switch_sends_goes_and_what_it_waits_for_stays() -> None:
    t = events_of(graph("A:0 sw:1 C:2", "A>sw", control="sw>C", types={"sw": "StreamSwitch"}))
    assert len(alive(t, "optimize-by-activation")) == 2
    assert alive(t, "switch-clean-up") == [(0, "A", "sw")]


def bodies() -> Graph:
    """pre(0) → if(0) → post(0); both branches run on streams 1 and 2, the first one has a head and an end node."""
    e = GraphEditor.empty("g")
    pre = e.add_node("pre", "Op", outputs=1, attrs={"stream": 0})
    holder = e.add_node("if", "If", inputs=[e.output(pre)], outputs=1, attrs={"stream": 0})
    e.add_node("post", "Op", inputs=[e.output(holder)], attrs={"stream": 0})
    for name, first in (("then", True), ("else", False)):
        scope = e.add_scope(name, holder)
        head = e.add_node(
            f"{name}_head", "StreamActive", outputs=1, attrs={"stream": 1, "subgraph_first_active": first}, scope=scope
        )
        end = {"_subgraph_end_node": True} if first else {}
        e.add_node(f"{name}_end", "NetOutput", inputs=[e.output(head)], attrs={"stream": 2, **end}, scope=scope)
    return e.freeze()


def test_subgraph_borders_and_heads() -> None:
    t = events_of(bodies())
    names = t.initial.graph.by_name
    assert alive(t, "insert-events") == [
        (0, "then_head", "then_end"), (1, "else_head", "else_end"), (2, "pre", "else_head"), (3, "pre", "then_head"),
        (4, "then_end", "post"),
    ]  # fmt: skip
    assert t.final.sync is not None
    assert dict(t.final.sync.active_streams) == {names["then_head"]: (2,)}
    assert t.final.sync.activated == frozenset({2})
    assert not t.final.sync.stream_activators, "a subgraph head is not an activator for the clean-up"


def test_a_label_list_starts_streams_in_list_order_with_repeats() -> None:
    attrs = {
        "act": {"_active_label_list": ["b", "a", "b", "none"]},
        "x": {"_stream_label": "a"}, "y": {"_stream_label": "b"}, "z": {"_stream_label": "b"},
    }  # fmt: skip
    t = events_of(graph("act:0 x:1 y:3 z:2", attrs=attrs))
    sync = t.final.sync
    assert sync is not None
    assert sync.active_streams[t.initial.graph.by_name["act"]] == (2, 3, 1, 2, 3)
    assert sync.label_streams["none"] == ()
    assert len(sync.stream_activators[2]) == 1


def test_notify_mode_makes_notifies_by_the_rules_of_events() -> None:
    g = graph("A:0 B:0 C:0 D:1 E:1", "A>D B>D C>D A>E")
    events, notifies = events_of(g).final.sync, events_of(g, ge_event="notify").final.sync
    assert events is not None and notifies is not None
    assert {e.kind for e in notifies.events} == {"notify"}
    assert [(e.id, e.send, e.recv) for e in notifies.events] == [(e.id, e.send, e.recv) for e in events.events]
    assert (notifies.event_num, notifies.notify_num) == (0, events.event_num)


def test_every_removed_event_keeps_its_rule_and_what_made_it_redundant() -> None:
    t = events_of(graph("A:0 B:0 C:0 D:1 E:1", "A>D B>D C>D A>E"))
    sync = t.final.sync
    assert sync is not None
    gone = {(r.event.id, r.step, r.rule): r.by for r in sync.removed}
    name = t.initial.graph.unique_names
    uid = {(name[e.send], name[e.recv]): e.uid for e in (*sync.events, *(r.event for r in sync.removed))}
    assert gone[1, "optimize-by-send", "earlier-wait"] == (uid["A", "D"],)
    assert gone[2, "optimize-by-recv", "later-send"] == (uid["C", "D"],)
    assert gone[0, "optimize-by-recv", "later-send"] == (uid["C", "D"],)
    assert len(sync.events) == 1


def test_the_trail_of_event_sender_and_receiver_tell_the_same_story() -> None:
    t = events_of(graph("z:0 x:1 y:1", "z>x z>y"))
    s = t.step("insert-events").after
    assert s.sync is not None
    second = next(e for e in s.sync.events if s.graph.node(e.recv).name == "y")
    trail = t.why(f"event:{second.uid}")
    assert [(e.step.name, e.decision.rule) for e in trail] == [
        ("insert-events", "data"), ("optimize-by-send", "earlier-wait"),
    ]  # fmt: skip
    assert trail[-1].decision.after is None
    for end in ("z", "y"):
        assert any(e.decision.rule == "earlier-wait" for e in t.why(end))


def test_events_keep_their_identity_through_renumbering() -> None:
    t = events_of(graph("z:0 x:1 a:1 y:2", "z>x a>y"))
    before, after = t.step("insert-events").after.sync, t.final.sync
    assert before is not None
    assert after is not None
    assert {e.uid: (e.send, e.recv) for e in before.events} == {e.uid: (e.send, e.recv) for e in after.events}
    assert {e.uid: e.id for e in before.events} != {e.uid: e.id for e in after.events}


@pytest.mark.parametrize("streams", [4, 64])
def test_ten_thousand_nodes_take_seconds_not_minutes(streams: int) -> None:
    """GE's own id look-up makes this quadratic in events; ours must stay linear."""
    rng = random.Random(3)
    n = 10_000
    e = GraphEditor.empty("big")
    outs: list[int] = []
    for i in range(n):
        ins = [outs[rng.randrange(max(0, i - 200), i)] for _ in range(min(i, 2))]
        node = e.add_node(f"n{i}", "Op", inputs=ins, outputs=1, attrs={"stream": rng.randrange(streams)})
        outs.append(e.output(node))
    g = e.freeze()
    t = events_of(g)
    assert t.final.sync is not None
    assert t.final.sync.removed
