"""dynamic-optimize-by-send: the static rule on a dynamic-shape graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.passes.dynamic.enable import ENABLE, off_reason
from ge_explorer.passes.sync.optimize_by_send import OptimizeBySend
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot


@dataclass(frozen=True)
class DynamicOptimizeBySend(OptimizeBySend):
    """Per sending node and receiving stream only the earliest wait stays.

    Rule: as for known shapes; nodes of a stream stand in the order of their ids over all graphs of unknown shapes.

    GE source: dynamic_stream_allocator.cc (OptimizeEvents), stream_utils.cc (OptimizeBySendEvents), exact.
    Example: A → B, A → C with B, C on one stream → the event to C goes.
    """

    name: ClassVar[str] = "dynamic-optimize-by-send"
    option_keys: ClassVar[frozenset[str]] = OptimizeBySend.option_keys | {ENABLE}

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Allocator off. Notify mode (``ge.event``) does not exist here."""
        return off_reason(s, ctx)
