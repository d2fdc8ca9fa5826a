"""The toolbar's model: graph, mode and options, chip, exports, search result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ge_explorer.device.chips import CHIPS, resolve_chip
from ge_explorer.pipelines import MODES
from ge_explorer.text import Text
from ge_explorer.views.wording import both

EXPORTS: Mapping[str, tuple[Text, Text]] = MappingProxyType(
    {
        "html": (
            Text("One HTML page", "单个 HTML 页面"),
            Text("steps and selects without a kernel", "无需内核即可步进与选择"),
        ),
        "json": (
            Text("Report (JSON)", "报告（JSON）"),
            Text("steps, streams, events, memory, timeline", "步骤、流、事件、内存、时间线"),
        ),
        "mermaid": (Text("Mermaid", "Mermaid"), Text("the graph at this step", "当前步骤的图")),
        "perfetto": (Text("Perfetto trace", "Perfetto 轨迹"), Text("the simulated timeline", "仿真时间线")),
        "state": (Text("View state (JSON)", "视图状态（JSON）"), Text("settings and selection", "设置与选中内容")),
    }
)


def toolbar_model(
    *,
    graph: str,
    graphs: Iterable[tuple[str, Text]],
    options: Mapping[str, str],
    option_keys: Iterable[str],
    chip: str,
    undo: bool,
    redo: bool,
    search: Mapping[str, Any],
    failed: bool = False,
) -> dict[str, Any]:
    """JSON-able model. ``graphs``: (name, title) offered besides the open one; ``option_keys``: every key the passes read.

    ``search``: ``{query, hits, at}``. Timeline exports are left out while a step has failed.
    """
    chosen = CHIPS.get(chip) or resolve_chip(chip).chip
    mode = current_mode(options)
    keys = [*dict.fromkeys([*sorted(options), *sorted(option_keys)])]
    return {
        "graph": graph,
        "graphs": [{"name": n, "title": both(t)} for n, t in graphs],
        "optionText": both(_option_text(options, mode)),
        "modes": [{"name": n, "title": both(t), "on": n == mode} for n, (t, _) in MODES.items()],
        "options": [{"key": k, "value": options.get(k, "")} for k in keys],
        "chip": chosen.name,
        "cores": f"{chosen.aic} / {chosen.aiv}",
        "chipTip": both(
            Text(
                f"{chosen.aic} cube and {chosen.aiv} vector cores",
                f"{chosen.aic} 个 Cube 核、{chosen.aiv} 个 Vector 核",
            )
        ),
        "chips": [
            {
                "name": c.name,
                "note": both(Text(f"{c.aic} / {c.aiv} cores, {c.mhz} MHz", f"{c.aic} / {c.aiv} 核，{c.mhz} MHz")),
            }
            for c in CHIPS.values()
        ],
        "exports": [
            {"key": k, "label": both(label), "note": both(note)}
            for k, (label, note) in EXPORTS.items()
            if not (failed and k == "perfetto")
        ],
        "canUndo": undo,
        "canRedo": redo,
        "search": dict(search),
    }


def current_mode(options: Mapping[str, str]) -> str:
    """Name of the mode whose options are set and no other mode's; "" when the combination has no name.

    >>> current_mode({}), current_mode({"ge.autoMultistreamParallelMode": "cv", "ge.exec.other": "1"})
    ('default', 'cv')
    """
    keys = {k for _, given in MODES.values() for k in given}
    mine = {k: v for k, v in options.items() if k in keys}
    return next((n for n, (_, given) in MODES.items() if dict(given) == mine), "")


def _option_text(options: Mapping[str, str], mode: str) -> Text:
    title = MODES[mode][0] if mode else Text(options.get("ge.autoMultistreamParallelMode", "") or "custom", "")
    keys = {k for _, given in MODES.values() for k in given}
    extra = sum(1 for k in options if k not in keys)
    if not extra:
        return title
    return Text(f"{title.en}, +{extra}", f"{title.get('zh')}，+{extra}")
