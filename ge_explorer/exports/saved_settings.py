"""Settings kept beside a graph in our JSON.

A trace is a function of graph and settings, so that a file of both gives the same trace again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError
from ge_explorer.loaders.own_json import FORMAT
from ge_explorer.loaders.report import LoadResult
from ge_explorer.plan.model import Plan

if TYPE_CHECKING:
    from ge_explorer.session import Session


@dataclass(frozen=True)
class SavedSettings:
    """What ``open_session`` takes where its caller gives nothing. ``strength`` None: the file does not say."""

    options: Mapping[str, str] = field(default_factory=dict)
    chip: str = ""
    plan: Plan | None = None
    strength: str | None = None
    pipeline: str = ""


def settings_parts(session: Session) -> dict[str, Any]:
    """JSON-able parts of a session for ``to_json``. Measured durations and stream passes of the user are not kept."""
    pipeline = session.base_pipeline.with_disabled(session.disabled)
    kept = not any(i.pass_.name == "custom-stream" for i in pipeline)
    parts: dict[str, Any] = {
        "options": session.options, "chip": session.chip, "strength": session.strength,
        "pipeline": str(pipeline) if kept else "",
    }  # fmt: skip
    if session.plan is not None:
        parts["plan"] = json.loads(session.plan.to_json())
    return parts


def saved_settings(loaded: LoadResult) -> SavedSettings:
    """Settings of a file of ours; nothing for every other format. InputError names the part that is wrong."""
    parts = loaded.report.counts.get("parts", {}) if loaded.report.format == FORMAT else {}
    if not isinstance(parts, Mapping):
        parts = {}
    texts = {k: parts[k] for k in ("chip", "strength", "pipeline") if k in parts}
    options = parts.get("options") or {}
    wrong = [k for k, v in texts.items() if not isinstance(v, str)]
    if not isinstance(options, Mapping) or not all(isinstance(v, str) for v in options.values()):
        wrong.append("options")
    if wrong:
        raise InputError("settings beside the graph are no text", where=f"{loaded.report.source}, parts.{wrong[0]}",
                         todo="Write the file again.")  # fmt: skip
    plan = Plan.from_json(json.dumps(parts["plan"])) if parts.get("plan") else None
    return SavedSettings(dict(options), plan=plan, **texts)
