"""dynamic-renumber: event ids 0, 1, 2 … as the runtime of dynamic-shape models demands them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.passes.dynamic.enable import ENABLE, off_reason
from ge_explorer.passes.sync.renumber_events import RenumberEvents
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot


@dataclass(frozen=True)
class DynamicRenumber(RenumberEvents):
    """Close the holes that the clean-up left. Events keep their identity (``uid``), only ``id`` changes.

    Rule: senders by name (byte order), then by graph name; each sender's events in order of insertion.

    GE source: dynamic_stream_allocator.cc (InsertEvents), stream_utils.cc (RefreshContinuousEvents), exact. At load the runtime
    refuses a model in which an id is not sent exactly once and waited for exactly once (graph_converter.cc).
    Example: events 0 z→x, 3 m→n → m→n becomes 0, z→x becomes 1.
    """

    name: ClassVar[str] = "dynamic-renumber"
    option_keys: ClassVar[frozenset[str]] = RenumberEvents.option_keys | {ENABLE}

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Allocator off. Notify mode (``ge.event``) does not exist here."""
        return off_reason(s, ctx)

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """What the runtime checks: every id of 0..event_num-1 once, nothing else."""
        super().ensures(before, after)
        ids = Counter(e.id for e in after.sync.events) if after.sync is not None else Counter[int]()
        twice = sorted(i for i, n in ids.items() if n > 1)
        if twice:
            raise ContractError("event ids sent or waited for more than once", got=twice)
