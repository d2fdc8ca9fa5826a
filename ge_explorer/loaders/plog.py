"""Loader for GE logs (plogs): memory lines ``[IMAS]…``, stream counts, what was built.

A log holds no graph. The operators its memory lines name become nodes without edges, so that the memory map has something
to select; ``recorded.buffers`` holds the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.loaders.ge_recorded import BufferLine, Recorded
from ge_explorer.loaders.pbtxt import as_text
from ge_explorer.loaders.plog_lines import MARK, other_facts, set_line
from ge_explorer.loaders.report import LoadReport, LoadResult
from ge_explorer.loaders.source import Source
from ge_explorer.text import Text

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

LINE_LIMIT = 64 * 1024
"""Characters of a line that are looked at; GE cuts its lines at 1 KiB."""
_PREFIX = re.compile(
    r"\[(?P<level>DEBUG|INFO|WARNING|ERROR|EVENT|TRACE|NULL)\] ?(?P<component>[A-Z_0-9]{2,20})\((?P<pid>\d{1,10}),[^)]{0,200}\):"
    r"(?P<time>[\d-]{10}-[\d:.]{12,20})",
    re.ASCII,
)
_CODE = re.compile(r"\b(?:E[A-Z]\d{4}|E\d{4,5}|5070\d\d)\b", re.ASCII)
_WANTED = (MARK, "stream num", "InitRuntimeParams", "Begin to build")


class PlogLoader:
    """A plog or pasted lines of one, recognised by GE's line prefix or an ``[IMAS]`` line."""

    def sniff(self, source: Source) -> bool:
        """True when one of the first lines has a plog prefix, or the text holds ``[IMAS]``."""
        if not source.is_text:
            return False
        lines = source.head.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()[:20]
        return (
            any(_PREFIX.match(line) for line in lines)
            or b"[IMAS]Set " in source.data
            or b"[IMAS]AfterAssign" in source.data
        )

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Read the lines. Damaged lines are counted, not guessed."""
        levels: Counter[str] = Counter()
        components: Counter[str] = Counter()
        codes: Counter[str] = Counter()
        facts: dict[str, list[Any]] = {}
        buffers: list[BufferLine] = []
        total = marked = damaged = 0
        times: list[str] = []
        for number, raw in enumerate(source.data.split(b"\n"), 1):
            if not raw.strip():
                continue
            total += 1
            text = as_text(raw[:LINE_LIMIT]).rstrip("\r")
            m = _PREFIX.match(text)
            if m is not None:
                levels[m["level"]] += 1
                components[m["component"]] += 1
                times.append(m["time"])
                if m["level"] == "ERROR":
                    codes.update(_CODE.findall(text))
            if not any(w in text for w in _WANTED):
                continue
            if MARK in text:
                marked += 1
            if "[IMAS]Set " in text:
                b = set_line(text, number)
                if b is None:
                    damaged += 1
                else:
                    buffers.append(b)
                if len(buffers) > settings.node_limit:
                    raise InputError("the log holds too many memory lines", where=f"{source.name}, line {number}",
                                     got=len(buffers), todo="Cut out the part of one build.")  # fmt: skip
            else:
                other_facts(text, facts)
        graph = _graph(buffers, source.name)
        counts: dict[str, Any] = {
            "format": "GE log", "lines": total, "levels": dict(levels), "components": dict(components), "imas_lines": marked,
            "imas_set": len(buffers), "damaged": damaged, "error_codes": dict(codes),
            "first_time": min(times, default=""), "last_time": max(times, default=""), **facts,
        }  # fmt: skip
        recorded = Recorded(
            streams=MappingProxyType(_streams(graph, buffers)),
            buffers=tuple(buffers),
            facts=_frozen(facts),
        )
        report = LoadReport(
            "GE log", source.name, _found(counts, buffers, facts), _missing(buffers, marked), (), counts
        )
        return LoadResult(graph, report, recorded)


PLOG = PlogLoader()


def _frozen(facts: dict[str, list[Any]]) -> Mapping[str, Any]:
    return MappingProxyType(
        {k: tuple(MappingProxyType(x) if isinstance(x, dict) else x for x in v) for k, v in facts.items()}
    )


def _graph(buffers: list[BufferLine], name: str) -> Graph:
    """Operators by graph, without edges. The graph with most lines is the root."""
    sizes = Counter(b.graph for b in buffers)
    names = [g for g, _ in sizes.most_common()]
    editor = GraphEditor.empty(names[0] if names else name, attrs={"_gx_format": "GE log"})
    scopes = {g: 0 if k == 0 else editor.add_scope(g, -1) for k, g in enumerate(names)}
    seen: dict[tuple[str, str], int] = {}
    for b in buffers:
        key = (b.graph, b.name)
        if key not in seen:
            seen[key] = editor.add_node(b.name, b.op or "Unknown", outputs=1, scope=scopes[b.graph], source_op=b.op)
    editor.note("from a log: operators without edges")
    return editor.freeze()


def _streams(graph: Graph, buffers: list[BufferLine]) -> dict[int, int]:
    stream = {(b.graph, b.name): b.stream for b in reversed(buffers)}
    return {n.id: stream[key] for n in graph if (key := (graph.scope(n.scope).name, n.name)) in stream}


def _found(c: dict[str, Any], buffers: list[BufferLine], facts: dict[str, list[Any]]) -> tuple[Text, ...]:
    out = [
        Text("log of {n} lines, {a} to {b}; {e} of level ERROR", "日志共 {n} 行，{a} 至 {b}；其中 ERROR {e} 行").format(
            n=c["lines"], a=c["first_time"] or "?", b=c["last_time"] or "?", e=c["levels"].get("ERROR", 0)
        ),
        Text(
            "{m} memory lines [IMAS]; {s} buffers of {g} graphs", "{m} 行内存日志 [IMAS]；{g} 个图的 {s} 个缓冲区"
        ).format(m=c["imas_lines"], s=len(buffers), g=len({b.graph for b in buffers})),
    ]
    for s in facts.get("summary", [])[:4]:
        out.append(
            Text("{g}: feature map of {n} bytes", "{g}：特征图内存 {n} 字节").format(
                g=s["graph"], n=s.get("memoffset", "?")
            )
        )
    if facts.get("imas_var"):
        out.append(Text("{n} variable offsets", "{n} 个变量偏移").format(n=len(facts["imas_var"])))
    if facts.get("stream_num"):
        out.append(
            Text("stream counts after assignment: {s}", "流分配后的流数量：{s}").format(
                s=", ".join(map(str, facts["stream_num"][:8]))
            )
        )
    if c["error_codes"]:
        out.append(Text("error codes: {s}", "错误码：{s}").format(s=", ".join(list(c["error_codes"])[:8])))
    return tuple(out)


def _missing(buffers: list[BufferLine], marked: int) -> tuple[Text, ...]:
    out = [
        Text("the graph: a log names operators, not edges; load the ge_proto dump of the same build for that",
             "图：日志只有算子名，没有边；请加载同一次编译的 ge_proto 转储")
    ]  # fmt: skip
    if not buffers:
        out.append(
            Text("memory offsets: no [IMAS]Set line; compile with ASCEND_GLOBAL_LOG_LEVEL=1 (INFO) to get them",
                 "内存偏移：没有 [IMAS]Set 行；请用 ASCEND_GLOBAL_LOG_LEVEL=1（INFO）重新编译")
        )  # fmt: skip
    return tuple(out)
