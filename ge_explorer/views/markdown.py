"""Markdown summary of a compilation: figures with their origin, streams, events, memory, findings. Names are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ge_explorer.issue import Issue
from ge_explorer.passes.sync.minimum import minimum_events
from ge_explorer.provenance import GE_RULES_VERSION
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.trace import Trace
from ge_explorer.views import events, issues_view, memory_map, streams
from ge_explorer.views.memory_table import shares_table
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.sentence import MEASURED, SIMULATED, sentence
from ge_explorer.views.table import Part, Table, TablePicture

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&:-])")


def build(
    trace: Trace,
    identities: Mapping[int, StreamIdentity],
    *,
    timeline: Timeline | None = None,
    issues: Iterable[Issue] = (),
    lang: str = "en",
) -> str:
    """Summary of the final state as Markdown text. ``identities``: GE stream number -> identity there."""
    s = trace.final
    kind = MEASURED if timeline is not None and timeline.origin == "measured" else SIMULATED
    rules = Text("GE rules: {v}", "GE 规则：{v}").format(v=GE_RULES_VERSION)
    out = [
        f"# {escape(s.graph.name)}",
        "",
        escape(sentence(trace, timeline).get(lang)),
        "",
        f"*{kind.get(lang)}. {rules.get(lang)}*",
        "",
    ]
    pictures = (
        (Text("Streams", "流"), streams.build(s, identities, timeline=timeline)),
        (
            Text("Events", "事件"),
            events.build(s, identities, trace=trace, timeline=timeline, minimum=minimum_events(s)),
        ),
    )
    for title, p in pictures:
        out += _section(title, p, lang)
    m = memory_map.build(s, identities, timeline=timeline)
    if m is not None:
        title = Text("Memory", "内存")
        out += [f"## {title.get(lang)}", "", escape(m.alt.get(lang)), ""]
        out += _table(shares_table(Text("live at the peak", "峰值处存活"), m.shares), lang)
    out += _section(Text("Issues", "问题"), issues_view.build(s, issues, identities), lang)
    return "\n".join(out).rstrip() + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows literally.

    >>> escape("a|b<c>")
    'a\\\\|b\\\\<c\\\\>'
    """
    return _SPECIAL.sub(r"\\\1", text)


def _section(title: Text, p: TablePicture, lang: str) -> list[str]:
    out = [f"## {title.get(lang)}", "", escape(p.alt.get(lang)), ""]
    for t in p.tables:
        out += _table(t, lang)
    return out


def _table(t: Table, lang: str) -> list[str]:
    if not t.rows:
        return []
    heads = [escape(c.title.get(lang)) or " " for c in t.columns]
    lines = [
        "| " + " | ".join(heads) + " |",
        "|" + "|".join("---:" if c.align == "right" else "---" for c in t.columns) + "|",
    ]
    lines += ["| " + " | ".join("; ".join(_part(p, lang) for p in cell) for cell in r.cells) + " |" for r in t.rows]
    if t.left_out:
        lines += ["", Text("{n} more are not listed.", "另有 {n} 行未列出。").format(n=t.left_out).get(lang)]
    return [*lines, ""]


def _part(p: Part, lang: str) -> str:
    mark = f"**{p.mark.letter}** " if p.mark is not None and p.mark.letter else ""
    origin = f" {p.origin.mark}" if p.origin is not None else ""
    return f"{mark}{escape(p.text.get(lang))}{origin}"
