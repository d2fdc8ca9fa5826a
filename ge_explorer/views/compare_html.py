"""Parts of a comparison as escaped HTML, the same for the widget and for the exported page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from html import escape

from ge_explorer.ids import Ref
from ge_explorer.text import Text
from ge_explorer.views import compare_tables, svg_memory_ab, svg_timeline, timeline
from ge_explorer.views.comparison import CompareSide, Comparison
from ge_explorer.views.memory_life import Lives, lives
from ge_explorer.views.table_html import origin_html, table_html, text
from ge_explorer.views.timeline_layout import place

NO_TIME = Text("There is no timeline.", "没有时间线。")
NO_MEMORY = Text(
    "Memory is not planned on both sides, so there is nothing to lay over.", "两侧并非都有内存规划，无法叠加。"
)
NO_DUMP = Text(
    "Neither side is a dump's own record of this graph. Load a GE dump and compare it with its compilation here.",
    "两侧都不是该图的转储记录。请加载 GE 转储，并与此处的编译结果比较。",
)


def head_html(c: Comparison, lang: str) -> str:
    """Conclusion, figures of both sides, and notes."""
    said = "".join(f'<p class="gxp-note">{text(n, lang)}</p>' for n in compare_tables.notes(c))
    return (
        f'<p class="gxp-lead">{text(compare_tables.sentence(c), lang)}</p>'
        f'<div class="gxp-abf">{table_html(compare_tables.figures(c), lang)}</div>{said}'
    )


def short_head_html(c: Comparison, lang: str) -> str:
    """The same in two lines: conclusion, then each figure as "value of A → value of B"; the notes as the tooltip."""
    said = " ".join(n.get(lang) for n in compare_tables.notes(c))
    out = []
    for row in compare_tables.figures(c).rows:
        name, a, b, step = row.cells
        same = a[0].text == b[0].text
        values = text(a[0].text, lang) if same else f"{text(a[0].text, lang)} → {text(b[0].text, lang)}"
        change = "" if same or step[0].text.en == "–" else f' <span class="gxp-muted">{text(step[0].text, lang)}</span>'
        origin = origin_html(name[0].origin, lang)
        out.append(
            f'<span><span class="gxp-muted">{text(name[0].text, lang)}</span> <b>{values}</b>{change}{origin}</span>'
        )
    lead = f'<p class="gxp-lead" title="{escape(said, quote=True)}">{text(compare_tables.sentence(c), lang)}</p>'
    return f'{lead}<div class="gxp-head">{"".join(out)}</div>'


def name_html(letter: str, side: CompareSide, lang: str) -> str:
    """Heading of one side."""
    return f'<h4><span class="gxp-abl">{letter}</span>{escape(side.title.get(lang))}</h4>'


def marked(html: str, selected: Iterable[Ref]) -> str:
    """Outline the selected bars of a ready picture."""
    for ref in selected:
        html = html.replace(f'<g class="pick" data-ref="{ref}"', f'<g class="pick on" data-ref="{ref}"')
    return html


def timelines_html(c: Comparison, lang: str, px: int = 1000) -> str:
    """Both timelines on one time axis; bars carry common references."""
    pictures: list[timeline.TimelinePicture | None] = []
    for n, side in enumerate((c.a, c.b)):
        if side.timeline is None:
            pictures.append(None)
            continue
        p = timeline.build(side.state, side.timeline, c.identities(n))
        bars = tuple(replace(b, ref=c.common(n, b.ref)) for b in p.bars)
        gaps = tuple(replace(g, ref=None) for g in p.gaps)  # a gap's event belongs to one side only
        pictures.append(replace(p, bars=bars, gaps=gaps, cores=()))
    if not any(pictures):
        return f'<p class="gxp-note">{text(NO_TIME, lang)}</p>'
    end = max(place(p).end_us for p in pictures if p is not None)
    out = []
    for letter, side, drawn in zip("AB", (c.a, c.b), pictures, strict=True):
        none = f'<p class="gxp-note">{text(NO_TIME, lang)}</p>'
        body = none if drawn is None else svg_timeline.svg(drawn, lang, px, end)
        out.append(f"{name_html(letter, side, lang)}{body}")
    return "".join(out)


def both_lives(c: Comparison) -> tuple[Lives, Lives] | None:
    """Lifetimes of both plans; None where one side has none. Time is the axis only where both have a timeline."""
    timed = c.a.timeline is not None and c.b.timeline is not None
    found = [lives(s.state, c.identities(n), s.timeline if timed else None) for n, s in enumerate((c.a, c.b))]
    return (found[0], found[1]) if found[0] is not None and found[1] is not None else None


def memory_html(c: Comparison, lang: str, px: int = 1000) -> str:
    """Taken bytes of both plans on one axis, then who is new and gone at the peak and what moved."""
    from ge_explorer.views import memory_ab
    from ge_explorer.views.table_html import picture_html

    held = both_lives(c)
    if held is None:
        return f'<p class="gxp-note">{text(NO_MEMORY, lang)}</p>'
    curve = svg_memory_ab.svg(*held, (c.a.title, c.b.title), lang, px)
    d = memory_ab.compare(*held, c.a.title, c.b.title)
    plain_refs = memory_ab.table(replace(d, pairs=tuple(replace(p, ref=None) for p in d.pairs),
        at_peak=tuple(replace(x, largest=tuple(replace(p, ref=None) for p in x.largest)) for x in d.at_peak)))  # fmt: skip
    return curve + picture_html(plain_refs, lang)
