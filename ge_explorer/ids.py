"""Typed references: one vocabulary for everything that can be selected, linked or explained.

Ids are dense integers. Node and tensor ids are unique over all scopes of a graph and never reused in a trace;
a node removed by a pass keeps its id (the slot becomes None).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

RefKind = Literal["node", "tensor", "scope", "cluster", "stream", "event", "buffer", "task", "step", "label", "part"]
KINDS: tuple[str, ...] = get_args(RefKind)


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Reference to one thing. Text form ``kind:id`` round-trips.

    >>> Ref.parse("node:12")
    Ref(kind='node', id=12)
    """

    kind: RefKind
    id: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @staticmethod
    def parse(text: str) -> Ref:
        """Read ``kind:id``; ValueError with the expected form otherwise."""
        kind, _, number = text.partition(":")
        if kind not in KINDS or not number.lstrip("-").isdigit():
            raise ValueError(f"not a reference: {text!r} (expected kind:id, kind one of {', '.join(KINDS)})")
        return Ref(kind, int(number))  # type: ignore[arg-type]  # checked against KINDS above


@lru_cache(maxsize=1 << 16)
def node(i: int) -> Ref:
    """Shorthand for ``Ref("node", i)``. Shared: every step of a trace points at the same nodes again and again."""
    return Ref("node", int(i))


def event(i: int) -> Ref:
    """Shorthand for ``Ref("event", i)``."""
    return Ref("event", int(i))


def stream(i: int) -> Ref:
    """Shorthand for ``Ref("stream", i)``."""
    return Ref("stream", int(i))


def part(i: int) -> Ref:
    """Shorthand for ``Ref("part", i)``: a physical stream, one part of a logical one."""
    return Ref("part", int(i))


def buffer(i: int) -> Ref:
    """Shorthand for ``Ref("buffer", i)``."""
    return Ref("buffer", int(i))
