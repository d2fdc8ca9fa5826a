"""The functions behind ``gx.compile``, ``gx.check``, ``gx.diff``, ``gx.simulate``, ``gx.export`` and ``gx.open_session``.

Each takes "anything that is a graph": an example name, a file path, bytes, a Graph, a Session or a Trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ge_explorer import examples, pipelines
from ge_explorer.checks import check_trace
from ge_explorer.device.overrides import placement_option
from ge_explorer.device.profile import ProfileSource
from ge_explorer.errors import InputError, OptionError
from ge_explorer.exports.saved_settings import saved_settings
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.loaders import LoadResult, load
from ge_explorer.passes.streams.custom_stream import StreamFunction
from ge_explorer.plan.builtin import plan_for
from ge_explorer.plan.model import Plan
from ge_explorer.session import DEFAULT_CHIP, Session
from ge_explorer.simulator import simulate as _simulate
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace import Diff, Pipeline, Trace
from ge_explorer.trace.agreement import Agreement, agree
from ge_explorer.trace.compare_files import FilesDiff, diff_results
from ge_explorer.trace.recorded import source_graph

Source = Any


def open_session(
    source: Source,
    *,
    mode: str | None = None,
    options: Mapping[str, str] | None = None,
    chip: str = "",
    plan: Plan | str | None = None,
    strength: str | None = None,
    pipeline: Pipeline | str = "",
    stream_passes: Sequence[StreamFunction] = (),
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    example_inputs: Any = None,
    profile: ProfileSource | None = None,
    placement: Mapping[str, Any] | str | PathLike[str] | None = None,
) -> Session:
    """Session on ``source``.

    ``source``: example name, file path, bytes, onnx.ModelProto, Graph or Session. ``mode``: a named mode such as ``cv`` or
    ``LoadBalance:4``. ``plan``: a Plan, or a strength name (C1, C2, C3) as shorthand for ``strength``; the built-in examples
    that come with a plan use it by default, at C1. ``pipeline``: a preset or pipeline text (by default ``static``, or ``dynamic``
    for a root of unknown shape). ``stream_passes``: functions of yours that run after GE's stream passes. ``input_shapes`` and
    ``dims``: sizes for open dimensions of an ONNX model, see ``load``; with all of them known the static steps run.
    A graph written by ``export`` as JSON brings the settings it was written with; what is given here goes first.
    ``example_inputs``: for a PyTorch module, see ``load``. ``profile``: CSV file of measured durations (or its text, or rows) that
    replace the model's; see ``Session.profile_report``. ``placement``: engine or core kind by operator type or ``node:<name>``,
    such as ``{"MatMulV2": "AIV"}``, or a JSON file of it.
    Errors: InputError for an unusable file, OptionError for a wrong name.
    """
    if isinstance(source, Session):
        if profile is not None:
            source.set_profile(profile)
        if placement is not None:
            source.set_options(placement_option(placement))
        return source
    if isinstance(source, Trace):
        source = source.initial.graph
    made = isinstance(source, Graph) or (isinstance(source, str) and source.partition(":")[0] in examples.names())
    if made and (input_shapes or dims):
        raise OptionError("input shapes can be given for model files only", todo="Leave them out.")
    if isinstance(plan, str):
        plan, strength = None, plan
    defaults: dict[str, str] = {}
    loaded = None
    if isinstance(source, str) and source.partition(":")[0] in examples.names():
        example = examples.get(source)
        graph, defaults = example.graph, dict(example.options)
    elif isinstance(source, Graph):
        graph = source
    else:
        loaded = load(source, example_inputs, input_shapes=input_shapes, dims=dims)
        graph = source_graph(loaded)
        if loaded.recorded is not None:
            defaults = _known_options(loaded.recorded.options)
        saved = saved_settings(loaded)
        defaults = {**defaults, **saved.options}
        chip, plan, pipeline = chip or saved.chip, plan or saved.plan, pipeline or saved.pipeline
        strength = saved.strength if strength is None else strength
    if placement is not None:
        options = {**(options or {}), **placement_option(placement)}
    plan = plan if plan is not None else plan_for(graph, from_file=loaded is not None)
    if strength is None:
        strength = "C1" if plan is not None else ""
    chosen = pipelines.mode_options(mode) if mode else {}
    if mode:  # an explicit mode replaces the one an example comes with
        defaults = {k: v for k, v in defaults.items() if k not in pipelines.MODE_KEYS}
    return Session(
        graph, options={**defaults, **chosen, **(options or {})}, chip=chip or DEFAULT_CHIP, plan=plan, strength=strength,
        pipeline=pipeline, loaded=loaded, stream_passes=stream_passes, profile=profile,
    )  # fmt: skip


def compile(source: Source, **settings: Any) -> Trace:
    """Run every step on ``source``; settings as in ``open_session``. A failing step is kept in the trace, not raised."""
    return open_session(source, **settings).trace


def simulate(source: Source, **settings: Any) -> Timeline:
    """Simulated timeline of the final snapshot (model-exact, not calibrated). Settings as in ``open_session``."""
    if isinstance(source, Trace):
        return _simulate(source.final, settings.get("chip", DEFAULT_CHIP))
    return open_session(source, **settings).timeline


def check(source: Source, **settings: Any) -> tuple[Issue, ...]:
    """Findings of the independent checkers on a Trace, or on ``source`` compiled with ``settings``."""
    if isinstance(source, Trace):
        return check_trace(source)
    return open_session(source, **settings).issues


def diff(source: Source, i: int | str, j: int | str, **settings: Any) -> Diff:
    """Exact difference between two steps (index or name; -1 is the state before the first step)."""
    trace = source if isinstance(source, Trace) else compile(source, **settings)
    a, b = (k if isinstance(k, int) else trace.step(k).index for k in (i, j))
    return trace.diff(a, b)


def diff_files(a: Source, b: Source) -> FilesDiff:
    """Exact difference of two files (dumps or models; anything ``load`` takes): nodes, streams, events, offsets, options.

    Errors: InputError for an unusable file.
    """
    return diff_results(_loaded(a), _loaded(b))


def agreement(source: Source, **settings: Any) -> Agreement:
    """How far our compilation of a dump's graph agrees with what GE wrote into the dump: streams, events, offsets by node.

    The dump's own compile options are used where it carries them, GE's memory planner is the default; ``settings`` as in
    ``open_session``. InputError for a source that records nothing.
    """
    loaded = _loaded(source)
    if loaded.recorded is None:
        raise InputError("this source records no compilation", where=loaded.report.source, got=loaded.report.format,
                         todo="Give a GE dump or log.")  # fmt: skip
    options = {
        "gx.memoryPlanner": "ge",
        **_known_options(loaded.recorded.options),
        **(settings.pop("options", None) or {}),
    }
    session = open_session(source_graph(loaded), options=options, **settings)
    failed = session.trace.failed
    if failed is not None and failed.error is not None:
        raise failed.error
    return agree(loaded, session.trace.final)


def _loaded(source: Source) -> LoadResult:
    return source if isinstance(source, LoadResult) else load(source)


def _known_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those compile options of a dump that some step reads."""
    keys = {k for p in pipelines.presets().values() for i in p for k in i.pass_.option_keys}
    return {k: v for k, v in options.items() if k in keys and v}


def export(source: Source, path: str | PathLike[str], **settings: Any) -> Path:
    """Write one HTML file that steps and selects with no kernel and no network; returns its path."""
    from ge_explorer.views.export_html import export_html

    return Path(export_html(open_session(source, **settings), Path(path)))
