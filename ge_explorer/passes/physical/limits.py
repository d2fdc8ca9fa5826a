"""How many tasks fit on a stream, per chip, and the options that override it.

Source: config/<dir>/dev_info_reg.cc of the runtime (maxTaskNumPerStream, maxTaskNumPerHugeStream), as spec sync.md 11.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.errors import OptionError

LIMIT, HUGE, UNLIMITED = "gx.maxTasksPerStream", "gx.maxTasksPerHugeStream", "gx.unlimitedStreamDepth"
SOC = "ge.socVersion"
LIMIT_OPTIONS = frozenset({LIMIT, HUGE, UNLIMITED, SOC})
RESERVE = 27
"""Tasks kept free on every stream: 7 profiling points and 20 more (stream_allocator.cc)."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """``tasks`` on a stream, ``huge`` on a huge one (None: unsupported), ``streams`` that can be allocated.

    ``unlimited``: the chip declares streams without a depth limit (true only with a device at hand).
    """

    tasks: int
    huge: int | None
    streams: int
    unlimited: bool = False


FAMILIES: Mapping[str, StreamLimits] = MappingProxyType(
    {
        "A2": StreamLimits(2013, None, 32768),
        "A3": StreamLimits(2013, None, 32768),
        "910": StreamLimits(2042, None, 2016),
        "310P": StreamLimits(2042, None, 992),
        "310": StreamLimits(65500, None, 992),
        "310B": StreamLimits(2010, None, 480),
        "950": StreamLimits(2014, None, 65535, unlimited=True),
        "610": StreamLimits(1018, None, 255),
        "610Lite": StreamLimits(1024, 8192, 112),
    }
)
"""Per chip family (names as in device/chips.py where that table has the chip)."""
DEFAULT = FAMILIES["A2"]


def limits(options: Mapping[str, str], family: str | None = None) -> StreamLimits:
    """Limits for a compile: those of the chip family, with overrides. OptionError for a text that is not a number.

    An offline compile has no device to ask, so streams count as limited unless ``gx.unlimitedStreamDepth`` is true.
    ``gx.maxTasksPerHugeStream`` none: the query for huge streams fails.
    """
    base = FAMILIES.get(family or "", DEFAULT)
    tasks = _number(options, LIMIT, base.tasks)
    assert tasks is not None
    return StreamLimits(tasks, _number(options, HUGE, base.huge), base.streams, options.get(UNLIMITED) == "true")


def _number(options: Mapping[str, str], key: str, default: int | None) -> int | None:
    text = options.get(key, "")
    if not text:
        return default
    if text == "none" and key == HUGE:
        return None
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise OptionError("not a number of tasks", where=key, got=text, todo="Write a positive whole number.")
    return int(text)
