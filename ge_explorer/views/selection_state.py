"""What the user is looking at, as one frozen value: the only thing the panels of the explorer share."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from ge_explorer.errors import OptionError
from ge_explorer.ids import Ref
from ge_explorer.text import LANGUAGES
from ge_explorer.views.fold_instances import FOLDS

NO_COMPARE = -2
"""``compare`` when no second step is chosen (-1 is the state before the first step)."""
SHARE_PREFIX = "gx1."
LAYOUTS = ("lanes", "layered")
TABS = ("timeline", "memory", "events", "streams", "diff", "compare", "mermaid", "runtime", "issues")
_MAX_SHARE = 200_000


@dataclass(frozen=True)
class SelectionState:
    """One view of one session. Equal values show equal screens.

    ``step`` and ``compare`` index the trace (-1: before the first step). ``selected``: references, the first one fills the
    inspector. ``window`` is a time range in ns (end exclusive), ``tick`` a GE topological id on the memory axis, both None
    when nothing is chosen. ``strength``, ``disabled``, ``options`` and ``chip`` mirror the session's settings, so that a
    copied state restores the result too. ``strength`` "": the graph as it is. ``views`` are the opened sub-views by tab (none:
    a tab's first). ``kept`` is A of the A/B tab: settings as the text of a state, ``dump``, or "" for nothing.
    ``fold`` and ``flipped`` say which functions or modules are drawn as one box (``views.fold_instances.Folding``).
    """

    step: int = -1
    compare: int = NO_COMPARE
    selected: tuple[Ref, ...] = ()
    window: tuple[int, int] | None = None
    tick: int | None = None
    query: str = ""
    strength: str = ""
    disabled: frozenset[str] = frozenset()
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    chip: str = ""
    lang: str = "en"
    layout: str = "lanes"
    tab: str = "timeline"
    views: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    kept: str = ""
    fold: str = ""
    flipped: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("lang", self.lang, LANGUAGES),
            ("layout", self.layout, LAYOUTS),
            ("tab", self.tab, TABS),
            ("fold", self.fold, FOLDS),
        ):
            if value not in allowed:
                raise OptionError(
                    f"no such {name}", where="view state", got=value, todo=f"Known: {', '.join(allowed)}."
                )
        if self.step < -1 or self.compare < NO_COMPARE:
            raise OptionError("step numbers start at -1", where="view state", got=(self.step, self.compare))
        if self.window is not None and not 0 <= self.window[0] < self.window[1]:
            raise OptionError("a time window needs start < end, both in ns", where="view state", got=self.window)
        for name in self.views:
            if name not in TABS:
                raise OptionError("no such tab", where="view state, views", got=name, todo=f"Known: {', '.join(TABS)}.")
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "views", MappingProxyType({k: v for k, v in self.views.items() if v}))

    def __hash__(self) -> int:
        return hash(self.to_json())

    def but(self, **changes: Any) -> SelectionState:
        """Copy with some fields replaced."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form with only the fields that differ from the default."""
        plain: dict[str, Any] = {
            "selected": [str(r) for r in self.selected],
            "disabled": sorted(self.disabled),
            "flipped": sorted(self.flipped),
            "options": dict(sorted(self.options.items())),
            "views": dict(sorted(self.views.items())),
            "window": None if self.window is None else list(self.window),
        }
        default = SelectionState()
        out: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if value != getattr(default, f.name):
                out[f.name] = plain.get(f.name, value)
        return out

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> SelectionState:
        """Inverse of ``to_dict``. OptionError names the field that cannot be used."""
        known = {f.name for f in fields(SelectionState)}
        out: dict[str, Any] = {}
        for name, value in data.items():
            if name not in known:
                raise OptionError("unknown field in view state", where=name, got=value)
            out[name] = _read(name, value)
        return SelectionState(**out)

    def to_json(self) -> str:
        """Compact JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> SelectionState:
        """Inverse of ``to_json``."""
        try:
            data = json.loads(text)
        except ValueError as e:
            raise OptionError("cannot read view state", where="JSON", got=text, todo=str(e)) from None
        if not isinstance(data, dict):
            raise OptionError("a view state is a JSON object", got=text)
        return SelectionState.from_dict(data)

    def to_share(self) -> str:
        """Short text to paste into a message: ``gx1.`` + URL-safe base64 of the packed JSON."""
        packed = zlib.compress(self.to_json().encode(), 9)
        return SHARE_PREFIX + base64.urlsafe_b64encode(packed).decode().rstrip("=")

    @staticmethod
    def from_share(text: str) -> SelectionState:
        """Inverse of ``to_share``; OptionError for text that is cut, changed or from another version."""
        text = text.strip()
        if not text.startswith(SHARE_PREFIX):
            raise OptionError("not a copied view state", got=text, todo=f"It starts with {SHARE_PREFIX!r}.")
        body = text[len(SHARE_PREFIX) :]
        try:
            packed = base64.b64decode(body.encode("ascii") + b"=" * (-len(body) % 4), altchars=b"-_", validate=True)
            unpacker = zlib.decompressobj()
            plain = unpacker.decompress(packed, _MAX_SHARE)
            if not unpacker.eof:
                raise OptionError("copied view state is cut or too large", got=text, todo="Copy it again, whole.")
            return SelectionState.from_json(plain.decode())
        except (binascii.Error, zlib.error, UnicodeError) as e:
            raise OptionError("copied view state is damaged", got=text, todo=f"Copy it again, whole ({e}).") from None


def _read(name: str, value: Any) -> Any:
    try:
        if name == "selected":
            return tuple(Ref.parse(str(r)) for r in _list(value))
        if name in ("disabled", "flipped"):
            return frozenset(str(k) for k in _list(value))
        if name in ("options", "views"):
            return {str(k): str(v) for k, v in dict(value).items()}
        if name == "window":
            if value is None:
                return None
            start, end = (int(v) for v in _list(value))
            return start, end
        if name == "tick":
            return None if value is None else int(value)
        if name in ("step", "compare"):
            return int(value)
    except (TypeError, ValueError) as e:
        raise OptionError("unusable value in view state", where=name, got=value, todo=str(e)) from None
    if not isinstance(value, str):
        raise OptionError("expected text in view state", where=name, got=value)
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError("expected a list")
    return list(value)
