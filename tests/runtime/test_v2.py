"""Dynamic models: allocators that only grow, rollback to one stream, event ids at load, events the loader adds."""

from __future__ import annotations

import pytest

from ge_explorer.device.chips import CHIPS
from ge_explorer.errors import OptionError
from ge_explorer.runtime import (
    Device,
    DeviceSession,
    DynamicNode,
    ExtraEvent,
    StaticModel,
    V2Allocators,
    check_events,
    extra_events,
)


def device(limit: int = 5000) -> Device:
    return Device.of(CHIPS["Ascend910B1"], limit=limit)


# ------------------------------------------------------------------ allocators
def test_first_call_creates_one_less_than_asked_and_the_vector_never_shrinks() -> None:
    d = device()
    got = V2Allocators().acquire_streams(d, 33)
    assert got.ok and got.count == 32 and got.allocators.size == 33
    assert got.allocators.slots[0] is None, "slot 0 is the caller's"
    again = got.allocators.acquire_streams(got.device, 22)
    assert again.ok and again.count == 0 and again.allocators.size == 33
    assert again.device.available == d.available - 32


def test_2024_is_out_of_reach() -> None:
    got = V2Allocators().acquire_streams(device(), 2024)
    assert not got.ok and got.allocators.size == 1
    got = V2Allocators().acquire_streams(device(), 2023)
    assert got.ok and got.count == 2022 and got.allocators.size == 2023


def test_streams_created_before_a_failure_stay() -> None:
    got = V2Allocators().acquire_streams(device(limit=6), 10)
    assert not got.ok and got.count == 5
    assert got.allocators.size == 6 and got.device.available == 0


def test_release_spares_the_callers_stream() -> None:
    got = V2Allocators().acquire_streams(device(), 4)
    with_caller = got.allocators.with_caller(0)
    after = with_caller.release(got.device)
    assert [s.alive for s in after.streams] == [True, False, False, False]


def test_event_vector_holds_4096_and_notifies_stay_below_1024() -> None:
    got = V2Allocators().acquire_events(device(), 4096)
    assert got.ok and got.allocators.events == 4096
    over = V2Allocators().acquire_events(device(), 4097)
    assert not over.ok and over.allocators.events == 4096
    assert V2Allocators().acquire_notifies(device(), 1023).ok
    refused = V2Allocators().acquire_notifies(device(), 1024)
    assert not refused.ok and refused.allocators.notifies == 0


# ------------------------------------------------------------------ models
def names(s: DeviceSession, model: str) -> list[tuple[int, str, int | None]]:
    return [(r.device_stream, r.role, r.physical) for r in s.rows() if r.model == model]


def test_models_with_the_callers_allocators_share_streams() -> None:
    s = DeviceSession("A2").load_dynamic("A", streams=3, external=True)
    first = s.available
    s = s.load_dynamic("B", streams=2, external=True)
    assert s.available == first, "B needs fewer than the vector has"
    assert names(s, "B") == names(s, "A")[:2]
    s = s.load_dynamic("C", streams=5, external=True).unload("C")
    assert s.state.shared.size == 5 and s.available == first - 2, "the vector keeps its streams"


def test_built_in_allocators_are_not_shared() -> None:
    s = DeviceSession("A2").load_dynamic("A", streams=3).load_dynamic("B", streams=3)
    a, b = ({i for i, _, slot in names(s, m) if slot} for m in "AB")
    assert len(a) == len(b) == 2 and not a & b
    assert names(s, "A")[0] == names(s, "B")[0], "slot 0 is the caller's one stream"
    freed = s.unload("A")
    assert freed.available == s.available + 2


def test_streams_are_split_into_reusable_attached_and_static() -> None:
    part = StaticModel("p", 2, events=1)
    s = DeviceSession("A2").load_dynamic("m", streams=7, attached=2, events=4, parts=[part])
    assert s.ok
    roles = [r.role for r in s.rows() if r.model == "m"]
    assert roles.count("reusable") == 3 and roles.count("attached") == 2
    assert len([r for r in s.rows() if r.model == "m/p"]) == 2
    model = s.state.find("m")
    assert model is not None and model.builtin is not None
    assert model.builtin.events == 3 + 2, "events of the dynamic part and one clean-up event per auxiliary stream"
    assert model.events == 1
    gone = s.unload("m")
    assert gone.available == 1982, "default and caller's stream only"
    assert gone.state.device.events == 0


@pytest.mark.parametrize("streams", [3, 4])
def test_static_and_attached_must_leave_one_stream(streams: int) -> None:
    s = DeviceSession("A2").load_dynamic("m", streams=streams, attached=2, parts=[StaticModel("p", 1)])
    assert s.ok == (streams == 4)


def test_allocators_come_together_or_not_at_all() -> None:
    for some in (["stream"], ["stream", "event"], ["notify"]):
        s = DeviceSession("A2").load_dynamic("m", streams=3, external=some)  # type: ignore[arg-type]
        assert s.status == "PARAM_INVALID"
    with pytest.raises(OptionError, match="no such allocator"):
        DeviceSession("A2").load_dynamic("m", external=["memory"])  # type: ignore[list-item]


def test_rollback_to_one_stream() -> None:
    nodes = [DynamicNode("a", 1, inputs=False, sends=(0,)), DynamicNode("b", 0, recvs=(0,))]
    s = DeviceSession("A2", limit=6).load_dynamic("m", streams=6, attached=1, events=1, nodes=nodes, external=True)
    assert s.ok
    model = s.state.find("m")
    assert model is not None and model.rolled_back and model.extra_events == ()
    assert [b.role for b in model.bindings] == ["reusable"]
    assert s.state.shared.size == 1 and s.state.shared.events == 0


def test_rollback_needs_the_callers_allocators_and_more_than_one_stream() -> None:
    own = DeviceSession("A2", limit=6).load_dynamic("m", streams=6)
    assert not own.ok, "without them the model runs out of streams"
    assert own.available == 4, "and its executor takes its streams along"
    one = DeviceSession("A2", limit=2).load_dynamic("m", streams=1, external=True)
    assert one.ok and not one.state.models[0].rolled_back
    query = DeviceSession("A2").load_dynamic("m", streams=2, external=True, query_fails=True)
    assert query.state.models[0].rolled_back


def test_rollback_compares_with_what_is_left_not_with_what_the_vector_holds() -> None:
    """The second model could use the streams the first one made; GE counts the free ones only."""
    s = (
        DeviceSession("A2", limit=8)
        .load_dynamic("A", streams=5, external=True)
        .load_dynamic("B", streams=5, external=True)
    )
    assert [m.rolled_back for m in s.state.models] == [False, True]
    assert s.state.shared.size == 5


def test_over_the_vectors_limit_the_load_fails() -> None:
    s = DeviceSession("A2", limit=4000).load_dynamic("m", streams=2024)
    assert (s.ok, s.status) == (False, "FAILED")
    assert DeviceSession("A2", limit=4000).load_dynamic("m", streams=2023).ok


def test_what_the_shared_vector_made_before_a_failure_is_kept() -> None:
    s = DeviceSession("A2", limit=10).load_dynamic("m", streams=4, notifies=1024, external=True)
    assert not s.ok and s.state.shared.size == 4
    assert s.state.loaded() == ()


# ------------------------------------------------------------------ event ids
A = DynamicNode("a", 0, sends=(0,))


@pytest.mark.parametrize(
    ("nodes", "count", "words"),
    [
        ([A, DynamicNode("b", 1, recvs=(0,))], 1, None),
        ([], 0, None),
        ([A, DynamicNode("c", 2, sends=(0,)), DynamicNode("b", 1, recvs=(0,))], 1, "sent twice"),
        ([A, DynamicNode("b", 1, recvs=(0,)), DynamicNode("c", 2, recvs=(0,))], 1, "received twice"),
        ([A], 1, "never received"),
        ([DynamicNode("b", 1, recvs=(0,))], 1, "never sent"),
        ([A, DynamicNode("b", 1, recvs=(0,))], 2, "use 1 event ids, the model states 2"),
        ([DynamicNode("a", 0, sends=(1,)), DynamicNode("b", 1, recvs=(1,))], 1, "out of range"),
        ([DynamicNode("a", 0, sends=(-1,))], 1, "out of range"),
        ([DynamicNode("known", 0, sends=(5,), unknown=False)], 0, None),
    ],
)
def test_event_ids_at_load(nodes: list[DynamicNode], count: int, words: str | None) -> None:
    found = check_events(nodes, count)
    assert (found is None) == (words is None)
    if words is not None and found is not None:
        assert words in found.en and found.zh
        s = DeviceSession("A2").load_dynamic("m", streams=3, events=count, nodes=nodes)
        assert s.status == "FAILED"


def test_extra_events_in_order() -> None:
    nodes = [
        DynamicNode("first", 1, inputs=False), DynamicNode("waits", 1, inputs=False, recvs=(0,)),
        DynamicNode("main", 0, inputs=False),
        DynamicNode("last", 2, outputs=False), DynamicNode("sends", 2, outputs=False, sends=(0,)),
        DynamicNode("inner", 2, inputs=False, outputs=False, direct=False),
    ]  # fmt: skip
    assert extra_events(nodes, 1, 3) == (
        ExtraEvent("first-sync", 1, 0, 1, "first"), ExtraEvent("last-sync", 2, 2, 0, "last"),
        ExtraEvent("last-resource-clean", 3, 1, 0), ExtraEvent("last-resource-clean", 4, 2, 0),
    )  # fmt: skip
    s = DeviceSession("A2").load_dynamic("m", streams=3, events=1, nodes=nodes)
    model = s.state.models[0]
    assert model.builtin is not None and model.builtin.events == 5
    assert extra_events(nodes[2:3], 0, 1) == ()
