"""Which buffers a memory view shows, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ge_explorer.errors import OptionError
from ge_explorer.text import Text
from ge_explorer.views.memory_life import Ints, Lives

Sort = Literal["begin", "size", "span", "waste", "stream", "offset"]
SORTS: dict[str, Text] = {
    "begin": Text("first write", "首次写入"),
    "size": Text("size", "大小"),
    "span": Text("time in use", "使用时长"),
    "waste": Text("bytes × waiting time", "字节 × 等待时间"),
    "stream": Text("stream", "流"),
    "offset": Text("address", "地址"),
}
KINDS = ("feature", "workspace")


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """``top``: only so many of the largest (0: all). ``stream``: GE id (None: all). ``kind`` "" : all. ``text`` is looked for in
    names, ignoring case. ``crossing``: only buffers read on another stream than their own.
    """

    sort: str = "begin"
    top: int = 0
    stream: int | None = None
    kind: str = ""
    text: str = ""
    crossing: bool = False

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise OptionError("no such sort", got=self.sort, todo=f"Known: {', '.join(SORTS)}.")

    def but(self, **changes: object) -> MemoryFilter:
        """Copy with some fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]  # names and values are checked by the dataclass

    @property
    def narrows(self) -> bool:
        """True if it leaves something out."""
        return bool(self.top or self.kind or self.text or self.crossing or self.stream is not None)

    def apply(self, lives: Lives) -> Ints:
        """Buffer ids that pass, sorted."""
        keep = np.ones(lives.count, dtype=np.bool_)
        if self.stream is not None:
            keep &= lives.stream == self.stream
        if self.kind:
            keep &= np.array([b.kind == self.kind for b in lives.problem.buffers], dtype=np.bool_)
        if self.text:
            wanted = self.text.casefold()
            keep &= np.array([wanted in name.casefold() for name in lives.names], dtype=np.bool_)
        if self.crossing:
            away = np.zeros(lives.count, dtype=np.bool_)
            for stream, end in lives.uses.items():
                away |= (end >= 0) & (lives.stream != stream)
            keep &= away
        ids = np.flatnonzero(keep)
        if self.top and ids.size > self.top:
            ids = ids[np.argsort(-lives.size[ids], kind="stable")[: self.top]]
        return ids[np.lexsort((ids, _key(lives, self.sort)[ids]))]


def _key(lives: Lives, sort: str) -> Ints:
    if sort == "size":
        return -lives.size
    if sort == "span":
        return -(lives.last - lives.begin)
    if sort == "waste":
        return -(lives.free - lives.last) * lives.size
    if sort == "stream":
        return lives.mark_index * (lives.end + 1) + lives.begin
    return lives.offset if sort == "offset" else lives.begin
