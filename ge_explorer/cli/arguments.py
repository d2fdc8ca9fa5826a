"""Arguments that several commands share, and the session they describe."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
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
    p.add_argument(
        "--pipeline", default="", help="pipeline text, such as static,-optimize-ineffective (default: static, or dynamic for "
        "a model of unknown shapes)",
    )  # fmt: skip
    shapes(p)
    p.add_argument("--chip", default="", help=f"chip of the device model (default {DEFAULT_CHIP})")
    p.add_argument("--profile", metavar="CSV", help="measured durations of operators, used instead of our model")
    p.add_argument(
        "--placement",
        metavar="JSON",
        help="engine or core kind by operator type or node:NAME, used instead of the table",
    )
    p.add_argument("--strength", choices=("single", *LEVELS), help="plan strength, where there is a plan or labels")


def shapes(p: argparse.ArgumentParser) -> None:
    """``--input-shape`` and ``--dim``."""
    p.add_argument(
        "--input-shape", action="append", default=[], metavar="NAME:D,D,…",
        help="shape of an ONNX input, such as x:1,3,224,224 (-1: open); repeatable, or several with ; between",
    )  # fmt: skip
    p.add_argument(
        "--dim", action="append", default=[], metavar="NAME=SIZE", help="value of a symbolic dimension; repeatable"
    )


def given_shapes(args: argparse.Namespace) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """(input shapes, values of symbolic dimensions). OptionError for a text that is neither."""
    from ge_explorer.loaders.onnx_inputs import parse_input_shapes

    dims: dict[str, int] = {}
    for pair in args.dim:
        name, eq, size = pair.rpartition("=")
        if not eq or not name or not (size.isascii() and size.isdigit()):
            raise OptionError("--dim takes name=size", got=pair, todo="For example --dim batch=8.")
        dims[name] = int(size)
    return parse_input_shapes(args.input_shape), dims


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
    _mention_unread(options)
    input_shapes, dims = given_shapes(args)
    return open_session(
        args.source, mode=args.mode, options=options, chip=args.chip, strength=args.strength, pipeline=args.pipeline,
        input_shapes=input_shapes, dims=dims, profile=Path(args.profile) if args.profile else None,
        placement=Path(args.placement) if args.placement else None,
    )  # fmt: skip


def _mention_unread(options: Mapping[str, str]) -> None:
    """GE has hundreds of options: one that no step reads is a remark on standard error, not a failure."""
    from ge_explorer import pipelines

    read = {k for p in pipelines.presets().values() for i in p for k in i.pass_.option_keys}
    for key in sorted(options.keys() - read):
        close = difflib.get_close_matches(key, sorted(read), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        print(f"ge-explorer: no step reads the option {key!r}, it changes nothing.{hint}", file=sys.stderr)


def print_json(value: Any) -> None:
    """One JSON document on standard output; NaN and infinity are bugs, not output."""
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
    print()
