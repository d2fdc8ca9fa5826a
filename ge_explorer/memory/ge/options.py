"""Options of GE's planner, parsed once (memory.md A19)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

POLICY = "ge.exec.memoryOptimizationPolicy"
DISABLE = "ge.exec.disableReuseMemory"
INPUT_REUSE, OUTPUT_REUSE = "ge.exec.inputReuseMemIndexes", "ge.exec.outputReuseMemIndexes"
STATIC_POLICY = "ge.exec.staticMemoryPolicy"
ATOMIC_POLICY = "ge.exec.atomicCleanPolicy"
IO_ALLOCATION = "ge.exec.graphIOMemAllocMode"
INPUT_FUSION = "ge.exec.input_fusion_size"
HARDWARE = "ge.hardwareInfo"
NO_REUSE_OPS = "OP_NO_REUSE_MEM"
"""Environment variable of GE; passed here like an option so that a plan depends on nothing hidden."""
OPTION_KEYS = frozenset(
    {
        POLICY, DISABLE, INPUT_REUSE, OUTPUT_REUSE, STATIC_POLICY, ATOMIC_POLICY, IO_ALLOCATION, INPUT_FUSION, HARDWARE,
        NO_REUSE_OPS,
    }
)  # fmt: skip
NAMES_LIMIT, NAMES_LENGTH = 10, 2000
"""OP_NO_REUSE_MEM is ignored when it has more names or more characters (CheckAndGetOpReuseEnv)."""


@dataclass(frozen=True, slots=True)
class GeOptions:
    """What the planner wants to know. ``device_bytes`` 0: no limit known."""

    priority: bool = False
    reuse: bool = True
    inputs: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()
    no_reuse_ops: frozenset[str] = frozenset()
    expandable: bool = False
    separate_clean: bool = False
    io_by_ge: bool = False
    input_fusion: int = 131072
    device_bytes: int = 0

    @staticmethod
    def of(values: Mapping[str, str]) -> GeOptions:
        """Options from literal GE keys. Indexes that are no numbers are skipped, as GE only warns about them."""
        return GeOptions(
            priority=values.get(POLICY, "") == "MemoryPriority",
            reuse=values.get(DISABLE, "0") != "1",
            inputs=_indexes(values.get(INPUT_REUSE, "")),
            outputs=_indexes(values.get(OUTPUT_REUSE, "")),
            no_reuse_ops=_names(values.get(NO_REUSE_OPS, "")),
            expandable=values.get(STATIC_POLICY, "0") in ("1", "2", "3", "4"),
            separate_clean=values.get(ATOMIC_POLICY, "0") == "1",
            io_by_ge=values.get(IO_ALLOCATION, "") == "ByGE",
            input_fusion=int(values[INPUT_FUSION]) if values.get(INPUT_FUSION, "").isdigit() else 131072,
            device_bytes=_device(values.get(HARDWARE, "")),
        )


def _indexes(text: str) -> frozenset[int]:
    return frozenset(int(x) for x in text.split(",") if x.strip().isdigit())


def _names(text: str) -> frozenset[str]:
    names = [x for x in text.split(",") if x]
    return frozenset(names) if len(names) <= NAMES_LIMIT and len(text) <= NAMES_LENGTH else frozenset()


def _device(text: str) -> int:
    for part in text.split(";"):
        key, _, value = part.partition(":")
        if key.strip() == "memory_size" and value.strip().isdigit():
            return int(value)
    return 0
