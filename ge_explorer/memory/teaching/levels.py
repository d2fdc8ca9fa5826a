"""Levels off, safe, balanced, aggressive: three layers of reuse on or off, and the real switches that come closest.

Idea (article, memory.md B5): layers in-place, common subexpressions, pool. GE has no such level; ``ge_options`` is our mapping to
options that exist. The option names the article's sample sets do not exist in GE's sources and are never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.errors import OptionError, did_you_mean

DISABLE_REUSE = "ge.exec.disableReuseMemory"
POLICY = "ge.exec.memoryOptimizationPolicy"
ARTICLE_ONLY_OPTIONS = frozenset(
    {
        "ge.exec.memoryOptimization", "ge.exec.inplaceEnabled", "ge.exec.cseEnabled", "ge.exec.memoryPoolEnabled",
        "ge.exec.memoryPoolStrategy", "ge.exec.memoryAlignment",
    }
)  # fmt: skip
"""Names that only the article knows; no hit in GE's sources."""


@dataclass(frozen=True, slots=True)
class Level:
    """Layers of a level. ``pool`` off means that pool settings have no effect at this level."""

    name: str
    inplace: bool
    common_subexpressions: bool
    pool: bool
    ge_options: Mapping[str, str]


def _level(name: str, layers: tuple[bool, bool, bool], **options: str) -> Level:
    keys = {"off": DISABLE_REUSE, "policy": POLICY}
    return Level(name, *layers, MappingProxyType({keys[k]: v for k, v in options.items()}))


LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        "off": _level("off", (False, False, False), off="1"),
        "safe": _level("safe", (True, False, False), off="1"),
        "balanced": _level("balanced", (True, True, False), off="0"),
        "aggressive": _level("aggressive", (True, True, True), off="0", policy="MemoryPriority"),
    }
)


def level(name: str) -> Level:
    """Level by name. OptionError for an unknown one (the article's sample turns everything on instead)."""
    if name not in LEVELS:
        raise OptionError(f"no memory level named {name!r}", todo=did_you_mean(name, LEVELS))
    return LEVELS[name]


def unused_settings(name: str, settings: Mapping[str, object]) -> tuple[str, ...]:
    """Pool settings (strategy, alignment, overcommit) that have no effect because the level leaves the pool off."""
    pool = {"pool_allocation_strategy", "pool_alignment", "overcommit_ratio"}
    return () if level(name).pool else tuple(sorted(pool & set(settings)))
