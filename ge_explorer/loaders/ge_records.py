"""What every GE dump dialect is read into before it becomes a graph: one record per operator, as written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ge_explorer.graph.model import Shape

CONTROL = -1
"""Output index of a control edge in an input such as ``conv:-1``."""


@dataclass(slots=True)
class DescRecord:
    """A tensor descriptor. ``attrs`` are GE's other fields by their literal names (layout, origin_shape, size …)."""

    name: str = ""
    dtype: str | None = None
    shape: Shape | None = None
    attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class OpRecord:
    """One operator. ``inputs`` are (producer, output index) in order; None: not connected; index -1: control edge.

    ``stream`` None: the dump writes no stream here (proto3 leaves out a zero; ``implicit_stream`` then says that a zero is
    meant). ``bare`` marks an operator written without any attribute. ``at`` is its byte in the file (-1: unknown).
    """

    name: str
    type: str
    inputs: list[tuple[str, int] | None] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: list[DescRecord] = field(default_factory=list)
    input_descs: list[DescRecord] = field(default_factory=list)
    id: int | None = None
    stream: int | None = None
    implicit_stream: bool = False
    input_offsets: list[int] = field(default_factory=list)
    output_offsets: list[int] = field(default_factory=list)
    workspace: list[int] = field(default_factory=list)
    workspace_bytes: list[int] = field(default_factory=list)
    subgraphs: list[str] = field(default_factory=list)
    bare: bool = False
    at: int = -1


@dataclass(slots=True)
class GraphRecord:
    """A graph or subgraph, operators in list order. ``results`` are the returned (producer, output index)."""

    name: str
    ops: list[OpRecord] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    results: list[tuple[str, int] | None] = field(default_factory=list)
    at: int = -1


@dataclass(slots=True)
class ModelRecord:
    """All graphs of a file, the root first. ``carriers``: extra nodes that only hold a subgraph and became no operator.

    ``links`` says how a subgraph finds its owner: "named" (the owner lists it) or "guessed" (by names only).
    """

    format: str
    graphs: list[GraphRecord]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    carriers: int = 0
    links: str = "named"
    counts: dict[str, Any] = field(default_factory=dict)


def split_input(text: str) -> tuple[str, int] | None:
    """``name:2`` at its last colon (names hold colons); "" is not connected; no number means output 0.

    >>> split_input("scope:conv:1"), split_input("conv:-1"), split_input("")
    (('scope:conv', 1), ('conv', -1), None)
    """
    if not text:
        return None
    name, colon, number = text.rpartition(":")
    digits = number.removeprefix("-")
    if colon and digits.isascii() and digits.isdigit() and len(digits) < 10:
        return name, int(number)
    return text, 0
