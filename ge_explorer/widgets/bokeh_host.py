"""Bokeh charts inside ipywidgets, offline: BokehJS comes from the installed package, once per page, never from a network.

``jupyter_bokeh`` needs ``window.Bokeh`` before its widget appears and shows a red box otherwise. So the panel's text part asks
Python for the script when the page has none, reports the version it then has, and only after that the chart is put in place.
Nothing of the script is stored in the notebook, and a reloaded page asks again. A version that does not fit is said in words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets as t
from bokeh import __version__ as BOKEH
from bokeh.models import LayoutDOM

from ge_explorer.text import Text
from ge_explorer.views.theme import Theme

STATIC = Path(__file__).parent / "static"

MISMATCH = Text(
    "The page has BokehJS {page}, Python has bokeh {python}: the chart cannot be drawn. "
    "Install the same version on both sides (pip install bokeh=={page}), restart JupyterLab and reload the page.",
    "页面中的 BokehJS 是 {page}，Python 的 bokeh 是 {python}，图无法绘制。"
    "请让两侧版本一致（pip install bokeh=={page}），重启 JupyterLab 并刷新页面。",
)
NO_EXTENSION = Text(
    "The charts need jupyter_bokeh in the kernel's environment and in JupyterLab's: pip install jupyter_bokeh, "
    "then restart JupyterLab.",
    "图表需要内核环境与 JupyterLab 环境中都有 jupyter_bokeh：请执行 pip install jupyter_bokeh，然后重启 JupyterLab。",
)


@cache
def bokehjs() -> str:
    """Source of BokehJS core (plots and layouts; no tables, widgets, WebGL or TeX), about 1.3 MB."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", minified=True, components=["bokeh"]).js_raw)


def mismatch(page: str, python: str = BOKEH) -> Text | None:
    """What to say when the page's BokehJS does not fit Python's bokeh; None when it does.

    BokehJS reads documents of the same major and minor version. Pre-release marks are ignored.
    """
    if page.split(".")[:2] == python.split(".")[:2]:
        return None
    return MISMATCH.format(page=page or "–", python=python)


class PanelHtml(anywidget.AnyWidget):
    """Escaped HTML with clicks. ``clicked`` is ``{"ref": "kind:id", "n": …}``; ``ground`` the colours of the page."""

    _esm = STATIC / "panels.js"
    _css = STATIC / "panels.css"
    name = t.Unicode("").tag(sync=True)
    html = t.Unicode("").tag(sync=True)
    lang = t.Unicode("en").tag(sync=True)
    clicked = t.Dict().tag(sync=True)
    ground = t.Dict().tag(sync=True)
    bokeh = t.Unicode("").tag(sync=True)
    loaded = t.Dict().tag(sync=True)

    def theme(self) -> Theme:
        """Theme of the page as last measured; light before the first measurement."""
        bg, fg = str(self.ground.get("bg", "#ffffff")), str(self.ground.get("fg", "#000000"))
        dark = sum(int(bg[i : i + 2], 16) for i in (1, 3, 5)) < 3 * 128
        return Theme(dark, bg, fg, str(self.ground.get("font") or Theme().font))


class BokehHost:
    """``head`` (text) above a chart. ``make`` builds the chart's root model when the page is ready for it.

    ``widget`` is what to show; until BokehJS is there the head alone is shown.
    """

    def __init__(self, name: str, make: Callable[[], LayoutDOM], side: w.Widget | None = None) -> None:
        self.head = PanelHtml(name=name, bokeh=BOKEH)
        self._make = make
        self._root: LayoutDOM | None = None
        self._chart = w.Box(layout=w.Layout(flex="1 1 0", min_width="0", overflow="hidden"))
        row = w.HBox([self._chart, *([side] if side is not None else [])], layout=w.Layout(align_items="flex-start"))
        self.widget = w.VBox([self.head, row], layout=w.Layout(width="100%", overflow="hidden"))
        self.head.on_msg(self._on_message)
        self.head.observe(self._on_loaded, "loaded")
        self.problem: Text | None = None

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "need-bokehjs":
            self.head.send({"kind": "bokehjs", "code": bokehjs()})

    def _on_loaded(self, change: dict[str, Any]) -> None:
        self.problem = mismatch(str(change["new"].get("version", "")))
        if self.problem is not None:
            self._chart.children = (_banner(self.problem, self.head.lang),)
            return
        self.show_chart()

    def show_chart(self) -> None:
        """Put the chart in place (again): called when the page reports that BokehJS is there."""
        try:
            from jupyter_bokeh import BokehModel
        except ImportError:
            self.problem = NO_EXTENSION
            self._chart.children = (_banner(NO_EXTENSION, self.head.lang),)
            return
        if self._root is None:
            self._root = self._make()
        old = self._chart.children
        if self._root.document is not None:
            self._root.document.remove_root(self._root)
        self._chart.children = (BokehModel(self._root, layout=w.Layout(width="100%")),)
        for child in old:
            child.close()


def _banner(problem: Text, lang: str) -> PanelHtml:
    from html import escape

    return PanelHtml(
        name="banner", lang=lang, html=f'<div class="gxp-banner" role="alert">{escape(problem.get(lang))}</div>'
    )
