"""Reading a profile: a CSV table of executed operators and how long each took.

Columns are found by header: torch_npu's ``Name`` / ``Duration(us)``, msprof's ``Op Name`` / ``Task Duration(us)``, task_time's
``kernel_name`` / ``task_time(us)``, or plain ``name`` / ``duration`` (microseconds; ``duration_ns`` is nanoseconds).
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from ge_explorer.errors import InputError

SIZE_LIMIT = 256 << 20
ROW_LIMIT = 2_000_000
_NAME = ("name", "op name", "op_name", "kernel_name")
_DURATION: Mapping[str, float] = MappingProxyType(
    {
        "duration(us)": 1e3,
        "task duration(us)": 1e3,
        "task_time(us)": 1e3,
        "duration": 1e3,
        "duration_us": 1e3,
        "duration_ns": 1.0,
    }
)
_TYPE = ("type", "op type", "kernel_type")
_NOT_MEASURED = frozenset({"", "n/a", "na", "-"})
_FORMULA = ("=", "@")
"""What begins so is a formula to a spreadsheet; no tool writes such an operator name."""


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One executed operator: name, duration in ns, operator type ("" unknown), line of the file."""

    name: str
    ns: float
    op: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Rows of one source. ``skipped`` rows had no duration (N/A); ``digest`` names the content, ``source`` where it came from."""

    rows: tuple[ProfileRow, ...]
    source: str = "profile"
    digest: str = ""
    skipped: int = 0


ProfileSource = Profile | str | PathLike[str] | Sequence[ProfileRow]
"""What a profile can be given as: a file, CSV text (with a line break), rows, or a profile read before."""


def load_profile(source: ProfileSource) -> Profile:
    """Profile of a CSV file, of CSV text, or of rows made elsewhere.

    InputError with the place for anything else: no regular file, larger than 256 MiB, not UTF-8, not CSV, no name or duration
    column, a duration that is no number of 0 or more, a name that is a spreadsheet formula.
    """
    if isinstance(source, Profile):
        return source
    if isinstance(source, str | PathLike):
        text = str(source)
        return _from_file(Path(text)) if isinstance(source, PathLike) or "\n" not in text else _from_text(text)
    rows = tuple(source) if isinstance(source, Iterable) else ()
    if not isinstance(source, Iterable) or not all(isinstance(r, ProfileRow) for r in rows):
        raise InputError("a profile is a file, CSV text or ProfileRow objects", got=type(source).__name__)
    return Profile(rows, "rows", _digest(repr(rows).encode()))


def read_profile(source: str | PathLike[str]) -> list[ProfileRow]:
    """Rows of a CSV file (a path without a line break) or of CSV text; errors as in ``load_profile``."""
    return list(load_profile(source).rows)


def stamp(path: Path) -> tuple[int, int]:
    """(modification time in ns, size): when it differs, the file is read anew. (0, 0) for a file that is gone."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a name with a null byte
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _from_text(text: str) -> Profile:
    return _table(io.StringIO(text), "profile", _digest(text.encode("utf-8", "surrogatepass")))


def _from_file(path: Path) -> Profile:
    where = str(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError("the profile is not a regular file", where=where, todo="Give a CSV file.")
        if found.st_size > SIZE_LIMIT:
            raise InputError("the profile is larger than 256 MiB", where=where, got=f"{found.st_size} bytes",
                             todo="Cut it to one step.")  # fmt: skip
        content = path.read_bytes()
    except (OSError, ValueError) as e:
        raise InputError("cannot read the profile", where=where, got=str(e)) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = content.count(b"\n", 0, e.start) + 1
        raise InputError("the profile is not UTF-8", where=f"{where}, line {line}, byte {e.start}",
                         got=content[e.start : e.start + 4].hex(" "), todo="Save it as CSV in UTF-8.") from None  # fmt: skip
    return _table(io.StringIO(text), where, _digest(content))


def _table(lines: Iterable[str], where: str, digest: str) -> Profile:
    skipped: list[int] = []
    try:
        rows = tuple(_rows(csv.reader(lines), where, skipped))
    except csv.Error as e:
        raise InputError("the profile is not CSV", where=where, got=str(e)) from None
    return Profile(rows, where, digest, len(skipped))


def _rows(lines: Iterable[list[str]], where: str, skipped: list[int]) -> Iterator[ProfileRow]:
    header: list[str] | None = None
    name = duration = kind = -1
    factor = 1.0
    for number, line in enumerate(lines, 1):
        if not any(c.strip() for c in line):
            continue
        if header is None:
            header = [c.strip().lower() for c in line]
            name, duration, kind, factor = _columns(header, line, where)
            continue
        if number > ROW_LIMIT:
            raise InputError(f"the profile has more than {ROW_LIMIT} rows", where=where, todo="Cut it to one step.")
        at = f"{where}, line {number}"
        if len(line) <= max(name, duration):
            raise InputError("a row has too few columns", where=at, got=line)
        label, cell = line[name].strip(), line[duration].strip()
        if label.startswith(_FORMULA):
            raise InputError("an operator name is a spreadsheet formula", where=at, got=label,
                             todo="Export the table again without formulas.")  # fmt: skip
        if cell.lower() in _NOT_MEASURED:
            skipped.append(number)
            continue
        yield ProfileRow(label, _number(cell, at) * factor, line[kind].strip() if 0 <= kind < len(line) else "", number)
    if header is None:
        raise InputError("the profile is empty", where=where)


def _columns(header: list[str], line: list[str], where: str) -> tuple[int, int, int, float]:
    if "size(kb)" in header:  # operator_memory.csv: its durations are lifetimes of buffers
        raise InputError("this is a table of memory, not of execution times", where=where, got=line[:6],
                         todo="Give kernel_details.csv or op_summary.csv.")  # fmt: skip
    name = next((header.index(c) for c in _NAME if c in header), -1)
    column = next((c for c in _DURATION if c in header), "")
    if name < 0 or not column:
        lost = " and ".join(w for w, missing in (("name", name < 0), ("duration", not column)) if missing)
        raise InputError(f"the profile has no {lost} column", where=where, got=line[:12],
                         todo="Needed: Name and Duration(us).")  # fmt: skip
    kind = next((header.index(c) for c in _TYPE if c in header), -1)
    return name, header.index(column), kind, _DURATION[column]


def _number(cell: str, at: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or value > 1e12:
        raise InputError("a duration is not a number of 0 or more", where=at, got=cell)
    return value
