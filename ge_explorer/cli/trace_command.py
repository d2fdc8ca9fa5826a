"""``ge-explorer trace``: every step, then streams, events, memory and timeline."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.issue import has_errors
from ge_explorer.session import Session
from ge_explorer.text import Text
from ge_explorer.trace import Step
from ge_explorer.views.unknown_shapes import unknown_shapes

_STATUS = {
    "changed": Text("changed", "有改动"), "unchanged": Text("unchanged", "无改动"), "skipped": Text("skipped", "跳过"),
    "disabled": Text("disabled", "已关闭"), "failed": Text("failed", "失败"), "not_run": Text("not_run", "未运行"),
}  # fmt: skip


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    p.add_argument("--why", metavar="NODE", help="print the why-trail of one node")
    shared.json_flag(p)
    shared.language(p)


def run(args: argparse.Namespace) -> int:
    """Trace and print."""
    session = shared.open_source(args)
    if args.json:
        from ge_explorer.report import trace_report

        shared.print_json(trace_report(session))
    elif args.why:
        _print_why(session, args.why, args.lang)
    else:
        _print_steps(session, args.lang)
    return 1 if has_errors(session.issues) or session.trace.failed else 0


def _print_steps(session: Session, lang: str) -> None:
    trace = session.trace
    width = max(len(s.name) for s in trace)
    for step in trace:
        status = _STATUS[step.status].get(lang)
        pad = " " * (9 - sum(2 if ord(c) > 0x2E80 else 1 for c in status))
        what = printable(_what(session, step, lang))
        print(f"{step.index + 1:>3} {printable(step.name):<{width}} {status}{pad} {what}")
    print()
    for result in _results(session):
        print(printable(result.get(lang)))
    report = session.profile_report
    if report is not None:
        print(f"profile  {printable(report.source)}  {Text('[measured]', '[实测]').get(lang)}")
        for line in report.lines(lang)[1:]:  # the first line is finding GX520 below
            print(f"         {printable(line)}")
    for i in session.issues:
        print(f"{i.code} {i.severity}: {printable(i.message.get(lang))}")


def _results(session: Session) -> Iterator[Text]:
    """One line per result, each with where it comes from."""
    trace, s = session.trace, session.trace.final
    rule = Text("[GE rule]", "[GE 规则]")
    unknown = unknown_shapes(s)
    if unknown is not None:
        yield Text(f"{unknown.en}  {rule.en}", f"{unknown.zh}  {rule.zh}")
    if s.streams is not None:
        yield Text(f"streams  {s.streams.count}  {rule.en}", f"流       {s.streams.count}  {rule.zh}")
    if s.sync is not None:
        live, gone = len(s.sync.events), len(s.sync.removed)
        yield Text(f"events   {live}, removed {gone}  {rule.en}", f"事件     {live}，删除 {gone}  {rule.zh}")
    if s.physical is not None:
        p, table = s.physical, s.physical.task_table
        longest, split = max(p.tasks, default=0), len(p.sync.events)
        limit, limit_zh = "", ""
        if table is not None and not table.unlimited:
            limit = f", longest {longest} of {table.limit} tasks"
            limit_zh = f"，最长 {longest}/{table.limit} 个任务"
        word = table.origin if table is not None else "assumed"
        word_zh = {"assumed": "假设的", "given": "给定的"}.get(word, word)
        yield Text(
            f"physical {p.count} streams, {split} events of the split{limit}  [GE rule on {word} task counts]",
            f"物理流   {p.count} 条，切分事件 {split} 个{limit_zh}  [GE 规则，基于{word_zh}任务数]",
        )
    if s.memory is not None:
        m = s.memory
        peak, low, by = m.plan.peak, m.lower_bound, m.plan.planner
        yield Text(
            f"memory   peak {peak} B, lower bound {low} B ({m.bound_name}), planner {by}  [our model]",
            f"内存     峰值 {peak} B，下界 {low} B（{m.bound_name}），规划器 {by}  [我们的模型]",
        )
    if trace.failed is None:
        us, chip = session.timeline.makespan_ns / 1000, session.timeline.chip
        yield Text(
            f"makespan {us:.1f} us on {chip}  [simulated, not measured]",
            f"总时长   {us:.1f} us（{chip}）  [模拟，非实测]",
        )


def _what(session: Session, step: Step, lang: str) -> str:
    if step.error is not None:
        return str(step.error)
    if step.reason is not None:
        return step.reason.get(lang)
    if step.status != "changed":
        return step.ge_status
    counts = session.trace.diff(step.index - 1, step.index).counts
    return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in counts.items())


def _print_why(session: Session, node: str, lang: str) -> None:
    print(printable(session.trace.why(node).text(lang)))
