"""What the article assumes about the price of reuse: a little time per address, a share of the memory per layer.

All numbers here are the article's (memory.md B17) without a source. In GE the offsets of a static graph are constants in the task
arguments, so the address overhead is about zero; nothing else in this package uses this model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.errors import OptionError
from ge_explorer.memory.teaching.levels import level

BYTES_PER_TENSOR = 1 << 20
ACCESSES_PER_TENSOR = 10
NS_PER_ACCESS = 2.0
SAVING: Mapping[str, float] = MappingProxyType({"inplace": 0.25, "cse": 0.15, "pool": 0.10})
"""Share of the memory each layer saves when it covers everything: 0.50 together, so the article's cap of 0.80 is never reached."""
BASE_MS = 100.0
LEVEL_MS: Mapping[str, float] = MappingProxyType({"off": 0.0, "safe": 1.5, "balanced": 3.0, "aggressive": 5.0})
SCENARIOS: Mapping[str, tuple[float, float, float, float]] = MappingProxyType(
    {"conservative": (0.3, 0.2, 0.5, 2.0), "balanced": (0.6, 0.4, 0.7, 2.5), "aggressive": (0.9, 0.7, 0.9, 3.5)}
)
"""In-place, common-subexpression and pool coverage, and ns per access."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """Result of the article's formula. ``saving`` 0..0.5 of the baseline, ``peak`` bytes, ``overhead_us`` per run."""

    saving: float
    peak: float
    overhead_us: float
    origin: str = "article"


def address_overhead_us(baseline: int, ns: float = NS_PER_ACCESS) -> float:
    """Microseconds for addressing: one tensor per MiB, ten accesses each.

    >>> address_overhead_us(1 << 30)
    20.48
    """
    return baseline // BYTES_PER_TENSOR * ACCESSES_PER_TENSOR * ns / 1000


def assumed(baseline: int, inplace: float, cse: float, pool: float, ns: float = NS_PER_ACCESS) -> Assumed:
    """The formula for a coverage of each layer (0..1) and a baseline in bytes. OptionError outside the range."""
    if baseline < 0 or not all(0 <= x <= 1 for x in (inplace, cse, pool)) or ns < 0:
        raise OptionError("coverages are 0 to 1, bytes and ns at least 0", got=(baseline, inplace, cse, pool, ns))
    saving = inplace * SAVING["inplace"] + cse * SAVING["cse"] + pool * SAVING["pool"]
    return Assumed(saving, baseline * (1 - saving), address_overhead_us(baseline, ns))


def scenario(name: str, baseline: int) -> Assumed:
    """One of the article's three scenarios, with its own ns per access."""
    if name not in SCENARIOS:
        raise OptionError(f"no scenario named {name!r}", todo="Known: " + ", ".join(SCENARIOS))
    return assumed(baseline, *SCENARIOS[name])


def assumed_time_ms(level_name: str) -> float:
    """Run time of a level in the article: 100 ms and a little for each layer. OptionError for an unknown level."""
    return BASE_MS + LEVEL_MS[level(level_name).name]
