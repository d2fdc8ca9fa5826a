"""The given duration of a fused node: the sum over its members, said so on the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_explorer.device.cost import GIVEN_NS, GIVEN_ORIGIN
from ge_explorer.device.profile import MEMBERS, ROWS, WAY
from ge_explorer.graph.builder import GX_DURATION_SOURCE
from ge_explorer.graph.model import Graph
from ge_explorer.provenance import Origin

PREFIX = "_gx_duration"
"""Start of all our attributes about a given duration."""
FUSED = "fused"
_WEAKEST = (Origin.ASSUMED.value, Origin.MODEL.value, Origin.MEASURED.value)


def fused_duration(g: Graph, members: Sequence[int]) -> dict[str, Any]:
    """Attributes of the node that replaces ``members``: nothing when no member has a duration of its own.

    A member without one counts as part of the others: a profile has no row for what the compiler had fused already. The origin is
    the weakest of the members'.
    """
    given = [g.node(m).attrs for m in members if isinstance(g.node(m).attrs.get(GIVEN_NS), int)]
    if not given:
        return {}
    origins = {str(a.get(GIVEN_ORIGIN, Origin.MEASURED.value)) for a in given}
    sources = list(dict.fromkeys(str(a[GX_DURATION_SOURCE]) for a in given if a.get(GX_DURATION_SOURCE)))
    rows = tuple(dict.fromkeys(r for a in given for r in a.get(ROWS, ())))
    out: dict[str, Any] = {
        GIVEN_NS: sum(a[GIVEN_NS] for a in given),
        GIVEN_ORIGIN: next((o for o in _WEAKEST if o in origins), Origin.ASSUMED.value),
        MEMBERS: f"{len(given)} of {len(members)}",
    }
    if sources:
        out[GX_DURATION_SOURCE] = "; ".join(sources)
    if rows:
        out |= {ROWS: rows, WAY: FUSED}
    return out
