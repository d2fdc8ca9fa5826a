"""Static models: creation flags, binding, follow streams, the pool that never reuses, and room made by unloading others."""

from __future__ import annotations

import pytest

from ge_explorer.device.chips import CHIPS
from ge_explorer.errors import OptionError
from ge_explorer.runtime import Activator, Device, DeviceSession, ReusablePool, StaticModel, StreamRow, streams_needed
from ge_explorer.runtime.device import StreamRequest
from ge_explorer.runtime.flags import V1_EVENT_FLAGS, stream_flag_names


def of(session: DeviceSession, model: str, role: str = "model") -> list[StreamRow]:
    return sorted(
        (r for r in session.rows() if r.model == model and r.role.startswith(role)), key=lambda r: r.physical or 0
    )


def test_flags_of_a_models_streams() -> None:
    s = DeviceSession("A2").load("m", streams=4, huge=[0, 3], hcom=[2, 3])
    assert [r.flag_bits for r in of(s, "m")] == [0x05, 0x01, 0x03, 0x07]
    over = DeviceSession("A2").load("m", streams=2, huge=[1], overflow=True)
    assert [r.flags for r in of(over, "m")] == ["PERSISTENT|OVERFLOW", "PERSISTENT|HUGE|OVERFLOW"]
    assert [r.flag_bits for r in of(over, "m")] == [0x101, 0x105]
    assert V1_EVENT_FLAGS == 0x0B
    assert stream_flag_names(0) == "DEFAULT"


def test_two_models_get_streams_of_their_own() -> None:
    """The question a user asks: load A, then B; which device streams?"""
    s = DeviceSession("A2").load("A", streams=2).unload("A").load("B", streams=2).load("A", streams=2)
    ids = {m: [r.device_stream for r in s.rows() if r.model == m] for m in ("A", "B")}
    assert not set(ids["A"]) & set(ids["B"])
    assert len(s.rows(dead=True)) == 1 + 3 + 3 + 3, "every load created its streams anew"


def test_the_pool_creates_although_a_stream_of_the_same_key_is_idle() -> None:
    device = Device.of(CHIPS["Ascend910B1"])
    request = StreamRequest("model", "m", 0x01)
    device, pool, first = ReusablePool().create(device, 7, [(request, 10)])
    device, pool, _ = pool.destroy_many(device)
    device, pool, second = pool.create(device, 8, [(request, 10)])
    assert first[0].handle != second[0].handle
    assert [(e.models, e.task_num, e.valid) for e in pool.entries] == [({7}, 10, False), ({8}, 10, True)]


def test_pool_entries_are_ordered_by_tasks_then_handle() -> None:
    device = Device.of(CHIPS["Ascend910B1"])
    asked = [
        (StreamRequest("model", "m", f, p), t) for f, p, t in [(1, 0, 9), (1, 0, 3), (5, 0, 1), (1, 0, 3), (1, 2, 0)]
    ]
    _, pool, _ = ReusablePool().create(device, 0, asked)
    got = {key: [(e.task_num, e.handle) for e in entries] for key, entries in pool.by_key().items()}
    assert got == {(0, 1): [(3, 2), (3, 4), (9, 1)], (0, 5): [(1, 3)], (2, 1): [(0, 5)]}


@pytest.mark.parametrize("force", [False, True])
def test_destroy_results(force: bool) -> None:
    device = Device.of(CHIPS["Ascend910B1"])
    device, pool, new = ReusablePool().create(device, 0, [(StreamRequest("model", "m", 1), 0)])
    for unknown in (None, 0, 99):
        assert pool.destroy(device, unknown, force=force)[2].status == "FAILED"
    before = device.available
    device, pool, step = pool.destroy(device, new[0].handle, force=force)
    assert step.ok and device.available == before + 1
    assert len(pool.entries) == 1 and not pool.entries[0].valid
    device, pool, again = pool.destroy(device, new[0].handle, force=force)
    assert again.ok and "nothing to do" in again.text.en, "the runtime is not called a second time"
    assert device.available == before + 1


def test_head_and_ordinary() -> None:
    """Only a StreamSwitch, or a StreamActive of a switch branch, keeps a stream from starting with the model."""
    s = DeviceSession("A2").load(
        "m", streams=5, task_order=[3, 0, 2, 1],
        activators=[
            Activator("StreamSwitch", (1,)), Activator("StreamActive", (2,), branch=True), Activator("StreamActive", (3,)),
        ],
    )  # fmt: skip
    assert [r.bind for r in of(s, "m")] == ["head", "ordinary", "ordinary", "head", "unbound"]
    bound = [t.text.en for t in s.steps if t.action == "bind"]
    assert bound[0].startswith("streams 0, 3 bound as HEAD"), "first-task order puts 3 and 0 before the ordinary ones"
    assert bound[1].startswith("streams 1, 2 bound as ordinary")
    assert "stream 4" in bound[2]


def test_a_switch_names_one_stream() -> None:
    s = DeviceSession("A2").load("m", streams=3, activators=[Activator("StreamSwitch", (1, 2))])
    assert s.status == "FAILED"
    assert s.available == 1983, "nothing is left behind"


def test_follow_streams_take_the_largest_number_per_main_stream() -> None:
    m = StaticModel("m", 3, follow={1: (2, 5, 3), 2: (1,)}, hcom=(1, 2))
    assert m.follow_streams == 6
    assert streams_needed(m) == 3 + 6 + 1
    s = DeviceSession("A2").load_model(m)
    rows = of(s, "m", "follow")
    assert len(rows) == 6
    assert {(r.flag_bits, r.bind) for r in rows} == {(0x03, "ordinary")}
    assert len([r for r in s.rows() if r.model == "m"]) == streams_needed(m)


def test_sync_mode_needs_a_stream_to_run_on_async_brings_its_own() -> None:
    assert len([r for r in DeviceSession("A2").load("m", streams=2).rows() if r.model == "m"]) == 3
    own = DeviceSession("A2").load("m", streams=2, caller_stream=True)
    assert len([r for r in own.rows() if r.model == "m"]) == 2
    assert "3 streams needed" in own.steps[0].text.en, "the check counts it all the same"


@pytest.mark.parametrize(
    ("chip", "documented", "code"),
    [("A2", 1984, 2038), ("310P", 1024, 992), ("310B", 512, 480), ("Ascend910A", 2048, 2016)],
)
def test_capacity_of_the_chip(chip: str, documented: int, code: int) -> None:
    """The default stream is one of the documented number; need = streams + follow + 1."""
    for basis, limit in (("documented", documented), ("code", code)):
        fresh = DeviceSession(chip, basis=basis)  # type: ignore[arg-type]
        assert fresh.available == limit - 1
        assert fresh.load("m", streams=limit - 2).ok
        refused = fresh.load("m", streams=limit - 1)
        assert (refused.status, refused.steps[-1].code) == ("FAILED", "E19999")
        assert refused.available == limit - 1


def test_others_are_unloaded_one_by_one_and_only_as_many_as_needed() -> None:
    s = DeviceSession("A2", limit=21).load("A", streams=4).load("B", streams=4).load("C", streams=4)
    assert s.available == 5
    d = s.load("D", streams=9)
    assert d.ok
    assert [m.name for m in d.state.loaded()] == ["B", "C", "D"]
    assert [t.text.en.split()[0] for t in d.steps if t.action == "unload"] == ["A"], "5 + 5 are enough for 10"
    assert [m.name for m in s.load("D", streams=10).state.loaded()] == ["C", "D"]


def test_models_with_collectives_are_never_unloaded() -> None:
    s = DeviceSession("A2", limit=21).load("A", streams=4, hcom=[1]).load("B", streams=4).load("D", streams=15)
    assert (s.status, s.steps[-1].code) == ("FAILED", "E19999")
    assert [m.name for m in s.state.loaded()] == ["A"], "B went although it did not help"
    assert s.available == 15


def test_events_are_checked_like_streams() -> None:
    s = DeviceSession("310P").load("A", events=1000).load("B", events=20)
    assert [m.name for m in s.state.loaded()] == ["A", "B"]
    assert [m.name for m in s.load("C", events=4).state.loaded()] == ["B", "C"]
    assert DeviceSession("310P").load("A", events=1024).status == "FAILED"
    assert DeviceSession("310P").load("A", events=1000, blocking_events=24).status == "FAILED"


def test_notify_types_and_limits() -> None:
    s = DeviceSession("310P")
    assert s.load("m", notifies=3).ok and s.load("m", notifies=3, notify_types=[0, 1, 1]).ok
    assert s.load("m", notifies=3, notify_types=[0]).status == "FAILED"
    broken = s.load("m", notifies=1025)
    assert broken.status == "FAILED"
    assert broken.state.device.notifies == 0 and broken.available == s.available, "a failed load gives everything back"


def test_a_model_is_loaded_again_after_it_was_unloaded_to_make_room() -> None:
    s = DeviceSession("A2", limit=8).load("A", streams=4).load("B", streams=4).load("A", streams=4)
    assert [m.name for m in s.state.loaded()] == ["A"]
    assert [o.title.en for o in s.history] == ["load A", "load B", "load A"]
    assert [m.name for m in s.at(2).state.loaded()] == ["B"]
    assert s.at(0).available == 7


def test_bad_input_is_refused_with_the_place() -> None:
    s = DeviceSession("A2")
    for arguments in ({"streams": -1}, {"streams": 2, "huge": [2]}, {"streams": 1, "task_order": [0, 0]}, {"events": 1.5},
                      {"streams": 2, "follow": {0: [-1]}}):  # fmt: skip
        with pytest.raises(OptionError, match="m"):
            s.load("m", **arguments)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="Unload it first"):
        s.load("m").load("m")
    with pytest.raises(OptionError, match="Did you mean 'model_a'"):
        s.load("model_a").unload("model_b")
    with pytest.raises(OptionError):
        DeviceSession("A2", limit=5, other_streams=5)
    with pytest.raises(OptionError):
        s.at(1)
    assert s.load("m", streams=10**12).status == "FAILED", "no list of that length is ever made"


def test_every_step_has_both_languages_and_a_source() -> None:
    s = DeviceSession("A2", limit=20).load("A", streams=3, events=1, notifies=1, follow={0: [1]}, task_order=[0])
    s = s.load("B", streams=9).load("C", streams=40).load_dynamic("D", streams=4, external=True).unload("D").close()
    steps = [t for o in s.history for t in o.outcome.steps]
    assert len(steps) > 15
    assert all(t.text.en and t.text.zh and t.source for t in steps)
    assert all(t.text.zh != t.text.en for t in steps)


def test_rows_are_plain_values() -> None:
    import json

    s = DeviceSession("A2").load("A", streams=2, logic_of=[0, 0], tasks={1: 40}, priority=3)
    rows = [r.as_dict() for r in s.rows()]
    json.dumps(rows)
    assert rows[2] == {
        "device_stream": 2, "serial": 2, "model": "A", "role": "model", "physical": 1, "logical": 0, "flags": "PERSISTENT",
        "flag_bits": 1, "bind": "head", "tasks": 40, "priority": 3, "alive": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("chip", "events", "notifies"),
    [("A2", 65536, 8192), ("A3", 65536, 8192), ("950", 65536, 65535), ("310B", 65536, 2048), ("310P", 1023, 1024),
     ("Ascend910A", 65535, 1024), ("Ascend350_355e", None, None)],
)  # fmt: skip
def test_documented_limits_of_events_and_notifies(chip: str, events: int | None, notifies: int | None) -> None:
    device = DeviceSession(chip).state.device
    assert (device.event_limit, device.notify_limit) == (events, notifies)
    fits = DeviceSession(chip).load("m", events=events or 10**6, notifies=notifies or 10**6)
    assert fits.ok
    if notifies is not None:
        assert not DeviceSession(chip).load("m", notifies=notifies + 1).ok
