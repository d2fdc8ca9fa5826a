"""Is there room for a static model? Before it is loaded GE compares needs with what the device has left and unloads others.

Source: runtime/v1/graph/execute/model_executor.cc CheckAndReleaseStream, CheckAndReleaseEvent, ReleaseModel.
"""

from __future__ import annotations

from collections.abc import Callable

from ge_explorer.runtime.device import Device
from ge_explorer.runtime.flags import EXECUTE_STREAMS, INTERNAL_CODE
from ge_explorer.runtime.model import StaticModel
from ge_explorer.runtime.state import LoadedModel, Outcome, RuntimeState
from ge_explorer.runtime.steps import RuntimeStep, failure
from ge_explorer.text import Text

EXECUTOR = "runtime/v1/graph/execute/model_executor.cc"


def streams_needed(model: StaticModel) -> int:
    """Streams asked of the device: the model's own, those collectives add, and one to run it on."""
    return model.streams + model.follow_streams + EXECUTE_STREAMS


def events_needed(model: StaticModel) -> int:
    """Events asked of the device: the model's own and those for blocking AI CPU operators and ordered collective groups."""
    return model.events + model.blocking_events


def make_room(
    state: RuntimeState, model: StaticModel, unload: Callable[[RuntimeState, LoadedModel], Outcome]
) -> Outcome:
    """Both checks, streams first. ``unload`` gives back what a loaded model holds.

    Other models go one by one in graph id order until the need is met; one with collective tasks is never unloaded, and a dynamic
    one frees nothing. Still too few: FAILED, E19999, and what was unloaded stays unloaded.
    """
    need = streams_needed(model)
    text = Text(
        f"{need} streams needed: {model.streams} of the model + {model.follow_streams} collective follow streams + "
        f"{EXECUTE_STREAMS} to run it; {state.device.available} available",
        f"需要 {need} 条流：模型 {model.streams} + 通信从流 {model.follow_streams} + 执行流 {EXECUTE_STREAMS}；"
        f"可用 {state.device.available} 条",
    )
    first = RuntimeStep("check", text, f"{EXECUTOR} CheckAndReleaseStream")
    room = _release(state, need, lambda d: d.available, unload, Text("streams", "条流"), "CheckAndReleaseStream")
    steps = (first, *room.steps)
    if not room.ok:
        return Outcome(room.state, steps)
    more = _release(
        room.state,
        events_needed(model),
        lambda d: d.events_left,
        unload,
        Text("events", "个事件"),
        "CheckAndReleaseEvent",
    )
    return Outcome(more.state, (*steps, *more.steps))


def _release(
    state: RuntimeState,
    need: int,
    left: Callable[[Device], int | None],
    unload: Callable[[RuntimeState, LoadedModel], Outcome],
    what: Text,
    symbol: str,
) -> Outcome:
    steps: list[RuntimeStep] = []
    where = f"{EXECUTOR} {symbol}"

    def enough(d: Device) -> bool:
        n = left(d)
        return n is None or need <= n

    for other in state.loaded():
        if enough(state.device):
            break
        if not isinstance(other.spec, StaticModel):
            text = Text(
                f"{other.name} is dynamic: unloading it frees nothing here",
                f"{other.name} 是动态模型：卸载不释放此处资源",
            )
            steps.append(RuntimeStep("check", text, where))
            continue
        if other.spec.has_hccl:
            text = Text(f"{other.name} has collective tasks: never unloaded", f"{other.name} 含通信任务：不卸载")
            steps.append(RuntimeStep("check", text, f"{EXECUTOR} ReleaseModel"))
            continue
        done = unload(state, other)
        state = done.state
        text = Text(
            f"{other.name} unloaded to make room; {left(state.device)} {what.en} available now",
            f"为腾出空间卸载 {other.name}；现可用 {left(state.device)} {what.zh}",
        )
        gone = tuple(i for s in done.steps for i in s.streams)
        steps.append(RuntimeStep("unload", text, f"{EXECUTOR} ReleaseModel", gone))
    if enough(state.device):
        return Outcome(state, tuple(steps))
    text = Text(
        f"still {left(state.device)} of {need} {what.en}: the load fails",
        f"仍只有 {need} {what.zh}中的 {left(state.device)}：加载失败",
    )
    return Outcome(state, (*steps, failure(text, where, code=INTERNAL_CODE)))
