"""Chip table: one row a chip, from the platform ini files of the toolkit (runtime.md section 8).

Core counts, clock and sizes are what the ini files state. Peak FLOP/s and bandwidth are *derived* from them and carry
``Origin.MODEL``: official figures differ by 3 to 11 per cent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.provenance import Origin, Quantity
from ge_explorer.text import Text

INI = "ini-derived: platform_config/<SoC>.ini"
VECTOR_BYTES = 128
"""Bytes one vector core handles per cycle (``vec_calc_size``), the same in every row."""
CUBE_FLOPS = 2 * 16 * 16 * 16
"""FP16 operations of one cube core per cycle."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One SoC. ``aic``/``aiv`` cores, ``mhz`` cube clock, ``l2_mib`` L2 size, rates in bytes per cycle and core.

    ``memory_gb`` None: the ini does not say. ``split`` True: cube and vector cores are separate resources; False: vector
    work runs on the AI Cores themselves. ``streams`` is the documented limit, ``streams_code`` what the runtime's code has;
    ``events`` and ``notifies`` are documented limits (None: none is stated for the chip).
    """

    name: str
    family: str
    aic: int
    aiv: int
    aicpu: int
    mhz: int
    l2_mib: int
    ddr_rate: int
    l2_rate: int
    memory_gb: int | None = None
    split: bool = True
    streams: int = 1984
    streams_code: int | None = None
    notes: tuple[Text, ...] = field(default=())
    events: int | None = None
    notifies: int | None = None

    @property
    def fp16_flops(self) -> Quantity:
        """Peak FP16 of all cube cores, FLOP/s."""
        return Quantity(CUBE_FLOPS * self.aic * self.mhz * 1e6, "FLOP/s", Origin.MODEL, INI)

    @property
    def ddr_bandwidth(self) -> Quantity:
        """Device memory bandwidth, bytes/s."""
        return Quantity(self.ddr_rate * self.aic * self.mhz * 1e6, "B/s", Origin.MODEL, INI)

    @property
    def l2_bandwidth(self) -> Quantity:
        """L2 cache bandwidth, bytes/s."""
        return Quantity(self.l2_rate * self.aic * self.mhz * 1e6, "B/s", Origin.MODEL, INI)

    @property
    def vector_units(self) -> int:
        """Cores vector work runs on: the vector cores where they are separate, else the AI Cores."""
        return self.aiv if self.split and self.aiv else self.aic

    def vector_rate(self, element_bytes: float) -> float:
        """Elements per second of all vector units for one operation on elements of this size."""
        return self.vector_units * (VECTOR_BYTES / max(element_bytes, 0.25)) * self.mhz * 1e6


_OLD_910 = Text(
    "This is a bin of the first-generation 910 (no separate vector cores), not the A2 part that is also called 910B. "
    "Its ini file is named Ascend910B.ini.",
    "这是第一代 910 的一个分级（没有独立的 vector core），不是同样被叫作 910B 的 A2 芯片。它的 ini 文件名为 Ascend910B.ini。",
)
_DIE = Text("Figures of one die; the package holds two.", "单个 die 的数据；一个封装有两个 die。")
_VECTOR_ON_AIC = Text(
    "Vector work is counted on the AI Cores; the extra vector cores need an explicit launch.",
    "向量计算按 AI Core 计；额外的 vector core 需要显式下发。",
)
_MEMORY_VARIES = Text("Memory size differs between bins of this row.", "该行各分级的内存容量不同。")
_SPLIT_ASSUMED = Text(
    "Whether cube and vector are separate resources is assumed.", "cube 与 vector 是否为独立资源属于假设。"
)


def _a2(name: str, aic: int, mhz: int, memory: int | None, l2: int = 192) -> Chip:
    return Chip(name, "A2", aic, 2 * aic, 6, mhz, l2, 32, 110, memory, streams_code=2038, events=65536, notifies=8192)


def _a3(name: str, aic: int, mhz: int, memory: int | None, l2: int = 192) -> Chip:
    notes = (_DIE,)
    return Chip(name, "A3", aic, 2 * aic, 6, mhz, l2, 32, 110, memory, True, 1984, 2038, notes, 65536, 8192)


def _950(name: str, aic: int, aicpu: int, mhz: int, memory: int | None, l2: int, ddr: int) -> Chip:
    notes = () if memory is not None else (_MEMORY_VARIES,)
    return Chip(name, "950", aic, 2 * aic, aicpu, mhz, l2, ddr, 100, memory, notes=notes, events=65536, notifies=65535)


def _310p(name: str, aic: int, aiv: int, aicpu: int, mhz: int) -> Chip:
    return Chip(name, "310P", aic, aiv, aicpu, mhz, 16, 17, 114, 24, False, 1024, 992, (_VECTOR_ON_AIC,), 1023, 1024)


def _910(name: str, aic: int, aicpu: int, mhz: int) -> Chip:
    return Chip(name, "910", aic, 0, aicpu, mhz, 32, 32, 110, None, False, 2048, 2016, (_OLD_910,), 65535, 1024)


_ROWS: tuple[Chip, ...] = (
    _a2("Ascend910B1", 24, 1850, 64),
    _a2("Ascend910B2", 24, 1800, 64),
    _a2("Ascend910B2C", 24, 1800, None),
    _a2("Ascend910B3", 20, 1800, 64),
    _a2("Ascend910B4", 20, 1500, 32, 96),
    _a2("Ascend910B4-1", 20, 1500, 32, 168),
    _a3("Ascend910_9391", 24, 1850, 64),
    _a3("Ascend910_9392", 24, 1850, 64),
    _a3("Ascend910_9381", 24, 1800, 64),
    _a3("Ascend910_9382", 24, 1800, 64),
    _a3("Ascend910_9372", 20, 1800, 64),
    _a3("Ascend910_9362", 20, 1500, 64, 168),
    _a3("Ascend910_9363", 20, 1500, 32, 168),
    _950("Ascend950PR_9599", 36, 6, 1800, 128, 128, 31),
    _950("Ascend950PR_9589", 32, 6, 1650, 128, 128, 31),
    _950("Ascend950PR_9579", 28, 7, 1650, 128, 128, 31),
    _950("Ascend950PR_958b", 32, 7, 1650, 112, 112, 27),
    _950("Ascend950PR_957b", 28, 5, 1650, 112, 112, 27),
    _950("Ascend950PR_957c", 28, 5, 1650, 84, 112, 27),
    _950("Ascend950PR_957d", 28, 5, 1650, 96, 96, 23),
    _950("Ascend950PR_950z", 4, 5, 1650, 24, 16, 4),
    _950("Ascend950DT_9591", 36, 6, 1800, None, 128, 80),
    _950("Ascend950DT_9592", 36, 6, 1800, None, 128, 80),
    _950("Ascend950DT_95A1", 36, 6, 1800, None, 128, 80),
    _950("Ascend950DT_95A2", 36, 6, 1800, None, 128, 80),
    _950("Ascend950DT_9581", 32, 6, 1650, None, 128, 80),
    _950("Ascend950DT_9582", 32, 6, 1650, None, 128, 80),
    _950("Ascend950DT_9571", 28, 7, 1650, None, 128, 80),
    _950("Ascend950DT_9572", 28, 7, 1650, None, 128, 80),
    _950("Ascend950DT_950x", 8, 5, 1650, 24, 32, 19),
    _950("Ascend950DT_950y", 8, 5, 1650, 16, 32, 14),
    Chip("Ascend350_355e", "350", 16, 32, 4, 1650, 64, 31, 100, 64),
    Chip("Ascend350_354f", "350", 14, 28, 2, 1650, 56, 27, 100, 56),
    _310p("Ascend310P1", 10, 8, 8, 1060),
    _310p("Ascend310P3", 8, 7, 7, 1060),
    _310p("Ascend310P5", 8, 7, 8, 800),
    _310p("Ascend310P7", 8, 7, 8, 550),
    Chip("Ascend310B1", "310B", 1, 1, 4, 1224, 4, 17, 256, 32, True, 512, 480, (_SPLIT_ASSUMED,), 65536, 2048),
    Chip("Ascend310B4", "310B", 1, 1, 4, 500, 4, 8, 256, None, True, 512, 480, (_SPLIT_ASSUMED,), 65536, 2048),
    _910("Ascend910A", 32, 4, 1000),
    _910("Ascend910ProA", 32, 4, 1100),
    _910("Ascend910PremiumA", 32, 4, 1220),
    _910("Ascend910ProB", 30, 4, 1150),
    _910("Ascend910B-old", 30, 6, 900),
)

CHIPS: Mapping[str, Chip] = MappingProxyType({c.name: c for c in _ROWS})
"""Every chip by its SoC name, in the order menus show them. The first one is the default."""

DEFAULT_CHIP = _ROWS[0].name

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "ascend910b": "Ascend910B1",
        "910b": "Ascend910B1",
        "a2": "Ascend910B1",
        "atlas a2": "Ascend910B1",
        "ascend910c": "Ascend910_9391",
        "910c": "Ascend910_9391",
        "ascend910_93": "Ascend910_9391",
        "a3": "Ascend910_9391",
        "atlas a3": "Ascend910_9391",
        "ascend950": "Ascend950PR_9589",
        "950": "Ascend950PR_9589",
        "ascend950pr": "Ascend950PR_9589",
        "ascend950dt": "Ascend950DT_9581",
        "ascend310p": "Ascend310P3",
        "310p": "Ascend310P3",
        "ascend310b": "Ascend310B1",
        "310b": "Ascend310B1",
        "ascend910": "Ascend910A",
    }
)
"""Family names people write -> the row that stands for the family."""


@dataclass(frozen=True, slots=True)
class ResolvedChip:
    """A chip with what was asked for. ``note`` says what a family name was taken to mean (None: an exact name)."""

    chip: Chip
    asked: str
    note: Text | None = None


def resolve_chip(name: str = "") -> ResolvedChip:
    """Chip by SoC name (any case), with or without ``Ascend``, or by family name; "" is the default chip.

    ``Ascend910B`` means the A2 family, as everybody uses the word, and resolves to Ascend910B1. The first-generation bin
    whose ini file has exactly that name is ``Ascend910B-old``. OptionError with the closest names for anything else.
    """
    asked = name.strip()
    if not asked:
        return ResolvedChip(CHIPS[DEFAULT_CHIP], DEFAULT_CHIP)
    low = asked.lower()
    for chip in _ROWS:
        if low in (chip.name.lower(), chip.name.lower().removeprefix("ascend")):
            return ResolvedChip(chip, asked)
    if low in ALIASES:
        chip = CHIPS[ALIASES[low]]
        cores = Text(
            f"{asked} is a family name; {chip.name} stands for it ({chip.aic} AIC, {chip.aiv} AIV, {chip.mhz} MHz).",
            f"{asked} 是系列名，这里取 {chip.name}（{chip.aic} AIC，{chip.aiv} AIV，{chip.mhz} MHz）。",
        )
        if low in ("ascend910b", "910b"):
            cores = Text(
                cores.en + " The old first-generation part of Ascend910B.ini is Ascend910B-old.",
                cores.zh + "Ascend910B.ini 所指的第一代旧芯片是 Ascend910B-old。",
            )
        return ResolvedChip(chip, asked, cores)
    raise OptionError(f"no chip named {asked!r}", todo=did_you_mean(asked, [*CHIPS, "Ascend910B", "A2", "A3"]))


def chip_named(name: str = "") -> Chip:
    """Shorthand for ``resolve_chip(name).chip``."""
    return resolve_chip(name).chip
