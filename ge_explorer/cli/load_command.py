"""``ge-explorer load FILE``: what the file is, what was found, what is missing."""

from __future__ import annotations

import argparse

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.issue import has_errors


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    p.add_argument("source", metavar="FILE|EXAMPLE", help="model or dump file, or the name of a built-in example")
    shared.shapes(p)
    shared.json_flag(p)
    shared.language(p)


def run(args: argparse.Namespace) -> int:
    """Load and print the report."""
    from ge_explorer.loaders import load
    from ge_explorer.report import issue_report

    input_shapes, dims = shared.given_shapes(args)
    result = load(args.source, input_shapes=input_shapes, dims=dims)
    r, g = result.report, result.graph
    if args.json:
        shared.print_json(
            {
                "format": r.format,
                "name": g.name,
                "found": [t.get(args.lang) for t in r.found],
                "missing": [t.get(args.lang) for t in r.missing],
                "counts": dict(r.counts),
                "issues": [issue_report(i, g) for i in r.issues],
            }
        )
    else:
        print(f"{printable(g.name)}: {r.format}")
        for mark, texts in (("+", r.found), ("-", r.missing)):
            for t in texts:
                print(f"  {mark} {printable(t.get(args.lang))}")
        for i in r.issues:
            print(f"  {i.code} {i.severity}: {printable(i.message.get(args.lang))}")
    return 1 if has_errors(r.issues) else 0
