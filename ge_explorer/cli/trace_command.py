"""``ge-explorer trace``: every step, then streams, events, memory and timeline."""

from __future__ import annotations

import argparse

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.issue import has_errors
from ge_explorer.session import Session
from ge_explorer.trace import Step
from ge_explorer.views.unknown_shapes import unknown_shapes


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
        print(
            f"{step.index + 1:>3} {printable(step.name):<{width}} {step.status:<9} {printable(_what(session, step, lang))}"
        )
    s = trace.final
    print()
    unknown = unknown_shapes(s)
    if unknown is not None:
        print(f"{printable(unknown.get(lang))}  [GE rule]")
    if s.streams is not None:
        print(f"streams  {s.streams.count}  [GE rule]")
    if s.sync is not None:
        print(f"events   {len(s.sync.events)}, removed {len(s.sync.removed)}  [GE rule]")
    if s.physical is not None:
        p, table = s.physical, s.physical.task_table
        longest = max(p.tasks, default=0)
        limit = f", longest {longest} of {table.limit} tasks" if table is not None and not table.unlimited else ""
        word = table.origin if table is not None else "assumed"
        print(
            f"physical {p.count} streams, {len(p.sync.events)} events of the split{limit}  [GE rule on {word} task counts]"
        )
    if s.memory is not None:
        m = s.memory
        print(
            f"memory   peak {m.plan.peak} B, lower bound {m.lower_bound} B ({m.bound_name}), planner {m.plan.planner}  [our model]"
        )
    if trace.failed is None:
        print(
            f"makespan {session.timeline.makespan_ns / 1000:.1f} us on {session.timeline.chip}  [simulated, not measured]"
        )
    report = session.profile_report
    if report is not None:
        print(f"profile  {printable(report.source)}  [measured]")
        for line in report.lines(lang)[1:]:  # the first line is finding GX520 below
            print(f"         {printable(line)}")
    for i in session.issues:
        print(f"{i.code} {i.severity}: {printable(i.message.get(lang))}")


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
