"""Is a plan safe? Independent of every planner and of the ``before`` masks: only addresses and happens-before count.

Accepts any plan (ours, GE's log, a dump). Two buffers may share a byte only if every task that touches one has completed before
the first writer of the other starts (memory.md C2, C6; GE's own check: checker/reuse_checker.cc).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.memory.model import Buffer, MemoryPlan, MemoryProblem
from ge_explorer.text import Text

RACE, MISALIGNED, OUTSIDE, INCOMPLETE, NO_TASK = "GX201", "GX202", "GX203", "GX204", "GX205"
SOURCE = "memory.md C6; GE checker/reuse_checker.cc"
MAX_RACES = 100
"""Races listed one by one; the rest is one summary."""


@dataclass(frozen=True, slots=True)
class Race:
    """Buffers ``x`` and ``y`` share bytes ``begin..end`` and neither surely ends before the other starts.

    ``user`` (touches one buffer) has no path to ``writer`` (first writes the other one): an event from ``user`` to ``writer``
    would order this pair.
    """

    x: int
    y: int
    begin: int
    end: int
    user: int
    writer: int


def find_races(buffers: Sequence[Buffer], offsets: Sequence[int], hb: HappensBefore) -> Iterator[Race]:
    """Every overlapping pair without an order, by ascending offset. All overlapping pairs are tested, not only neighbours."""
    n = len(buffers)
    begin = np.array(offsets, dtype=np.int64)
    end = begin + np.array([b.size for b in buffers], dtype=np.int64)
    done, start = _clocks(buffers, hb)
    rank = np.argsort(begin, kind="stable")
    begin, end, done, start = begin[rank], end[rank], done[rank], start[rank]
    upto = np.searchsorted(begin, end, side="left")
    for i in range(n - 1):
        last = int(upto[i])
        if last <= i + 1 or begin[i] == end[i]:
            continue
        after = (done[i] <= start[i + 1 : last]).all(axis=1)
        rest = np.flatnonzero(~after)
        if rest.size == 0:
            continue
        rest = rest[~(done[i + 1 + rest] <= start[i]).all(axis=1)]
        for k in (i + 1 + rest).tolist():
            if begin[k] == end[k]:
                continue
            x, y = buffers[int(rank[i])], buffers[int(rank[k])]
            user, writer = _missing(x, y, hb)
            yield Race(x.id, y.id, int(begin[k]), int(min(end[i], end[k])), user, writer)


def verify(
    problem: MemoryProblem, plan: MemoryPlan, hb: HappensBefore, names: Mapping[int, str], stream: Sequence[int]
) -> tuple[Issue, ...]:
    """Issues of a plan under an order; empty when it is safe.

    ``names``: node id -> name for the messages; ``stream``: stream per node id. Codes: GX201 race, GX202 offset off the
    alignment, GX203 outside the planned segment, GX204 wrong number of offsets, GX205 buffer that no task writes.
    """
    buffers, offsets = problem.buffers, plan.offsets
    if len(offsets) != len(buffers):
        return (
            Issue(
                INCOMPLETE, "error",
                Text(
                    f"the plan has {len(offsets)} offsets for {len(buffers)} buffers",
                    f"规划给出 {len(offsets)} 个偏移，但有 {len(buffers)} 个缓冲区",
                ),
                source=SOURCE,
            ),
        )  # fmt: skip
    return (*_layout(problem, plan), *_race_issues(buffers, offsets, hb, names, stream))


def _layout(problem: MemoryProblem, plan: MemoryPlan) -> Iterator[Issue]:
    for b, at in zip(problem.buffers, plan.offsets, strict=True):
        if at % problem.alignment:
            yield Issue(
                MISALIGNED, "error",
                Text(
                    f"{b.name} starts at byte {at}, which is no multiple of {problem.alignment}",
                    f"{b.name} 起始于字节 {at}，不是 {problem.alignment} 的倍数",
                ),
                (Ref("buffer", b.id),),
                Text(f"Move it to a multiple of {problem.alignment}.", f"请移到 {problem.alignment} 的整数倍处。"), SOURCE,
            )  # fmt: skip
        if at < 0 or at + b.size > plan.peak:
            yield Issue(
                OUTSIDE, "error",
                Text(
                    f"{b.name} takes bytes {at}..{at + b.size}, outside the segment of {plan.peak} bytes",
                    f"{b.name} 占用字节 {at}..{at + b.size}，超出 {plan.peak} 字节的内存段",
                ),
                (Ref("buffer", b.id),),
                Text("Enlarge the segment or move the buffer.", "请扩大内存段或移动该缓冲区。"), SOURCE,
            )  # fmt: skip


def _race_issues(
    buffers: Sequence[Buffer],
    offsets: Sequence[int],
    hb: HappensBefore,
    names: Mapping[int, str],
    stream: Sequence[int],
) -> Iterator[Issue]:
    count = 0
    for r in find_races(buffers, offsets, hb):
        count += 1
        if count > MAX_RACES:
            continue
        x, y = buffers[r.x], buffers[r.y]
        user, writer = names.get(r.user, f"#{r.user}"), names.get(r.writer, f"#{r.writer}")
        s, t = int(stream[r.user]), int(stream[r.writer])
        yield Issue(
            RACE, "error",
            Text(
                f"{x.name} and {y.name} share bytes {r.begin}..{r.end}, but nothing orders {user} (stream {s}) before "
                f"{writer} (stream {t}): one may overwrite what the other still needs",
                f"{x.name} 与 {y.name} 共用字节 {r.begin}..{r.end}，但没有任何机制保证 {user}（流 {s}）先于 {writer}（流 {t}）："
                "一方可能覆盖另一方仍需要的数据",
            ),
            (Ref("buffer", x.id), Ref("buffer", y.id), Ref("node", r.user), Ref("node", r.writer)),
            Text(
                f"Add an event from {user} to {writer} (stream {s} to stream {t}), or give the buffers separate bytes.",
                f"在 {user} 与 {writer} 之间加一个事件（流 {s} 到流 {t}），或让两个缓冲区使用不同的字节。",
            ),
            SOURCE,
        )  # fmt: skip
    if count > MAX_RACES:
        yield Issue(
            RACE, "error",
            Text(f"{count - MAX_RACES} more races of this kind", f"另有 {count - MAX_RACES} 处同类竞争"), source=SOURCE,
        )  # fmt: skip


def _clocks(buffers: Sequence[Buffer], hb: HappensBefore) -> tuple[np.ndarray, np.ndarray]:
    """(tasks per stream that must be done to free a buffer, tasks per stream surely done when it is first written).

    A buffer that no task writes can never be proven free or late enough.
    """
    width = max(len(hb.streams), 1)
    row, column, position = hb.row, hb.column.tolist(), hb.position.tolist()
    done = np.zeros((len(buffers), width), dtype=np.int64)
    start = np.full((len(buffers), width), -1, dtype=np.int64)
    for i, b in enumerate(buffers):
        writers = [row[d] for d in b.producers if d in hb]
        if not writers:
            done[i] = np.iinfo(np.int64).max
            continue
        start[i] = hb.clocks[writers[0]] if len(writers) == 1 else np.min(hb.clocks[writers], axis=0)
        last: dict[int, int] = {}
        for a in b.accessors:
            r = row.get(a, -1)
            if r >= 0 and column[r] >= 0:
                last[column[r]] = max(last.get(column[r], 0), position[r] + 1)
        for k, count in last.items():
            done[i, k] = count
    return done, start


def _missing(x: Buffer, y: Buffer, hb: HappensBefore) -> tuple[int, int]:
    """The pair without a path that would make the earlier buffer (by first writer's place) come first."""
    if hb.ordered(y.producers[0], x.producers[0]):
        x, y = y, x
    for a in reversed(x.accessors):
        for d in y.producers:
            if not hb.ordered(a, d):
                return a, d
    return x.producers[0], y.producers[0]
