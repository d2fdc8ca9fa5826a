"""Every invariant on a graph made to break it, and on its healthy twin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ge_explorer.checks import INVARIANTS, check_invariants, check_snapshot
from ge_explorer.text import LANGUAGES
from ge_explorer.trace.state import Options, Snapshot, SyncPlan, int_array
from tests.checks.states import HELD, found, graph_of, only, result, split, state

FORK = graph_of("AB AC BD CD")
HEALTHY = state(FORK, "A0 B0 C1 D0", "AC CD")


def test_the_table_lists_fourteen_with_titles_and_codes() -> None:
    assert list(INVARIANTS) == list(range(1, 15))
    codes = [c for i in INVARIANTS.values() for c in i.codes]
    assert all(c.startswith("GX1") and len(c) == 5 for c in codes)
    assert len({i.title.en for i in INVARIANTS.values()}) == 14
    assert all(i.title.get(lang) for i in INVARIANTS.values() for lang in LANGUAGES)


def test_a_healthy_state_passes_everything_that_applies() -> None:
    rows = check_invariants(HEALTHY)
    assert {r.status for r in rows} == {"pass", "not applicable"}
    assert [r.number for r in rows if r.status == "not applicable"] == [9, 10, 11]
    assert all((r.reason is not None) == (r.status == "not applicable") for r in rows)


def test_without_streams_only_the_order_applies() -> None:
    rows = check_invariants(HEALTHY.evolve(streams=None, sync=None))
    assert [r.number for r in rows if r.status != "not applicable"] == [14]


def test_an_order_with_holes_stops_the_rest() -> None:
    rows = check_invariants(HEALTHY.evolve(sequence=(0, 1)))
    assert [r.status for r in rows] == ["not applicable"] * 13 + ["fail"]


def test_issues_of_a_snapshot_are_those_of_its_invariants() -> None:
    s = state(FORK, "A0 B0 C1 D0", "AC")
    assert [i for r in check_invariants(s) for i in r.issues] == list(check_snapshot(s))


# ---------------------------------------------------------------- 1
def test_1_a_circle_fails_and_what_needs_an_order_waits() -> None:
    s = state(graph_of("AB CD AD CB"), "A0 B0 C1 D1", "DA BC")
    assert found(s, 1) == [("GX111", "error")]
    assert {r.number for r in check_invariants(s) if r.reason and "circle" in r.reason.en} == {2, 3}


def test_1_a_back_edge_of_a_loop_is_no_circle() -> None:
    g = graph_of("AB BC", ops={"C": "StreamActive"}, attrs={"C": {"is_loop_active": True, **HELD}})
    assert found(state(g, "A0 B1 C1", "AB", active={"C": (0,)}), 1) == []
    g = graph_of("AB BC", ops={"C": "StreamActive"}, attrs={"C": HELD})
    assert found(state(g, "A0 B1 C1", "AB", active={"C": (0,)}), 1) == [("GX111", "error")]


def test_1_a_receiver_outside_must_not_wait_for_one_branch() -> None:
    g = graph_of("XH AB CD HY", ops={"H": "If"}, bodies={"H": ["AB", "CD"]})
    s = state(g, "X0 H0 A1 B1 C2 D2 Y0", "BY")
    assert found(s, 1) == [("GX128", "warning")]
    assert "branch H_0 of H" in only(s, "GX128").message.en
    assert found(state(g, "X0 H0 A1 B1 C2 D2 Y0", "XA XC"), 1) == []


# ---------------------------------------------------------------- 2
def test_2_the_missing_path_is_measured() -> None:
    s = state(graph_of("AD BD CD"), "A0 B0 C0 D1", "AD")
    issue = only(s, "GX110")
    assert "it only waits for A, 1 tasks earlier" in issue.message.en
    assert issue.fix is not None
    assert "Add an event from B to D (stream 0 to stream 1)" in issue.fix.en
    assert found(state(graph_of("AD BD CD"), "A0 B0 C0 D1", "CD"), 2) == []


def test_2_ffts_interiors_are_exempt() -> None:
    g = graph_of("AB", ops={"H": "PartitionedCall"}, attrs={"H": {"_ffts_sub_graph": "x"}}, bodies={"H": ["AB"]})
    assert found(state(g, "H0 A1 B2"), 2) == []
    g = graph_of("AB", ops={"H": "PartitionedCall"}, bodies={"H": ["AB"]})
    assert found(state(g, "H0 A1 B2"), 2) == [("GX110", "error")]


def test_2_values_of_attached_streams() -> None:
    want = {"_attached_stream_info_list": ({"_attached_resource_depend_value_list_int": (0,)},)}
    g = graph_of("AB", attrs={"B": want})
    s = state(g, "A0 B0", attached={"B": (1,)})
    assert found(s, 2) == [("GX124", "error")]
    assert "B reads the value of A on stream 1" in only(s, "GX124").message.en
    assert found(state(g, "A0 B0", "AB:1", attached={"B": (1,)}, causes=["attached-value"]), 2) == []


def test_2_what_a_switch_no_longer_sends_is_a_habit_of_ge() -> None:
    g = graph_of("AB", ops={"A": "StreamSwitch"})
    s = state(g, "A0 B1")
    assert found(s, 2) == [("GX110", "warning")]
    assert "StreamSwitch" in only(s, "GX110").message.en


# ---------------------------------------------------------------- 3
def test_3_attached_streams_reach_the_output() -> None:
    g = graph_of("AN", ops={"N": "NetOutput"})
    s = state(g, "A0 N0", attached={"A": (1,)})
    assert found(s, 3) == [("GX125", "error")]
    assert found(state(g, "A0 N0", "A:1N", attached={"A": (1,)}, causes=["attached-end"]), 3) == []
    lonely = state(graph_of("AB"), "A0 B0", attached={"A": (1,)})
    assert found(lonely, 3) == [("GX125", "warning")]


def test_3_side_streams_of_a_dynamic_model_are_joined_at_load() -> None:
    s = state(FORK, "A0 B0 C1 D0", "AC")
    g = replace(s.graph, scopes=(replace(s.graph.root, dynamic=True),))
    assert found(s.evolve(graph=g), 3) == [("GX126", "note")]
    assert result(s.evolve(graph=g), 3).status == "pass"
    assert "added" in only(s.evolve(graph=g), "GX126").message.zh
    assert found(HEALTHY.evolve(graph=g), 3) == []


# ---------------------------------------------------------------- 4
def test_4_operators_own_ids_fill_the_range() -> None:
    assert found(state(FORK, "A0 B0 C1 D0", "AC CD", ids=[0, 2]), 4) == [("GX113", "error")]
    own = {FORK.by_name["B"]: (("event", 1),)}
    assert found(state(FORK, "A0 B0 C1 D0", "AC CD", ids=[0, 2], owned=own, event_num=3), 4) == []


def test_4_counters_and_types_fit() -> None:
    assert found(state(FORK, "A0 B0 C1 D0", "AC CD", event_num=3), 4) == [("GX127", "error")]
    own = {FORK.by_name["B"]: (("notify", 0),)}
    s = state(FORK, "A0 B0 C1 D0", "AC CD", owned=own, notify_num=1, notify_types=(0, 0))
    assert found(s, 4) == [("GX127", "error")]
    assert found(state(FORK, "A0 B0 C1 D0", "AC CD", owned=own, notify_num=1, notify_types=(0,)), 4) == []


def test_4_numbers_follow_the_names_of_senders() -> None:
    assert found(state(FORK, "A0 B0 C1 D0", "AC CD", ids=[1, 0], event_num=2), 4) == [("GX134", "warning")]
    assert found(state(FORK, "A0 B0 C1 D0", "AC CD", ids=[0, 1], event_num=2), 4) == []


# ---------------------------------------------------------------- 5
GEARS = graph_of("AB CD", ops={"H": "Case"}, attrs={"H": {"_batch_num": 2}}, bodies={"H": ["AB", "CD"]})


def test_5_gears_of_one_case_share_ids() -> None:
    assert found(state(GEARS, "H0 A0 B1 C0 D1", "AB CD", ids=[0, 0]), 5) == []
    plain = graph_of("AB CD", ops={"H": "Case"}, bodies={"H": ["AB", "CD"]})
    s = state(plain, "H0 A0 B1 C0 D1", "AB CD", ids=[0, 0])
    assert found(s, 5) == [("GX113", "error")]
    assert "not stay inside one gear" in only(s, "GX113").message.en


@pytest.mark.parametrize(
    ("bodies", "why"),
    [
        ({"H": ["ABCD", "EF"]}, "same gear"),
        ({"H": ["AB", "E"], "I": ["CD", "F"]}, "both run"),
        ({"H": ["AB", "E"]}, "inside one gear"),
    ],
)
def test_5_a_shared_id_needs_exclusive_gears(bodies: dict[str, list[str]], why: str) -> None:
    ops = dict.fromkeys(bodies, "Case")
    attrs = {h: {"_batch_num": 2} for h in bodies}
    g = graph_of("AB CD EF" if "EF" in bodies["H"] else "AB CD", ops=ops, attrs=attrs, bodies=bodies)
    placed = " ".join(f"{n.name}{1 if n.name in 'BDF' else 0}" for n in g)
    assert why in only(state(g, placed, "AB CD", ids=[0, 0]), "GX113").message.en


SYNCED = graph_of(
    "AB",
    ops={"S": "Send", "R": "Recv"},
    attrs={"S": {"event_id": 0}, "R": {"event_id": 0}},
    control="AS RB",
    order="ASRB",
)


def sync_nodes(s: Snapshot, **nodes: int) -> Snapshot:
    assert s.sync is not None
    return s.evolve(sync=replace(s.sync, sync_nodes={s.graph.by_name[k]: v for k, v in nodes.items()}))


def test_5_every_event_has_its_send_and_recv() -> None:
    s = state(SYNCED, "A0 S0 R1 B1", "AB")
    assert found(sync_nodes(s, S=0, R=0), 5) == []
    assert found(s, 5) == []  # as in a dump: found by id and neighbour
    assert found(sync_nodes(s, S=0), 5) == [("GX129", "error")] * 2  # R belongs to nothing, the event has no Recv
    wrong = SYNCED.with_attrs({SYNCED.by_name["R"]: {"event_id": 7}})
    assert found(sync_nodes(s.evolve(graph=wrong), S=0, R=0), 5) == [("GX129", "error")]
    assert found(s.evolve(sync=SyncPlan()), 5) == [("GX129", "error")] * 2


# ---------------------------------------------------------------- 6
def test_6_sync_nodes_stand_on_the_streams_of_their_nodes() -> None:
    assert found(sync_nodes(state(SYNCED, "A0 S0 R1 B1", "AB"), S=0, R=0), 6) == []
    assert found(sync_nodes(state(SYNCED, "A0 S2 R1 B1", "AB"), S=0, R=0), 6) == [("GX120", "error")]
    assert found(sync_nodes(state(SYNCED, "A0 S1 R1 B1", "AB"), S=0, R=0), 6) == [
        ("GX120", "error"),
        ("GX112", "error"),
    ]
    attached = state(SYNCED, "A0 S2 R1 B1", "A:2B", attached={"A": (2,)})
    assert found(sync_nodes(attached, S=0, R=0), 6) == []


def test_6_a_sender_without_a_stream_is_a_habit_of_ge() -> None:
    s = sync_nodes(state(SYNCED, "A- S0 R1 B1", "AB"), S=0, R=0)
    assert found(s, 6) == [("GX120", "warning")]


# ---------------------------------------------------------------- 7
def test_7_doubled_events_warn_and_implied_ones_are_noted() -> None:
    g = graph_of("AC AD CD")
    assert found(state(g, "A0 C1 D1", "AC AD"), 7) == [("GX116", "warning")]
    crossing = state(graph_of("AB AC BC"), "A0 B1 C2", "AB AC BC")
    assert found(crossing, 7) == [("GX135", "note")]
    assert "1 of 3 events are redundant, kept by GE (such as event 1, A to C)" in only(crossing, "GX135").message.en
    assert result(crossing, 7).status == "pass"
    assert found(state(graph_of("AB AC"), "A0 B1 C2", "AB AC"), 7) == []


def test_7_later_events_are_not_measured_by_the_clean_up() -> None:
    g = graph_of("AC AD CD")
    assert ("GX116", "warning") not in found(state(g, "A0 C1 D1", "AC AD", causes=["data", "loop-end"]), 7)


# ---------------------------------------------------------------- 8
def test_8_a_switch_sends_nothing_but_what_ge_adds_later() -> None:
    g = graph_of("AB", ops={"A": "StreamSwitch"})
    assert found(state(g, "A0 B1", "AB"), 8) == [("GX117", "error")]
    assert found(state(g, "A0 B1", "AB", causes=["attached-value"]), 8) == [("GX117", "warning")]
    assert found(HEALTHY, 8) == []


# ---------------------------------------------------------------- 9
SWITCH = graph_of("AB AC", ops={"A": "StreamSwitch"}, attrs={"A": {"_active_label_list": ("one",)}})


def test_9_a_switch_starts_exactly_one_stream() -> None:
    assert found(state(SWITCH, "A0 B1 C1", active={"A": (1,)}), 9) == []
    s = state(SWITCH, "A0 B1 C2", active={"A": (1, 2)}, label_streams={"one": (1, 2)})
    assert found(s, 9) == [("GX136", "warning"), ("GX137", "error")]
    assert "the loader accepts exactly one" in only(s, "GX136").message.en
    assert "label one" in only(s, "GX137").message.en


def test_9_an_activated_stream_needs_an_activator() -> None:
    s = state(SWITCH, "A0 B1 C1", active={"A": (1,)}, activated=frozenset({1}))
    assert found(s, 9) == []
    assert found(state(SWITCH, "A0 B1 C2", active={"A": (1,)}, activated=frozenset({1, 2})), 9) == [("GX138", "error")]


def test_9_streams_that_are_held_back_carry_nothing_earlier() -> None:
    g = graph_of("BC", ops={"A": "Op", "B": "StreamActive"}, attrs={"B": HELD})
    s = state(g, "A1 B0 C1", active={"B": (1,)})
    assert found(s, 9) == [("GX140", "warning")]
    assert found(state(g, "A0 B0 C1", active={"B": (1,)}), 9) == []


def test_9_the_loader_starts_what_it_is_not_told_to_hold() -> None:
    g = graph_of("AB", ops={"A": "StreamActive"})
    assert found(state(g, "A0 B1", active={"A": (1,)}), 9) == [("GX141", "note")]


def test_9_parts_of_activated_streams_after_a_split() -> None:
    g = graph_of("AB BC", ops={"A": "StreamActive"}, attrs={"A": HELD})
    s = state(g, "A0 B1 C1", active={"A": (1,)}, activated=frozenset({1}))

    def cut(*listed: int, activated: frozenset[int] = frozenset({1, 2})) -> Snapshot:
        after = split(s, "A0 B1 C2", {1: (2,)}, "BC", active={"A": listed})
        assert after.physical is not None
        return after.evolve(physical=replace(after.physical, sync=replace(after.physical.sync, activated=activated)))

    assert found(cut(1, 2), 9) == []
    assert found(cut(1), 9) == [("GX139", "error")]
    body = graph_of(
        "AH BC", ops={"A": "StreamActive", "H": "If"}, attrs={"A": HELD}, bodies={"H": ["BC"]}, order="ABCH"
    )
    s = state(body, "A0 B1 C1 H0", active={"A": (1,)}, activated=frozenset({1}))
    assert found(cut_body(s), 9) == [("GX139", "warning")]


def cut_body(s: Snapshot) -> Snapshot:
    after = split(s, "A0 B1 C2 H0", {1: (2,)}, "BC", active={"A": (1,)})
    assert after.physical is not None
    return after.evolve(
        physical=replace(after.physical, sync=replace(after.physical.sync, activated=frozenset({1, 2})))
    )


# ---------------------------------------------------------------- 10
def test_10_an_event_in_one_branch_does_not_cover_what_follows() -> None:
    # A (branch 0) and Y share stream 1; A's event from X is all that orders Y, but branch 1 may run instead
    g = graph_of("XA XY", ops={"H": "If"}, bodies={"H": ["AB", "CD"]}, order="XHABCDY")
    s = state(g, "X0 H1 A1 B1 C1 D1 Y1", "XA")
    assert found(s, 2) == []
    assert found(s, 10) == [("GX142", "warning")]
    assert "event to A" in only(s, "GX142").message.en
    # a second event to the other branch covers both ways, one to Y itself any way
    assert found(state(g, "X0 H1 A1 B1 C1 D1 Y1", "XA XC"), 10) == []
    assert found(state(g, "X0 H1 A1 B1 C1 D1 Y1", "XY"), 10) == []


def test_10_one_branch_proves_nothing_for_the_other() -> None:
    g = graph_of("XA XC", ops={"H": "If"}, bodies={"H": ["AB", "CD"]}, order="XHABCD")
    assert found(state(g, "X0 H1 A1 B1 C1 D1", "XA"), 10) == [("GX142", "warning")]
    assert found(state(g, "X0 H1 A1 B1 C1 D1", "XA XC"), 10) == []


def test_10_nested_branches_join_from_the_inside_out() -> None:
    g = graph_of("XA XY", ops={"H": "If", "I": "If"}, bodies={"H": ["IE", "F"], "I": ["A", "B"]}, order="XHIABEFY")
    placed = "X0 H1 I1 A1 B1 E1 F1 Y1"
    assert found(state(g, placed, "XA"), 10) == [("GX142", "warning")]
    assert found(state(g, placed, "XA XB"), 10) == [("GX142", "warning")]  # F may run instead of I
    assert found(state(g, placed, "XA XB XF"), 10) == []


# ---------------------------------------------------------------- 11
CHAIN = state(graph_of("AB BC CD"), "A0 B0 C0 D0")


def test_11_a_split_by_the_rules() -> None:
    s = split(CHAIN, "A0 B0 C1 D1", {0: (1,)}, "BC", limit=37, tasks="A5 B5 C5 D5")
    assert found(s, 11) == []
    assert found(s, 2) == []


def test_11_a_part_that_is_too_long() -> None:
    s = split(CHAIN, "A0 B0 C0 D1", {0: (1,)}, "CD", limit=37, tasks="A5 B5 C5 D5")
    assert found(s, 11) == [("GX143", "error")]
    assert "full before C: 10 + 5 tasks and 27 in reserve exceed 37" in only(s, "GX143").message.en
    oversize = split(CHAIN, "A0 B1 C1 D1", {0: (1,)}, "AB", limit=45, tasks="A90 B5 C5 D5")
    assert found(oversize, 11) == []  # its first node alone is too long


@pytest.mark.parametrize("op", ["LabelSet", "LabelGotoEx", "LabelSwitchByIndex"])
def test_11_ge_never_cuts_before_label_nodes(op: str) -> None:
    s = state(graph_of("AB BC CD", ops={"C": op}), "A0 B0 C0 D0")
    assert found(split(s, "A0 B0 C0 D1", {0: (1,)}, "CD", limit=37, tasks="A5 B5 C5 D5"), 11) == []


def test_11_one_event_between_parts() -> None:
    assert found(split(CHAIN, "A0 B0 C1 D1", {0: (1,)}, "", limit=99), 11) == [("GX144", "error")]
    assert found(split(CHAIN, "A0 B0 C1 D1", {0: (1,)}, "BC BC", limit=99), 11) == [("GX144", "error")]


def test_11_parts_belong_to_their_stream() -> None:
    s = split(CHAIN, "A0 B0 C1 D1", {0: (1,)}, "BC")
    assert s.physical is not None
    assert found(s.evolve(physical=replace(s.physical, logic_of=(1, 0))), 11)[0] == ("GX145", "error")
    s = split(HEALTHY, "A0 B1 C1 D0", {}, "")
    assert found(s, 11) == [("GX145", "error")]
    assert "B of stream 0 runs on physical stream 1" in only(s, "GX145").message.en


def test_11_groups_stay_together() -> None:
    group = {"_continuous_stream_label": "t"}
    g = graph_of("AB BC CD", attrs={"B": group, "C": group})
    s = state(g, "A0 B0 C0 D0")
    assert found(split(s, "A0 B1 C1 D1", {0: (1,)}, "AB"), 11) == [("GX152", "warning")]  # B's tasks stay behind
    assert ("GX146", "error") in found(split(s, "A0 B0 C1 D1", {0: (1,)}, "BC"), 11)
    loose = state(graph_of("AB BC CD", attrs={"B": group, "D": group}), "A0 B0 C0 D0")
    assert ("GX146", "warning") in found(split(loose, "A0 B0 C1 D1", {0: (1,)}, "BC"), 11)


def test_11_a_group_over_two_streams_is_carried_off() -> None:
    group = {"_continuous_stream_label": "t"}
    s = state(graph_of("AB BC", attrs={"B": group, "C": group}), "A0 B1 C0", "AB BC")
    after = split(s, "A0 B2 C2", {0: (2,)}, "AC")
    assert ("GX145", "warning") in found(after, 11)
    assert "GE moves them together" in only(after, "GX145").message.en
    plain = split(state(graph_of("AB BC"), "A0 B1 C0", "AB BC"), "A0 B2 C2", {0: (2,)}, "AC")
    assert ("GX145", "error") in found(plain, 11)


def test_11_a_huge_stream_that_is_split() -> None:
    assert found(split(CHAIN, "A0 B0 C1 D1", {0: (1,)}, "BC", huge=(0,)), 11) == [("GX147", "warning")]


# ---------------------------------------------------------------- 12
def test_12_stream_ids() -> None:
    s = state(graph_of("AB"), "A0 B2", "AB")
    assert found(s, 12) == [("GX114", "warning")]  # stream 1 is counted, nothing runs on it
    assert s.streams is not None
    assert found(s.evolve(streams=replace(s.streams, next_stream=0)), 12) == [("GX114", "error")]
    assert found(HEALTHY, 12) == []


def test_12_limits_of_compiler_and_loader() -> None:
    def counted(**kw: int) -> Snapshot:
        return state(FORK, "A0 B0 C1 D0", "AC CD", **kw)

    assert found(counted(notify_num=1024), 12) == []
    assert found(counted(notify_num=1025), 12) == [("GX148", "error"), ("GX149", "warning")][:1]
    dynamic = replace(FORK, scopes=(replace(FORK.root, dynamic=True),))
    assert found(counted(event_num=4097).evolve(graph=dynamic), 12) == [("GX148", "error")]
    assert found(counted(notify_num=1024).evolve(graph=dynamic), 12) == [("GX148", "error")]


def test_12_limits_of_the_chip_warn() -> None:
    small = Options.of({"ge.socVersion": "Ascend310P3"})
    s = state(FORK, "A0 B0 C1 D0", "AC CD", event_num=1100)
    assert found(s.evolve(options=small), 12) == [("GX149", "warning")]
    assert "Ascend310P3" in only(s.evolve(options=small), "GX149").message.en
    assert found(s.evolve(options=Options.of({"ge.socVersion": "no such chip"})), 12) == []
    hccl = FORK.with_attrs({FORK.by_name["C"]: {"used_stream_num": 1100}})
    s = HEALTHY.evolve(graph=hccl, options=small)
    assert "1103 streams needed" in only(s, "GX149").message.en  # 2 of its own, 1100 of collectives, 1 to run


# ---------------------------------------------------------------- 13
def test_13_every_node_ends_on_a_stream() -> None:
    assert found(state(graph_of("AB"), "A0 B-"), 13) == [("GX118", "error")]
    g = graph_of("XA AB", ops={"X": "Data"}, order="XAB")
    s = state(g, "X- A0 B0")
    assert found(s, 13) == []
    assert found(split(s, "X0 A0 B0", {}, ""), 13) == []
    two = graph_of("XA YA AB", ops={"X": "Data", "Y": "Data"}, order="XYAB")
    after = split(state(two, "X- Y- A0 B0"), "X0 Y- A0 B0", {}, "")
    assert found(after, 13) == [("GX118", "error")]  # the sweep to stream 0 left one out


# ---------------------------------------------------------------- 14
def test_14_the_order_is_topological() -> None:
    assert found(HEALTHY, 14) == []
    assert found(HEALTHY.evolve(sequence=(3, 0, 1, 2)), 14) == [("GX122", "error")] * 2
    assert found(HEALTHY.evolve(order=int_array([0, 3, 1, 2])), 14) == [("GX122", "error")]
    # GE appends the StreamActive of a switch behind what it starts
    g = graph_of("", ops={"S": "StreamSwitch", "A": "StreamActive"}, attrs={"A": HELD}, control="SA AB", order="SBA")
    assert found(state(g, "S0 B1 A2", active={"S": (2,), "A": (1,)}), 14) == []
