"""``ge-explorer check``: the independent verifiers; exit 1 when one finds an error."""

from __future__ import annotations

import argparse
from pathlib import Path

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.issue import Issue, has_errors
from ge_explorer.loaders.ge_recorded import BufferLine
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Step

LOG_ENDINGS = (".log", ".plog", ".txt")
"""Endings of files that may be GE logs; the content decides."""


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    p.add_argument(
        "--recorded", action="store_true", help="judge what a GE dump records, instead of compiling its graph"
    )
    shared.json_flag(p)
    shared.language(p)


def run(args: argparse.Namespace) -> int:
    """Check and print."""
    from ge_explorer.checks import check_invariants
    from ge_explorer.cli.check_invariants import invariant_lines, invariant_report
    from ge_explorer.memory.formats.plan_json import is_plan_json
    from ge_explorer.report import issue_report

    if is_plan_json(Path(args.source)):
        return _check_plan(args)
    if Path(args.source).suffix.lower() in LOG_ENDINGS and Path(args.source).is_file():
        lines = _memory_lines(args.source)
        if lines:
            return _check_log(args, lines)
    state, issues, failed = _recorded(args.source) if args.recorded else _compiled(args)
    # A run that stopped before its events were due is not judged by their absence.
    found = check_invariants(state if failed is None or state.sync is not None else state.evolve(streams=None))
    if args.json:
        shared.print_json(
            {
                "ok": failed is None and not has_errors(issues),
                "failed_step": failed.name if failed else None,
                "invariants": invariant_report(found),
                "issues": [issue_report(i, state.graph) for i in issues],
            }
        )
    else:
        if failed is not None:
            print(f"failed at {failed.name}: {printable(str(failed.error))}")
        for i in issues:
            print(f"{i.code} {i.severity}: {printable(i.message.get(args.lang))}")
            if i.fix is not None:
                print(f"    {printable(i.fix.get(args.lang))}")
        print("\n".join(invariant_lines(found, args.lang)))
        if failed is None and not has_errors(issues):
            print(
                "ok: every dependency ordered, no deadlock, no memory race"
                if args.lang == "en"
                else "通过：依赖有序，无死锁，无内存竞争"
            )
    return 1 if failed is not None or has_errors(issues) else 0


def _compiled(args: argparse.Namespace) -> tuple[Snapshot, tuple[Issue, ...], Step | None]:
    """Last good state, findings and the failed step of a compiled graph."""
    session = shared.open_source(args)
    return session.trace.final, session.issues, session.trace.failed


def _recorded(source: str) -> tuple[Snapshot, tuple[Issue, ...], Step | None]:
    """What a dump records, and its findings."""
    from ge_explorer.checks import check_snapshot
    from ge_explorer.loaders import load
    from ge_explorer.trace.recorded import snapshot_of

    found = load(source)
    state = snapshot_of(found)
    return state, (*found.report.issues, *check_snapshot(state)), None


def _memory_lines(source: str) -> tuple[BufferLine, ...]:
    """Memory lines of a GE log; empty for any other text file."""
    from ge_explorer.loaders import load

    found = load(source)
    return found.recorded.buffers if found.report.format == "GE log" and found.recorded is not None else ()


def _check_log(args: argparse.Namespace, lines: tuple[BufferLine, ...]) -> int:
    """Check the plan a log states: there is no graph to compile."""
    from ge_explorer.checks.memory_log import verify_log

    issues = verify_log(lines)
    if args.json:
        shared.print_json(
            {
                "ok": not has_errors(issues),
                "memory_lines": len(lines),
                "judged_by": "lifetimes in the log",
                "issues": [
                    {"code": i.code, "severity": i.severity, "message": i.message.en, "message_zh": i.message.get("zh")}
                    for i in issues
                ],
            }
        )
        return 1 if has_errors(issues) else 0
    for i in issues:
        print(f"{i.code} {i.severity}: {printable(i.message.get(args.lang))}")
        if i.fix is not None:
            print(f"    {printable(i.fix.get(args.lang))}")
    if not has_errors(issues):
        print(
            f"ok: {len(lines)} memory lines, no byte in use twice on one stream (judged by the lifetimes in the log)"
            if args.lang == "en"
            else f"通过：{len(lines)} 行内存日志，同一条流上没有字节被同时使用（依据日志中的生命周期）"
        )
    return 1 if has_errors(issues) else 0


def _check_plan(args: argparse.Namespace) -> int:
    """Check a memory plan file on its own, without the graph."""
    from ge_explorer.memory.formats.check_plan import check_plan
    from ge_explorer.memory.formats.plan_json import read_plan

    plan = read_plan(args.source)
    issues = check_plan(plan)
    by = "happens-before" if plan.ordered_by_streams else "lifetimes"
    if args.json:
        found = [
            {"code": i.code, "severity": i.severity, "message": i.message.en, "message_zh": i.message.get("zh")}
            for i in issues
        ]
        shared.print_json(
            {"ok": not has_errors(issues), "tensors": len(plan.tensors), "judged_by": by, "issues": found}
        )
    else:
        for i in issues:
            print(f"{i.code} {i.severity}: {printable(i.message.get(args.lang))}")
            if i.fix is not None:
                print(f"    {printable(i.fix.get(args.lang))}")
        if not has_errors(issues):
            print(
                f"ok: {len(plan.tensors)} tensors, no memory race (judged by {by})"
                if args.lang == "en"
                else f"通过：{len(plan.tensors)} 个张量，无内存竞争（依据 {by}）"
            )
    return 1 if has_errors(issues) else 0
