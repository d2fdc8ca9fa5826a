"""Reading a profiling file: how long each operator took and how many blocks it used.

The file is an ``op_summary`` table of msprof. GE splits lines at commas without looking at quotes, wants five columns by their
exact names, skips rows it cannot read, and keeps the last row of an operator.
Source: ProfilingParser (compiler/graph/build/dag/dag_profiling_parser.cc).
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ge_explorer.errors import InputError

KEY = "MINIDAG_PROFILING_PATH"
"""GE's environment variable; here an option of the same name, because a compile depends on its inputs only."""

COLUMNS = ("Op Name", "Task Type", "Task Duration(us)", "Block Num", "Mix Block Num")
SIZE_LIMIT = 32 << 20
"""Largest file in bytes (ours; GE has no limit)."""

_FLOAT = struct.Struct("<f")
FLOAT_MAX, FLOAT_MIN = 3.4028234663852886e38, 1.1754943508222875e-38
"""Largest C++ float, and the smallest that is not denormal."""
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_INTEGER = re.compile(r"\s*([+-]?\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One operator: ``time`` in µs, blocks on cube and vector cores."""

    name: str
    time: float
    cube: int
    vec: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Rows by operator name, and how many rows could not be read."""

    rows: Mapping[str, ProfileRow] = field(default_factory=dict)
    unreadable: int = 0

    def find(self, name: str) -> ProfileRow | None:
        """The record of a node: by full name, else by what follows the last ``/`` (dag_adapter.cc: GetOpNameWithoutScope)."""
        row = self.rows.get(name)
        last = name.rpartition("/")[2]
        return row if row is not None or not last else self.rows.get(last)


def find_column(headers: Sequence[str], name: str) -> int:
    """Position of a column, -1 when there is none (ProfilingParser::FindColumnIndex)."""
    return next((i for i, h in enumerate(headers) if h == name), -1)


def core_counts(task_type: str, blocks: int, mix_blocks: int) -> tuple[int, int]:
    """(cube, vector) blocks of a task type; (0, 0) for every other type (ProfilingParser::CalculateCoreCounts)."""
    if task_type in ("AI_CORE", "MIX_AIC"):
        return blocks, mix_blocks if task_type == "MIX_AIC" else 0
    if task_type in ("AI_VECTOR_CORE", "MIX_AIV"):
        return mix_blocks if task_type == "MIX_AIV" else 0, blocks
    return 0, 0


def parse_row(fields: Sequence[str], columns: Sequence[int]) -> ProfileRow | None:
    """One row, or None when GE would skip it. ``columns`` are the positions of ``COLUMNS`` (ProfilingParser::ParseRow)."""
    if not 0 <= min(columns) <= max(columns) < len(fields):
        return None
    name, kind, duration, blocks, mix = (fields[c] for c in columns)
    time, n, m = _to_float(duration), _to_uint32(blocks), _to_uint32(mix)
    if time is None or n is None or m is None:
        return None
    return ProfileRow(name, time, *core_counts(kind, n, m))


def parse_text(text: str, where: str = "profiling file") -> Profile:
    """Profile of a file's text; InputError when there is no header or a column is missing (ProfilingParser::Parse)."""
    if not text:
        raise InputError("the profiling file is empty", where=where, todo="Export op_summary once more with msprof.")
    header, *lines = text.split("\n")
    headers = _split(header)
    columns = [find_column(headers, name) for name in COLUMNS]
    if -1 in columns:
        missing = COLUMNS[columns.index(-1)]
        raise InputError(f"the profiling file has no column {missing!r}", where=f"{where}, line 1", got=header,
                         todo=_hint(missing, headers))  # fmt: skip
    rows: dict[str, ProfileRow] = {}
    unreadable = 0
    for line in lines:
        if not line:
            continue
        row = parse_row(_split(line), columns)
        if row is None:
            unreadable += 1
        else:
            rows[row.name] = row
    return Profile(rows, unreadable)


def read_profile(path: str) -> Profile:
    """Profile of a file. InputError when it is no ``.csv``, no regular file, too large, or ``parse_text`` refuses it."""
    if not path.endswith(".csv"):
        raise InputError("a profiling file must end in .csv", where=KEY, got=path, todo="Name the op_summary csv file.")
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(
                "the profiling path is not a file", where=KEY, got=path, todo="Name the op_summary csv file."
            )
        if found.st_size > SIZE_LIMIT:
            raise InputError("the profiling file is too large", where=path, got=f"{found.st_size} bytes",
                             todo=f"Keep the rows of one step; the limit is {SIZE_LIMIT} bytes.")  # fmt: skip
        data = Path(path).read_bytes()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise InputError(f"the profiling file cannot be read: {reason}", where=KEY, got=path,
                         todo="Check the path; it is relative to the working directory.") from e  # fmt: skip
    return parse_text(data.decode("utf-8", "surrogateescape"), path)


def float32(value: float) -> float:
    """The value as GE stores it, a C++ float."""
    single: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return single


def _split(line: str) -> list[str]:
    """Cut at every comma; nothing after a last comma is no field (std::getline)."""
    fields = line.split(",")
    return fields if fields[-1] else fields[:-1]


def _to_float(text: str) -> float | None:
    """The leading number, as std::stof reads it; None when there is none or it does not fit.

    Ours: the words inf and nan, which stof takes, count as unreadable here.
    """
    m = _NUMBER.match(text)
    if not m:
        return None
    value = float(m[1])
    if abs(value) > FLOAT_MAX or (value != 0.0 and abs(value) < FLOAT_MIN):
        return None
    return float32(value)


def _to_uint32(text: str) -> int | None:
    """The leading integer, as std::stoul reads it (a minus sign wraps around), cut to 32 bits."""
    m = _INTEGER.match(text)
    if not m or len(m[1]) > 40 or abs(int(m[1])) >= 1 << 64:
        return None
    return int(m[1]) % (1 << 32)


def _hint(missing: str, headers: Sequence[str]) -> str:
    if any(h != missing and h.strip("\ufeff \t\r") == missing for h in headers):
        return f"GE compares names exactly: remove the space, carriage return or byte-order mark around {missing!r}."
    if missing.replace("Num", "Dim") in headers:
        return f"Older msprof versions wrote {missing.replace('Num', 'Dim')!r}; GE looks for {missing!r}."
    return f"GE reads msprof's op_summary table, with the columns {', '.join(COLUMNS)}."
