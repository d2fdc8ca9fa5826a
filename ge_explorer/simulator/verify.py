"""Check a timeline against its program. Shares no code with the engine and accepts any timeline, also a hand-made one.

A timeline passes when every task is there with its own duration, streams are in order and never run two tasks at once,
every wait ends after its record, activated streams start after their activation, and the core pools are never exceeded.
"""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.simulator.program import Program
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text


def _issue(en: str, zh: str, *refs: Ref) -> Issue:
    return Issue("GX501", "error", Text(en, zh), refs, source="timeline check")


def verify(program: Program, timeline: Timeline) -> list[Issue]:
    """Every broken rule as an issue (GX501); an empty list proves that the timeline respects the program."""
    if len(program.tasks) != len(timeline.node):
        n, m = len(program.tasks), len(timeline.node)
        return [_issue(f"the program has {n} tasks, the timeline {m}", f"程序有 {n} 个任务，时间线有 {m} 个")]
    return [
        *_rows(program, timeline),
        *_streams(program, timeline),
        *_events(program, timeline),
        *_pools(timeline),
        *_gaps(timeline),
    ]


def _rows(p: Program, t: Timeline) -> Iterator[Issue]:
    for i, task in enumerate(p.tasks):
        ref = Ref("task", i)
        if int(t.end_ns[i]) - int(t.start_ns[i]) != task.ns or int(t.start_ns[i]) < 0:
            yield _issue(f"task {i} does not last its {task.ns} ns", f"任务 {i} 的时长不是 {task.ns} ns", ref)
        shown = (int(t.node[i]), int(t.stream[i]), int(t.aic[i]), int(t.aiv[i]))
        if shown != (task.node, task.stream, task.aic, task.aiv):
            yield _issue(f"task {i} has another node, stream or core count", f"任务 {i} 的节点、流或核数不一致", ref)


def _streams(p: Program, t: Timeline) -> Iterator[Issue]:
    before: dict[int, int] = {}
    for i, task in enumerate(p.tasks):
        last = before.get(task.stream)
        if last is None:
            starter = p.starts.get(task.stream)
            if starter is not None and t.start_ns[i] < t.end_ns[starter]:
                yield _issue(f"stream {task.stream} runs before its activation", f"流 {task.stream} 在激活之前运行",
                             Ref("stream", task.stream))  # fmt: skip
        elif t.start_ns[i] < t.end_ns[last]:
            yield _issue(f"task {i} overtakes task {last} on stream {task.stream}",
                         f"任务 {i} 在流 {task.stream} 上超过了任务 {last}", Ref("task", i), Ref("task", last))  # fmt: skip
        before[task.stream] = i


def _events(p: Program, t: Timeline) -> Iterator[Issue]:
    recorded: dict[int, int] = {}
    for i, task in enumerate(p.tasks):
        for k in task.records:
            recorded[k] = i
    for i, task in enumerate(p.tasks):
        for k in task.waits:
            if k not in recorded:
                yield _issue(
                    f"task {i} waits for an event nobody records", f"任务 {i} 等待的事件无人记录", Ref("task", i)
                )
            elif t.start_ns[i] < t.end_ns[recorded[k]]:
                yield _issue(
                    f"task {i} starts before event {p.event_ids[k]} is recorded",
                    f"任务 {i} 在事件 {p.event_ids[k]} 记录之前开始",
                    Ref("task", i),
                    Ref("task", recorded[k]),
                )


def _pools(t: Timeline) -> Iterator[Issue]:
    for name, held, most in (("AIC", t.aic, t.total_aic), ("AIV", t.aiv, t.total_aiv)):
        changes: list[tuple[int, int]] = []
        for i in range(len(held)):
            if held[i] and t.end_ns[i] > t.start_ns[i]:
                changes += ((int(t.start_ns[i]), int(held[i])), (int(t.end_ns[i]), -int(held[i])))
        now = 0
        for at, step in sorted(changes):  # at one time releases (negative) come first
            now += step
            if now > most:
                yield _issue(
                    f"{now} {name} cores in use at {at} ns, the chip has {most}",
                    f"{at} ns 时占用 {now} 个 {name}，芯片只有 {most} 个",
                )
                break


def _gaps(t: Timeline) -> Iterator[Issue]:
    """Tasks and gaps together tile every stream from 0 to the makespan."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for i in range(len(t.node)):
        if t.end_ns[i] > t.start_ns[i]:
            spans.setdefault(int(t.stream[i]), []).append((int(t.start_ns[i]), int(t.end_ns[i])))
    for s in {int(s) for s in t.stream}:
        spans.setdefault(s, [])
    for g in t.gaps:
        spans.setdefault(g.stream, []).append((g.start_ns, g.end_ns))
    for stream, rows in sorted(spans.items()):
        at = 0
        for a, b in sorted(rows):
            if a != at:
                break
            at = b
        if at != t.makespan_ns:
            yield _issue(
                f"time on stream {stream} is not explained at {at} ns",
                f"流 {stream} 在 {at} ns 处的时间没有说明",
                Ref("stream", stream),
            )
