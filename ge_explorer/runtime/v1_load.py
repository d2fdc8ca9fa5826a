"""Loading a static model (DavinciModel): its streams with their flags, notifies, events, binding, follow streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from ge_explorer.runtime.device import Device, StreamRequest
from ge_explorer.runtime.flags import (
    RT_FORCE_COPY,
    RT_HUGE,
    RT_OVERFLOW,
    RT_PERSISTENT,
    SWITCH_LIST_SIZE,
    V1_EVENT_FLAGS,
    Bind,
    event_flag_names,
    stream_flag_names,
)
from ge_explorer.runtime.model import StaticModel
from ge_explorer.runtime.pool import ReusablePool, StreamStatus
from ge_explorer.runtime.state import Binding
from ge_explorer.runtime.steps import RuntimeStep, failure, span, streams_word
from ge_explorer.text import Text

DAVINCI = "runtime/v1/graph/load/model_manager/davinci_model.cc"
HCCL_TASK = "runtime/v1/graph/load/model_manager/task_info/hccl/hccl_task_info.cc"
INIT = f"{DAVINCI} InitRuntimeResource"


def stream_flags(model: StaticModel, index: int) -> int:
    """Creation flags of the model's stream ``index``."""
    flags = RT_PERSISTENT
    if index in model.huge:
        flags |= RT_HUGE
    if index in model.hcom:
        flags |= RT_FORCE_COPY
    return flags | (RT_OVERFLOW if model.overflow else 0)


def bind_of(model: StaticModel) -> Mapping[int, Bind]:
    """Stream -> how it is bound, in binding order (by first task). Streams without a task are not bound.

    Source: davinci_model.cc BindModelStream.
    """
    order = range(model.streams) if model.task_order is None else model.task_order
    waiting = model.waiting
    return {i: "ordinary" if i in waiting else "head" for i in order}


@dataclass
class StaticLoad:
    """One load in progress. After ``run`` the device, pool, bindings and counts are those left behind; ``failed`` says whether.

    ``owner`` is the model that keeps the streams; ``part`` the name inside it for a static part of a dynamic model.
    """

    model: StaticModel
    model_id: int
    device: Device
    pool: ReusablePool = ReusablePool()
    owner: str = ""
    part: str = ""
    bindings: list[Binding] = field(default_factory=list)
    events: int = 0
    notifies: int = 0
    steps: list[RuntimeStep] = field(default_factory=list)
    made: list[int] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """True once a step has failed."""
        return bool(self.steps) and not self.steps[-1].ok

    def run(self) -> StaticLoad:
        """All stages up to the first failure; then everything made so far is destroyed with the model."""
        self.owner = self.owner or self.model.name
        for stage in (
            self._streams,
            self._notifies,
            self._events,
            self._activators,
            self._bind,
            self._follow,
            self._execute,
        ):
            stage()
            if self.failed:
                self._undo()
                break
        return self

    # ---------------------------------------------------------------- stages
    def _streams(self) -> None:
        m = self.model
        tasks = dict(m.tasks)
        # One more than the device has is enough to see the creation fail.
        indices = range(min(m.streams, max(0, self.device.available) + 1))
        flags = {i: stream_flags(m, i) for i in indices}
        requests = [(StreamRequest("model", self.owner, flags[i], m.priority), tasks.get(i, 0)) for i in indices]
        new = self._create(requests)
        bound = bind_of(m)
        for i, s in enumerate(new):
            logical = m.logic_of[i] if i < len(m.logic_of) else None
            bind = bound.get(i, "unbound")
            self.bindings.append(Binding(i, s.handle, "model", logical, bind, tasks.get(i), self.part))
        for flag, group in groupby(range(len(new)), key=lambda i: flags[i]):
            part = list(group)
            ids = [new[i].rt_stream_id for i in part]
            text = Text(
                f"{streams_word(part)} created with {stream_flag_names(flag)} "
                f"(device {streams_word(ids)}); no pooled one is looked for",
                f"以 {stream_flag_names(flag)} 创建流 {span(part)}（设备流 {span(ids)}）；不查找流池",
            )
            self.steps.append(RuntimeStep("create", text, INIT, tuple(new[i].handle for i in part)))
        if len(new) < m.streams:
            self._out_of_streams(len(new), m.streams, INIT)

    def _notifies(self) -> None:
        m = self.model
        if m.notify_types and len(m.notify_types) != m.notifies:
            text = Text(
                f"{len(m.notify_types)} notify types for {m.notifies} notifies",
                f"{m.notifies} 个 notify 却有 {len(m.notify_types)} 个类型",
            )
            self.steps.append(failure(text, INIT))
            return
        self.device, self.notifies = self.device.take_notifies(m.notifies)
        if m.notifies:
            text = Text(
                f"{self.notifies} notifies created; their types are not used",
                f"创建 {self.notifies} 个 notify；类型不参与创建",
            )
            self.steps.append(RuntimeStep("notify", text, INIT))
        if self.notifies < m.notifies:
            self.steps.append(failure(Text("the device has no notify left", "设备没有剩余的 notify"), INIT))

    def _events(self) -> None:
        wanted = self.model.events
        self.device, self.events = self.device.take_events(wanted)
        if wanted:
            names = event_flag_names(V1_EVENT_FLAGS)
            text = Text(f"{self.events} events created with {names}", f"以 {names} 创建 {self.events} 个事件")
            self.steps.append(RuntimeStep("event", text, INIT))
        if self.events < wanted:
            self.steps.append(failure(Text("the device has no event left", "设备没有剩余的事件"), INIT))

    def _activators(self) -> None:
        for a in self.model.activators:
            if a.op == "StreamSwitch" and len(a.streams) != SWITCH_LIST_SIZE:
                text = Text(
                    f"a StreamSwitch names {len(a.streams)} streams; the loader takes exactly {SWITCH_LIST_SIZE}",
                    f"StreamSwitch 指向 {len(a.streams)} 条流；加载时只接受 {SWITCH_LIST_SIZE} 条",
                )
                self.steps.append(failure(text, f"{DAVINCI} InitStreamSwitch"))
                return

    def _bind(self) -> None:
        handles = {b.index: b.serial for b in self.bindings}
        for bind, group in groupby(bind_of(self.model).items(), key=lambda x: x[1]):
            indices = [i for i, _ in group]
            how = Text("HEAD: started with the model", "HEAD：随模型启动")
            if bind == "ordinary":
                how = Text("ordinary: started by an activation", "普通流：等待激活")
            text = Text(f"{streams_word(indices)} bound as {how.en}", f"流 {span(indices)} 绑定为 {how.zh}")
            serials = tuple(h for i in indices if (h := handles[i]) is not None)
            self.steps.append(RuntimeStep("bind", text, f"{DAVINCI} BindModelStream", serials))
        idle = [b.index for b in self.bindings if b.bind == "unbound"]
        if idle:
            text = Text(f"{streams_word(idle)} without a task: not bound", f"流 {span(idle)} 没有任务，不绑定")
            self.steps.append(RuntimeStep("bind", text, f"{DAVINCI} BindModelStream"))

    def _follow(self) -> None:
        flags = RT_PERSISTENT | RT_FORCE_COPY | (RT_OVERFLOW if self.model.overflow else 0)
        index = self.model.streams
        for main, counts in sorted(self.model.follow.items()):
            wanted = max(counts, default=0)
            room = min(wanted, max(0, self.device.available) + 1)
            tasks = self.model.tasks.get(main, 0)
            request = StreamRequest("follow", self.owner, flags, self.model.priority)
            new = self._create([(request, tasks)] * room)
            for s in new:
                self.bindings.append(
                    Binding(index, s.handle, f"follow {main}", None, "ordinary", tasks or None, self.part)
                )
                index += 1
            if new:
                device_ids = [s.rt_stream_id for s in new]
                text = Text(
                    f"stream {main} gets {len(new)} follow streams for its collectives, bound as ordinary "
                    f"(device {streams_word(device_ids)})",
                    f"流 {main} 的通信算子获得 {len(new)} 条从流（设备流 {span(device_ids)}），绑定为普通流",
                )
                self.steps.append(
                    RuntimeStep("create", text, f"{HCCL_TASK} CreateStream", tuple(s.handle for s in new))
                )
            if len(new) < wanted:
                self._out_of_streams(len(new), wanted, f"{HCCL_TASK} CreateStream")
                return

    def _execute(self) -> None:
        if self.model.caller_stream or self.part:
            return
        new = self._create([(StreamRequest("execute", self.owner), 0)])
        if not new:
            self._out_of_streams(0, 1, DAVINCI)
            return
        self.bindings.append(Binding(-1, new[0].handle, "execute"))
        text = Text(
            f"device stream {new[0].rt_stream_id} created to run the model on",
            f"创建设备流 {new[0].rt_stream_id} 用于执行模型",
        )
        self.steps.append(RuntimeStep("create", text, f"{DAVINCI} ModelRunStart", (new[0].handle,)))

    # ---------------------------------------------------------------- inside
    def _create(self, requests: list[tuple[StreamRequest, int]]) -> tuple[StreamStatus, ...]:
        self.device, self.pool, new = self.pool.create(self.device, self.model_id, requests)
        self.made += [s.handle for s in new]
        return new

    def _out_of_streams(self, got: int, wanted: int, source: str) -> None:
        text = Text(
            f"the device gave {got} of {wanted} streams: the load is aborted",
            f"设备只给出 {wanted} 条流中的 {got} 条：加载中止",
        )
        self.steps.append(failure(text, source))

    def _undo(self) -> None:
        self.device, self.pool, _ = self.pool.destroy_many(self.device, set(self.made))
        self.device = self.device.give_back(events=self.events, notifies=self.notifies)
        self.events = self.notifies = 0
        text = Text(
            f"what was created is destroyed with the model: {len(self.made)} streams",
            f"已创建的随模型销毁：{len(self.made)} 条流",
        )
        last = self.steps.pop()
        self.steps += [RuntimeStep("destroy", text, f"{DAVINCI} destructor", tuple(self.made)), last]
