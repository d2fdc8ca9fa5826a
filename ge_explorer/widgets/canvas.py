"""The graph canvas: an anywidget that draws a ``GraphPicture`` on Canvas 2D in the browser.

Traits that others set and observe
----------------------------------
``step``      int, index of the snapshot shown: -1 is the state before the first step, 0 the state after step 0.
``compare``   int, second step of a comparison; events removed between the two are drawn grey with a cross. -2: none.
``layout``    "lanes" (one lane per stream) or "layered" (left to right by dependency).
``selected``  list of reference strings: "node:12", "event:3" (``Event.uid``), "stream:0" (GE's number at ``step``).
              A click in the browser replaces it; setting it from Python outlines the same things.
``lang``      "en" or "zh".
``height``    int, pixels of the drawing (304 in the explorer).

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
the root element carries ``data-gx-state`` ("ready" after the first paint), ``data-gx-step``, ``data-gx-layout`` and
``data-gx-selected`` (references joined by a space) for tests.
"""
