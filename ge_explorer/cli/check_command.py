"""``ge-explorer check``: the independent verifiers; exit 1 when one finds an error."""

from __future__ import annotations

import argparse
from pathlib import Path

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.issue import has_errors


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    shared.json_flag(p)
    shared.language(p)


def run(args: argparse.Namespace) -> int:
    """Check and print."""
    from ge_explorer.memory.formats.plan_json import is_plan_json
    from ge_explorer.report import issue_report

    if is_plan_json(Path(args.source)):
        return _check_plan(args)
    session = shared.open_source(args)
    trace, issues = session.trace, session.issues
    failed = trace.failed
    if args.json:
        shared.print_json(
            {
                "ok": failed is None and not has_errors(issues),
                "failed_step": failed.name if failed else None,
                "issues": [issue_report(i, trace.final.graph) for i in issues],
            }
        )
    else:
        if failed is not None:
            print(f"failed at {failed.name}: {printable(str(failed.error))}")
        for i in issues:
            print(f"{i.code} {i.severity}: {printable(i.message.get(args.lang))}")
            if i.fix is not None:
                print(f"    {printable(i.fix.get(args.lang))}")
        if failed is None and not has_errors(issues):
            print(
                "ok: every dependency ordered, no deadlock, no memory race"
                if args.lang == "en"
                else "通过：依赖有序，无死锁，无内存竞争"
            )
    return 1 if failed is not None or has_errors(issues) else 0


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
