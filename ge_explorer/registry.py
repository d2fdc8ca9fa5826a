"""Ordered name -> "module:Attribute" tables, loaded on first use and open to outsiders through entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from ge_explorer.errors import OptionError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """Ordered, lazy table of named things.

    ``group`` is the entry-point group other packages may add to (``ge_explorer.passes``); their names come last.
    """

    def __init__(self, what: str, entries: Mapping[str, str], group: str = "") -> None:
        self._what, self._group = what, group
        self._entries: dict[str, str] = dict(entries)
        self._loaded: dict[str, T] = {}
        self._outsiders_read = not group

    def _read_outsiders(self) -> None:
        if not self._outsiders_read:
            self._outsiders_read = True
            for ep in entry_points(group=self._group):
                self._entries.setdefault(ep.name, ep.value)

    def names(self) -> tuple[str, ...]:
        """All names in order."""
        self._read_outsiders()
        return tuple(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def get(self, name: str) -> T:
        """The named thing; OptionError with the closest names when unknown."""
        if name not in self._loaded:
            if name not in self.names():
                raise OptionError(f"no {self._what} named {name!r}", todo=did_you_mean(name, self.names()))
            module, _, attribute = self._entries[name].partition(":")
            self._loaded[name] = cast(T, getattr(import_module(module), attribute))
        return self._loaded[name]

    def add(self, name: str, target: str | T) -> None:
        """Add at run time: ``"module:Attribute"`` or the thing itself."""
        self._entries[name] = target if isinstance(target, str) else ""
        if not isinstance(target, str):
            self._loaded[name] = target
