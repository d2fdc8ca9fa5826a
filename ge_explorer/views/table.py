"""Table pictures: figures first, then rows. Events, streams, diff, issues and peak shares all use this one model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ge_explorer.ids import Ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import NO_MARK, Mark

Align = Literal["left", "right"]
Tone = Literal["", "strong", "muted", "error"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a cell: optional stream mark, text, origin mark; ``ref`` selects on click; ``code`` uses the code font."""

    text: Text
    ref: Ref | None = None
    mark: Mark | None = None
    origin: Origin | None = None
    tone: Tone = ""
    code: bool = False
    new_line: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """Heading and alignment. Numbers are right-aligned."""

    title: Text
    align: Align = "left"
    nowrap: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``ref`` is what a click on it selects, ``refs`` all it stands for (highlighted when any is selected)."""

    cells: tuple[tuple[Part, ...], ...]
    ref: Ref | None = None
    refs: tuple[Ref, ...] = ()
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; ``left_out`` rows exist but are not listed, and the picture says so."""

    title: Text
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    left_out: int = 0
    empty: Text = Text("Nothing to list.", "没有内容。")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the conclusion line with what it counts; ``link`` joins it to the next figure ("→", "=", "")."""

    value: Text
    label: Text
    origin: Origin | None = None
    link: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class TablePicture:
    """A panel of figures and tables. ``alt`` is the same in one sentence."""

    name: str
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    alt: Text
    notes: tuple[Text, ...] = ()


def words(en: str, zh: str = "", *, tone: Tone = "", code: bool = False, new_line: bool = False) -> Part:
    """Text part."""
    return Part(Text(en, zh), tone=tone, code=code, new_line=new_line)


def thing(name: str, ref: Ref, mark: Mark = NO_MARK) -> Part:
    """Part that names something selectable, with its stream mark."""
    return Part(Text(name), ref=ref, mark=mark if mark.index >= 0 else None)


def cut(rows: list[Row], limit: int) -> tuple[tuple[Row, ...], int]:
    """First ``limit`` rows and how many are left out."""
    return tuple(rows[:limit]), max(0, len(rows) - limit)
