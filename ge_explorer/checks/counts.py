"""19.12: numbers of streams, events and notifies against what compiler, loader and chip take."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.context import Context
from ge_explorer.device.chips import resolve_chip
from ge_explorer.errors import OptionError
from ge_explorer.issue import Issue, Severity
from ge_explorer.passes.physical.limits import FAMILIES
from ge_explorer.runtime.flags import EXECUTE_STREAMS
from ge_explorer.text import Text

HARD, CHIP = "GX148", "GX149"
NOTIFIES = 1024
V2_STREAMS, V2_EVENTS = 2024, 4096
LATE = Text("GE fails at the end of the compilation", "GE 在编译末尾失败")
STREAM, EVENT, NOTIFY = Text("streams", "条流"), Text("events", "个事件"), Text("notifies", "个 notify")


def compiler_counts(c: Context) -> Iterator[Issue]:
    """GX148: more notifies than the compiler takes; more streams, events or notifies than a dynamic model may hold."""
    plan, dynamic = c.final_sync, c.s.graph.root.dynamic
    if plan.notify_num > NOTIFIES:
        yield _issue(HARD, "error", plan.notify_num, NOTIFY, NOTIFIES, LATE)
    if not dynamic:
        return
    fails = Text("the model cannot be loaded", "模型无法加载")
    if c.plan.count >= V2_STREAMS:
        yield _issue(HARD, "error", c.plan.count, STREAM, V2_STREAMS - 1, fails)
    if plan.event_num > V2_EVENTS:
        yield _issue(HARD, "error", plan.event_num, EVENT, V2_EVENTS, fails)
    if plan.notify_num == NOTIFIES:
        yield _issue(HARD, "error", plan.notify_num, NOTIFY, NOTIFIES - 1, fails)


def chip_counts(c: Context) -> Iterator[Issue]:
    """GX149: more than the chip has. GE never compares, neither when compiling nor when loading."""
    try:
        chip = resolve_chip(c.s.options.get("ge.socVersion")).chip
    except OptionError:
        return
    follow: dict[int, int] = {}
    for n in c.s.graph:
        used = n.attrs.get("used_stream_num")
        if isinstance(used, int) and used > 0 and c.plan.of_node[n.id] >= 0:
            follow[c.plan.of_node[n.id]] = max(used, follow.get(c.plan.of_node[n.id], 0))
    need = c.plan.count + sum(follow.values()) + EXECUTE_STREAMS
    known = FAMILIES.get(chip.family)
    real = chip.streams_code or (known.streams if known is not None else chip.streams)
    for got, what, most in (
        (need, STREAM, max(chip.streams, real)),
        (c.final_sync.event_num, EVENT, chip.events),
        (c.final_sync.notify_num, NOTIFY, chip.notifies),
    ):
        if most is not None and got > most:
            why = Text(f"{chip.name} has no more; GE does not check", f"{chip.name} 的上限；GE 不检查")
            yield _issue(CHIP, "warning", got, what, most, why)


def _issue(code: str, severity: Severity, got: int, what: Text, most: int, why: Text) -> Issue:
    return Issue(
        code, severity,
        Text(f"{got} {what.en} needed, {most} at most: {why.en}", f"需要 {got} {what.zh}，上限 {most}：{why.zh}"),
        fix=Text("Use fewer streams (a smaller N, labels) or a larger limit.", "请减少流数（更小的 N、标签），或提高上限。"),
        source="sync.md 19.12",
    )  # fmt: skip
