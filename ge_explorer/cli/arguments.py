"""Arguments that several commands share, and the session they describe."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ge_explorer.errors import OptionError
from ge_explorer.plan.model import LEVELS
from ge_explorer.session import DEFAULT_CHIP, Session


def source(p: argparse.ArgumentParser) -> None:
    """The graph and everything that changes its trace."""
    p.add_argument("source", metavar="FILE|EXAMPLE", help="model or dump file, or the name of a built-in example")
    p.add_argument("--mode", help="default, single, cv, LoadBalance:N or MainStream:N")
    p.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="GE option by its literal key; repeatable"
    )
    p.add_argument("--pipeline", default="static", help="pipeline text, such as static,-optimize-ineffective")
    p.add_argument("--chip", default=DEFAULT_CHIP, help=f"chip of the device model (default {DEFAULT_CHIP})")
    p.add_argument("--strength", choices=("single", *LEVELS), help="plan strength, where there is a plan or labels")


def json_flag(p: argparse.ArgumentParser) -> None:
    """``--json``."""
    p.add_argument("--json", action="store_true", help="print JSON")


def language(p: argparse.ArgumentParser) -> None:
    """``--lang``."""
    p.add_argument("--lang", choices=("en", "zh"), default="en", help="language of the text output")


def open_source(args: argparse.Namespace) -> Session:
    """Session from parsed arguments."""
    from ge_explorer.api import open_session

    options = {}
    for pair in args.option:
        key, eq, value = pair.partition("=")
        if not eq or not key:
            raise OptionError("--option takes key=value", got=pair, todo="For example --option ge.topoSortingMode=0.")
        options[key] = value
    return open_session(
        args.source, mode=args.mode, options=options, chip=args.chip, strength=args.strength, pipeline=args.pipeline
    )


def print_json(value: Any) -> None:
    """One JSON document on standard output; NaN and infinity are bugs, not output."""
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
    print()
