"""What a picture needs of a session. Views stand left of ``session.py``, so they name the shape instead of the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ge_explorer.device.profile_report import ProfileReport
from ge_explorer.issue import Issue
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.palette import Identities


class SessionLike(Protocol):
    """The part of ``session.Session`` that panels and exports read."""

    @property
    def trace(self) -> Trace: ...  # noqa: D102
    @property
    def timeline(self) -> Timeline: ...  # noqa: D102
    @property
    def identities(self) -> Identities: ...  # noqa: D102
    @property
    def issues(self) -> tuple[Issue, ...]: ...  # noqa: D102
    @property
    def profile_report(self) -> ProfileReport | None: ...  # noqa: D102
    @property
    def strengths(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def strength(self) -> str: ...  # noqa: D102
    @property
    def chip(self) -> str: ...  # noqa: D102
    def minimum_events(self, s: Snapshot) -> int | None: ...  # noqa: D102
