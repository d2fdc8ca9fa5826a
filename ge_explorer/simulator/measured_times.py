"""The profile of a session: read once, read anew when the file changes, matched on the model and on the compiled graph."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ge_explorer.device.chips import resolve_chip
from ge_explorer.device.cost import cost_table
from ge_explorer.device.profile import Profile, ProfileMatch, ProfileSource, load_profile, match_profile, with_profile
from ge_explorer.device.profile_report import ProfileReport, on_compiled
from ge_explorer.device.profile_rows import stamp
from ge_explorer.errors import InputError
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace import Trace


class MeasuredTimes:
    """One profile. ``refresh`` reads a changed file again; ``key`` names the content."""

    def __init__(self, source: ProfileSource) -> None:
        named = isinstance(source, PathLike) or (isinstance(source, str) and "\n" not in source)
        self.path = Path(str(source)) if named else None
        self._stamp = stamp(self.path) if self.path is not None else (0, 0)
        self.profile: Profile = load_profile(source)
        self.problem: Issue | None = None
        """Why the file on disk is not what is in use, if so."""
        self._matches: dict[int, tuple[Graph, ProfileMatch]] = {}

    @property
    def key(self) -> str:
        """Digest of the content."""
        return self.profile.digest

    def refresh(self) -> bool:
        """Read the file again if it changed on disk; True if its content is another now.

        A file that is gone changes nothing; of one that is no profile any more the old content stays, and ``problem`` says so.
        """
        now = stamp(self.path) if self.path is not None else (0, 0)
        if self.path is None or now in (self._stamp, (0, 0)):
            return False
        self._stamp, before, self.problem = now, self.key, None
        try:
            self.profile = load_profile(self.path)
        except InputError as e:
            self.problem = _stale(e)
        if self.key == before:
            return False
        self._matches.clear()
        return True

    def match(self, g: Graph) -> ProfileMatch:
        """Match on a model, by name and original names. What is left waits for the compiled graph."""
        found = self._matches.get(id(g))
        if found is None:
            found = self._matches[id(g)] = (g, match_profile(g, self.profile.rows, by_order=False))
        return found[1]

    def apply(self, g: Graph) -> Graph:
        """Model whose operators carry their measured times."""
        return with_profile(g, self.match(g), self.profile.source)

    def report(self, model: Graph, trace: Trace, chip: str) -> ProfileReport:
        """Report on a compiled graph."""
        s = trace.final
        costs = cost_table(s.graph, s.placement, resolve_chip(chip).chip)
        return on_compiled(self.profile, self.match(model), s.graph, costs, s.sequence)


def _stale(e: InputError) -> Issue:
    return Issue(
        "GX521", "warning",
        Text(f"The profile changed on disk and cannot be read, the times are those read before: {e}",
             f"profile 文件已改变且无法读取，仍使用之前读到的时间：{e}"),
        (), None, "ours",
    )  # fmt: skip
