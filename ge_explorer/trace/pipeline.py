"""A pipeline: passes in order, each on or off. Its text form round-trips.

Grammar: ``item,item,…`` where an item is ``[-]name[{key=value;key=value}]``. ``-`` switches the pass off but keeps its
place. A preset name (``static``) as first item stands for all its items; later items then change the one of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.trace.passes import Pass

PassLookup = Callable[[str], type[Pass]]
_ITEM = re.compile(r"^(?P<off>-?)(?P<name>[a-z0-9][a-z0-9-]*)(?:#(?P<nth>\d+))?(?:\{(?P<opts>[^{}]*)\})?$")


@dataclass(frozen=True)
class Item:
    """One place in a pipeline. ``nth`` counts passes of the same name (1, 2, …)."""

    pass_: Pass
    enabled: bool = True
    nth: int = 1

    @property
    def key(self) -> str:
        """Name used to toggle it: ``topological-sort``, ``topological-sort#2``."""
        return self.pass_.name if self.nth == 1 else f"{self.pass_.name}#{self.nth}"

    def __str__(self) -> str:
        defaults = type(self.pass_)()
        given = [
            f"{f.name.replace('_', '-')}={_write(getattr(self.pass_, f.name))}"
            for f in fields(self.pass_)
            if getattr(self.pass_, f.name) != getattr(defaults, f.name)
        ]
        options = "{" + ";".join(given) + "}" if given else ""
        return f"{'' if self.enabled else '-'}{self.pass_.name}{options}"


@dataclass(frozen=True)
class Pipeline:
    """Ordered items. Immutable; ``with_disabled`` gives a changed copy."""

    items: tuple[Item, ...]

    @staticmethod
    def of(passes: Iterable[Pass]) -> Pipeline:
        """Pipeline with every pass on."""
        return Pipeline(_numbered(Item(p) for p in passes))

    @staticmethod
    def from_items(items: Iterable[Item]) -> Pipeline:
        """Pipeline of items, counted anew."""
        return Pipeline(_numbered(items))

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        return ",".join(str(i) for i in self.items)

    def with_disabled(self, keys: Iterable[str]) -> Pipeline:
        """Copy with exactly the passes of these keys switched off in addition to those already off."""
        off = set(keys)
        known = [i.key for i in self.items]
        for k in off:
            if k not in known:
                raise OptionError(f"no pass {k!r} in this pipeline", todo=did_you_mean(k, known))
        return Pipeline(tuple(replace(i, enabled=i.enabled and i.key not in off) for i in self.items))


def parse_pipeline(text: str, lookup: PassLookup, presets: Mapping[str, Pipeline]) -> Pipeline:
    """Read the text form. OptionError names the item, what is wrong with it, and the closest known name."""
    items: list[Item] = []
    from_preset = False
    for raw in _split(text):
        match = _ITEM.match(raw)
        if not match:
            raise OptionError(
                "cannot read pipeline item", got=raw, todo="Write [-]name or [-]name{key=value;key=value}."
            )
        name, enabled = match["name"], not match["off"]
        if name in presets and not items and enabled and match["opts"] is None:
            items.extend(presets[name].items)
            from_preset = True
            continue
        try:
            cls = lookup(name)
        except OptionError as e:
            raise OptionError(
                f"no pass or preset named {name!r}", where="pipeline", todo=e.todo or did_you_mean(name, presets)
            ) from None
        options = _read_options(cls, match["opts"] or "")
        places = [k for k, i in enumerate(items) if i.pass_.name == name]
        if from_preset and places:
            place = places[int(match["nth"] or 1) - 1] if int(match["nth"] or 1) <= len(places) else places[-1]
            new = replace(items[place].pass_, **options) if options else items[place].pass_
            items[place] = replace(items[place], pass_=new, enabled=enabled)
        else:
            items.append(Item(cls(**options), enabled))
    if not items:
        raise OptionError("empty pipeline", todo=f"Start with a preset: {', '.join(presets)}.")
    return Pipeline(_numbered(items))


def _numbered(items: Iterable[Item]) -> tuple[Item, ...]:
    seen: dict[str, int] = {}
    out = []
    for i in items:
        seen[i.pass_.name] = seen.get(i.pass_.name, 0) + 1
        out.append(replace(i, nth=seen[i.pass_.name]))
    return tuple(out)


def _split(text: str) -> list[str]:
    """Split at commas outside braces."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _read_options(cls: type[Pass], text: str) -> dict[str, Any]:
    known = {f.name.replace("_", "-"): f for f in fields(cls)}
    out: dict[str, Any] = {}
    for pair in filter(None, (p.strip() for p in text.split(";"))):
        key, eq, value = pair.partition("=")
        if not eq or key.strip() not in known:
            raise OptionError(
                f"pass {cls.name!r} has no option {key.strip()!r}", where="pipeline", got=pair,
                todo=did_you_mean(key.strip(), known) if known else "It has no options.",
            )  # fmt: skip
        f = known[key.strip()]
        out[f.name] = _read(value.strip(), getattr(cls(), f.name), pair)
    return out


def _write(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(text: str, default: Any, where: str) -> Any:
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise OptionError("expected true or false", where=where, got=text)
        return text == "true"
    if isinstance(default, int):
        if not re.fullmatch(r"-?\d+", text):
            raise OptionError("expected a whole number", where=where, got=text)
        return int(text)
    if isinstance(default, float):
        try:
            return float(text)
        except ValueError:
            raise OptionError("expected a number", where=where, got=text) from None
    return text
