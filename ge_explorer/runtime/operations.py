"""Load, unload and close: state in, next state and steps out."""

from __future__ import annotations

from dataclasses import replace

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.runtime.capacity import make_room
from ge_explorer.runtime.model import DynamicModel, StaticModel
from ge_explorer.runtime.state import LoadedModel, Outcome, RuntimeState
from ge_explorer.runtime.steps import RuntimeStep
from ge_explorer.runtime.v1_load import DAVINCI, StaticLoad
from ge_explorer.runtime.v2_load import EXECUTOR, DynamicLoad
from ge_explorer.text import Text


def load(state: RuntimeState, model: StaticModel | DynamicModel) -> Outcome:
    """Load a model. A load GE refuses is an outcome with ``ok`` False; OptionError if a model of that name is loaded."""
    if state.find(model.name) is not None:
        raise OptionError(
            "a model of that name is loaded", got=model.name, todo="Unload it first, or use another name."
        )
    if isinstance(model, DynamicModel):
        return DynamicLoad(state, model, len(state.models)).run()
    room = make_room(state, model, lambda s, m: unload(s, m.name))
    state, steps = room.state, room.steps
    model_id = len(state.models)
    if not room.ok:
        return Outcome(state.with_model(LoadedModel(model_id, model.name, model, "failed")), steps)
    done = StaticLoad(model, model_id, state.device).run()
    loaded = LoadedModel(
        model_id, model.name, model, "failed" if done.failed else "loaded", () if done.failed else tuple(done.bindings),
        done.pool, None, done.events, done.notifies,
    )  # fmt: skip
    return Outcome(replace(state, device=done.device).with_model(loaded), (*steps, *done.steps))


def unload(state: RuntimeState, name: str) -> Outcome:
    """Unload a model: a static one and the static parts of a dynamic one give their streams back; shared allocators keep theirs."""
    model = state.find(name)
    if model is None:
        raise OptionError(
            "no model of that name is loaded", got=name, todo=did_you_mean(name, [m.name for m in state.loaded()])
        )
    device, steps, pool = state.device, [], model.pool
    gone: tuple[int, ...] = ()
    if pool is not None:
        device, pool, gone = pool.destroy_many(device)
    if gone:
        text = Text(f"{len(gone)} streams of {name} destroyed", f"{name} 的 {len(gone)} 条流已销毁")
        steps.append(RuntimeStep("destroy", text, f"{DAVINCI} destructor", gone))
    device = device.give_back(events=model.events, notifies=model.notifies)
    if model.builtin is not None:
        own = tuple(s for s in model.builtin.slots[1:] if s is not None)
        device = model.builtin.release(device)
        text = Text(f"{len(own)} streams go with the executor of {name}", f"{len(own)} 条流随 {name} 的执行器释放")
        steps.append(RuntimeStep("destroy", text, f"{EXECUTOR} destructor", own))
    elif not model.static:
        text = Text(
            f"the shared allocator keeps its {state.shared.size - 1} streams",
            f"共享分配器保留其 {state.shared.size - 1} 条流",
        )
        steps.append(RuntimeStep("reuse", text, f"{EXECUTOR} UnLoad"))
    after = replace(model, status="unloaded", pool=pool, builtin=None, events=0, notifies=0)
    return Outcome(replace(state, device=device).with_model(after), tuple(steps))


def close(state: RuntimeState) -> Outcome:
    """Unload everything and destroy the shared allocators; the default stream and callers' streams stay."""
    steps: list[RuntimeStep] = []
    for model in state.loaded():
        done = unload(state, model.name)
        state = done.state
        steps += done.steps
    kept = tuple(s for s in state.shared.slots[1:] if s is not None)
    device = state.shared.release(state.device)
    text = Text(f"the shared allocator destroys {len(kept)} streams", f"共享分配器销毁 {len(kept)} 条流")
    steps.append(RuntimeStep("destroy", text, "base/common/allocator/stream_allocator.cc destructor", kept))
    return Outcome(replace(state, device=device, shared=type(state.shared)()), tuple(steps))
