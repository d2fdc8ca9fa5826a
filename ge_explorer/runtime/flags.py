"""Creation flags, binding kinds and fixed numbers of the loaders, with where GE states them."""

from __future__ import annotations

from typing import Literal

RT_DEFAULT = 0x0
RT_PERSISTENT = 0x01
RT_FORCE_COPY = 0x02
RT_HUGE = 0x04
RT_OVERFLOW = 0x100

EVENT_SYNC = 0x01
EVENT_STREAM_PROGRESS = 0x02
EVENT_TIME_LINE = 0x08
V1_EVENT_FLAGS = EVENT_SYNC | EVENT_STREAM_PROGRESS | EVENT_TIME_LINE
"""Events of a static model (DavinciModel::InitRuntimeResource)."""
V2_EVENT_FLAGS = EVENT_SYNC
"""Events of gert::EventAllocator."""

V2_STREAM_CAPACITY = 2024
"""Exclusive bound of ``AcquireStreams``: at most 2023 may be asked for. inc/framework/runtime/stream_allocator.h."""
V2_EVENT_CAPACITY = 4096
"""Size of the event vector; ``AcquireEvents`` has no check of its own. inc/framework/runtime/event_allocator.h."""
V2_NOTIFY_CAPACITY = 1024
"""Exclusive bound of ``AcquireNotifies``; the compiler allows 1024 itself. inc/framework/runtime/notify_allocator.h."""
EXECUTE_STREAMS = 1
"""Streams a static model needs to be run, beside its own. runtime/v1/graph/execute/model_executor.cc."""
SWITCH_LIST_SIZE = 1
"""Streams a StreamSwitch names at load. runtime/v1/graph/load/model_manager/davinci_model.cc."""

INTERNAL_CODE = "E19999"

Status = Literal["SUCCESS", "FAILED", "PARAM_INVALID"]
Bind = Literal["head", "ordinary", "unbound", ""]
"""How a stream is bound to its model: it starts with the model, waits to be activated, has no task, or is not bound at all (V2)."""

_STREAM_NAMES = (
    (RT_PERSISTENT, "PERSISTENT"),
    (RT_FORCE_COPY, "FORCE_COPY"),
    (RT_HUGE, "HUGE"),
    (RT_OVERFLOW, "OVERFLOW"),
)
_EVENT_NAMES = (
    (EVENT_SYNC, "SYNC"),
    (EVENT_STREAM_PROGRESS, "CAPTURE_STREAM_PROGRESS"),
    (EVENT_TIME_LINE, "TIME_LINE"),
)


def stream_flag_names(flags: int) -> str:
    """Names of stream creation flags.

    >>> stream_flag_names(0x05)
    'PERSISTENT|HUGE'
    >>> stream_flag_names(0)
    'DEFAULT'
    """
    return "|".join(name for bit, name in _STREAM_NAMES if flags & bit) or "DEFAULT"


def event_flag_names(flags: int) -> str:
    """Names of event creation flags."""
    return "|".join(name for bit, name in _EVENT_NAMES if flags & bit) or "DEFAULT"
