"""Pictures of a trace in a notebook cell. Names only: the views live to the right of this folder and are loaded on use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ge_explorer.registry import Registry

DISPLAYS: Registry[Callable[..., Any]] = Registry(
    "picture",
    {
        "graph": "ge_explorer.widgets.panels:show_graph",
        "timeline": "ge_explorer.widgets.panels:show_timeline",
        "memory_map": "ge_explorer.widgets.panels:show_memory",
        "events": "ge_explorer.widgets.panels:show_events",
        "streams": "ge_explorer.widgets.panels:show_streams",
        "mermaid": "ge_explorer.widgets.panels:show_mermaid",
        "issues": "ge_explorer.widgets.panels:show_issues",
        "compare": "ge_explorer.widgets.compare_view:show_compare",
    },
)
