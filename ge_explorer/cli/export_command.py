"""``ge-explorer export -o page.html``: one file, no kernel, no network."""

from __future__ import annotations

import argparse
from pathlib import Path

from ge_explorer.cli import arguments as shared


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    p.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="page.html",
        help="file to write (.dot: Graphviz text instead; .streams.dot: GE's own stream graph)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    session, target = shared.open_source(args), Path(args.output)
    if target.name.endswith(".streams.dot"):
        from ge_explorer.views import ge_stream_dot

        target.write_text(ge_stream_dot.export_text(session.trace.final), encoding="utf-8")
    elif target.suffix == ".dot":
        from ge_explorer.views import dot

        drawn = dot.build(session.trace.final, session.identities, len(session.trace) - 1)
        target.write_text(drawn.source, encoding="utf-8")
    else:
        from ge_explorer.views.export_html import export_html

        export_html(session, target)
    print(target)
    return 0
