"""A session as the screen reads it: trace, timeline, letters and results, each computed once per version of the settings."""

from __future__ import annotations

from collections.abc import Mapping

from ge_explorer.device.profile_report import ProfileReport
from ge_explorer.issue import Issue
from ge_explorer.plan.compare import StrengthResult
from ge_explorer.session import Session
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.palette import Identities
from ge_explorer.views.why_one_stream import predict


class SessionView:
    """What panels are given. ``strengths`` holds only what has been computed, so that drawing never starts a compile."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.results: dict[str, StrengthResult | None] = {}
        self._seen: tuple[int, object] | None = None

    def refresh(self) -> bool:
        """Follow the session's settings; True when they changed since the last call."""
        self.session.refresh_profile()
        now = (self.session.version, self.session.settings)
        if now == self._seen:
            return False
        before = self._seen
        self._seen = now
        names = self.session.strength_names
        only_strength = before is not None and _same_but_strength(before[1], now[1])
        self.results = {n: self.results.get(n) if only_strength else None for n in names}
        return True

    def missing(self) -> str | None:
        """A strength whose result is not computed yet, the current one first; None when all are there."""
        order = [self.session.strength, *self.results]
        return next((n for n in order if n in self.results and self.results[n] is None), None)

    def compute(self, name: str) -> None:
        """Compute the result of one strength; one whose trace fails has no figures and leaves the comparison."""
        if self.session.trace_of(name).failed is not None:
            del self.results[name]
            return
        self.results[name] = self.session.result(name)

    def predict(self, mode: str) -> StrengthResult | None:
        """Result of a named mode with everything else as it is; None where the compile fails. The steps' cache is shared."""
        s = self.session
        return predict(mode, lambda options: self._probe({**s.options, **options}).result(s.strength))

    def _probe(self, options: dict[str, str]) -> Session:
        s = self.session
        pipeline = s.base_pipeline.with_disabled(s.disabled)
        probe = Session(
            s.graph,
            options=options,
            chip=s.chip,
            plan=s.plan,
            strength=s.strength,
            pipeline=pipeline,
            profile=s.profile,
        )
        probe.cache = s.cache
        return probe

    def minimum_events(self, s: Snapshot) -> int | None:
        """Fewest events that give the order of ``s``; the session computes it once per state."""
        return self.session.minimum_events(s)

    @property
    def can_undo(self) -> bool:
        """Is there a settings change to take back?"""
        return self.session.can_undo

    @property
    def can_redo(self) -> bool:
        """Is there a settings change to do again?"""
        return self.session.can_redo

    @property
    def trace(self) -> Trace:
        """Trace under the current settings."""
        return self.session.trace

    @property
    def timeline(self) -> Timeline:
        """Timeline of the final state."""
        return self.session.timeline

    @property
    def timeline_or_none(self) -> Timeline | None:
        """Timeline, or None while a step has failed."""
        return self.session.timeline if self.trace.failed is None else None

    @property
    def identities(self) -> Identities:
        """Letters of the streams, kept over all changes of this session."""
        return self.session.identities

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Findings under the current settings."""
        return self.session.issues

    @property
    def profile_report(self) -> ProfileReport | None:
        """What the profile gave, if there is one."""
        return self.session.profile_report

    @property
    def strengths(self) -> Mapping[str, StrengthResult]:
        """Results computed so far."""
        return {n: r for n, r in self.results.items() if r is not None}

    @property
    def strength(self) -> str:
        """Current strength."""
        return self.session.strength

    @property
    def chip(self) -> str:
        """Current chip."""
        return self.session.chip


def _same_but_strength(a: object, b: object) -> bool:
    fields = ("options", "chip", "disabled", "profile")
    return all(getattr(a, f) == getattr(b, f) for f in fields)
