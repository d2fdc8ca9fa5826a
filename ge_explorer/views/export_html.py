"""One HTML file of a whole session: steps, selects, switches language and theme with no kernel and no network.

Everything is inside the file: data as JSON that cannot close its own script element, pictures as SVG, and a content policy
that forbids every request. Names are escaped wherever they become markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ge_explorer.device.chips import chip_named
from ge_explorer.provenance import GE_RULES_VERSION, Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import LANGUAGES, Text
from ge_explorer.trace.trace import Trace
from ge_explorer.views import (
    diff_view,
    event_economy_panel,
    events,
    issues_view,
    memory_map,
    mermaid,
    profile_view,
    runtime_page,
    svg_memory,
    svg_timeline,
    timeline,
)
from ge_explorer.views.export_graph import graph_data
from ge_explorer.views.inspector import FACET_LABELS
from ge_explorer.views.marks import Mark, as_json, plain
from ge_explorer.views.memory_table import shares_html
from ge_explorer.views.palette import Identities, StreamIdentity
from ge_explorer.views.sentence import MEASURED, SIMULATED, sentence
from ge_explorer.views.session_like import SessionLike
from ge_explorer.views.streams_page import StreamsPage
from ge_explorer.views.strip import badge
from ge_explorer.views.svg_text import dark_css
from ge_explorer.views.table_html import mark_html, picture_html, text
from ge_explorer.views.wording import source_file

MAX_TRAILS = 3000
"""Why-trails of at most this many nodes are stored; the page says when there are more."""
STATIC = Path(__file__).resolve().parents[1] / "widgets" / "static"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def export_html(session: SessionLike, path: str | Path) -> Path:
    """Write the page to ``path`` (parent folder must exist) and return it."""
    target = Path(path)
    target.write_text(page(session), encoding="utf-8")
    return target


def page(session: SessionLike) -> str:
    """The page as text."""
    trace = session.trace
    css = (STATIC / "panels.css").read_text(encoding="utf-8") + (STATIC / "export.css").read_text(encoding="utf-8")
    script = (STATIC / "export.js").read_text(encoding="utf-8")
    title = escape(plain(trace.final.graph.name) or "graph")
    return (
        '<!doctype html>\n<html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title} · ge_explorer</title><style>{css}{dark_css()}</style></head>"
        '<body class="gxp" data-gx-state="loading"><div id="app"></div>'
        f'<noscript><div class="gxp-body">{text(sentence(trace), "en")}</div></noscript>'
        f'<script type="application/json" id="data">{safe_json(data(session))}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def safe_json(value: Any) -> str:
    """JSON that may stand inside a script element: ``<``, ``>``, ``&`` and line separators are escaped.

    >>> safe_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    out = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        out = out.replace(c, f"\\u{ord(c):04x}")
    return out


def data(session: SessionLike) -> dict[str, Any]:
    """Everything the page shows, JSON-able. HTML in it is ready and escaped, per language."""
    trace, ids = session.trace, session.identities
    alive = trace.failed is None
    clock = session.timeline if alive else None
    last = len(trace) - 1
    final = _at(ids, last)
    return {
        "title": plain(trace.final.graph.name),
        "chip": session.chip,
        "strength": session.strength,
        "rules": GE_RULES_VERSION,
        "sentence": as_json(sentence(trace, clock, ids)),
        "kind": as_json(MEASURED if clock is not None and clock.origin == "measured" else SIMULATED),
        "origins": [[o.mark, as_json(o.text)] for o in Origin],
        "steps": [_step(trace, k, ids) for k in range(len(trace))],
        "graph": graph_data(trace, ids),
        "marks": [mark_html(Mark(-1, x.index, x.letter, x.role)) for x in ids.items],
        "roles": [as_json(x.role) for x in ids.items],
        "why": _trails(trace),
        "trails_left_out": max(0, len(trace.final.graph) - MAX_TRAILS),
        "pictures": {lang: _pictures(session, clock, final, lang) for lang in LANGUAGES},
        **_shared({lang: _tables(session, clock, lang) for lang in LANGUAGES}),
        "mermaid": mermaid.build(trace.final, final).text,
    }


def _at(ids: Identities, step: int) -> dict[int, StreamIdentity]:
    table = ids.by_step[step + 1] if step + 1 < len(ids.by_step) else {}
    return {stream: ids.items[index] for stream, index in table.items()}


def _step(trace: Trace, k: int, ids: Identities) -> dict[str, Any]:
    step = trace.steps[k]
    out: dict[str, Any] = {
        "name": step.name,
        "title": as_json(step.title if step.title.en else Text(step.name)),
        "chapter": step.pass_.chapter,
        "status": step.status,
        "badge": as_json(badge(step, ids)),
    }
    if step.reason is not None:
        out["reason"] = as_json(step.reason)
    if step.error is not None:
        out["error"] = plain(str(step.error), 400)
    return out


def _trails(trace: Trace) -> dict[str, list[Any]]:
    """Node id -> decisions: step index, what is decided, before, after, rule text, source file, holds now."""
    keep = set(trace.final.graph.node_ids[:MAX_TRAILS])
    found: dict[int, list[Any]] = {}
    last: dict[tuple[int, str], list[Any]] = {}
    for step in trace.steps:
        for d in step.decisions:
            if d.subject.kind != "node" or d.subject.id not in keep:
                continue
            rule = step.pass_.rules.get(d.rule)
            entry = [
                step.index, as_json(FACET_LABELS.get(d.facet, Text(d.facet))), plain(str(d.before), 60), plain(str(d.after), 60),
                as_json(rule.text if rule else Text(d.rule)), source_file(rule.source) if rule and rule.source else "", 0,
            ]  # fmt: skip
            found.setdefault(d.subject.id, []).append(entry)
            if d.decisive:
                last[(d.subject.id, d.facet)] = entry
    for entry in last.values():
        entry[-1] = 1
    return {str(i): rows for i, rows in found.items()}


def _single(session: SessionLike, what: str) -> int | None:
    if session.strength == "single":
        return None
    found = getattr(session.strengths.get("single"), what, None)
    return found if isinstance(found, int) else None


def _pictures(
    session: SessionLike, clock: Timeline | None, final: Mapping[int, StreamIdentity], lang: str
) -> dict[str, str]:
    s = session.trace.final
    out = {"timeline": "", "memory": ""}
    if clock is not None:
        p = timeline.build(s, clock, final, single_ns=_single(session, "makespan_ns"))
        out["timeline"] = svg_timeline.svg(p, lang) + f'<p class="gxp-note">{text(p.alt, lang)}</p>'
    m = memory_map.build(s, final, timeline=clock, single_peak=_single(session, "peak"))
    if m is not None:
        out["memory"] = (
            f'<div class="gx-split"><div>{svg_memory.svg(m, lang)}<p class="gxp-note">{text(m.alt, lang)}</p></div>'
            f"<div>{shares_html(m, lang)}</div></div>"
        )
    return out


def _tables(session: SessionLike, clock: Timeline | None, lang: str) -> dict[str, list[str]]:
    """HTML per state (index 0: before the first step)."""
    trace, ids = session.trace, session.identities
    out: dict[str, list[str]] = {"events": [], "streams": [], "diff": [], "issues": [], "runtime": []}
    chip = chip_named(session.chip)
    streams_html: dict[tuple[object, ...], str] = {}
    for k in range(-1, len(trace)):
        s, now = trace.snapshot(k), _at(ids, k)
        timed = clock if s.sync is trace.final.sync else None
        least = session.minimum_events(s)
        table = picture_html(events.build(s, now, trace=trace, timeline=timed, minimum=least), lang)
        balance = (
            picture_html(event_economy_panel.build(s, trace=trace, minimum=least), lang) if s.sync is not None else ""
        )
        out["events"].append(table + balance)
        timed = clock if s.streams is trace.final.streams else None
        facets = (id(s.graph), id(s.streams), id(s.sync), id(s.tasks), id(s.physical), id(timed), tuple(now.items()))
        if facets not in streams_html:
            streams_html[facets] = StreamsPage(s, now, chip, timed).all_html(lang)
        out["streams"].append(streams_html[facets])
        before = max(-1, k - 1)
        out["diff"].append(picture_html(diff_view.build(trace, before, k, _at(ids, before), now, limit=60), lang))
    found = issues_view.build(trace.final, session.issues, _at(ids, len(trace) - 1))
    found = profile_view.with_profile(found, session.profile_report, trace.final)
    out["issues"] = [picture_html(found, lang)]
    out["runtime"] = [runtime_page.still(trace, _at(ids, len(trace) - 1), session.chip, lang)]
    return out


def _shared(tables: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Any]:
    """``texts``: every different string once; ``tables``: the same shape as given, with places in ``texts``."""
    texts: dict[str, int] = {}
    placed = {
        lang: {name: [texts.setdefault(x, len(texts)) for x in states] for name, states in named.items()}
        for lang, named in tables.items()
    }
    return {"texts": list(texts), "tables": placed}
