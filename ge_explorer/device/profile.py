"""Durations from a profile: rows of a CSV matched to the nodes of a graph, with a report of what was and was not found.

Columns are found by header: torch_npu's ``Name`` / ``Duration(us)``, msprof's ``Op Name`` / ``Task Duration(us)``, or plain
``name`` / ``duration`` (microseconds; ``duration_ns`` is nanoseconds). Several rows of one name are averaged.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ge_explorer.device.cost import GIVEN_NS, GIVEN_ORIGIN
from ge_explorer.errors import InputError
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.provenance import Origin
from ge_explorer.text import Text

ORIGINAL_NAMES = "_datadump_original_op_names"
SIZE_LIMIT = 256 << 20
_NAME = ("name", "op name", "op_name")
_DURATION: Mapping[str, float] = MappingProxyType(
    {"duration(us)": 1e3, "task duration(us)": 1e3, "duration": 1e3, "duration_us": 1e3, "duration_ns": 1.0}
)
_TYPE = ("type", "op type")


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One executed operator: name, duration in ns, operator type ("" unknown), line of the file."""

    name: str
    ns: float
    op: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class ProfileMatch:
    """``ns``: node id -> duration; ``how``: node id -> name, original or order; names nobody took, nodes nobody measured."""

    ns: Mapping[int, int]
    how: Mapping[int, str]
    unused: tuple[str, ...]
    missing: tuple[int, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Nodes matched by each way, nodes without a row, names without a node."""
        ways = {w: sum(h == w for h in self.how.values()) for w in ("name", "original", "order")}
        return {**ways, "missing": len(self.missing), "unused": len(self.unused)}

    def issue(self) -> Issue:
        """The report as a finding (GX520)."""
        c = self.counts
        text = Text(
            "{a} of {b} operators have a measured time ({name} by name, {original} by original names, {order} by order); "
            "{unused} names of the profile fit no operator.",
            "{b} 个算子中 {a} 个有实测时间（按名字 {name}、按原始名字 {original}、按顺序 {order}）；"
            "profile 中 {unused} 个名字没有对应算子。",
        ).format(a=len(self.ns), b=len(self.ns) + len(self.missing), **c)
        level = "warning" if self.missing or self.unused else "note"
        return Issue("GX520", "warning" if level == "warning" else "note", text)


def read_profile(source: str | Path) -> list[ProfileRow]:
    """Rows of a CSV file (a ``Path``, or a path without a line break) or of CSV text. InputError names the line."""
    where = "profile"
    if isinstance(source, Path) or "\n" not in source:
        where = str(source)
        path = Path(source)
        try:
            if path.stat().st_size > SIZE_LIMIT:
                raise InputError("the profile is larger than 256 MiB", where=where, todo="Cut it to one step.")
            source = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError, ValueError) as e:
            raise InputError("cannot read the profile", where=where, got=str(e)) from None
    try:
        return list(_rows(csv.reader(io.StringIO(source)), where))
    except csv.Error as e:
        raise InputError("the profile is not CSV", where=where, got=str(e)) from None


def _rows(lines: Iterable[list[str]], where: str) -> Iterable[ProfileRow]:
    header: list[str] | None = None
    name = duration = kind = -1
    factor = 1.0
    for number, line in enumerate(lines, 1):
        if not any(c.strip() for c in line):
            continue
        if header is None:
            header = [c.strip().lower() for c in line]
            name = next((header.index(c) for c in _NAME if c in header), -1)
            kind = next((header.index(c) for c in _TYPE if c in header), -1)
            column = next((c for c in _DURATION if c in header), "")
            if name < 0 or not column:
                raise InputError("the profile has no name or no duration column", where=where, got=line[:12],
                                 todo="Needed: Name and Duration(us).")  # fmt: skip
            duration, factor = header.index(column), _DURATION[column]
            continue
        if len(line) <= max(name, duration):
            raise InputError("a row has too few columns", where=f"{where}, line {number}", got=line)
        try:
            value = float(line[duration].strip())
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0:
            raise InputError(
                "a duration is not a number of 0 or more", where=f"{where}, line {number}", got=line[duration]
            )
        yield ProfileRow(
            line[name].strip(), value * factor, line[kind].strip() if 0 <= kind < len(line) else "", number
        )
    if header is None:
        raise InputError("the profile is empty", where=where)


def match_profile(graph: Graph, rows: Sequence[ProfileRow], *, order: Sequence[int] | None = None) -> ProfileMatch:
    """Give every operator its measured time.

    1. By name. 2. By original names: a node lists the profile's name in ``_datadump_original_op_names``, or a row's name is the
    join of a node's original names. 3. By order: rows and nodes that are left, type by type, when the profile has types and both
    sides have equally many of one. ``order``: node ids in execution order (default: list order).
    """
    averaged: dict[str, list[float]] = {}
    kinds: dict[str, str] = {}
    for r in rows:
        averaged.setdefault(r.name, []).append(r.ns)
        kinds.setdefault(r.name, r.op)
    mean = {k: sum(v) / len(v) for k, v in averaged.items()}
    nodes = [graph.node(i) for i in (order if order is not None else graph.walk())]
    nodes = [n for n in nodes if not n.is_source and n.op != "NetOutput"]
    ns: dict[int, float] = {}
    how: dict[int, str] = {}
    used: set[str] = set()
    for n in nodes:
        if n.name in mean:
            ns[n.id], how[n.id] = mean[n.name], "name"
            used.add(n.name)
    for n in nodes:
        listed = n.attrs.get(ORIGINAL_NAMES)
        names = [str(x) for x in listed] if isinstance(listed, list | tuple) else []
        if n.id in ns or not names:
            continue
        joined = "".join(names)
        hits = [joined] if joined in mean else [x for x in dict.fromkeys(names) if x in mean]
        if hits and not used.intersection(hits):
            ns[n.id], how[n.id] = sum(mean[x] for x in hits), "original"
            used.update(hits)
    left = [k for k in mean if k not in used]
    for kind in dict.fromkeys(kinds[k] for k in left if kinds[k]):
        names = [k for k in left if kinds[k] == kind]
        free = [n for n in nodes if n.id not in ns and n.op == kind]
        if len(names) == len(free):
            for n, k in zip(free, names, strict=True):
                ns[n.id], how[n.id] = mean[k], "order"
                used.add(k)
    missing = tuple(n.id for n in nodes if n.id not in ns)
    unused = tuple(k for k in mean if k not in used)
    return ProfileMatch({i: round(v) for i, v in ns.items()}, how, unused, missing)


def with_profile(graph: Graph, match: ProfileMatch) -> Graph:
    """Graph whose matched nodes carry their measured time (``_gx_duration_ns``); the cost model then does not estimate them."""
    given = {GIVEN_ORIGIN: Origin.MEASURED.value}
    return graph.with_attrs({i: {GIVEN_NS: ns, **given} for i, ns in match.ns.items()}) if match.ns else graph
