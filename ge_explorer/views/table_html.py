"""Table pictures as HTML: figures line, then accessible tables. Every text is escaped; nothing here can run.

Rows and names that select something carry ``data-ref="kind:id"``; the page or widget around it listens for clicks.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ge_explorer.ids import Ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import Mark
from ge_explorer.views.palette import hatch
from ge_explorer.views.table import Figure, Part, Row, Table, TablePicture

_MORE = Text("{n} more are not listed.", "另有 {n} 行未列出。")


def text(value: Text, lang: str) -> str:
    """Escaped text in one language."""
    return escape(value.get(lang))


def origin_html(origin: Origin | None, lang: str) -> str:
    """Origin mark with its word for the tooltip and for screen readers."""
    if origin is None:
        return ""
    word = text(origin.text, lang)
    return f'<span class="gxp-o" title="{word}" role="img" aria-label="{word}">{origin.mark}</span>'


def mark_html(m: Mark) -> str:
    """Stream mark: solid edge, tint, hatch and letter."""
    if m.index < 0:
        return ""
    return f'<span class="gxp-m gxp-c{m.index % 8} gxp-h-{hatch(m.index)}">{escape(m.letter)}</span>'


def picture_html(p: TablePicture, lang: str = "en", selected: Iterable[Ref] = (), head: str = "") -> str:
    """Whole panel. ``head`` is ready HTML put before the figures."""
    chosen = set(selected)
    parts = [head, figures_html(p.figures, lang)]
    parts += [table_html(t, lang, chosen) for t in p.tables]
    parts += [f'<p class="gxp-note">{text(n, lang)}</p>' for n in p.notes]
    return "".join(parts)


def figures_html(figures: Iterable[Figure], lang: str) -> str:
    """Line of numbers with what they count."""
    out = []
    for f in figures:
        if f.link:
            out.append(f'<span class="gxp-link">{escape(f.link)}</span>')
        tone = " gxp-error" if f.tone == "error" else ""
        out.append(
            f'<span class="gxp-fig{tone}"><b>{text(f.value, lang)}</b>{origin_html(f.origin, lang)}'
            f"<span>{text(f.label, lang)}</span></span>"
        )
    return f'<div class="gxp-figs">{"".join(out)}</div>' if out else ""


def table_html(t: Table, lang: str = "en", selected: set[Ref] | None = None) -> str:
    """One table; says so when it is empty or cut."""
    chosen = selected or set()
    title = text(t.title, lang)
    if not t.rows:
        return f'<p class="gxp-note">{text(t.empty, lang)}</p>'
    head = "".join(f'<th scope="col" class="{_class(c.align, c.nowrap)}">{text(c.title, lang)}</th>' for c in t.columns)
    body = "".join(_row(r, t, lang, chosen) for r in t.rows)
    more = f'<p class="gxp-note">{text(_MORE.format(n=t.left_out), lang)}</p>' if t.left_out else ""
    return (
        f'<table class="gxp-t" aria-label="{title}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'
    )


def _class(align: str, nowrap: bool) -> str:
    return " ".join(n for n, on in (("gxp-r", align == "right"), ("gxp-nw", nowrap)) if on)


def _row(r: Row, t: Table, lang: str, chosen: set[Ref]) -> str:
    picked = bool(chosen) and (r.ref in chosen or any(x in chosen for x in r.refs))
    names = [f"gxp-{r.tone}"] if r.tone else []
    ref = f' data-ref="{r.ref}" tabindex="0"' if r.ref is not None else ""
    state = ' aria-selected="true"' if picked else ""
    cells = "".join(
        f'<td class="{_class(c.align, c.nowrap)}">{"".join(_part(p, lang) for p in parts)}</td>'
        for c, parts in zip(t.columns, r.cells, strict=True)
    )
    return f'<tr class="{" ".join(names)}"{ref}{state}>{cells}</tr>'


def _part(p: Part, lang: str) -> str:
    names = [n for n, on in (("gxp-code", p.code), (f"gxp-{p.tone}", bool(p.tone)), ("gxp-nl", p.new_line)) if on]
    mark = mark_html(p.mark) if p.mark is not None else ""
    ref = f' data-ref="{p.ref}"' if p.ref is not None else ""
    cls = f' class="{" ".join(names)}"' if names else ""
    return f"<span{cls}{ref}>{mark}{text(p.text, lang)}{origin_html(p.origin, lang)}</span> "
