"""What a compiler dump says beyond the graph: order, streams, events, offsets, options. Plain data by node and tensor id.

``ge_explorer.trace.recorded`` makes a Snapshot of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal


def _none() -> Any:
    return field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event of a dump. ``send``/``recv`` are the operators it orders, ``send_node``/``recv_node`` the Send and Recv nodes
    in the graph (-1: the dump lists the event at the operators themselves).
    """

    id: int
    send: int
    recv: int
    send_stream: int
    recv_stream: int
    kind: Literal["event", "notify"] = "event"
    send_node: int = -1
    recv_node: int = -1


@dataclass(frozen=True, slots=True)
class BufferLine:
    """One buffer of a GE memory log (``[IMAS]Set``). Bytes; ``begin``/``end`` are topological ids; ``ends`` all end entries."""

    graph: str
    name: str
    op: str
    kind: str
    index: int
    offset: int
    stream: int
    memory_type: int
    size: int
    real_size: int
    no_align_size: int
    begin: int
    end: int
    ends: tuple[tuple[int, int], ...] = ()
    first_stream: int | None = None
    flags: str = ""
    is_ref: bool = False
    batch: str = ""
    block_type: str = ""
    line: int = 0


@dataclass(frozen=True, eq=False)
class Recorded:
    """Facts of a dump by id. An empty mapping: the dump does not say it.

    ``streams`` are the ids as written (physical after the split), ``logic_streams`` those before the split; ``offsets`` and
    ``sizes`` are bytes per tensor, ``workspace`` (offset, bytes) per node; ``model`` the model's own attributes, ``options``
    the compile options; ``buffers`` the lines of a memory log; ``stage`` the place in the compilation, when known.
    """

    order: Mapping[int, int] = _none()
    streams: Mapping[int, int] = _none()
    logic_streams: Mapping[int, int] = _none()
    attached: Mapping[int, tuple[int, ...]] = _none()
    events: tuple[RecordedEvent, ...] = ()
    active: Mapping[int, tuple[int, ...]] = _none()
    offsets: Mapping[int, int] = _none()
    sizes: Mapping[int, int] = _none()
    workspace: Mapping[int, tuple[tuple[int, int], ...]] = _none()
    model: Mapping[str, Any] = _none()
    options: Mapping[str, str] = _none()
    buffers: tuple[BufferLine, ...] = ()
    stage: str = ""
    facts: Mapping[str, Any] = _none()
