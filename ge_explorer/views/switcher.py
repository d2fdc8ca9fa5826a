"""The switch between the views of one panel, its buttons and selects, as HTML with ``data-do`` (see static/panels.js)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from ge_explorer.text import Text
from ge_explorer.views.table_html import text


def switch_html(views: Mapping[str, Text], current: str, lang: str, beside: str = "") -> str:
    """Buttons, one pressed. A click says ``do = view``, ``value`` the key. ``beside``: ready HTML at their right."""
    pressed = {k: "true" if k == current else "false" for k in views}
    buttons = "".join(
        f'<button type="button" data-do="view" data-value="{escape(k)}" aria-pressed="{pressed[k]}">{text(t, lang)}</button>'
        for k, t in views.items()
    )
    return f'<div class="gxp-seg"><span role="group">{buttons}</span>{beside}</div>'


def button_html(do: str, label: Text, lang: str, *, disabled: bool = False) -> str:
    """A button of its own."""
    off = " disabled" if disabled else ""
    return f'<span><button type="button" data-do="{escape(do)}"{off}>{text(label, lang)}</button></span>'


def select_html(do: str, label: Text, options: Iterable[tuple[str, Text]], current: str, lang: str) -> str:
    """A labelled select; a change says ``do`` and the value."""
    items = "".join(
        f'<option value="{escape(k, quote=True)}"{" selected" if k == current else ""}>{text(t, lang)}</option>'
        for k, t in options
    )
    return f'<label>{text(label, lang)}<select data-do="{escape(do)}">{items}</select></label>'
