"""Command line. One file per command, one line each here; every command prints text, or JSON with ``--json``.

Exit codes: 0 fine, 1 findings of level error, 2 unusable input or option.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ge_explorer import __version__
from ge_explorer.errors import GxError

COMMANDS: tuple[tuple[str, str], ...] = (
    ("lab", "open JupyterLab on the start notebook"),
    ("load", "say what a file is, what was found and what is missing"),
    ("trace", "run every step; print streams, events, memory, timeline"),
    ("memory", "plan memory of a graph or a minimalloc CSV; peak, lower bound, proof"),
    ("diff", "compare two dumps or models, or a dump with our compilation of it (--own)"),
    ("check", "verify order, deadlock freedom and memory safety; exit 1 on an error"),
    ("export", "write one HTML file that needs no kernel and no network"),
    ("list", "list passes, examples, chips, modes or formats"),
)


def parser() -> argparse.ArgumentParser:
    """The full argument parser (commands register their own arguments)."""
    top = argparse.ArgumentParser(prog="ge-explorer", description="What the Ascend graph compiler GE decides, and why.")
    top.add_argument("--version", action="version", version=f"ge_explorer {__version__}")
    sub = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS:
        module = import_module(f"ge_explorer.cli.{name}_command")
        command = sub.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        module.arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    args = parser().parse_args(argv)
    try:
        return int(args.run(args))
    except GxError as e:
        print(f"ge-explorer: {printable(str(e))}", file=sys.stderr)
        return e.exit_code
    except BrokenPipeError:
        # The reader (head, less) went away: not our error. Point stdout at nothing so that the exit flush is silent.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def printable(text: str) -> str:
    """Text with control characters escaped, so that a name from a file cannot steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
