"""Reading ``ge.autoMultistreamParallelMode``.

Source: StreamUtils::ParseAutoMultistreamParallelMode (compiler/graph/build/stream/stream_utils.cc).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph

KEY = "ge.autoMultistreamParallelMode"
"""Option key, and name of the root graph attribute that wins over it."""

Strategy = Literal["LoadBalance", "MainStream", "WeightedLoadBalance"]
MAX_STREAMS = 64
_STRATEGY = re.compile(r"(?P<name>[^:]*):(?P<count>[0-9]+)")


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
    """Read a mode; PassFailed with E10001 when it is not one of the legal forms. N is 1 to 64, decimal digits only."""
    if text == "":
        return Mode("unset")
    if text == "cv":
        return Mode("cv")
    if text == "default" and from_graph:
        return Mode("default")
    m = _STRATEGY.fullmatch(text)
    if m and m["name"] in get_args(Strategy) and len(m["count"]) <= 18 and 1 <= int(m["count"]) <= MAX_STREAMS:
        return Mode("dag", m["name"], int(m["count"]))  # type: ignore[arg-type]  # checked against Strategy
    raise PassFailed(
        f"{KEY} has an illegal value", code="E10001", ge_status="PARAM_INVALID", inner_status="GRAPH_FAILED",
        where=f"graph attribute {KEY}" if from_graph else f"option {KEY}", got=text,
        todo="Use cv, LoadBalance:N, MainStream:N or WeightedLoadBalance:N with N from 1 to 64, or leave it empty.",
    )  # fmt: skip
