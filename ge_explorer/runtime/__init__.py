"""What happens to streams, events and notifies when compiled models are loaded: a small model of GE's two runtimes.

V1 loads static models (every load creates streams, none is reused), V2 dynamic ones (a vector of streams that grows, shared when
the caller hands over its allocators). Start with ``DeviceSession``; it steps through loads and shows who holds which device stream.
"""

from __future__ import annotations

from ge_explorer.runtime.capacity import events_needed, streams_needed
from ge_explorer.runtime.device import Device, DeviceStream
from ge_explorer.runtime.device_session import DeviceSession, Operation
from ge_explorer.runtime.events import ExtraEvent, check_events, extra_events
from ge_explorer.runtime.model import Activator, DynamicModel, DynamicNode, StaticModel
from ge_explorer.runtime.operations import close, load, unload
from ge_explorer.runtime.pool import ReusablePool, StreamStatus
from ge_explorer.runtime.state import Binding, LoadedModel, Outcome, RuntimeState
from ge_explorer.runtime.steps import RuntimeStep
from ge_explorer.runtime.table import COLUMNS, StreamRow, stream_rows
from ge_explorer.runtime.v2_allocators import V2Allocators

__all__ = [
    "COLUMNS", "Activator", "Binding", "Device", "DeviceSession", "DeviceStream", "DynamicModel", "DynamicNode", "ExtraEvent",
    "LoadedModel", "Operation", "Outcome", "ReusablePool", "RuntimeState", "RuntimeStep", "StaticModel", "StreamRow",
    "StreamStatus", "V2Allocators", "check_events", "close", "events_needed", "extra_events", "load", "stream_rows",
    "streams_needed", "unload",
]  # fmt: skip
