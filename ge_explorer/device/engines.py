"""GE's engine table: which engines own a stream, attach to others, or get none.

Source: compiler/engines/manager/engine_manager/engine_conf.json and engine_manager.cc. All shipped engines share one scheduler.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ge_explorer.errors import OptionError, did_you_mean

ENGINES_OPTION = "gx.engines"
"""Our option: more engines, or other flags for known ones, as JSON (``{"MyEngine": {"attach": true}}``)."""
DATA_ENGINE = "ENGINE_DEFAULT_DATA"
"""Engine the partition gives to Data, Const and Variable nodes; it owns no cluster."""
CUSTOM_ENGINE, AICORE_ENGINE, VECTOR_ENGINE = "DNN_VM_CUSTOM", "AIcoreEngine", "VectorEngine"
_FLAGS = {"independent": "independent", "attach": "attach", "skip_assign_stream": "skip"}


@dataclass(frozen=True, slots=True)
class Engine:
    """Flags of one engine.

    ``independent``: own stream per (engine, label), never reused by others. ``attach``: may take the stream of any reusable
    predecessor, whatever its engine. ``skip``: needs no stream of its own. ``cost``: the lower one is preferred when several
    predecessors can be reused (``compute_cost``).
    """

    id: str
    title: str = ""
    independent: bool = False
    skip: bool = False
    attach: bool = False
    cost: int = 1
    scheduler: str = "TS_1"


GE_ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        e.id: e
        for e in (
            Engine("DNN_VM_CUSTOM", "CUSTOM", cost=0),
            Engine("AIcoreEngine", "AICORE", cost=1),
            Engine("ffts_plus", "FFTS+", skip=True, attach=True, cost=1),
            Engine("VectorEngine", "VECTORCORE", cost=2),
            Engine("DSAEngine", "DSA", cost=2),
            Engine("DNN_HCCL", "HCCL", independent=True, cost=2),
            Engine("DNN_VM_RTS", "RTS", attach=True, cost=2),
            Engine("DNN_VM_RTS_FFTS_PLUS", "RTS_FFTS_PLUS", attach=True, cost=2),
            Engine("DNN_VM_AICPU_FFTS_PLUS", "AICPU_FFTS_PLUS", attach=True, cost=2),
            Engine("DNN_VM_AICPU_ASCEND_FFTS_PLUS", "AICPU_ASCEND_FFTS_PLUS", attach=True, cost=2),
            Engine("DNN_VM_AICPU_ASCEND", "AICPU_ASCEND", attach=True, cost=3),
            Engine("DNN_VM_AICPU", "AICPU", attach=True, cost=4),
            Engine("DNN_VM_DVPP", "DVPP", attach=True, cost=5),
            Engine("DNN_VM_GE_LOCAL", "GE_LOCAL", skip=True, attach=True, cost=9),
            Engine("DNN_VM_HOST_CPU", "HOST_CPU", skip=True, attach=True, cost=10),
        )
    }
)
"""GE's shipped table, August 2026."""


@lru_cache(maxsize=64)
def engine_table(more: str = "") -> Mapping[str, Engine]:
    """GE's table plus the engines of the ``gx.engines`` option text; OptionError when the text is not such JSON."""
    if not more:
        return GE_ENGINES
    try:
        rows = json.loads(more)
    except json.JSONDecodeError as e:
        raise OptionError("engine table is not JSON", where=ENGINES_OPTION, got=str(e)) from None
    if not isinstance(rows, dict) or not all(isinstance(r, dict) for r in rows.values()):
        raise OptionError("engine table is not a JSON object of objects", where=ENGINES_OPTION, got=more)
    return MappingProxyType({**GE_ENGINES, **{name: _read(name, row) for name, row in rows.items()}})


def _read(name: str, row: Mapping[str, Any]) -> Engine:
    known = {*_FLAGS, "scheduler", "compute_cost", "max_parallel"}
    for key in row:
        if key not in known:
            raise OptionError(
                f"engine {name!r} has no field {key!r}", where=ENGINES_OPTION, todo=did_you_mean(key, known)
            )
    base = GE_ENGINES.get(name, Engine(name, name))
    flags = {field: bool(row.get(key, getattr(base, field))) for key, field in _FLAGS.items()}
    return Engine(
        name, base.title, cost=int(row.get("compute_cost", base.cost)),
        scheduler=str(row.get("scheduler", base.scheduler)), **flags,
    )  # fmt: skip
