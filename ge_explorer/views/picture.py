"""Picture model of the graph canvas: plain arrays and small lists, the same for the browser, the SVG writer and exports."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ge_explorer.text import Text
from ge_explorer.views.palette import StreamIdentity, hatch, swatch

LayoutName = Literal["lanes", "layered"]
LAYOUTS: tuple[LayoutName, ...] = ("lanes", "layered")
NO_COMPARE = -2
"""Value of ``compare`` when there is no second step."""
KIND_OP, KIND_DATA, KIND_CONST, KIND_SYNC, KIND_BOX = 0, 1, 2, 3, 4
EDGE_DATA, EDGE_CONTROL, EDGE_LONG = 0, 1, 4
"""Kinds of an edge; ``EDGE_LONG`` is a flag on top: drawn faded in the layered layout."""

_SCRIPTS = ("canvas_theme.js", "canvas_data.js", "canvas_draw.js", "canvas.js")


@dataclass(frozen=True, slots=True)
class Fold:
    """Pill that stands for nodes not drawn one by one in the lane layout. Centre and width in world units."""

    x: float
    y: float
    width: float
    text: Text
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BoxPicture:
    """A node that stands for a folded instance, or for its part on one stream: ``members`` of ``total`` node ids."""

    key: str
    title: str
    type: str
    members: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Insides:
    """What can be folded. ``kinds``: offered values of ``fold``; ``rows``: (key, title, type, row of the parent or -1) of every
    instance; ``inner``: row of the innermost instance of each drawn node, -1 none.
    """

    kinds: tuple[str, ...]
    fold: str
    flipped: tuple[str, ...]
    rows: tuple[tuple[str, str, str, int], ...]
    inner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaneBand:
    """Lane from ``top`` to ``bottom`` (world units); ``key`` is the identity index, -1 for "no stream"."""

    key: int
    top: float
    bottom: float


@dataclass(frozen=True, eq=False)
class Routes:
    """Corner points of routes; route i is ``points[index[i]:index[i + 1]]`` and may be empty (not drawn)."""

    points: NDArray[np.float32]
    index: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.index) - 1

    def __getitem__(self, i: int) -> NDArray[np.float32]:
        return self.points[self.index[i] : self.index[i + 1]]


@dataclass(frozen=True, eq=False)
class Frame:
    """Everything that depends on the graph structure only, hence is shared by the steps between two rewrites.

    ``positions`` float32 [layout, node, 2], centres, NaN where not drawn; ``edges`` uint32 [edge, 3] = src, dst, kind;
    ``edge_routes`` and ``event_routes`` one ``Routes`` per layout; ``size`` width and height per layout.
    """

    positions: NDArray[np.float32]
    edges: NDArray[np.uint32]
    edge_routes: tuple[Routes, Routes]
    event_routes: tuple[Routes, Routes]
    size: tuple[tuple[float, float], tuple[float, float]]
    lanes: tuple[LaneBand, ...]
    folds: tuple[Fold, ...] = ()


@dataclass(frozen=True, slots=True)
class EventPicture:
    """One event as drawn: identity, end nodes (indices into the node table), kind, cause key."""

    uid: int
    src: int
    dst: int
    kind: str
    cause: str


@dataclass(frozen=True, eq=False)
class StepPicture:
    """State after one step. ``streams`` (identity, GE number, nodes) per stream; ``events`` (index, GE id) of those alive."""

    name: str
    title: Text
    frame: int
    streams: tuple[tuple[int, int, int], ...]
    events: tuple[tuple[int, int], ...]
    alt: Text


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """The graph at every step. ``palette`` is [step + 1, node]: identity index, ``absent`` or ``no_stream``.

    Node tables are indexed by position in ``ids`` (node ids of all steps, ascending). ``rules`` says per event ``uid`` why it
    was removed. ``step``, ``compare`` and ``layout`` are what to show first.
    """

    title: str
    ids: tuple[int, ...]
    names: tuple[str, ...]
    ops: tuple[str, ...]
    kinds: NDArray[np.uint8]
    identities: tuple[StreamIdentity, ...]
    palette: NDArray[np.uint8] | NDArray[np.uint16]
    frames: tuple[Frame, ...]
    steps: tuple[StepPicture, ...]
    events: tuple[EventPicture, ...]
    rules: Mapping[int, Text] = field(default_factory=dict)
    step: int = -1
    compare: int = NO_COMPARE
    layout: LayoutName = "lanes"
    marks: Mapping[int, str] = field(default_factory=dict)
    """Row of the node table -> sign drawn at its corner (``+ − ~ →``); nodes without one are drawn faint when there are any."""
    boxes: Mapping[int, BoxPicture] = field(default_factory=dict)
    """Row of the node table -> the folded instance drawn there."""
    insides: Insides | None = None
    alone: bool = False
    """One state and no steps: a lane without nodes is "not here" instead of "not at this step"."""

    @property
    def absent(self) -> int:
        """Palette value of a node that does not exist at a step."""
        return int(np.iinfo(self.palette.dtype).max)

    @property
    def no_stream(self) -> int:
        """Palette value of a node without a stream."""
        return self.absent - 1

    def state(self, step: int) -> StepPicture:
        """Picture of the state after ``step`` (-1: before the first)."""
        return self.steps[step + 1]

    def alt(self, step: int) -> Text:
        """One generated sentence that says what the picture shows after ``step``."""
        return self.state(step).alt

    def traits(self) -> dict[str, Any]:
        """The widget's picture traits: ``meta`` (JSON-able) and the binary ones (see ``widgets/canvas.py``)."""
        edges, positions, points, frames = [], [], [], []
        counts: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        edge_at = route_at = 0
        for f in self.frames:
            starts: dict[str, list[int]] = {}
            for k, name in enumerate(LAYOUTS):
                starts[name] = [route_at, route_at + len(f.edge_routes[k])]
                for r in (f.edge_routes[k], f.event_routes[k]):
                    points.append(r.points)
                    counts.append(r.index[1:].astype(np.int64) - r.index[:-1].astype(np.int64))
                    route_at += len(r)
            frames.append(
                {
                    "edges": [edge_at, len(f.edges)],
                    "routes": starts,
                    "size": dict(zip(LAYOUTS, [list(s) for s in f.size], strict=True)),
                    "lanes": [{"key": x.key, "top": x.top, "bottom": x.bottom} for x in f.lanes],
                    "folds": [
                        {"x": x.x, "y": x.y, "w": x.width, "text": _both(x.text), "nodes": list(x.nodes)}
                        for x in f.folds
                    ],
                }
            )
            edges.append(f.edges)
            positions.append(f.positions)
            edge_at += len(f.edges)
        flat = np.concatenate(points) if points else np.zeros((0, 2), np.float32)
        meta = {
            "title": self.title,
            "ids": list(self.ids),
            "names": list(self.names),
            "ops": list(self.ops),
            "kinds": self.kinds.tolist(),
            "absent": self.absent,
            "streams": [_stream(x) for x in self.identities],
            "events": [[e.uid, e.src, e.dst, e.kind, e.cause] for e in self.events],
            "rules": {str(k): _both(t) for k, t in self.rules.items()},
            "steps": [
                {
                    "name": s.name,
                    "title": _both(s.title),
                    "frame": s.frame,
                    "streams": [list(x) for x in s.streams],
                    "events": [list(x) for x in s.events],
                    "alt": _both(s.alt),
                }
                for s in self.steps
            ],
            "frames": frames,
            **({"alone": True} if self.alone else {}),
            **({"boxes": {str(k): _box(b) for k, b in self.boxes.items()}} if self.boxes else {}),
            **({"insides": _inside(self.insides)} if self.insides is not None else {}),
            **({"marks": {str(k): v for k, v in self.marks.items()}} if self.marks else {}),
        }
        return {
            "meta": meta,
            "positions": np.concatenate(positions).astype("<f4").tobytes() if positions else b"",
            "edges": np.concatenate(edges).astype("<u4").tobytes() if edges else b"",
            "routes": flat.astype("<f4").tobytes(),
            "route_index": np.cumsum(np.concatenate(counts)).astype("<u4").tobytes(),
            "palette": np.ascontiguousarray(self.palette).astype(self.palette.dtype.newbyteorder("<")).tobytes(),
        }

    def state_json(self, lang: str = "en") -> dict[str, Any]:
        """All traits for a page without a kernel: JSON-able, bytes as ``{"base64": …}``; feed it to ``stubModel`` in canvas.js."""
        out: dict[str, Any] = {
            k: {"base64": base64.b64encode(v).decode("ascii")} if isinstance(v, bytes) else v
            for k, v in self.traits().items()
        }
        out.update(step=self.step, compare=self.compare, layout_mode=self.layout, selected=[], lang=lang, height=304)
        return out


def canvas_script() -> str:
    """The canvas as one ES module (default export ``{render}``, named ``mountGraph`` and ``stubModel``): files joined in order."""
    folder = Path(__file__).parent.parent / "widgets" / "static"
    return "\n".join((folder / name).read_text("utf-8") for name in _SCRIPTS)


def _both(t: Text) -> dict[str, str]:
    return {"en": t.en, "zh": t.get("zh")}


def _box(b: BoxPicture) -> dict[str, Any]:
    return {"key": b.key, "title": b.title, "type": b.type, "members": list(b.members), "total": b.total}


def _inside(x: Insides) -> dict[str, Any]:
    return {
        "kinds": list(x.kinds), "fold": x.fold, "flipped": list(x.flipped), "rows": [list(r) for r in x.rows],
        "inner": list(x.inner),
    }  # fmt: skip


def _stream(x: StreamIdentity) -> dict[str, Any]:
    colour = swatch(x.index)
    return {
        "letter": x.letter,
        "role": _both(x.role),
        "engine": x.engine,
        "label": x.label,
        "light": colour.light,
        "dark": colour.dark,
        "hatch": hatch(x.index),
    }
