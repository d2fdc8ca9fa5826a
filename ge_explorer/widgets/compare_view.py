"""Compare view: figures, both graphs in aligned lanes, and below them differences, timelines, memory or agreement; one selection.

Selections are common ids (see ``views/comparison.py``): both canvases, the table and the timelines are given the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from ge_explorer.ids import Ref
from ge_explorer.text import Text
from ge_explorer.views import compare_html, compare_tables
from ge_explorer.views.compare_picture import EVENT_SHIFT, pictures
from ge_explorer.views.comparison import Comparison
from ge_explorer.views.switcher import button_html, select_html, switch_html
from ge_explorer.views.table_html import picture_html, text
from ge_explorer.widgets.bokeh_host import PanelHtml
from ge_explorer.widgets.canvas import GraphCanvas
from ge_explorer.widgets.panels.context import OnSelect
from ge_explorer.widgets.panels.table_panel import clicked_ref

VIEWS: Mapping[str, Text] = {
    "differences": Text("Differences", "差别"),
    "timelines": Text("Timelines", "时间线"),
    "memory": Text("Memory", "内存"),
    "agreement": Text("Agreement with the dump", "与转储的一致程度"),
}
_FIND = Text("find", "查找")
_KIND = Text("show", "显示")
_EXPORT = Text("Export as HTML", "导出 HTML")
_SAME_GRAPH = 4_000
"""Nodes up to which both graphs are drawn; above, figures and tables serve."""
_LOWEST, _AROUND = 190, 84
"""Least height of a graph, and what its bars take beside the lanes, in px; ``height`` is the most."""
_TOO_LARGE = Text(
    "Above {n} nodes the two graphs are not drawn side by side; figures and table hold everything.",
    "节点超过 {n} 时不并排绘制两张图；数字与表格包含全部内容。",
)


class CompareView:
    """``widget`` shows ``comparison``; ``show`` exchanges it. ``view`` is the open part below the graphs.

    ``on_select`` is told references that B knows, ``on_view`` the part that was opened. ``short``: figures in one line.
    """

    def __init__(
        self, on_select: OnSelect | None = None, *, lang: str = "en", view: str = "", height: int = 260,
        on_view: Callable[[str], None] | None = None, short: bool = False,
    ) -> None:  # fmt: skip
        self.on_select, self.on_view, self.lang, self.height = on_select, on_view, lang, height
        self.short = short
        self.view = view if view in VIEWS else "differences"
        self.kind, self.query = "", ""
        self.selected: tuple[Ref, ...] = ()
        self.comparison: Comparison | None = None
        self.head = PanelHtml(name="compare-head")
        self.body = PanelHtml(name="compare")
        self.names = [PanelHtml(name=f"compare-{x}") for x in "ab"]
        self.graphs = [GraphCanvas(step=-1, linked=True) for _ in "ab"]
        columns = []
        for name, canvas in zip(self.names, self.graphs, strict=True):
            column = w.VBox([name, canvas])
            column.add_class("gx-ab-side")
            columns.append(column)
        self.row = w.Box(columns)
        self.row.add_class("gx-ab-row")
        self.widget = w.VBox([self.head, self.row, self.body], layout=w.Layout(width="100%", overflow="hidden"))
        self.widget.add_class("gx-ab")
        self._links = [w.jslink((self.graphs[0], n), (self.graphs[1], n)) for n in ("viewport", "layout_mode")]
        for side, canvas in enumerate(self.graphs):
            canvas.observe(lambda change, side=side: self._canvas(side, change), "selected")
        self.body.observe(self._clicked, "clicked")
        self.body.observe(self._sized, "ground")
        self._drawn: Comparison | None = None
        self._quiet = False

    # ---------------------------------------------------------------- showing
    def show(self, comparison: Comparison, lang: str | None = None) -> None:
        """Show another comparison, or the same in another language."""
        self.comparison = comparison
        self.lang = lang or self.lang
        self.update()

    def update(self) -> None:
        """Bring every part up to date; what did not change sends nothing."""
        c = self.comparison
        if c is None:
            return
        lang = self.lang
        for part in (self.head, self.body, *self.names, *self.graphs):
            part.lang = lang
        self.head.html = (compare_html.short_head_html if self.short else compare_html.head_html)(c, lang)
        small = max(len(c.a.state.graph), len(c.b.state.graph)) <= _SAME_GRAPH
        if self._drawn is not c and small:
            drawn = pictures(c)
            tall = drawn[0].frames[0].size[0][1]
            for canvas, picture in zip(self.graphs, drawn, strict=True):
                canvas.height = int(min(self.height, max(_LOWEST, tall + _AROUND)))
                canvas.show_picture(picture)
        self._drawn = c
        children: tuple[Any, ...] = (self.head, *((self.row,) if small else ()), self.body)
        if self.widget.children != children:
            self.widget.children = children
        for n, (part, side) in enumerate(zip(self.names, (c.a, c.b), strict=True)):
            part.html = compare_html.name_html("AB"[n], side, lang)
        self._quiet = True
        for n, canvas in enumerate(self.graphs):
            refs = [str(r) for r in self._for_side(n)]
            if canvas.selected != refs:
                canvas.selected = refs
        self._quiet = False
        note = "" if small else f'<p class="gxp-note">{text(_TOO_LARGE.format(n=_SAME_GRAPH), lang)}</p>'
        self.body.html = note + self._bar() + self._part(c)

    def _bar(self) -> str:
        lang = self.lang
        shown = {k: t for k, t in VIEWS.items() if k != "agreement" or (self.comparison and self.comparison.agreement)}
        beside = ""
        if self.view == "differences":
            beside = select_html("kind", _KIND, compare_tables.KINDS.items(), self.kind, lang)
            beside += find_html(self.query, lang)
        return switch_html(shown, self.view, lang, beside + button_html("export", _EXPORT, lang))

    @property
    def _px(self) -> int:
        """Width of the pictures: that of the page as last measured."""
        wide = self.body.ground.get("w")
        return min(1600, max(440, wide - 24)) if isinstance(wide, int) and wide > 0 else 1000

    def _sized(self, _change: object) -> None:
        if self.view in ("timelines", "memory"):
            self.update()

    def _part(self, c: Comparison) -> str:
        lang = self.lang
        if self.view == "timelines":
            return compare_html.marked(compare_html.timelines_html(c, lang, self._px), self.selected)
        if self.view == "memory":
            return compare_html.memory_html(c, lang, self._px)
        if self.view == "agreement":
            found = compare_tables.agreement(c)
            if found is None:
                return f'<p class="gxp-note">{text(compare_html.NO_DUMP, lang)}</p>'
            return picture_html(found, lang, self.selected)
        return picture_html(compare_tables.differences(c, self.kind, self.query), lang, self.selected)

    # ---------------------------------------------------------------- selection
    def select(self, refs: tuple[Ref, ...], *, tell: bool = True) -> None:
        """Select in both graphs, the table and the timelines; ``on_select`` hears what B knows."""
        if refs == self.selected:
            return
        self.selected = refs
        self.update()
        c = self.comparison
        if tell and self.on_select is not None and c is not None:
            known = tuple(r for r in refs if not (r.kind == "node" and r.id >= c.bound) and r.id < EVENT_SHIFT)
            self.on_select(known)

    def _for_side(self, side: int) -> list[Ref]:
        """Streams are held as B's numbers; A's number is that of the same letter."""
        c = self.comparison
        if side or c is None or not any(r.kind == "stream" for r in self.selected):
            return list(self.selected)
        mine = {x.letter: s for s, x in c.identities(0).items()}
        theirs = c.identities(1)
        out = []
        for r in self.selected:
            if r.kind != "stream":
                out.append(r)
            elif r.id in theirs and theirs[r.id].letter in mine:
                out.append(Ref("stream", mine[theirs[r.id].letter]))
        return out

    def _canvas(self, side: int, change: Any) -> None:
        c = self.comparison
        if self._quiet or c is None:
            return
        refs = []
        letters = {x.letter: s for s, x in c.identities(1).items()}
        for said in change["new"]:
            try:
                ref = Ref.parse(str(said))
            except ValueError:
                continue
            if ref.kind == "stream" and side == 0:
                mine = c.identities(0).get(ref.id)
                ref = Ref("stream", letters.get(mine.letter if mine is not None else "", EVENT_SHIFT + ref.id))
            refs.append(ref)
        self.select(tuple(refs))

    def _clicked(self, change: Any) -> None:
        do, value = str(change["new"].get("do", "")), str(change["new"].get("value", ""))
        if not do:
            ref = clicked_ref(change["new"])
            if ref is not None and ref.kind in ("node", "event"):
                self.select((ref,))
            return
        if do == "view" and value in VIEWS:
            self.view = value
            if self.on_view is not None:
                self.on_view(value)
        elif do == "kind" and value in compare_tables.KINDS:
            self.kind = value
        elif do == "find":
            self.query = value[:200]
        elif do == "export" and self.comparison is not None:
            from ge_explorer.views.export_compare import page

            self.body.send(
                {"kind": "download", "name": "comparison.html", "mime": "text/html", "text": page(self.comparison)}
            )
        self.update()


def find_html(query: str, lang: str) -> str:
    """Search field of the table; Enter or leaving it sends ``find``."""
    from html import escape

    label = text(_FIND, lang)
    return f'<label>{label}<input type="search" data-do="find" value="{escape(query, quote=True)}" aria-label="{label}"></label>'


def show_compare(comparison: Comparison, lang: str = "en", view: str = "", height: int = 420) -> Any:
    """The compare view alone in a cell. ``view``: differences, timelines, memory, agreement."""
    shown = CompareView(lang=lang, view=view, height=height)
    shown.show(comparison)
    shown.widget.add_class("gx-alone")
    shown.widget._gx_view = shown  # kept alive with what is displayed
    return shown.widget
