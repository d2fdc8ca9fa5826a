"""Cases, the outcome of a check, and the hook that stages register with.

A stage module is any ``stage_*.py`` in this folder. It claims cases by their ``run`` (and, where one name means several
things, by features of the case), never by id::

    @handles("DagStreamAllocator::ByPathCover")
    def by_path_cover(case: Case, report: Report) -> None:
        got = ...
        report.equal("required_streams", got, case.expect["required_streams"])

A list of steps in ``run`` is one key, joined by `` + ``. ``raise Unsupported("physical split")`` for a feature that is not
there yet. ``report.relaxed`` is compared beside the strict result of ``order_dependent`` cases; ``report.hint`` is for
``derived`` values, where a mismatch is not a failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Unsupported(Exception):
    """The case needs something this program does not do; the text says what."""


@dataclass(frozen=True)
class Case:
    """One case of a file. ``raw`` is the JSON object, the properties are short-hands."""

    raw: Mapping[str, Any]
    file: str = ""

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @cached_property
    def row(self) -> str:
        """Row of the summary: the stage, recordings apart from hand-taken facts (``oracle_topo``, ``logical``)."""
        stage = self.id.split("/")[0]
        return f"oracle_{stage}" if self.raw.get("level") == "oracle" else stage

    @property
    def level(self) -> str:
        return str(self.raw.get("level", ""))

    @cached_property
    def run(self) -> str:
        """The ``run`` field as one key; a list of steps is joined by `` + ``."""
        run = self.raw.get("run", "")
        return run if isinstance(run, str) else " + ".join(run)

    @property
    def options(self) -> Mapping[str, str]:
        return self.raw.get("options", {})

    @property
    def graph(self) -> Mapping[str, Any]:
        return self.raw.get("graph", {})

    @property
    def context(self) -> Mapping[str, Any]:
        return self.raw.get("context", {})

    @property
    def call(self) -> Mapping[str, Any]:
        return self.raw.get("call", {})

    @property
    def expect(self) -> Mapping[str, Any]:
        return self.raw.get("expect", {})

    @property
    def derived(self) -> Mapping[str, Any]:
        return self.raw.get("derived", {})

    @property
    def order_dependent(self) -> bool:
        return bool(self.raw.get("order_dependent", False))

    def __repr__(self) -> str:
        return f"Case({self.id})"


@dataclass
class Report:
    """What a check found. Strict mismatches fail the case; relaxed ones and hints are only shown."""

    mismatches: list[str] = field(default_factory=list)
    relaxed_mismatches: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    compared: int = 0

    def equal(self, what: str, got: object, want: object) -> bool:
        """Strict comparison."""
        self.compared += 1
        return _compare(self.mismatches, what, got, want)

    def true(self, what: str, holds: bool, detail: object = "") -> None:
        """Strict condition."""
        self.compared += 1
        if not holds:
            self.mismatches.append(f"{what} does not hold {detail!r}")

    def relaxed(self, what: str, got: object, want: object) -> bool:
        """Comparison with order taken out (equality classes, counts)."""
        return _compare(self.relaxed_mismatches, what, got, want)

    def hint(self, what: str, got: object, want: object) -> bool:
        """Comparison with a derived value."""
        return _compare(self.hints, f"derived {what}", got, want)


def _compare(out: list[str], what: str, got: object, want: object) -> bool:
    if got == want:
        return True
    if isinstance(got, Mapping) and isinstance(want, Mapping):
        keys = [k for k in want if k not in got or got[k] != want[k]] + [k for k in got if k not in want]
        k = keys[0]
        out.append(
            f"{what}[{k!r}]: got {got.get(k, '(absent)')!r}, want {want.get(k, '(absent)')!r} ({len(keys)} differ)"
        )
    elif isinstance(got, list | tuple) and isinstance(want, list | tuple):
        if list(got) == list(want):
            return True
        at = next((i for i, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), min(len(got), len(want)))
        out.append(f"{what}: first difference at {at}: got {list(got)!r}, want {list(want)!r}")
    else:
        out.append(f"{what}: got {got!r}, want {want!r}")
    return False


Check = Callable[[Case, Report], None]
_HANDLERS: list[tuple[frozenset[str], Callable[[Case], bool], Check]] = []


def handles(*runs: str, when: Callable[[Case], bool] | None = None) -> Callable[[Check], Check]:
    """Register a check for cases whose ``run`` is one of ``runs`` and, if given, ``when(case)`` holds."""

    def add(check: Check) -> Check:
        _HANDLERS.append((frozenset(runs), when or (lambda case: True), check))
        return check

    return add


def load_stages() -> None:
    """Import every ``stage_*.py`` of this folder once."""
    for path in sorted(HERE.glob("stage_*.py")):
        import_module(f"conformance.{path.stem}")


def check(case: Case) -> Report:
    """Run the check that claims the case; Unsupported when none does, or when it says so."""
    for runs, when, handler in _HANDLERS:
        if case.run in runs and when(case):
            report = Report()
            handler(case, report)
            if not (report.compared or report.mismatches):
                raise Unsupported("nothing of this case is comparable")
            return report
    raise Unsupported(f"run {case.run}")


def read_cases(folder: Path) -> Iterator[Case]:
    """All cases of the ``*.json`` files of a folder, file by file."""
    for path in sorted(folder.glob("*.json")):
        for raw in json.loads(path.read_text(encoding="utf-8")):
            yield Case(raw, path.name)
