"""Loading a dynamic model (ModelV2Executor): streams split into kinds, rollback to one stream, event check, allocators."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ge_explorer.runtime.device import Device, StreamRequest
from ge_explorer.runtime.events import BG_EVENT, STAGE_TEXT, ExtraEvent, check_events, extra_events
from ge_explorer.runtime.model import DynamicModel
from ge_explorer.runtime.pool import ReusablePool
from ge_explorer.runtime.state import Binding, LoadedModel, Outcome, RuntimeState
from ge_explorer.runtime.steps import RuntimeStep, failure, span
from ge_explorer.runtime.v1_load import StaticLoad
from ge_explorer.runtime.v2_allocators import EVENTS, NOTIFIES, STREAMS, Acquired, V2Allocators
from ge_explorer.text import Text

CONVERTER = "runtime/v2/lowering/model_converter.cc"
EXECUTOR = "runtime/v2/core/model_v2_executor.cc"
OCCUPY = f"{EXECUTOR} OccupyStreamResource"


@dataclass
class DynamicLoad:
    """One load in progress. Failed or not, the state after ``run`` holds what the allocators kept."""

    state: RuntimeState
    model: DynamicModel
    model_id: int
    device: Device = field(init=False)
    own: V2Allocators = field(init=False)
    pool: ReusablePool = field(default_factory=ReusablePool)
    reusable: int = 1
    attached: int = 0
    events: int = 0
    notifies: int = 0
    rolled_back: bool = False
    extra: tuple[ExtraEvent, ...] = ()
    parts: list[Binding] = field(default_factory=list)
    part_events: int = 0
    part_notifies: int = 0
    steps: list[RuntimeStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.device = self.state.device
        self.own = self.state.shared if self.model.all_external else V2Allocators(self.model.name)

    @property
    def failed(self) -> bool:
        """True once a step has failed."""
        return bool(self.steps) and not self.steps[-1].ok

    def run(self) -> Outcome:
        """All stages up to the first failure."""
        for stage in (
            self._caller,
            self._split,
            self._roll_back,
            self._reserve,
            self._lower,
            self._occupy,
            self._load_parts,
        ):
            stage()
            if self.failed:
                return self._abandon()
        return self._keep()

    # ---------------------------------------------------------------- stages
    def _caller(self) -> None:
        """The caller made its stream before it loads anything; here it is made at its first use."""
        if self.model.caller in dict(self.state.callers):
            return
        self.device, made = self.device.create([StreamRequest("caller", self.model.caller)])
        if not made:
            self.steps.append(
                failure(Text("the device has no stream for the caller", "设备没有可供调用者的流"), OCCUPY)
            )
            return
        self.state = replace(self.state, callers=(*self.state.callers, (self.model.caller, made[0].serial)))

    def _split(self) -> None:
        m, where = self.model, f"{CONVERTER} GetReusableStreamResourceNum"
        self.attached = m.attached
        static = sum(p.streams for p in m.parts)
        if m.streams not in (0, 1):
            self.reusable = m.streams - static - m.attached
            self.events = m.events - sum(p.events for p in m.parts)
            self.notifies = m.notifies - sum(p.notifies for p in m.parts)
            text = Text(
                f"{m.streams} streams = {self.reusable} reusable + {m.attached} attached + {static} of static parts",
                f"{m.streams} 条流 = 可复用 {self.reusable} + 附属 {m.attached} + 静态子模型 {static}",
            )
            self.steps.append(RuntimeStep("split", text, where))
            if min(self.reusable - 1, self.events, self.notifies) < 0:
                text = Text("static parts and attached streams take more than the total", "静态子模型与附属流超过总数")
                self.steps.append(failure(text, where))
        else:
            text = Text(
                "at most one stream in all: one reusable stream, no event", "总流数不超过 1：一条可复用流，无事件"
            )
            self.steps.append(RuntimeStep("split", text, where))

    def _roll_back(self) -> None:
        m, where = self.model, f"{CONVERTER} NeedRollBackToSingleStream"
        if not m.all_external:
            text = Text(
                "not all allocators are the caller's: no rollback is considered",
                "分配器并非全部由调用者给出：不考虑回退",
            )
            self.steps.append(RuntimeStep("check", text, where))
            return
        left = self.device.available
        short = m.query_fails or left < m.streams
        why = Text("the device does not say what is left", "设备查询失败") if m.query_fails else Text(
            f"{left} streams available, {m.streams} required in all", f"可用 {left} 条流，总共需要 {m.streams} 条"
        )  # fmt: skip
        if not (short and self.reusable + self.attached > 1):
            self.steps.append(RuntimeStep("check", Text(f"{why.en}: no rollback", f"{why.zh}：不回退"), where))
            return
        self.rolled_back = True
        self.reusable, self.attached, self.events, self.notifies = 1, 0, 0, 0
        text = Text(
            f"{why.en}: rollback to one stream; all nodes of dynamic graphs go to stream 0, their event ids are cleared",
            f"{why.zh}：回退为单流；动态图的节点全部改到流 0，事件号清空",
        )
        self.steps.append(RuntimeStep("rollback", text, f"{CONVERTER} CollectAndReserveStreamResource"))

    def _reserve(self) -> None:
        """With the caller's allocators everything is reserved while the model is converted, before the loader's own events."""
        if self.model.all_external and self.reusable + self.attached != 1:
            self._acquire()

    def _lower(self) -> None:
        nodes = () if self.rolled_back else self.model.nodes
        if nodes is not None and (wrong := check_events(nodes, self.events)) is not None:
            self.steps.append(failure(wrong, f"{BG_EVENT} CollectAllEventInfos"))
            return
        self.extra = extra_events(nodes or (), self.events, self.reusable)
        for stage, text in STAGE_TEXT.items():
            ids = [e.id for e in self.extra if e.stage == stage]
            if ids:
                done = Text(
                    f"{stage}: events {span(ids)} added; {text.en}", f"{stage}：添加事件 {span(ids)}；{text.zh}"
                )
                self.steps.append(RuntimeStep("validate", done, BG_EVENT))
        self.events += len(self.extra)

    def _occupy(self) -> None:
        m = self.model
        if m.external and not m.all_external:
            text = Text(
                f"only {', '.join(sorted(set(m.external)))} given: stream, event and notify allocator come together or not at all",
                f"只给出 {', '.join(sorted(set(m.external)))}：流、事件、notify 分配器须同时给出或都不给",
            )
            self.steps.append(failure(text, OCCUPY, "PARAM_INVALID"))
            return
        self._acquire()
        if self.failed:
            return
        serial = dict(self.state.callers)[m.caller]
        self.own = self.own.with_caller(serial)
        text = Text(f"slot 0 is the caller's stream {m.caller!r}", f"槽位 0 是调用者的流 {m.caller!r}")
        self.steps.append(RuntimeStep("occupy", text, OCCUPY, (serial,)))

    def _load_parts(self) -> None:
        for part in self.model.parts:
            load = StaticLoad(part, self.model_id, self.device, self.pool, self.model.name, part.name).run()
            self.device, self.pool = load.device, load.pool
            self.steps += load.steps
            if load.failed:
                return
            self.parts += load.bindings
            self.part_events += load.events
            self.part_notifies += load.notifies

    # ---------------------------------------------------------------- inside
    def _acquire(self) -> None:
        streams = self.reusable + self.attached
        kept = self.own.size
        if not self._take(
            self.own.acquire_streams(self.device, streams), STREAMS, streams, Text("streams", "条流"), kept
        ):
            return
        kept = self.own.events
        if not self._take(
            self.own.acquire_events(self.device, self.events), EVENTS, self.events, Text("events", "个事件"), kept
        ):
            return
        kept = self.own.notifies
        self._take(
            self.own.acquire_notifies(self.device, self.notifies),
            NOTIFIES,
            self.notifies,
            Text("notifies", "个 notify"),
            kept,
        )

    def _take(self, got: Acquired, source: str, asked: int, what: Text, before: int) -> bool:
        self.device, self.own = got.device, got.allocators
        if got.refused is not None:
            self.steps.append(failure(got.refused, source))
            return False
        if asked:
            text = Text(
                f"{asked} {what.en} asked for, {got.count} created; the allocator held {before} before",
                f"申请 {asked} {what.zh}，新建 {got.count}；此前分配器持有 {before}",
            )
            self.steps.append(RuntimeStep("create" if got.count else "reuse", text, source, got.created))
        return True

    def _keep(self) -> Outcome:
        slots = self.own.slots[: self.reusable + self.attached]
        bindings = [
            Binding(i, serial, "reusable" if i < self.reusable else "attached", i) for i, serial in enumerate(slots)
        ]
        loaded = LoadedModel(
            self.model_id, self.model.name, self.model, "loaded", (*bindings, *self.parts), self.pool,
            None if self.model.all_external else self.own, self.part_events, self.part_notifies, self.rolled_back, self.extra,
        )  # fmt: skip
        return Outcome(self._shared().with_model(loaded), tuple(self.steps))

    def _abandon(self) -> Outcome:
        """A failed load: the shared allocators keep what they made, the executor's own go with it, static parts too."""
        self.device, self.pool, gone = self.pool.destroy_many(self.device)
        self.device = self.device.give_back(events=self.part_events, notifies=self.part_notifies)
        if not self.model.all_external:
            gone += tuple(s for s in self.own.slots[1:] if s is not None)
            self.device = self.own.release(self.device)
        if gone:
            text = Text(f"{len(gone)} streams go with the executor", f"{len(gone)} 条流随执行器释放")
            self.steps.insert(-1, RuntimeStep("destroy", text, f"{EXECUTOR} destructor", gone))
        model = LoadedModel(self.model_id, self.model.name, self.model, "failed", pool=self.pool)
        return Outcome(self._shared().with_model(model), tuple(self.steps))

    def _shared(self) -> RuntimeState:
        shared = self.own if self.model.all_external else self.state.shared
        return replace(self.state, device=self.device, shared=shared)
