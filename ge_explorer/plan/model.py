"""A multi-stream plan as a reviewable value: who runs on which stream, core limits, manual sync points.

The strength ladder (plan.md section 5) is one plan with growing complexity: C1 splits streams by label, C2 adds core
limits, C3 adds manual sync points. Cores and syncs are two independent switches; ``C1+sync`` is the corner off the ladder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

from ge_explorer.errors import InputError, OptionError, did_you_mean

FORMAT = "ge_explorer.plan/1"
Role = Literal["main", "side", "comm", "copy", "prefetch"]


@dataclass(frozen=True, slots=True)
class Level:
    """What of a plan is in force."""

    cores: bool = False
    syncs: bool = False


LEVELS: Mapping[str, Level] = MappingProxyType(
    {"C1": Level(), "C2": Level(cores=True), "C3": Level(cores=True, syncs=True), "C1+sync": Level(syncs=True)}
)
"""Strength name -> switches. ``single`` (no plan, one stream) is not a level of the plan."""


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """One side stream: the GE user label ``tag`` and the operators (node names) that carry it."""

    key: str
    tag: str
    ops: tuple[str, ...]
    role: Role = "side"


@dataclass(frozen=True, slots=True)
class CoreLimit:
    """Upper bound of cube and vector cores for some operators (GE: ``_op_aicore_num``, ``_op_vectorcore_num``)."""

    ops: tuple[str, ...]
    aic: int
    aiv: int


@dataclass(frozen=True, slots=True)
class SyncPoint:
    """Manual sync: ``op`` waits until ``after`` has run (torchair's ``npu_wait_tensor``: Identity with a control edge)."""

    op: str
    after: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for one graph. ``model`` names the graph; operators are named as in it. ``source`` says where it comes from.

    ``dominator`` names the main operators the side is meant to hide behind (empty: the longest independent one is taken).
    """

    name: str
    model: str
    streams: tuple[StreamSpec, ...]
    core_limits: tuple[CoreLimit, ...] = ()
    syncs: tuple[SyncPoint, ...] = ()
    join: tuple[str, ...] = ()
    source: str = ""
    dominator: tuple[str, ...] = ()

    @property
    def strengths(self) -> tuple[str, ...]:
        """Strengths that differ for this plan, single first."""
        out = ["single", "C1"]
        if self.core_limits:
            out.append("C2")
        if self.syncs:
            out.append("C3" if self.core_limits else "C1+sync")
        return tuple(out)

    @property
    def side_ops(self) -> tuple[str, ...]:
        """Names of all operators the plan puts on side streams."""
        return tuple(o for s in self.streams if s.role != "main" for o in s.ops)

    def level(self, strength: str) -> Level:
        """Switches of a strength; OptionError with the closest name for anything else."""
        if strength not in LEVELS:
            raise OptionError(f"no strength {strength!r}", todo=did_you_mean(strength, ["single", *LEVELS]))
        return LEVELS[strength]

    def to_json(self) -> str:
        """Text form, versioned; ``Plan.from_json`` reads it back to an equal plan."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, indent=1)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Plan from its text form; InputError says which field is wrong."""
        try:
            raw = json.loads(text)
        except ValueError as e:
            raise InputError("a plan is JSON", where=str(e), todo="Write it with Plan.to_json().") from None
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise InputError(
                "not a plan",
                got=raw if not isinstance(raw, dict) else raw.get("format"),
                todo=f"Expected format {FORMAT}.",
            )
        try:
            return Plan(
                str(raw["name"]),
                str(raw["model"]),
                tuple(StreamSpec(s["key"], s["tag"], _names(s["ops"]), s.get("role", "side")) for s in raw["streams"]),
                tuple(
                    CoreLimit(_names(c["ops"]), _count(c["aic"]), _count(c["aiv"])) for c in raw.get("core_limits", ())
                ),
                tuple(SyncPoint(s["op"], s["after"], s.get("reason", "")) for s in raw.get("syncs", ())),
                _names(raw.get("join", ())),
                str(raw.get("source", "")),
                _names(raw.get("dominator", ())),
            )
        except (KeyError, TypeError) as e:
            raise InputError("a field of the plan is missing or has the wrong type", where=str(e)) from None


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise TypeError(f"expected a list of operator names, got {value!r}")
    return tuple(value)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"expected a number of cores, got {value!r}")
    return value
