"""One HTML file of a comparison: both graphs, figures, differences, timelines, memory; selects and filters without a kernel."""

from __future__ import annotations

from html import escape
from pathlib import Path

from ge_explorer.provenance import GE_RULES_VERSION
from ge_explorer.text import LANGUAGES, Text
from ge_explorer.views import compare_html, compare_tables, svg_graph
from ge_explorer.views.compare_picture import pictures
from ge_explorer.views.comparison import Comparison
from ge_explorer.views.export_html import POLICY, STATIC
from ge_explorer.views.marks import plain
from ge_explorer.views.svg_text import dark_css
from ge_explorer.views.table_html import picture_html, text

ROWS = 2_000
"""Most differences written into a page; it says how many are left out."""
_PARTS = {
    "differences": Text("Differences", "差别"), "timelines": Text("Timelines", "时间线"), "memory": Text("Memory", "内存"),
    "agreement": Text("Agreement with the dump", "与转储的一致程度"),
}  # fmt: skip
_FIND = Text("find", "查找")
_LANG = Text("中文", "EN")
_THEME = Text("Light / dark", "浅色 / 深色")


def export_html(c: Comparison, path: str | Path) -> Path:
    """Write the page to ``path`` (parent folder must exist) and return it."""
    target = Path(path)
    target.write_text(page(c), encoding="utf-8")
    return target


def page(c: Comparison) -> str:
    """The page as text. Both languages are inside; names are escaped; the policy forbids every request."""
    css = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("panels.css", "export.css"))
    script = (STATIC / "export_compare.js").read_text(encoding="utf-8")
    title = escape(plain(f"{c.a.title.en} / {c.b.title.en}"))
    body = "".join(_body(c, lang) for lang in LANGUAGES)
    return (
        '<!doctype html>\n<html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title} · ge_explorer</title><style>{css}{dark_css()}</style></head>"
        f'<body class="gxp" data-gx-state="loading">{body}<script>{script}</script></body></html>\n'
    )


def _body(c: Comparison, lang: str) -> str:
    """Everything in one language."""
    find = text(_FIND, lang)
    top = (
        f'<header class="gx-bar"><h1>A / B</h1><span class="gx-sp"></span>'
        f'<button type="button" data-act="lang">{text(_LANG, lang)}</button>'
        f'<button type="button" data-act="theme">{text(_THEME, lang)}</button></header>'
    )
    graphs = ""
    for letter, side, p in zip("AB", (c.a, c.b), pictures(c), strict=True):
        graphs += f'<div class="gx-ab-side">{compare_html.name_html(letter, side, lang)}<div class="gx-wide">'
        graphs += svg_graph.svg(p, -1, lang=lang) + "</div></div>"
    parts = [_section("differences", f'<label class="gxp-note">{find} <input type="search" data-find aria-label="{find}"></label>'
                      + picture_html(compare_tables.differences(c, limit=ROWS), lang), lang)]  # fmt: skip
    parts.append(_section("timelines", compare_html.timelines_html(c, lang), lang))
    parts.append(_section("memory", compare_html.memory_html(c, lang), lang))
    found = compare_tables.agreement(c)
    if found is not None:
        parts.append(_section("agreement", picture_html(found, lang), lang))
    rules = text(Text(f"GE rules: {GE_RULES_VERSION}", f"GE 规则：{GE_RULES_VERSION}"), lang)
    hidden = "" if lang == "en" else " hidden"
    return (
        f'<main data-lang="{lang}" lang="{lang}"{hidden}>{top}<div class="gxp-body">{compare_html.head_html(c, lang)}</div>'
        f'<div class="gx-ab-row">{graphs}</div><div class="gxp-body">{"".join(parts)}</div>'
        f'<footer class="gx-foot"><span>{rules}</span></footer></main>'
    )


def _section(key: str, html: str, lang: str) -> str:
    return f'<section data-part="{key}"><h3>{text(_PARTS[key], lang)}</h3>{html}</section>'
