"""``ge-explorer check``: the independent verifiers; exit 1 when one finds an error."""

from __future__ import annotations

import argparse

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
    from ge_explorer.report import issue_report

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
