"""A page with all parts of the shell on stub models: no kernel, no network."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from ge_explorer.ids import Ref
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace import Trace
from ge_explorer.views.figures import figures_model
from ge_explorer.views.inspector import Inspector
from ge_explorer.views.palette import identify
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.views.sentence import SIMULATED, sentence
from ge_explorer.views.strip import strip_model
from ge_explorer.views.wording import both
from ge_explorer.widgets.shell import shell_css, shell_module
from tests.views import small_trace

LIGHT = ":root{--jp-layout-color1:#fff;--jp-ui-font-color0:#000;--jp-brand-color1:#1976d2;--jp-error-color1:#d32f2f}"
DARK = (
    "[data-theme=dark]{--jp-layout-color1:#212121;--jp-ui-font-color0:#fff;--jp-brand-color1:#64b5f6;"
    "--jp-error-color1:#ef5350;color-scheme:dark}"
)
PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>shell</title>
<style>{base}body{{margin:8px;background:var(--jp-layout-color1);font-family:Inter,"Noto Sans CJK SC","DejaVu Sans",sans-serif}}
{css}</style></head><body><div class="gx gx-host"><div class="gx-explorer">
<div class="gx-a-top"></div><div class="gx-a-canvas"></div><div class="gx-a-tabs"></div><div class="gx-a-panel"></div>
<div class="gx-a-ins"></div><div class="gx-a-foot"></div></div></div>
<script type="module">
const shell = await import("data:text/javascript;base64,{module}");
const bytes = Uint8Array.from(atob("{states}"), (c) => c.charCodeAt(0));
const states = JSON.parse(new TextDecoder().decode(bytes)), models = {{}};
for (const [area, state] of Object.entries(states)) {{
  models[area] = shell.stubShellModel(state);
  shell.mountShell(document.querySelector(".gx-a-" + area), models[area]);
}}
shell.linkModels(Object.values(models), ["step", "compare", "selected", "lang", "tab"]);
window.models = models;
</script></body></html>"""


def shell_states(
    trace: Trace, timeline: Timeline | None, results: dict[str, Any], strength: str, lang: str, selected: str = "node:2"
) -> dict[str, dict[str, Any]]:
    """Traits of every part."""
    ids = identify(trace)
    step = trace.failed.index if trace.failed else len(trace) - 1
    chosen = [selected] if selected else []
    base = {
        "step": step, "compare": step - 1, "selected": chosen, "strength": strength, "lang": lang, "layout_mode": "lanes",
        "tab": "timeline", "query": "", "quiet": True, "intents": [], "ack": 0, "download": {},
    }  # fmt: skip
    tabs = [
        ("timeline", "Timeline", "时间线"), ("memory", "Memory", "内存"), ("events", "Events", "事件"),
        ("streams", "Streams", "流"), ("diff", "Diff", "差异"), ("mermaid", "Mermaid", "Mermaid"), ("issues", "Issues", "问题"),
    ]  # fmt: skip
    toolbar = {
        "graph": trace.initial.graph.name,
        "graphs": [
            {"name": "chain", "title": {"en": "Chain", "zh": "链"}},
            {"name": trace.initial.graph.name, "title": ""},
        ],
        "optionText": {"en": "GE's defaults", "zh": "GE 默认"},
        "modes": [
            {"name": "default", "title": {"en": "GE's defaults", "zh": "GE 默认"}, "on": True},
            {"name": "cv", "title": "cv"},
        ],
        "options": [{"key": "ge.enableSingleStream", "value": ""}],
        "chip": "Ascend910B1",
        "cores": "24 / 48",
        "chips": [{"name": "Ascend910B1", "note": "24 / 48"}],
        "exports": [{"key": "json", "label": "JSON"}],
        "canUndo": True,
        "canRedo": False,
        "search": {},
    }
    top = {
        "toolbar": toolbar, "strip": strip_model(trace, ids), "share": SelectionState(step=step).to_share(), "version": 1,
        "figures": figures_model(results, strength, timeline, failed=trace.failed is not None, issues=2),
    }  # fmt: skip
    out = {
        "top": {"part": "top", "data": top},
        "tabs": {"part": "tabs", "data": {"tabs": [{"key": k, "label": {"en": e, "zh": z}} for k, e, z in tabs]}},
        "ins": {"part": "inspector", "data": Inspector(trace, ids, timeline).model([Ref.parse(r) for r in chosen], step)},
        "panel": {"part": "state", "data": {}},
        "foot": {
            "part": "status",
            "data": {"label": both(SIMULATED), "sentence": both(sentence(trace, timeline, ids)), "rules": "Aug 2026"},
        },
    }  # fmt: skip
    if trace.failed is not None:
        out["panel"]["data"] = {"kind": "failed", **top["strip"]["failed"]}
    return {area: {**base, **own} for area, own in out.items()}


def write_page(path: Path, states: dict[str, dict[str, Any]], theme: str = "light") -> str:
    """Write the page; returns its address."""
    module = base64.b64encode(shell_module().encode()).decode()
    text = base64.b64encode(json.dumps(states).encode()).decode()
    path.write_text(
        PAGE.format(theme=theme, base=LIGHT + DARK, css=shell_css(), module=module, states=text), encoding="utf-8"
    )
    return path.as_uri()


def small_states(lang: str = "en", **kwargs: Any) -> dict[str, dict[str, Any]]:
    """States of the seven-step trace with one hostile name."""
    t = small_trace.trace()
    return shell_states(t, small_trace.timeline(t), dict(small_trace.RESULTS), "C2", lang, **kwargs)
