"""``ge-explorer export -o page.html``: one file, no kernel, no network."""

from __future__ import annotations

import argparse
from pathlib import Path

from ge_explorer.cli import arguments as shared


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    p.add_argument("-o", "--output", required=True, metavar="page.html", help="file to write")


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    from ge_explorer.views.export_html import export_html

    print(export_html(shared.open_source(args), Path(args.output)))
    return 0
