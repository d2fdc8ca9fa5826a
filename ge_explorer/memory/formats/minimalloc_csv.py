"""CSV of minimalloc (github.com/google/minimalloc): one buffer per line, ``id,lower,upper,size`` and maybe ``offset``.

A buffer is alive from time ``lower`` up to, not including, ``upper``; sizes are bytes, or whatever unit the file means. There are
no streams: two buffers exclude each other exactly when they are alive at the same time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ge_explorer.errors import InputError
from ge_explorer.memory.formats.text_file import read_text
from ge_explorer.memory.lifetimes import NEVER, Spans, before_masks
from ge_explorer.memory.model import Buffer, Lifetime, MemoryPlan, MemoryProblem

if TYPE_CHECKING:
    from _csv import Reader

COLUMNS = ("id", "lower", "upper", "size")
OFFSET = "offset"
MAX_BYTES = 64 << 20
MAX_ROWS = 200_000
LARGEST = 1 << 60
"""Numbers from here on would overflow sums in 64 bits."""


def is_minimalloc_csv(path: Path) -> bool:
    """True if the first line of a ``.csv`` file names the columns of this format."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as f:
        first = f.readline(1000)
    return set(COLUMNS) <= {c.strip().lower() for c in first.split(",")}


def read_file(path: str | Path) -> tuple[MemoryProblem, tuple[int, ...] | None]:
    """Problem and given offsets (None without that column) of a file. Raises InputError."""
    path = Path(path)
    text = read_text(path, MAX_BYTES, "CSV")
    return read(text, str(path))


def read(text: str, where: str = "CSV") -> tuple[MemoryProblem, tuple[int, ...] | None]:
    """Problem and given offsets from CSV text. ``where`` names the source in errors. Raises InputError."""
    rows = csv.reader(io.StringIO(text), strict=True)
    try:
        header = [c.strip().lower() for c in next(rows, [])]
        column = {name: k for k, name in enumerate(header)}
        missing = [c for c in COLUMNS if c not in column]
        if missing:
            raise InputError(
                f"column {missing[0]!r} is missing", where=f"{where}, line 1", got=",".join(header)[:80],
                todo="The first line must be id,lower,upper,size.",
            )  # fmt: skip
        unknown = [c for c in header if c not in (*COLUMNS, OFFSET)]
        if unknown or len(column) != len(header):
            raise InputError(
                "a column is unknown or given twice", where=f"{where}, line 1", got=",".join(header)[:80],
                todo="Known columns: id, lower, upper, size, offset.",
            )  # fmt: skip
        return _problem(rows, column, len(header), where)
    except csv.Error as e:
        raise InputError("a line is no CSV", where=f"{where}, line {rows.line_num}", got=str(e)) from e


def _problem(
    rows: Reader, column: Mapping[str, int], width: int, where: str
) -> tuple[MemoryProblem, tuple[int, ...] | None]:
    names: list[str] = []
    numbers: dict[str, list[int]] = {c: [] for c in (*COLUMNS[1:], OFFSET) if c in column}
    lines: dict[str, int] = {}
    for row in rows:
        if not row:
            continue
        here = f"{where}, line {rows.line_num}"
        if len(row) != width:
            raise InputError(f"the line has {len(row)} fields, not {width}", where=here, got=",".join(row)[:80])
        if len(names) >= MAX_ROWS:
            raise InputError(f"more than {MAX_ROWS} buffers", where=here)
        name = row[column["id"]].strip()
        if not name or name in lines:
            first = f"It is on line {lines[name]} already." if name in lines else ""
            raise InputError("every buffer needs an id of its own", where=here, got=name, todo=first)
        lines[name] = rows.line_num
        names.append(name)
        for c, values in numbers.items():
            values.append(_number(row[column[c]], c, here))
        if numbers["upper"][-1] <= numbers["lower"][-1]:
            raise InputError(
                "upper must be greater than lower", where=here, got=(numbers["lower"][-1], numbers["upper"][-1]),
                todo="upper is the first time at which the buffer is free again.",
            )  # fmt: skip
    total = sum(numbers["size"])
    if total >= LARGEST:
        raise InputError("the sizes add up to more than 64 bits can hold", where=where, got=total)
    given = tuple(numbers[OFFSET]) if OFFSET in numbers else None
    return intervals(names, numbers["lower"], numbers["upper"], numbers["size"]), given


def _number(text: str, name: str, where: str) -> int:
    """Non-negative decimal number of at most 60 bits."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or int(digits) >= LARGEST:
        raise InputError(f"{name} must be a whole number from 0 to 2^60", where=where, got=text)
    return int(digits)


def intervals(names: Sequence[str], lower: Sequence[int], upper: Sequence[int], size: Sequence[int]) -> MemoryProblem:
    """Problem without streams from half-open lifetimes. Times above 31 bits are replaced by their rank."""
    if upper and max(upper) >= NEVER:
        times = {t: k for k, t in enumerate(sorted({*lower, *upper}))}
        lower, upper = [times[t] for t in lower], [times[t] for t in upper]
    count = len(names)
    need = np.array(upper, dtype=np.int32).reshape(count, 1)
    start = np.array(lower, dtype=np.int32).reshape(count, 1)
    return MemoryProblem(
        tuple(Buffer(k, n, s, (), (), (), raw_size=s) for k, (n, s) in enumerate(zip(names, size, strict=True))),
        before_masks(Spans(need, start)),
        tuple(Lifetime(a, b - 1, {}, {}) for a, b in zip(lower, upper, strict=True)),
        alignment=1,
    )


def write(problem: MemoryProblem, plan: MemoryPlan) -> str:
    """CSV text with offsets, in the columns minimalloc writes. Lifetimes must be intervals."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow((*COLUMNS, OFFSET))
    for b, life, at in zip(problem.buffers, problem.lifetimes, plan.offsets, strict=True):
        lines.writerow((b.name, life.begin, life.end + 1, b.size, at))
    return out.getvalue()
