"""Reading ``ge.autoMultistreamParallelMode``.

Source: StreamUtils::ParseAutoMultistreamParallelMode (compiler/graph/build/stream/stream_utils.cc).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ge_explorer.errors import PassFailed, shorten
from ge_explorer.graph.model import Graph

KEY = "ge.autoMultistreamParallelMode"
"""Option key, and name of the root graph attribute that wins over it."""

Strategy = Literal["LoadBalance", "MainStream", "WeightedLoadBalance"]
STRATEGIES: tuple[Strategy, ...] = ("LoadBalance", "MainStream", "WeightedLoadBalance")
MAX_STREAMS = 64


@dataclass(frozen=True, slots=True)
class Mode:
    """``kind``: unset, default (graph attribute only: off), cv, or dag with ``strategy`` and ``limit`` streams."""

    kind: Literal["unset", "default", "cv", "dag"]
    strategy: Strategy = "LoadBalance"
    limit: int = 0


def mode_text(graph: Graph, option: str) -> tuple[str, bool]:
    """The value in force and whether it comes from the graph attribute (an attribute hides the option even when empty)."""
    value = graph.attrs.get(KEY)
    return (value, True) if isinstance(value, str) else (option, False)


def parse_mode(text: str, *, from_graph: bool = False) -> Mode:
    """Read a mode; PassFailed with E10001 and the reason when it is not one of the legal forms.

    N is 1 to 64 in decimal digits. ``from_graph``: the value is the graph attribute, which may also say default.
    """
    if text == "":
        return Mode("unset")
    if text == "cv":
        return Mode("cv")
    if text == "default" and from_graph:
        return Mode("default")
    name, *rest = text.split(":")
    for strategy in STRATEGIES:
        if name == strategy and len(rest) == 1 and _legal_count(rest[0]):
            return Mode("dag", strategy, int(rest[0]))
    raise PassFailed(
        f"{KEY} has an illegal value: {_reason(name, rest)}", code="E10001", ge_status="PARAM_INVALID",
        inner_status="GRAPH_FAILED", where=f"graph attribute {KEY}" if from_graph else f"option {KEY}", got=text,
        todo="Use cv, LoadBalance:N, MainStream:N or WeightedLoadBalance:N with N from 1 to 64, or leave it empty.",
    )  # fmt: skip


def _legal_count(count: str) -> bool:
    return count.isascii() and count.isdigit() and len(count) <= 18 and 1 <= int(count) <= MAX_STREAMS


def _reason(name: str, rest: list[str]) -> str:
    if name == "default":
        return "default is for the graph attribute only" if not rest else "default takes no number"
    if not rest:
        return f"{name} needs a number" if name in STRATEGIES else "there is no such mode"
    if len(rest) > 1:
        return "there is more than one colon"
    if not name:
        return "there is no strategy before the colon"
    if name not in STRATEGIES:
        return f"there is no strategy {shorten(name)}"
    return f"the number of streams is not one from 1 to {MAX_STREAMS}"
