"""Which fusion passes are on: GE's fusion switch file, ``ge.optimizationSwitch`` and the level.

Source: compiler/engines/nn_engine fusion_config_parser.cc. The file is JSON, or in the old form one ``Pass:on`` a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from ge_explorer.errors import OptionError

SWITCH_FILE, SWITCHES, LEVEL, OURS = "ge.fusionSwitchFile", "ge.optimizationSwitch", "ge.oo.level", "gx.fusion"
"""``gx.fusion`` is ours: auto (imported ONNX models only, rules GE has a pass for), ge, all, or off."""
KEYS = frozenset({SWITCH_FILE, SWITCHES, LEVEL, OURS})
Kind = Literal["GraphFusion", "UBFusion"]
SIZE_LIMIT = 1 << 20
_WORDS = MappingProxyType({"on": True, "off": False})
_EMPTY: Mapping[str, bool] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FusionSwitch:
    """Switches by pass name: ``first`` beats everything, then the file's own entry, then its ``ALL``, then the default."""

    mode: str = "auto"
    first: Mapping[str, bool] = field(default_factory=lambda: _EMPTY)
    graph: Mapping[str, bool] = field(default_factory=lambda: _EMPTY)
    ub: Mapping[str, bool] = field(default_factory=lambda: _EMPTY)
    exceptional: frozenset[str] = frozenset()
    level_off: bool = False

    @staticmethod
    def of(options: Mapping[str, str]) -> FusionSwitch:
        """Switches from option values (see ``KEYS``). OptionError names the option, the file and the entry."""
        mode = options.get(OURS, "") or "auto"
        if mode not in ("auto", "ge", "all", "off"):
            raise OptionError("unknown fusion mode", where=OURS, got=mode, todo="Use auto, ge, all or off.")
        level = options.get(LEVEL, "")
        file = options.get(SWITCH_FILE, "")
        parsed = read_switch(file) if file else FusionSwitch()
        first = _tokens(options.get(SWITCHES, ""))
        return FusionSwitch(mode, first, parsed.graph, parsed.ub, parsed.exceptional, level == "O1")

    def enabled(self, kind: Kind, names: Iterable[str], default: bool) -> tuple[bool, str]:
        """(on, decided by) for a pass known under ``names``: option, level, file, ALL or default."""
        names = tuple(n for n in names if n)
        for n in names:
            if n in self.first:
                return self.first[n], "option"
        if self.mode == "off":
            return False, "mode"
        if self.level_off and not any(n in self.exceptional for n in names):
            return False, "level"
        table = self.graph if kind == "GraphFusion" else self.ub
        for n in names:
            if n in table:
                return table[n], "file"
        return (table["ALL"], "ALL") if "ALL" in table else (default, "default")


def _tokens(text: str) -> Mapping[str, bool]:
    """``Pass:on;Pass2:off``; tokens of another form are ignored, as GE does with a warning."""
    out: dict[str, bool] = {}
    for token in text.split(";"):
        name, _, word = token.strip().rpartition(":")
        if name and word in _WORDS:
            out[name] = _WORDS[word]
    return MappingProxyType(out)


def read_switch(text: str) -> FusionSwitch:
    """Switches from JSON text (first character ``{``) or from the file of this path, new or old form."""
    where = SWITCH_FILE
    if not text.lstrip().startswith("{"):
        path, where = Path(text), f"{SWITCH_FILE} {text}"
        try:
            if path.stat().st_size > SIZE_LIMIT:
                raise OptionError("fusion switch file is larger than 1 MiB", where=where)
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as e:
            raise OptionError("cannot read the fusion switch file", where=where, got=str(e)) from None
    if not text.lstrip().startswith("{"):
        lines = dict(_line(x, where) for x in text.splitlines() if x.strip())
        return FusionSwitch(graph=lines, ub=lines)
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise OptionError("fusion switches are not JSON", where=where, got=str(e)) from None
    switch = _object(data.get("Switch", {}), "Switch", where)
    names = data.get("ExceptionalPassOfO1Level", [])
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise OptionError("ExceptionalPassOfO1Level is a list of names", where=where, got=names)
    graph, ub = (_switches(_object(switch.get(k, {}), k, where), k, where) for k in ("GraphFusion", "UBFusion"))
    return FusionSwitch(graph=graph, ub=ub, exceptional=frozenset(names))


def _object(value: Any, name: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise OptionError(f"{name} is not a JSON object", where=where, got=value)
    return value


def _switches(rows: Mapping[str, Any], name: str, where: str) -> Mapping[str, bool]:
    for key, word in rows.items():
        if not isinstance(word, str) or word not in _WORDS:
            raise OptionError(f'{name}.{key} is neither "on" nor "off"', where=where, got=word)
    return MappingProxyType({k: _WORDS[v] for k, v in rows.items()})


def _line(text: str, where: str) -> tuple[str, bool]:
    name, _, word = text.strip().rpartition(":")
    if not name or word.strip() not in _WORDS:
        raise OptionError("a line of the fusion switch file is not Pass:on or Pass:off", where=where, got=text)
    return name.strip(), _WORDS[word.strip()]
