"""Is a plan from a file safe? Only what the file itself says counts: addresses, lifetimes and the rows over the streams."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ge_explorer.issue import Issue
from ge_explorer.memory.formats.plan_json import NONE, Allocation, PlanFile
from ge_explorer.memory.model import FOREVER
from ge_explorer.memory.verify import MAX_RACES, MISALIGNED, OUTSIDE, RACE
from ge_explorer.text import Text

SOURCE = "memory.md C6"


def check_plan(plan: PlanFile) -> tuple[Issue, ...]:
    """Issues of a plan; empty when no two tensors can be alive on one byte and all lie aligned inside their pool."""
    issues = list(_layout(plan))
    count = 0
    for x, y in _races(plan):
        count += 1
        if count > MAX_RACES:
            continue
        begin, end = max(x.offset, y.offset), min(x.offset + x.size, y.offset + y.size)
        why, fix = _reason(plan, x, y)
        issues.append(
            Issue(
                RACE, "error",
                Text(
                    f"{x.name} and {y.name} share bytes {begin}..{end} of {x.pool}, but {why.en}: one may overwrite what the "
                    "other still needs",
                    f"{x.name} 与 {y.name} 共用 {x.pool} 的字节 {begin}..{end}，但{why.get('zh')}：一方可能覆盖另一方仍需要的数据",
                ),
                (),
                fix,
                SOURCE,
            )
        )  # fmt: skip
    if count > MAX_RACES:
        more = count - MAX_RACES
        issues.append(
            Issue(RACE, "error", Text(f"{more} more races of this kind", f"另有 {more} 处同类竞争"), source=SOURCE)
        )
    return tuple(issues)


def _reason(plan: PlanFile, x: Allocation, y: Allocation) -> tuple[Text, Text]:
    """(why the two may be alive together, what would help). With rows over the streams: the last user without a path and the
    producer it would have to precede, for the order that lacks least.
    """
    apart = Text("Give the tensors separate bytes.", "请使用不同的字节。")
    if not plan.ordered_by_streams:
        return Text("both are alive at the same time", "二者的生命周期重叠"), apart
    missing = min(_missing(x, y), _missing(y, x), key=len)
    first, second, column = missing[0]
    if len(first.last_users) <= column or first.last_users[column] == NONE or second.producer == NONE:
        return Text("no order of the streams keeps them apart", "流之间没有任何先后顺序将二者分开"), apart
    user, writer, s, t = (
        first.last_users[column],
        second.producer,
        plan.streams[column] if plan.streams else 0,
        second.name,
    )
    return (
        Text(f"nothing orders {user} (stream {s}) before {writer}, which writes {t}",
             f"没有任何机制保证 {user}（流 {s}）先于写入 {t} 的 {writer}"),
        Text(f"Add an event from {user} to {writer}, or give the tensors separate bytes.",
             f"在 {user} 与 {writer} 之间加一个事件，或使用不同的字节。"),
    )  # fmt: skip


def _missing(x: Allocation, y: Allocation) -> list[tuple[Allocation, Allocation, int]]:
    """Streams (as columns) on which X is not surely done when Y is first written."""
    need, have = x.free_after or (), y.starts_after or ()
    return [(x, y, c) for c, (a, b) in enumerate(zip(need, have, strict=True)) if a > b]


def _layout(plan: PlanFile) -> Iterator[Issue]:
    for t in plan.tensors:
        if plan.alignment and t.offset % plan.alignment:
            yield Issue(
                MISALIGNED, "error",
                Text(
                    f"{t.name} starts at byte {t.offset}, which is no multiple of {plan.alignment}",
                    f"{t.name} 起始于字节 {t.offset}，不是 {plan.alignment} 的倍数",
                ),
                source=SOURCE,
            )  # fmt: skip
        size = plan.capacity.get(t.pool, plan.peak)
        if size is not None and t.offset + t.size > size:
            yield Issue(
                OUTSIDE, "error",
                Text(
                    f"{t.name} takes bytes {t.offset}..{t.offset + t.size}, outside {t.pool} of {size} bytes",
                    f"{t.name} 占用字节 {t.offset}..{t.offset + t.size}，超出 {size} 字节的 {t.pool}",
                ),
                source=SOURCE,
            )  # fmt: skip


def _races(plan: PlanFile) -> Iterator[tuple[Allocation, Allocation]]:
    """Pairs that share a byte of one pool without an order, by pool and offset."""
    pools: dict[str, list[Allocation]] = {}
    for t in plan.tensors:
        if t.size:
            pools.setdefault(t.pool, []).append(t)
    for tensors in pools.values():
        tensors.sort(key=lambda t: t.offset)
        begin = np.array([t.offset for t in tensors], dtype=np.int64)
        end = begin + np.array([t.size for t in tensors], dtype=np.int64)
        done, start = _clocks(tensors, plan.ordered_by_streams)
        upto = np.searchsorted(begin, end, side="left")
        for i in range(len(tensors) - 1):
            near = slice(i + 1, int(upto[i]))
            apart = (done[i] <= start[near]).all(axis=1) | (done[near] <= start[i]).all(axis=1)
            for k in np.flatnonzero(~apart).tolist():
                yield tensors[i], tensors[i + 1 + k]


def _clocks(tensors: list[Allocation], by_streams: bool) -> tuple[np.ndarray, np.ndarray]:
    """(what must be done before the bytes are free, what is surely done at the first write), one row per tensor."""
    if by_streams:
        done = [t.free_after for t in tensors]
        start = [t.starts_after for t in tensors]
        return np.array(done, dtype=np.int64), np.array(start, dtype=np.int64)
    last = max([FOREVER, *(t.begin + 1 for t in tensors)])
    ends = [[last if t.end is None else t.end] for t in tensors]
    return np.array(ends, dtype=np.int64), np.array([[t.begin] for t in tensors], dtype=np.int64)
