"""The lines of a GE log (plog) that say something about streams and memory.

Formats: block_mem_assigner.cc (SetOffsetSize, SetInputOffset), graph_mem_assigner.cc, graph_var_manager.cc,
davinci_model.cc. Lines may carry any prefix; names hold brackets and colons. ``[IMAS]Set`` has changed over the years: early
2020 without lifetimes, later in 2020 with them but without operator and memory type, 2023 with both and a scope, today with a
block type.
"""

from __future__ import annotations

import re
from typing import Any

from ge_explorer.loaders.ge_recorded import BufferLine

MARK = "[IMAS]"
HBM = 2
"""Memory type of device memory, assumed where a line does not state one."""
_N = r"(-?\d{1,20})"
_SET_HEAD = re.compile(r"\[IMAS\]Set (?P<graph>\S{1,600}) name\[", re.ASCII)
_SET_KIND = re.compile(
    r"\] optype\[(?P<op>[^\]]{0,200})\] (?P<kind>output_desc|output|workspace|input|unknown)\[(?P<index>\d{1,9})\] "
    r"offset to \[(?P<offset>-?\d{1,20})\] streamid\[(?P<stream>-?\d{1,9})(?:--(?P<first>-?\d{1,9}))?\] "
    r"memtype\[(?P<memtype>\d{1,9})\] size\[(?P<size>\d{1,20})\] realsize\[(?P<real>\d{1,20})\] "
    r"noalignsize\[(?P<noalign>\d{1,20})\] life time begin\[(?P<begin>[\d-]{1,400})\] "
    r"life time end\[(?P<end>[\d-]{1,4000})\](?P<rest>.{0,600})",
    re.ASCII,
)
_SET_2020 = re.compile(
    r"\] (?P<kind>output_desc|output|workspace|input|unknown)\[(?P<index>\d{1,9})\] offset to \[(?P<offset>-?\d{1,20})\] "
    r"streamid\[(?P<stream>-?\d{1,9})\] (?:memtype\[(?P<memtype>\d{1,9})\] )?size\[(?P<size>\d{1,20})\] "
    r"realsize\[(?P<real>\d{1,20})\](?: noalignsize\[(?P<noalign>\d{1,20})\] life time begin\[(?P<begin>\d{1,20})\] "
    r"life time end\[(?P<end>\d{1,20})\](?P<rest>.{0,600}))?",
    re.ASCII,
)
_FLAGS = re.compile(
    r" child\[(?P<flags>\d+(?::\d+){3,4})\] isref\[(?P<ref>\d)\](?: batch\[(?P<batch>[^\]]*)\])?", re.ASCII
)
_BLOCK = re.compile(r"block_type\[\s*([^\]]*?)\s*\]")
_VAR = re.compile(
    rf"AssignVarMem Set (\S{{1,200}}) name\[(.{{0,600}})\] output\[(\d{{1,9}})\] offset to \[{_N}\] size\[{_N}\] realsize\[{_N}\]",
    re.ASCII,
)
_MALLOC = re.compile(
    rf"MallocMemory type\[(\w{{1,20}})\] memaddr\[([0-9a-fxA-FX]{{1,24}})\] mem_size\[{_N}\]", re.ASCII
)
_SUMMARY = re.compile(r"\[IMAS\]AfterAssignMemory : (\S{1,600}) (?=memoffset\[)", re.ASCII)
_PAIR = re.compile(r"(\w{1,40})\[([^\]]{0,200})\]")
_CONTINUOUS = re.compile(
    r"\[IMAS\](?P<what>Continuous input|Continuous output|Atomic output|Atomic ordinary workspace|Atomic fusion workspace) ?: "
    r"Set (?P<graph>\S{1,600}) name\[(?P<name>.{0,600})\] optype\[(?P<op>[^\]]{0,200})\] "
    r"(?P<kind>output|workspace|input)\[(?P<index>\d{1,9})\] offset to \[(?P<offset>-?\d{1,20})\] "
    r"stream_id\[(?P<stream>-?\d{1,9})\] memtype\[(?P<memtype>\d{1,9})\] s?size\[(?P<size>\d{1,20})\] "
    r"real_?size\[(?P<real>\d{1,20})\]",
    re.ASCII,
)
_STREAMS = re.compile(r"At last, stream num: (\d{1,9})", re.ASCII)
_RUNTIME = re.compile(r"InitRuntimeParams[^\n]{0,200}?stream_num:(\d{1,9}), event_num:(\d{1,9})", re.ASCII)
_BUILD = re.compile(r"Begin to build (known|unknown) shape graph\[([^\]]{1,600})\]")


def set_line(text: str, number: int = 0) -> BufferLine | None:
    """``[IMAS]Set …`` as a buffer; None for other or damaged lines.

    The name is what stands between ``name[`` and the last ``] optype[``, so it may hold brackets itself.
    """
    head = _SET_HEAD.search(text)
    if head is None:
        return None
    at = text.rfind("] optype[")
    if at < head.end():
        return _line_2020(text, head, number)
    m = _SET_KIND.match(text, at) if at >= head.end() else None
    if m is None:
        return None
    ends = _ends(m["end"])
    flags, block = _FLAGS.match(m["rest"]), _BLOCK.search(m["rest"])
    return BufferLine(
        head["graph"], text[head.end() : at], m["op"], m["kind"], int(m["index"]), int(m["offset"]), int(m["stream"]),
        int(m["memtype"]), int(m["size"]), int(m["real"]), int(m["noalign"]), _first(m["begin"]),
        ends[-1] if ends else 0, tuple((k, e) for k, e in enumerate(ends)), None if m["first"] is None else int(m["first"]),
        flags["flags"] if flags else "", bool(flags and flags["ref"] != "0"), (flags["batch"] or "") if flags else "",
        block[1] if block else "", number,
    )  # fmt: skip


def _line_2020(text: str, head: re.Match[str], number: int) -> BufferLine | None:
    """The forms without an operator type. Without lifetimes begin and end are -1: the line does not say them."""
    at = text.rfind("] ", head.end(), max(text.rfind("] offset to ["), 0))
    m = _SET_2020.match(text, at) if at >= head.end() else None
    if m is None:
        return None
    flags = _FLAGS.match(m["rest"] or "")
    begin, end = (-1, -1) if m["begin"] is None else (int(m["begin"]), int(m["end"]))
    return BufferLine(
        head["graph"], text[head.end() : at], "", m["kind"], int(m["index"]), int(m["offset"]), int(m["stream"]),
        int(m["memtype"] or HBM), int(m["size"]), int(m["real"]), int(m["noalign"] or 0), begin, end,
        () if end < 0 else ((0, end),), None, flags["flags"] if flags else "", bool(flags and flags["ref"] != "0"), line=number,
    )  # fmt: skip


def other_facts(text: str, facts: dict[str, list[Any]]) -> None:
    """Add what else a line says to ``facts`` (imas_var, malloc_memory, summary, continuous, stream_num, runtime, builds)."""
    if MARK in text:
        if (m := _VAR.search(text)) is not None:
            facts.setdefault("imas_var", []).append(
                {"name": m[2], "offset": int(m[4]), "size": int(m[5]), "realsize": int(m[6])}
            )
        elif (m := _MALLOC.search(text)) is not None:
            facts.setdefault("malloc_memory", []).append({"type": m[1], "size": int(m[3])})
        elif (m := _SUMMARY.search(text)) is not None:
            pairs = {
                k: int(v) if v.lstrip("-").isdecimal() and len(v) < 21 else v for k, v in _PAIR.findall(text[m.end() :])
            }
            facts.setdefault("summary", []).append({"graph": m[1], **pairs})
        elif (m := _CONTINUOUS.search(text)) is not None:
            facts.setdefault("continuous", []).append(_continuous(m))
        return
    if (m := _STREAMS.search(text)) is not None:
        facts.setdefault("stream_num", []).append(int(m[1]))
    elif (m := _RUNTIME.search(text)) is not None:
        facts.setdefault("runtime", []).append({"stream_num": int(m[1]), "event_num": int(m[2])})
    elif (m := _BUILD.search(text)) is not None:
        facts.setdefault("builds", []).append({"graph": m[2], "shapes": m[1]})


def _continuous(m: re.Match[str]) -> dict[str, Any]:
    size, offset = int(m["size"]), int(m["offset"])
    # the ordinary-workspace line is printed after the offset has moved on: it gives the end
    start = offset - size if m["what"] == "Atomic ordinary workspace" else offset
    return {"what": m["what"], "graph": m["graph"], "name": m["name"], "optype": m["op"], "slot": f"{m['kind']}[{m['index']}]",
            "offset": start, "stream": int(m["stream"]), "size": size, "realsize": int(m["real"])}  # fmt: skip


def _first(text: str) -> int:
    """First number of ``3`` or ``3--12``."""
    m = re.match(r"-?\d{1,20}", text)
    return int(m[0]) if m else 0


def _ends(text: str) -> list[int]:
    """Numbers of ``5--9--4294967295``: foreign streams' ends first, the own one last."""
    return [int(p) for p in text.split("--") if p.lstrip("-").isdecimal() and len(p) < 21]
