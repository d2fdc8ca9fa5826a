"""A session's graph as our own JSON, with what a dump recorded and the settings beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_explorer.exports.anonymous import anonymous, harmless
from ge_explorer.graph.model import Graph
from ge_explorer.loaders.own_json import to_json
from ge_explorer.loaders.report import LoadResult


def session_json(
    graph: Graph,
    loaded: LoadResult | None,
    parts: Mapping[str, Any],
    *,
    anonymise: bool = False,
    key: bytes | None = None,
) -> str:
    """Text that ``load`` opens as the same graph. The graph of a dump is written as it was read, Send and Recv included."""
    recorded = None
    if loaded is not None and loaded.recorded is not None:
        graph, recorded = loaded.graph, loaded.recorded
    if anonymise:
        graph, recorded = anonymous(graph, recorded, key)
        # the plan and some options name nodes
        options = {k: v for k, v in parts.get("options", {}).items() if harmless(v)}
        parts = {**{k: v for k, v in parts.items() if k not in ("plan", "strength")}, "options": options}
    return to_json(graph, recorded, parts)
