"""``static_op_mem.csv`` of the Ascend profiler: the buffers of GE's static graphs with lifetimes, sizes in KiB, no offsets.

Columns: Device_id, Op Name, Model Name, Graph ID, Node Index Start, Node Index End, Size(KB). Indexes are topological ids; GE's
sentinels 4294967295 (not known to end) and 4294967294 (never released) mean "to the end". Whether the end index is still in use the
format does not say; both readings are offered, and the problem for planning takes the careful one (inclusive, as GE counts).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType

from ge_explorer.errors import InputError
from ge_explorer.memory.formats.curves import Curve, running_sum
from ge_explorer.memory.formats.minimalloc_csv import intervals
from ge_explorer.memory.formats.text_file import read_text
from ge_explorer.memory.model import FOREVER, MemoryProblem

COLUMNS = ("Device_id", "Op Name", "Model Name", "Graph ID", "Node Index Start", "Node Index End", "Size(KB)")
SENTINELS = (FOREVER, FOREVER - 1)
MAX_BYTES, MAX_ROWS = 256 << 20, 500_000
LARGEST_KB = Decimal(1 << 50)


@dataclass(frozen=True, slots=True)
class Row:
    """A buffer. ``end`` is as written, sentinel included; ``size_kb`` exact."""

    device: str
    name: str
    model: str
    graph: str
    start: int
    end: int
    size_kb: Decimal

    @property
    def size(self) -> int:
        """Bytes; the file rounds KiB to nine decimals."""
        return int((self.size_kb * 1024).to_integral_value())

    @property
    def ends(self) -> bool:
        """False for a sentinel: the buffer lives to the end."""
        return self.end not in SENTINELS


@dataclass(frozen=True, slots=True)
class StaticMemory:
    """All rows, by graph id in file order."""

    graphs: Mapping[str, tuple[Row, ...]]

    @property
    def rows(self) -> int:
        """Number of buffers."""
        return sum(map(len, self.graphs.values()))

    def curve(self, graph: str, inclusive: bool = True) -> Curve:
        """Live bytes over node indexes; ``inclusive``: the end index itself is still in use."""
        changes = []
        for r in self.graphs[graph]:
            changes.append((r.start, r.size))
            if r.ends:
                changes.append((max(r.end, r.start) + inclusive, -r.size))
        return running_sum(f"graph {graph}", "node index", changes)

    def sum_kb(self, graph: str) -> Decimal:
        """Sizes added up, in KiB."""
        return sum((r.size_kb for r in self.graphs[graph]), Decimal(0))

    def peak_kb(self, graph: str, inclusive: bool = True) -> Decimal:
        """Most KiB alive at one index."""
        changes: dict[int, Decimal] = {}
        for r in self.graphs[graph]:
            changes[r.start] = changes.get(r.start, Decimal(0)) + r.size_kb
            if r.ends:
                end = max(r.end, r.start) + inclusive
                changes[end] = changes.get(end, Decimal(0)) - r.size_kb
        best = now = Decimal(0)
        for place in sorted(changes):
            now += changes[place]
            best = max(best, now)
        return best

    def problem(self, graph: str) -> MemoryProblem:
        """Placement problem on one stream, end index inclusive. Names are made unique by a number."""
        rows = self.graphs[graph]
        over = max([0, *(max(r.start, r.end if r.ends else 0) for r in rows)]) + 1
        seen: dict[str, int] = {}
        names = []
        for r in rows:
            k = seen[r.name] = seen.get(r.name, 0) + 1
            names.append(r.name if k == 1 else f"{r.name}#{k}")
        found = intervals(
            names,
            [r.start for r in rows],
            [max(r.end, r.start) + 1 if r.ends else over for r in rows],
            [r.size for r in rows],
        )
        life = tuple(x if r.ends else replace(x, end=FOREVER) for x, r in zip(found.lifetimes, rows, strict=True))
        return replace(found, lifetimes=life)


def is_static_op_mem(path: Path) -> bool:
    """True if the first line of a ``.csv`` file names these columns."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as f:
        return set(COLUMNS) <= {c.strip() for c in f.readline(1000).split(",")}


def read_static_op_mem(path: str | Path) -> StaticMemory:
    """Rows of a file. InputError with the line of the first problem."""
    path = Path(path)
    text = read_text(path, MAX_BYTES, "CSV")
    return parse(text, str(path))


def parse(text: str, where: str = "CSV") -> StaticMemory:
    """Rows from CSV text. InputError with the line of the first problem."""
    lines = csv.reader(io.StringIO(text), strict=True)
    graphs: dict[str, list[Row]] = {}
    count = 0
    try:
        header = [c.strip() for c in next(lines, [])]
        missing = [c for c in COLUMNS if c not in header]
        if missing:
            raise InputError(f"column {missing[0]!r} is missing", where=f"{where}, line 1", got=",".join(header)[:80])
        column = [header.index(c) for c in COLUMNS]
        for fields in lines:
            if not fields:
                continue
            here = f"{where}, line {lines.line_num}"
            if len(fields) != len(header):
                raise InputError(f"the line has {len(fields)} fields, not {len(header)}", where=here)
            count += 1
            if count > MAX_ROWS:
                raise InputError(f"more than {MAX_ROWS} buffers", where=here)
            row = _row([fields[k].strip() for k in column], here)
            graphs.setdefault(row.graph, []).append(row)
    except csv.Error as e:
        raise InputError("a line is no CSV", where=f"{where}, line {lines.line_num}", got=str(e)) from e
    return StaticMemory(MappingProxyType({g: tuple(rows) for g, rows in graphs.items()}))


def _row(f: Sequence[str], where: str) -> Row:
    return Row(
        f[0], f[1], f[2], f[3], _index(f[4], COLUMNS[4], where), _index(f[5], COLUMNS[5], where), _kb(f[6], where)
    )


def _index(text: str, name: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= FOREVER):
        raise InputError(f"{name} must be a whole number up to {FOREVER}", where=where, got=text)
    return int(text)


def _kb(text: str, where: str) -> Decimal:
    try:
        value = Decimal(text) if len(text) <= 40 else Decimal("NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or not 0 <= value < LARGEST_KB:
        raise InputError("Size(KB) must be a number of at least 0", where=where, got=text)
    return value
