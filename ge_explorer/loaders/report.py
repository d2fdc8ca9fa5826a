"""What a loader says about the file it read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.loaders.ge_recorded import Recorded
from ge_explorer.text import Text

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class LoadReport:
    """What was found in a source, and what was not.

    ``format`` is the recognised format, ``source`` the file or example name, ``found`` and ``missing`` are sentences,
    ``issues`` coded findings (GX3xx), ``counts`` figures of the source by name (for ONNX: see ``census``).
    """

    format: str
    source: str = ""
    found: tuple[Text, ...] = ()
    missing: tuple[Text, ...] = ()
    issues: tuple[Issue, ...] = ()
    counts: Mapping[str, Any] = field(default_factory=lambda: _NONE)

    def lines(self, lang: str = "en") -> list[str]:
        """The report as plain lines: found, missing, issues."""
        head = {"en": ("found", "missing"), "zh": ("已读取", "缺少")}[lang if lang == "zh" else "en"]
        out = [f"{head[0]}: {t.get(lang)}" for t in self.found]
        out += [f"{head[1]}: {t.get(lang)}" for t in self.missing]
        return out + [f"{i.code} {i.severity}: {i.message.get(lang)}" for i in self.issues]

    def __str__(self) -> str:
        return "\n".join([f"{self.source or 'graph'} ({self.format})", *self.lines()])


@dataclass(frozen=True, eq=False)
class LoadResult:
    """The graph and the report about it.

    ``recorded`` is what a compiler dump or log says beyond the graph (streams, events, offsets; see ``Recorded``).
    ``stages`` are the ``Stage`` values of a folder of dumps, in compilation order; the graph is that of the last one.
    """

    graph: Graph
    report: LoadReport
    recorded: Recorded | None = None
    stages: tuple[Any, ...] = ()
