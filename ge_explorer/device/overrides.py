"""The user's table of engines and core kinds: by operator type or by node name, as JSON text, a JSON file or a mapping."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ge_explorer.device.engines import GE_ENGINES
from ge_explorer.device.op_table import CORES
from ge_explorer.errors import OptionError, did_you_mean

FILE_LIMIT = 4 << 20
OPTION = "gx.placement"
"""Our option: ``{"MatMulV2": "AIV", "node:fc1": {"engine": "DNN_VM_AICPU", "core": "AICPU"}}``."""


@dataclass(frozen=True, slots=True)
class Override:
    """Engine and core kind wanted; "" keeps what the table says."""

    engine: str = ""
    core: str = ""


def placement_option(table: Mapping[str, Any] | str | PathLike[str]) -> dict[str, str]:
    """Option mapping for a table written in Python or in a JSON file.

    ``compile(g, options=placement_option({"MatMulV2": "AIV"}))`` is ``compile(g, placement={"MatMulV2": "AIV"})``.
    OptionError names the file or the entry.
    """
    if not isinstance(table, Mapping | str | PathLike):
        raise OptionError("a placement is a mapping or the name of a JSON file", got=type(table).__name__)
    text = json.dumps(dict(table), sort_keys=True) if isinstance(table, Mapping) else _file_text(Path(table))
    read_overrides(text)
    return {OPTION: text}


def _file_text(path: Path) -> str:
    where = str(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_LIMIT:
            raise OptionError(f"a placement table is a regular file of at most {FILE_LIMIT >> 20} MiB", where=where)
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as e:
        raise OptionError("cannot read the placement table", where=where, got=str(e)) from None
    if not text.strip():
        raise OptionError("the placement table is empty", where=where, todo='Write for example {"MatMulV2": "AIV"}.')
    return text


@lru_cache(maxsize=64)
def read_overrides(text: str) -> Mapping[str, Override]:
    """Overrides of the option text. Keys: an operator type, or ``node:<name>``. OptionError names the entry."""
    if not text:
        return MappingProxyType({})
    try:
        rows = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise OptionError("placement table is not JSON", where=OPTION, got=str(e)) from None
    if not isinstance(rows, dict):
        raise OptionError("placement table is not a JSON object", where=OPTION, got=rows)
    return MappingProxyType({key: _read(key, row) for key, row in rows.items()})


def _read(key: str, row: Any) -> Override:
    where = f"{OPTION}, {key}"
    if isinstance(row, str):
        row = {"core": row} if row in CORES else {"engine": row}
    if not isinstance(row, dict) or not row or set(row) - {"engine", "core"}:
        raise OptionError("an entry gives an engine, a core kind, or both", where=where, got=row)
    engine, core = row.get("engine", ""), row.get("core", "")
    if core and core not in CORES:
        raise OptionError("unknown core kind", where=where, got=core, todo=did_you_mean(str(core), CORES))
    if not isinstance(engine, str) or (engine and engine not in GE_ENGINES):
        raise OptionError("unknown engine", where=where, got=engine, todo=did_you_mean(str(engine), GE_ENGINES))
    return Override(engine, core)
