"""Runtime page: loading A then B takes streams for both, a small device refuses, a new B starts over."""

from __future__ import annotations

from ge_explorer.views.marks import stream_marks
from ge_explorer.views.runtime_page import DeviceHistory, controls, html, replay, still
from tests.views.activation_cases import split_moe
from tests.views.test_stream_load import letters


def test_two_loads_hold_twice_the_streams_and_unloading_gives_them_back() -> None:
    s = split_moe().trace.final
    one = replay(DeviceHistory(("load-a",)), s, s, "Ascend910B1")
    two = replay(DeviceHistory(), s, s, "Ascend910B1")
    assert two.state.device.live - one.state.device.live == one.state.device.live - 1 == 6, "5 parts and one to run on"
    back = replay(DeviceHistory(("load-a", "load-b", "unload-a", "unload-a")), s, s, "Ascend910B1")
    assert back.state.device.live == one.state.device.live
    assert len(back.history) == 3, "unloading twice does nothing the second time"


def test_a_device_with_eight_streams_cannot_hold_both() -> None:
    s = split_moe().trace.final
    device = replay(DeviceHistory(limit="8"), s, s, "Ascend910B1")
    assert device.state.find("A") is None or not device.ok, "GE unloads A to make room, or refuses B"
    tight = replay(DeviceHistory(limit="5"), s, s, "Ascend910B1")
    assert not tight.ok
    assert "refused: " in html(tight, {}, True)


def test_gestures_are_checked() -> None:
    h = DeviceHistory()
    assert h.after("rm", "x") is h
    assert h.after("second", "../../etc", ["chain"]) is h
    assert h.after("limit", "99999999999") is h
    assert h.after("second", "chain", ["chain"]) == DeviceHistory(second="chain")
    assert h.after("restart", "").done == ()
    assert h.after("restart", "").after("load-b", "").done == ("load-b",)


def test_rows_carry_letters_and_select_the_part() -> None:
    session = split_moe()
    s = session.trace.final
    device = replay(DeviceHistory(), s, s, session.chip)
    page = html(device, stream_marks(s, letters(session)), True)
    assert page.count('data-ref="part:4"') == 2, "once for A, once for B, which is the same model"
    assert html(device, stream_marks(s, letters(session)), False).count('data-ref="part:4"') == 1
    head = controls(DeviceHistory(), device, [("chain", "<b>chain</b>")], "en")
    assert "&lt;b&gt;chain" in head
    assert head.count(" disabled") == 2, "both are loaded"
    assert "设备流编号为假设" in still(session.trace, letters(session), session.chip, "zh")
