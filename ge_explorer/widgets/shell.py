"""The shell around the graph as anywidgets: one module, one widget per part of the screen (see static/shell.js)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import anywidget
from traitlets import Bool, Dict, Int, List, Unicode

from ge_explorer.views.selection_state import NO_COMPARE

Part = Literal["top", "tabs", "inspector", "state", "status"]
STATIC = Path(__file__).parent / "static"


def shell_module() -> str:
    """JavaScript of all parts as one ES module (exports ``mountShell``, ``stubShellModel``, ``linkModels`` and ``default``)."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in ("shell.js", "shell_parts.js"))


def shell_css() -> str:
    """Style sheet of shell and explorer, scoped under ``.gx``."""
    return (STATIC / "gx.css").read_text(encoding="utf-8")


class ShellPart(anywidget.AnyWidget):
    """One part of the shell.

    ``data`` is the part's JSON model: top ``{toolbar, figures, strip, share, version}``, tabs ``{tabs}``, inspector as
    ``Inspector.model``, state as ``failure_model`` / ``why_one_stream`` plus ``kind``, status ``{label, sentence, rules}``.
    ``step``, ``compare``, ``selected``, ``layout``, ``lang`` have the meaning of the canvas's traits, so that the browser can link
    them. ``quiet``: unchanged steps are folded. ``intents`` and ``ack`` carry gestures to Python (see static/shell.js).
    The root element carries ``data-gx-state`` (busy while a gesture is computed, then ready), ``data-gx-step``,
    ``data-gx-strength``, ``data-gx-selected`` and ``data-gx-version``.
    """

    _esm = shell_module()
    _css = shell_css()

    part = Unicode("top").tag(sync=True)
    data = Dict().tag(sync=True)
    step = Int(-1).tag(sync=True)
    compare = Int(NO_COMPARE).tag(sync=True)
    selected = List(Unicode()).tag(sync=True)
    strength = Unicode("").tag(sync=True)
    lang = Unicode("en").tag(sync=True)
    layout_mode = Unicode("lanes").tag(sync=True)
    tab = Unicode("timeline").tag(sync=True)
    query = Unicode("").tag(sync=True)
    quiet = Bool(True).tag(sync=True)
    intents = List(Dict()).tag(sync=True)
    ack = Int(0).tag(sync=True)
    download = Dict().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.taken = self.ack

    def take_intents(self) -> list[dict[str, Any]]:
        """Gestures not taken yet, in order. Set ``ack`` to ``taken`` once what they changed has been drawn."""
        new = [i for i in self.intents if i.get("n", 0) > self.taken]
        if new:
            self.taken = int(new[-1]["n"])
        return new
