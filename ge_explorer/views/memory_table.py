"""Who holds the peak: shares by buffer, op type, stream and layer, as HTML."""

from __future__ import annotations

from collections.abc import Iterable

from ge_explorer.ids import Ref
from ge_explorer.text import Text
from ge_explorer.views.marks import size
from ge_explorer.views.memory_map import MemoryPicture
from ge_explorer.views.memory_peak import PeakExplained, Share
from ge_explorer.views.table import Column, Part, Row, Table, words
from ge_explorer.views.table_html import table_html, text

_COLUMNS = (
    Column(Text("buffer", "缓冲区")),
    Column(Text("size", "大小"), "right", True),
    Column(Text("%"), "right", True),
)


def shares_table(title: Text, shares: Iterable[Share]) -> Table:
    """Table of shares; the percentages add up to 100."""
    rows = tuple(
        Row(((Part(s.name, mark=s.mark if s.mark.index >= 0 else None),), (words(size(s.nbytes)),), (words(f"{s.percent} %"),)),
            s.ref, (s.ref,) if s.ref else ())
        for s in shares
    )  # fmt: skip
    return Table(title, (Column(title), *_COLUMNS[1:]), rows)


def shares_html(p: MemoryPicture | PeakExplained, lang: str, selected: set[Ref] | None = None) -> str:
    """Shares at the peak; the other ways to split them are folded."""
    found = p if isinstance(p, PeakExplained) else None
    largest = p.buffers if isinstance(p, PeakExplained) else p.shares
    total = p.total if isinstance(p, PeakExplained) else p.peak_live
    if not largest:
        return ""
    title = Text("Live at the peak", "峰值处存活")
    out = f"<h4>{text(title, lang)} <span class='gxp-muted'>{size(total)}</span></h4>"
    out += table_html(shares_table(Text("buffer", "缓冲区"), largest), lang, selected)
    more = (
        (Text("by use", "按用途"), found.by_use if found else ()),
        (Text("by op type", "按算子类型"), p.by_op),
        (Text("by stream", "按流"), p.by_stream),
        (Text("by layer", "按层"), p.by_layer),
        (Text("by subgraph", "按子图"), found.by_scope if found else ()),
        (Text("by kind", "按类别"), found.by_kind if found else ()),
    )
    for name, shares in more:
        if len(shares) > 1:
            out += f"<details><summary>{text(name, lang)}</summary>{table_html(shares_table(name, shares), lang)}</details>"
    return out
