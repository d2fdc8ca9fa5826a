"""Pools: persistent, temporary and gradient memory as separate budgets of one device, with overcommit.

Idea (article, memory.md B8): a quarter, a half and a quarter of the device. GE has neither these pools nor fixed shares; weights
lie in a segment of their own and nothing is overcommitted. Here every pool is checked against its own capacity and all of them
together against the device, the division loses no byte, and what does not fit is listed instead of left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.memory.model import Buffer, MemoryPlan, MemoryProblem
from ge_explorer.memory.sizes import aligned
from ge_explorer.memory.teaching.arena import Arena, Fit, OutOfBytes
from ge_explorer.memory.teaching.groups import stacked
from ge_explorer.memory.teaching.intervals import Request

SHARES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"persistent": (1, 4), "temporary": (1, 2), "gradient": (1, 4)}
)
"""Share of the device per pool (article)."""
OVERCOMMIT: Mapping[str, float] = MappingProxyType({"manager": 1.2, "option default": 1.0, "training sample": 1.05})
"""The three values the article uses for the same thing."""
POOLS = tuple(SHARES)
_GRADIENT = ("grad", "backprop")


def capacities(device_bytes: int) -> dict[str, int]:
    """Bytes per pool; what the divisions leave over goes to ``temporary``, so the sum is the device.

    >>> capacities(10)
    {'persistent': 2, 'temporary': 6, 'gradient': 2}
    """
    out = {name: device_bytes * a // b for name, (a, b) in SHARES.items()}
    out["temporary"] += device_bytes - sum(out.values())
    return out


@dataclass(frozen=True, slots=True)
class Placed:
    """A request with its offset inside its pool."""

    request: Request
    offset: int


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A request that does not fit: ``missing`` bytes over the limit of ``pool`` ("device": over all pools together)."""

    request: Request
    pool: str
    missing: int


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Result of ``plan_pools_of``. ``peak`` per pool: highest byte in use at any tick, not the sum of all sizes."""

    placed: tuple[Placed, ...]
    unplaced: tuple[Unplaced, ...]
    capacity: Mapping[str, int]
    peak: Mapping[str, int]
    overcommit: float

    def utilization(self, pool: str) -> float:
        """Peak over capacity; above 1 only with overcommit, 0 for a pool of no bytes."""
        return self.peak[pool] / self.capacity[pool] if self.capacity[pool] else 0.0


def plan_pools_of(
    requests: Iterable[Request], device_bytes: int, overcommit: float = 1.0, fit: Fit = "best", alignment: int = 64
) -> PoolPlan:
    """Place requests by ascending start, each in its pool. ``overcommit`` scales the device and with it every pool.

    OptionError for an unknown pool or an overcommit below 1.
    """
    if not overcommit >= 1.0 or overcommit == float("inf"):
        raise OptionError("overcommit is a number of at least 1", got=overcommit)
    caps = capacities(device_bytes)
    limit = {p: int(c * overcommit) for p, c in caps.items()}
    total = int(device_bytes * overcommit)
    arenas = {p: Arena(limit[p], alignment, fit) for p in caps}
    peak = dict.fromkeys(caps, 0)
    alive: list[tuple[int, str, int]] = []
    placed: list[Placed] = []
    unplaced: list[Unplaced] = []
    for r in sorted(requests, key=lambda r: r.start):
        if r.pool not in caps:
            raise OptionError(f"no pool named {r.pool!r}", where=r.name, todo=did_you_mean(r.pool, caps))
        for end, pool, at in [x for x in alive if x[0] <= r.start]:
            arenas[pool].free(at)
            alive.remove((end, pool, at))
        need = aligned(r.size, alignment)
        over = sum(a.used for a in arenas.values()) + need - total
        if over > 0:
            unplaced.append(Unplaced(r, "device", over))
            continue
        try:
            at = arenas[r.pool].allocate(r.size)
        except OutOfBytes as e:
            unplaced.append(Unplaced(r, r.pool, need - e.largest))
            continue
        alive.append((r.end, r.pool, at))
        peak[r.pool] = max(peak[r.pool], at + need)
        placed.append(Placed(r, at))
    return PoolPlan(tuple(placed), tuple(unplaced), MappingProxyType(caps), MappingProxyType(peak), overcommit)


def runtime_order(plan: PoolPlan) -> tuple[str, ...]:
    """Names in the order in which a run would allocate them: by start, over all pools."""
    return tuple(p.request.name for p in sorted(plan.placed, key=lambda p: (p.request.start, p.request.name)))


def pool_of(buffer: Buffer) -> str:
    """Pool of a buffer: weights and variables persist, names that speak of gradients are gradients, the rest is temporary
    (ours; the article leaves the choice to the user).
    """
    if buffer.kind in ("weight", "variable", "constant"):
        return "persistent"
    name = buffer.name.lower()
    return "gradient" if any(word in name for word in _GRADIENT) else "temporary"


def plan_pools(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """Every pool as small as it can be, one after the other; nothing is shared between pools. Safe on several streams."""
    return stacked(problem, [POOLS.index(pool_of(b)) for b in problem.buffers], "pools")[0]


def budget(problem: MemoryProblem, device_bytes: int) -> Sequence[tuple[str, int, int]]:
    """(pool, bytes needed, capacity) on a device: the pool budget view of a graph."""
    _, where = stacked(problem, [POOLS.index(pool_of(b)) for b in problem.buffers], "pools")
    caps = capacities(device_bytes)
    return [(p, where.get(k, (0, 0))[1], caps[p]) for k, p in enumerate(POOLS)]
