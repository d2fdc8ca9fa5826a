"""The graph canvas: an anywidget that draws a ``GraphPicture`` on Canvas 2D in the browser.

Traits that others set and observe
----------------------------------
``step``      int, index of the snapshot shown: -1 is the state before the first step, 0 the state after step 0.
``compare``   int, second step of a comparison; events removed between the two are drawn grey with a cross. -2: none.
``layout_mode`` "lanes" (one lane per stream) or "layered" (left to right by dependency).
``selected``  list of reference strings: "node:12", "event:3" (``Event.uid``), "stream:0" (GE's number at ``step``).
              A click in the browser replaces it; setting it from Python outlines the same things.
``lang``      "en" or "zh".
``height``    int, pixels of the drawing (304 in the explorer).
``fold``      "", "functions" or "scopes"; ``flipped``: keys of instances that are the other way. The browser writes both on a
              gesture; whoever shows the picture observes them and shows one that is folded so. ``foldable``: offer that.
``linked``    bool: panning and zooming are written to ``viewport`` (scale and place of the x axis, vertical scale), so that a
              second canvas of the same columns, linked in the browser, moves along.

Traits written by ``show`` only (one picture = one message; ``GraphPicture.traits()`` makes exactly this mapping)
----------------------------------------------------------------------------------------------------------------
``meta``      dict, JSON: node ids, names, types, streams, steps, frames, texts (see ``views/picture.py``).
``positions`` bytes, float32 ``[frame][lanes, layered][node][x, y]``: centres in world units, NaN where not drawn.
``edges``     bytes, uint32 ``[edge][src, dst, kind]``: indices into the node table; kind 0 data, 1 control.
``routes``    bytes, float32 ``[x, y]`` corner points of all edges and events; ``route_index`` says which are whose.
``route_index`` bytes, uint32 ``[route + 1]``: first corner of each route. Edges of (frame, lanes), (frame, layered), then events.
``palette``   bytes, uint8 or uint16 ``[step + 1][node]``: index of the stream identity; largest value: node absent,
              largest - 1: no stream. Row 0 is the state before the first step, so stepping needs no message to Python.

Hover, zoom, pan and the tooltip stay in the browser. ``static/canvas.js`` uses ``model.get/on/off/set/save_changes`` only and
exports ``mountGraph(el, model)`` (returns a clean-up function) and ``stubModel(state)`` for pages without a kernel;
the root element carries ``data-gx-state`` ("ready" after the first paint), ``data-gx-step``, ``data-gx-layout``,
``data-gx-theme`` and ``data-gx-selected`` (references joined by a space) for tests.
"""

from __future__ import annotations

from typing import Any

import anywidget
from traitlets import Bool, Bytes, Dict, Float, Int, List, Unicode

from ge_explorer.trace.trace import Trace
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.graph import build
from ge_explorer.views.palette import Identities
from ge_explorer.views.picture import NO_COMPARE, GraphPicture, LayoutName, canvas_script


class GraphCanvas(anywidget.AnyWidget):
    """Graph of a trace at every step; see the module text for its traits. Empty until ``show`` or ``show_picture``."""

    _esm = canvas_script()

    step = Int(-1).tag(sync=True)
    compare = Int(NO_COMPARE).tag(sync=True)
    layout_mode = Unicode("lanes").tag(sync=True)
    selected = List(Unicode()).tag(sync=True)
    lang = Unicode("en").tag(sync=True)
    height = Int(304).tag(sync=True)
    linked = Bool(False).tag(sync=True)
    viewport = List(Float()).tag(sync=True)
    foldable = Bool(False).tag(sync=True)
    fold = Unicode("").tag(sync=True)
    flipped = List(Unicode()).tag(sync=True)
    meta = Dict().tag(sync=True)
    positions = Bytes(b"").tag(sync=True)
    edges = Bytes(b"").tag(sync=True)
    routes = Bytes(b"").tag(sync=True)
    route_index = Bytes(b"").tag(sync=True)
    palette = Bytes(b"").tag(sync=True)

    _version = 0

    def show(self, trace: Trace, identities: Identities | None = None) -> None:
        """Draw another trace; step, comparison, layout and selection stay as they are."""
        self.show_picture(build(trace, identities=identities))

    def show_picture(self, picture: GraphPicture) -> None:
        """Send a picture in one message. ``step``, ``compare`` and ``layout_mode`` are not touched."""
        traits = picture.traits()
        self._version += 1
        traits["meta"]["version"] = self._version  # a picture whose words are the same must still count as changed
        with self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)


def graph(
    trace: Trace,
    *,
    step: int | None = None,
    compare: int | None = None,
    layout: LayoutName = "lanes",
    selected: tuple[str, ...] = (),
    lang: str = "en",
    height: int = 304,
    identities: Identities | None = None,
    fold: str = "",
) -> Any:
    """The canvas alone in a notebook cell; ``step`` None shows the last one. ``fold``: "functions" or "scopes" as boxes."""
    picture = build(trace, step, compare, layout, identities, folding=Folding(fold))
    canvas = GraphCanvas(
        step=picture.step,
        compare=picture.compare,
        layout_mode=layout,
        selected=list(selected),
        lang=lang,
        height=height,
        foldable=True,
        fold=fold,
    )
    canvas.show_picture(picture)

    def again(_change: object) -> None:
        given = Folding(canvas.fold, frozenset(canvas.flipped))
        canvas.show_picture(build(trace, canvas.step, canvas.compare, layout, identities, folding=given))

    canvas.observe(again, ["fold", "flipped"])
    return canvas
