"""``gx.compare``: two sources, two settings of one source, or a dump and its compilation here, as one ``Comparison``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

from ge_explorer import examples
from ge_explorer.api import Source, open_session
from ge_explorer.errors import InputError
from ge_explorer.graph.model import Graph
from ge_explorer.loaders import LoadResult, load
from ge_explorer.loaders.ge_version import stated_versions
from ge_explorer.plan.model import Plan
from ge_explorer.provenance import Origin
from ge_explorer.session import Session
from ge_explorer.text import Text
from ge_explorer.trace import Trace
from ge_explorer.trace.agreement import Agreement, agree
from ge_explorer.trace.recorded import snapshot_of
from ge_explorer.views.comparison import CompareSide, Comparison, settings_title, side_of
from ge_explorer.views.marks import plain
from ge_explorer.views.strengths import StrengthTable

_RECORDED = Text("{name}, as recorded", "{name}（转储记录）")


@overload
def compare(source: Source, **settings: Any) -> StrengthTable: ...
@overload
def compare(source: Source, other: Source, **settings: Any) -> Comparison: ...
def compare(source: Source, other: Source | None = None, **settings: Any) -> StrengthTable | Comparison:
    """Two states side by side; without ``other`` the figures of every strength of the plan.

    ``other`` is anything ``source`` may be (file, example, Graph, Session, Trace), or a mapping of settings or a Plan: then the
    same source is compiled a second time with those on top of ``settings``. A GE dump stands for what GE wrote into it; give
    ``gx.open_session(dump)`` for our compilation of it, and the agreement of the two is shown node by node. The result shows
    itself in a notebook cell; ``to_html(path)`` writes it as one page. Errors: as ``open_session``.

    >>> str(compare("fork_join", {"mode": "single"}))[:2]
    'A:'
    """
    if other is None:
        return StrengthTable(open_session(source, **settings).strengths)
    if isinstance(other, Plan):
        other = {"plan": other}
    if isinstance(other, Mapping):
        first = open_session(source, **settings)
        merged = {**settings, **other}
        if "options" in settings and "options" in other:
            merged["options"] = {**settings["options"], **other["options"]}
        again = source.graph if isinstance(source, Session) else source
        second = open_session(again, **merged)
        return Comparison(_compiled(first), _compiled(second))
    a, b = (_side(x, settings) for x in (source, other))
    return Comparison(a[0], b[0], _agreement(a, b))


def session_side(session: Session, title: Text | None = None) -> CompareSide:
    """The final state of a session; the title says its settings unless another is given."""
    result = session.result(session.strength) if session.trace.failed is None else None
    return side_of(session, title or _settings(session), session.options, result)


def recorded_side(loaded: LoadResult) -> CompareSide:
    """What GE wrote into a dump. InputError for a source that records nothing."""
    name = plain(loaded.report.source.rsplit("/", 1)[-1] or loaded.graph.name, 60)
    recorded = loaded.recorded
    return CompareSide(
        _RECORDED.format(name=name), snapshot_of(loaded), origin=Origin.MEASURED, versions=stated_versions(loaded),
        options=dict(recorded.options) if recorded is not None else {},
    )  # fmt: skip


def own_agreement(session: Session) -> Callable[[], Agreement | None] | None:
    """Agreement of the session's result with the dump it was opened on; None for a source that records nothing."""
    loaded = session.loaded
    if not isinstance(loaded, LoadResult) or loaded.recorded is None:
        return None
    held: LoadResult = loaded

    def found() -> Agreement | None:
        return agree(held, session.trace.final) if session.trace.failed is None else None

    return found


def _settings(s: Session) -> Text:
    return settings_title(s.strength, s.options, s.disabled, s.chip)


def _compiled(s: Session) -> CompareSide:
    name = plain(s.graph.name, 40)
    said = _settings(s)
    return session_side(s, Text(f"{name}, {said.en}", f"{name}，{said.get('zh')}"))


Sided = tuple[CompareSide, Session | LoadResult | None]


def _side(source: Source, settings: Mapping[str, Any]) -> Sided:
    if isinstance(source, CompareSide):
        return source, None
    if isinstance(source, Session):
        return _compiled(source), source
    if isinstance(source, Trace):
        s = Session.from_trace(source)
        return _compiled(s), s
    loaded = _loaded(source)
    if loaded is not None and loaded.recorded is not None:
        try:
            return recorded_side(loaded), loaded
        except InputError:
            pass  # a log without a graph of its own: compile what there is
    session = open_session(source, **settings)
    side = _compiled(session)
    if loaded is not None:
        side = CompareSide(side.title, side.state, side.timeline, side.identities, side.origin, side.overlap,
                           stated_versions(loaded), side.options, side.chip)  # fmt: skip
    return side, session


def _loaded(source: Source) -> LoadResult | None:
    """The file behind a source; None for graphs and examples."""
    if isinstance(source, LoadResult):
        return source
    if isinstance(source, Graph) or (isinstance(source, str) and source.partition(":")[0] in examples.names()):
        return None
    return load(source)


def _agreement(a: Sided, b: Sided) -> Callable[[], Agreement | None] | None:
    """Where one side is a dump's record and the other our compilation of that dump."""
    for record, ours in ((a[1], b[1]), (b[1], a[1])):
        if isinstance(record, LoadResult) and isinstance(ours, Session) and isinstance(ours.loaded, LoadResult):
            same = ours.loaded.report.source == record.report.source and len(ours.loaded.graph) == len(record.graph)
            if same:
                return own_agreement(ours)
    return None
