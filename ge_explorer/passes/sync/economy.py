"""Event economy: how many events were put in, which rules took which away, what is left, and how few would do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ge_explorer.passes.sync.minimum import necessity
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class EventEconomy:
    """Counts of events: ``inserted`` − sum of ``removed_by_rule`` = ``kept``.

    ``removed_by_rule`` is in the order in which the rules first struck; keys are rule names of the passes (``rule_step`` gives
    the pass). ``minimum`` is the provable least number for the same order on the same streams; ``redundant_uids`` are the kept
    events the others imply, ``kept − minimum`` of them: all of them can go at once.
    """

    inserted: int
    kept: int
    minimum: int
    removed_by_rule: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    rule_step: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    redundant_uids: tuple[int, ...] = ()

    @property
    def ratio(self) -> float | None:
        """Kept over minimum; None where none is needed."""
        return self.kept / self.minimum if self.minimum else None


def event_economy(state: Trace | Snapshot) -> EventEconomy | None:
    """Economy of a snapshot, or of the last one of a trace; None while there are no events to speak of."""
    s = state.final if isinstance(state, Trace) else state
    if s.sync is None or s.streams is None or s.sequence is None:
        return None
    found = necessity(s)
    removed = Counter(r.rule for r in s.sync.removed)
    steps = {r.rule: r.step for r in reversed(s.sync.removed)}
    kept = len(s.sync.events)
    return EventEconomy(
        kept + len(s.sync.removed), kept, len(found.needed), MappingProxyType(dict(removed)),
        MappingProxyType({rule: steps[rule] for rule in removed}), tuple(e.uid for e in found.redundant),
    )  # fmt: skip
