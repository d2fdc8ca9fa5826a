"""How many cores an operator takes and how its time grows when it gets fewer.

Limits are hints for tiling, they do not reserve cores (runtime.md section 7). Time under a limit follows a serial share:
``t(n) = fixed + work * (s + (1 - s) * N / n)``; with ``s = 0.5`` half the cores cost 1.5 times the time, the recipe's figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ge_explorer.errors import OptionError

AIC_LIMIT = "_op_aicore_num"
AIV_LIMIT = "_op_vectorcore_num"
SERIAL_SHARE = 0.5
"""Default share of an operator's time that does not get faster with more cores (recipes' two-matmul example)."""


@dataclass(frozen=True, slots=True)
class CoreLimits:
    """Core limits of one node; None: no limit of that kind."""

    aic: int | None = None
    aiv: int | None = None


def read_limits(attrs: Mapping[str, Any], *, total_aic: int, total_aiv: int, where: str = "") -> CoreLimits:
    """Limits from a node's attributes; plain decimal strings as in GE (``CoreNumUtils::ValidateCoreNumWithOpDesc``).

    0 is accepted by GE's code and means no limit here. OptionError (GE: E10001) for anything that is not a decimal string
    without leading zeros, or that is above the chip's core count.
    """
    if AIC_LIMIT not in attrs and AIV_LIMIT not in attrs:
        return CoreLimits()
    return CoreLimits(
        _one(attrs.get(AIC_LIMIT), AIC_LIMIT, total_aic, where), _one(attrs.get(AIV_LIMIT), AIV_LIMIT, total_aiv, where)
    )


def _one(value: Any, key: str, most: int, where: str) -> int | None:
    if value is None:
        return None
    plain = isinstance(value, str) and value.isascii() and value.isdigit() and (value == "0" or value[0] != "0")
    if not plain or int(value) > most:
        raise OptionError(
            f"core limit {key} is not a decimal string within 0..{most} (GE reports E10001)",
            where=where,
            got=value,
            todo=f'Write a string such as "{max(1, most // 2)}".',
        )
    return int(value) or None


def scale_with_cores(work_ns: float, full: int, granted: int, serial: float = SERIAL_SHARE) -> float:
    """Time of ``work_ns`` (taken on ``full`` cores) on ``granted`` cores.

    >>> scale_with_cores(100, 24, 12)
    150.0
    """
    if granted <= 0 or full <= 0 or granted >= full:
        return work_ns
    return work_ns * (serial + (1.0 - serial) * full / granted)


@dataclass(frozen=True, slots=True)
class CoreFit:
    """``t(n) = fixed + per_core / n``, from two measured points. Any other n is an extrapolation and must be called so."""

    fixed: float
    per_core: float

    @staticmethod
    def of(n1: int, t1: float, n2: int, t2: float) -> CoreFit:
        """Line through two measurements (cores, time)."""
        if n1 == n2 or min(n1, n2) <= 0:
            raise OptionError("two different positive core counts are needed", got=(n1, n2))
        slope = (t1 - t2) / (1 / n1 - 1 / n2)
        return CoreFit(t1 - slope / n1, slope)

    def at(self, n: int) -> float:
        """Time on n cores, in the unit of the measurements."""
        return self.fixed + self.per_core / n
