"""Run a pipeline: contract checks around every pass, per-scope expansion, prefix cache, one failing step kept."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ge_explorer.errors import ContractError, GxError, PassFailed
from ge_explorer.graph.collector import collector_paused
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text
from ge_explorer.trace.content import changed_facets
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.pipeline import Item, Pipeline
from ge_explorer.trace.state import FACETS, Options, Snapshot
from ge_explorer.trace.trace import Step, Trace

OFF = Text("switched off", "已关闭")
NOT_RUN = Text("not run: an earlier step failed", "未运行：前面的步骤失败")


_FACETS = frozenset(FACETS)


class GuardedSnapshot:
    """What a running pass sees: declared facets only. Reading or writing anything else is a bug in the pass."""

    __slots__ = ("_hidden", "_inner", "_pass")

    def __init__(self, inner: Snapshot, pass_: Pass) -> None:
        object.__setattr__(self, "_hidden", _FACETS - pass_.reads - pass_.writes)
        object.__setattr__(self, "_inner", inner)
        object.__setattr__(self, "_pass", pass_)

    def __getattr__(self, name: str) -> Any:
        if name in self._hidden:
            raise ContractError(f"pass {self._pass.name!r} reads facet {name!r} without declaring it")
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: object) -> None:
        raise ContractError(f"pass {self._pass.name!r} tries to change a snapshot in place", got=name)

    def evolve(self, **facets: Any) -> Snapshot:
        """Copy with some declared facets replaced."""
        for name in facets:
            if name not in self._pass.writes:
                raise ContractError(f"pass {self._pass.name!r} writes facet {name!r} without declaring it")
        snapshot: Snapshot = self._inner.evolve(**facets)
        return snapshot


@dataclass
class TraceCache:
    """Prefix cache: a step is looked up by everything that can change it (state before, pass, on/off, scope, options read).

    Holds at most ``limit`` steps, least recently used first out. One cache serves many graphs.
    """

    limit: int = 600
    hits: int = 0
    misses: int = 0
    _steps: OrderedDict[tuple[Any, ...], tuple[int, Step]] = field(default_factory=OrderedDict)
    _roots: dict[int, tuple[int, Graph]] = field(default_factory=dict)
    _next: int = 0

    def root(self, graph: Graph) -> int:
        """Token of the state before the first step (by identity; the graph is kept alive)."""
        if id(graph) not in self._roots:
            self._roots[id(graph)] = (self._token(), graph)
        return self._roots[id(graph)][0]

    def _token(self) -> int:
        self._next += 1
        return self._next

    def get(self, key: tuple[Any, ...]) -> tuple[int, Step] | None:
        """(token after, step) or None."""
        found = self._steps.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._steps.move_to_end(key)
        return found

    def put(self, key: tuple[Any, ...], step: Step) -> int:
        """Store a step; returns the token of the state after it."""
        token = self._token()
        self._steps[key] = (token, step)
        while len(self._steps) > self.limit:
            self._steps.popitem(last=False)
        return token


@collector_paused()
def run_trace(
    graph: Graph,
    pipeline: Pipeline,
    options: Mapping[str, str] | None = None,
    *,
    cache: TraceCache | None = None,
    strict: bool = False,
) -> Trace:
    """Run ``pipeline`` on ``graph``.

    A failing pass becomes a FAILED step; the rest is ``not_run``. With ``strict`` a crash inside a pass is raised instead of
    kept as a failed step (GE's own failures, PassFailed, are kept in both modes).
    """
    opts = Options.of(options)
    cache = cache if cache is not None else TraceCache()
    initial = Snapshot(graph, opts)
    token = cache.root(graph)
    steps: list[Step] = []
    current, failed = initial, False
    for item, scope, scope_name in _expand(pipeline, steps, initial):
        name = item.key + (f"@{scope_name}" if scope else "")
        relevant = tuple((k, opts.get(k)) for k in sorted(item.pass_.option_keys) if k in opts.values)
        key = (token, item.pass_, item.enabled, scope, failed, relevant)
        found = cache.get(key)
        if found is None:
            blank = Step(len(steps), item.pass_, "unchanged", current, current, scope, name=name)
            step = _run_step(blank, item, opts, pipeline, failed, strict)
            token = cache.put(key, step)
        else:
            token, step = found
            step = _moved(step, len(steps), name, current)
        steps.append(step)
        current = step.after
        failed = failed or step.status == "failed"
    return Trace(initial, tuple(steps), tuple(i for s in steps for i in s.issues), pipeline)


def _moved(step: Step, index: int, name: str, current: Snapshot) -> Step:
    """A step from the cache at its place in this trace. It starts from ``current`` itself, and ends there if it changed
    nothing, so that what views remember about a snapshot stays valid over unchanged steps.
    """
    after = current if step.after is step.before else _with_options(step.after, current.options)
    return replace(step, index=index, name=name, before=current, after=after)


def _with_options(s: Snapshot, options: Options) -> Snapshot:
    return s if s.options is options else s.evolve(options=options)


def _expand(pipeline: Pipeline, done: list[Step], initial: Snapshot) -> Iterator[tuple[Item, int, str]]:
    """Items with their scope. A run of per-scope items is repeated per scope; ``done`` grows while this is consumed."""
    items = list(pipeline)
    i = 0
    while i < len(items):
        if not items[i].pass_.per_scope:
            yield items[i], 0, ""
            i += 1
            continue
        j = i
        while j < len(items) and items[j].pass_.per_scope:
            j += 1
        snapshot = done[-1].after if done else initial
        for scope in (0, *(snapshot.scope_order or ())):
            for item in items[i:j]:
                yield item, scope, snapshot.graph.scope(scope).name
        i = j


def _run_step(step: Step, item: Item, options: Options, pipeline: Pipeline, failed: bool, strict: bool) -> Step:
    """``step`` filled in: what the pass did to the snapshot it starts from."""
    p, s, scope = item.pass_, step.before, step.scope
    if failed:
        return replace(step, status="not_run", reason=NOT_RUN)
    if not item.enabled:
        return replace(step, status="disabled", reason=OFF)
    ctx = PassContext(p.rules, options.values, p.option_keys, scope)
    started = time.perf_counter()
    view = cast(Snapshot, GuardedSnapshot(s, p))
    try:
        _check_needs(p, s, pipeline)
        reason = p.skip_reason(view, ctx)
        if reason is not None:
            return replace(step, status="skipped", reason=reason)
        p.requires(view)
        after = p.run(view, ctx)
        if not isinstance(after, Snapshot):
            after = s if isinstance(after, GuardedSnapshot) else after
        if not isinstance(after, Snapshot):
            raise ContractError(f"pass {p.name!r} returned no snapshot", got=type(after).__name__)
        changed = changed_facets(s, after)
        for facet in changed:
            if facet not in p.writes:
                raise ContractError(f"pass {p.name!r} changed facet {facet!r} without declaring it")
        p.ensures(s, after)
    except GxError as e:
        if strict and isinstance(e, ContractError):
            raise
        status = e.ge_status if isinstance(e, PassFailed) else ""
        return replace(
            step, status="failed", error=e, ge_status=status, decisions=tuple(ctx.decisions), issues=tuple(ctx.issues),
            seconds=time.perf_counter() - started,
        )  # fmt: skip
    except Exception as e:
        if strict:
            raise
        wrapped = ContractError(
            f"pass {p.name!r} crashed: {type(e).__name__}: {e}", todo="This is a bug: please report it."
        )
        wrapped.__cause__ = e
        return replace(step, status="failed", error=wrapped, seconds=time.perf_counter() - started)
    return replace(
        step,
        status="changed" if changed else "unchanged",
        after=after if changed else s,
        ge_status=ctx.status,
        changed=changed,
        decisions=tuple(ctx.decisions),
        issues=tuple(ctx.issues),
        seconds=time.perf_counter() - started,
    )


def _check_needs(p: Pass, s: Snapshot, pipeline: Pipeline) -> None:
    """Declared reads must exist (a facet the pass itself writes may be new)."""
    for facet in sorted(p.reads - p.writes):
        if getattr(s, facet) is None:
            makers = [i for i in pipeline if facet in i.pass_.writes]
            off = next((i for i in makers if not i.enabled), None)
            todo = (
                f"Switch {off.key!r} on again."
                if off is not None
                else f"Put {makers[0].key!r} before it."
                if makers
                else "Add a pass that makes it."
            )
            raise PassFailed(
                f"{p.name} needs {facet!r}, which no step before it made", ge_status="", where=p.name, todo=todo
            )
