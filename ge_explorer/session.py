"""Session: graph + settings + caches. The only mutable application object; knows nothing of Jupyter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from weakref import WeakKeyDictionary

from ge_explorer import pipelines
from ge_explorer.checks import check_trace
from ge_explorer.device.chips import chip_named
from ge_explorer.device.profile import Profile, ProfileSource
from ge_explorer.device.profile_report import ProfileReport
from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.passes.optimize.gears_hybrid import dynamic_twin
from ge_explorer.passes.streams.custom_stream import StreamFunction
from ge_explorer.passes.sync.minimum import minimum_events
from ge_explorer.plan.apply import apply, without_plan
from ge_explorer.plan.compare import StrengthResult, strength_result
from ge_explorer.plan.model import Plan
from ge_explorer.simulator import simulate
from ge_explorer.simulator.measured_times import MeasuredTimes
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace import Pipeline, Trace, TraceCache, run_trace
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.palette import Identities, identify

DEFAULT_CHIP = "Ascend910B1"


@dataclass(frozen=True)
class Settings:
    """Everything a user may change. ``strength`` "" = the graph as it is (no plan applied)."""

    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    chip: str = DEFAULT_CHIP
    disabled: frozenset[str] = frozenset()
    strength: str = ""
    profile: str = ""
    """Digest of the profile in use ("" none): a profile that changes on disk is another setting."""

    def key(self) -> tuple[object, ...]:
        """Hashable form."""
        return (tuple(sorted(self.options.items())), self.chip, self.disabled, self.strength, self.profile)


class Session:
    """One graph under exploration.

    ``trace``, ``timeline``, ``issues`` and ``strengths`` follow the settings; each settings change is undoable and bumps
    ``version``. Results of settings seen before come from the cache.

    >>> from ge_explorer import examples
    >>> s = Session(examples.fork_join())
    >>> s.trace.final.streams.count >= 1
    True
    """

    def __init__(
        self,
        graph: Graph,
        *,
        options: Mapping[str, str] | None = None,
        chip: str = DEFAULT_CHIP,
        plan: Plan | None = None,
        strength: str = "",
        pipeline: Pipeline | str = "",
        loaded: object = None,
        stream_passes: Sequence[StreamFunction] = (),
        profile: ProfileSource | None = None,
    ) -> None:
        self.graph, self.plan, self.loaded = graph, plan, loaded
        if isinstance(pipeline, str):
            pipeline = pipelines.pipeline(pipeline or pipelines.preset_for(graph, options), stream_passes=stream_passes)
        self.base_pipeline = pipeline
        self.cache = TraceCache()
        self.version = 0
        self._undo: list[Settings] = []
        self._redo: list[Settings] = []
        self._traces: dict[tuple[object, ...], Trace] = {}
        self._timelines: dict[tuple[object, ...], Timeline] = {}
        self._graphs: dict[tuple[str, str], tuple[Graph, dict[str, str]]] = {}
        self._profiles: dict[str, MeasuredTimes] = {}
        self._reports: dict[tuple[object, ...], ProfileReport] = {}
        self._results: dict[tuple[object, ...], StrengthResult] = {}
        self._identities: dict[tuple[object, ...], Identities] = {}
        self._known: Identities | None = None
        self._minimum: WeakKeyDictionary[Snapshot, int | None] = WeakKeyDictionary()
        self._issues: dict[tuple[object, ...], tuple[Issue, ...]] = {}
        first = Settings(MappingProxyType(dict(options or {})), chip, frozenset(), strength, self._take(profile))
        self._check(first)
        self._defaults = self.settings = first

    @classmethod
    def from_trace(cls, trace: Trace, chip: str = DEFAULT_CHIP) -> Session:
        """Session whose current trace is ``trace`` itself."""
        session = cls(trace.initial.graph, options=trace.initial.options.values, chip=chip, pipeline=trace.pipeline)
        session._traces[session.settings.key()] = trace
        return session

    # ---------------------------------------------------------------- settings
    @property
    def options(self) -> dict[str, str]:
        """Current GE options by literal key."""
        return dict(self.settings.options)

    @property
    def chip(self) -> str:
        """Current chip name."""
        return self.settings.chip

    @property
    def disabled(self) -> frozenset[str]:
        """Keys of the passes switched off."""
        return self.settings.disabled

    @property
    def strength(self) -> str:
        """Current plan strength: single, C1, C2, C3, or "" without a plan."""
        return self.settings.strength

    @property
    def profile(self) -> Profile | None:
        """The profile whose times replace the model's, if any."""
        return self._profiles[self.settings.profile].profile if self.settings.profile else None

    def set_profile(self, source: ProfileSource | None) -> None:
        """Use measured times of a profile (a file, CSV text, rows); None: our model again. One undo step."""
        self._set(replace(self.settings, profile=self._take(source)))

    def refresh_profile(self) -> bool:
        """Read the profile again if its file changed since; True if it did. Everything that shows times asks this first."""
        used = self._profiles.get(self.settings.profile)
        if used is None or not used.refresh():
            return False
        self._profiles[used.key] = used
        self.settings = replace(self.settings, profile=used.key)
        self.version += 1
        return True

    def _take(self, source: ProfileSource | None) -> str:
        if source is None:
            return ""
        found = MeasuredTimes(source)
        self._profiles[found.key] = found
        return found.key

    def _check(self, s: Settings) -> None:
        chip_named(s.chip)
        self.base_pipeline.with_disabled(s.disabled)
        if s.strength not in ("", "single") and self.plan is None:
            raise OptionError("this graph has no plan, so it has no plan strength", got=s.strength, todo="Give plan=….")
        if s.strength not in ("", "single") and self.plan is not None:
            self.plan.level(s.strength)

    def _set(self, s: Settings) -> None:
        if s.key() == self.settings.key():
            return
        self._check(s)
        self._undo.append(self.settings)
        self._redo.clear()
        self.settings = s
        self.version += 1

    def set_options(self, changes: Mapping[str, str]) -> None:
        """Set GE options (empty value removes one); one undo step."""
        merged = {k: v for k, v in {**self.settings.options, **changes}.items() if v != ""}
        self._set(replace(self.settings, options=MappingProxyType(merged)))

    def set_option(self, key: str, value: str) -> None:
        """Set one GE option."""
        self.set_options({key: value})

    def set_mode(self, mode: str) -> None:
        """Set a named mode (pipelines.MODES) or ``LoadBalance:N``: replaces the options that choose the mode."""
        changes = {**dict.fromkeys(pipelines.MODE_KEYS, ""), **pipelines.mode_options(mode)}
        self.set_options(changes)

    def set_chip(self, name: str) -> None:
        """Set the chip."""
        self._set(replace(self.settings, chip=name))

    def set_strength(self, strength: str) -> None:
        """Set the plan strength."""
        self._set(replace(self.settings, strength=strength))

    def toggle(self, key: str, on: bool | None = None) -> None:
        """Switch a pass on or off (None: the other way)."""
        off = key not in self.disabled if on is None else not on
        self._set(replace(self.settings, disabled=self.disabled | {key} if off else self.disabled - {key}))

    def undo(self) -> bool:
        """Back to the settings before; False when there are none."""
        return self._jump(self._undo, self._redo)

    def redo(self) -> bool:
        """Forward again; False when there is nothing."""
        return self._jump(self._redo, self._undo)

    @property
    def can_undo(self) -> bool:
        """Is there a settings change to take back?"""
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """Is there a settings change to do again?"""
        return bool(self._redo)

    def _jump(self, source: list[Settings], target: list[Settings]) -> bool:
        if not source:
            return False
        target.append(self.settings)
        self.settings = source.pop()
        self.version += 1
        return True

    def reset(self) -> None:
        """GE defaults: the settings the session began with."""
        self._set(self._defaults)

    @property
    def dynamic_twin(self) -> Session | None:
        """Session on the graph GE compiles beside the gears for sizes that match none (``ge.compileHybridMode``); else None."""
        found = dynamic_twin(self._applied(self.settings)[0], self.settings.options)
        return None if found is None else Session(found[0], options=found[1], chip=self.chip)

    # ---------------------------------------------------------------- results
    def _applied(self, s: Settings) -> tuple[Graph, dict[str, str]]:
        """Graph and extra options of a strength; computed once, so that the prefix cache can work by identity."""
        key = (s.strength, s.profile)
        if key not in self._graphs:
            if s.profile:
                graph, extra = self._applied(replace(s, profile=""))
                self._graphs[key] = (self._profiles[s.profile].apply(graph), extra)
            elif not s.strength:
                self._graphs[key] = (self.graph, {})
            elif self.plan is None:
                self._graphs[key] = without_plan(self.graph)
            else:
                self._graphs[key] = apply(self.graph, self.plan, s.strength)
        return self._graphs[key]

    def _trace(self, s: Settings) -> Trace:
        if s.key() not in self._traces:
            graph, extra = self._applied(s)
            options = dict(s.options)
            if s.strength == "single":
                options.pop("ge.autoMultistreamParallelMode", None)
                options.pop("gx.streamMode", None)
            if options.get("gx.streamMode", "").startswith("list-schedule"):
                options.setdefault("gx.chip", s.chip)  # it schedules for the chip that the timeline is simulated on
            self._traces[s.key()] = run_trace(
                graph, self.base_pipeline.with_disabled(s.disabled), {**options, **extra}, cache=self.cache
            )
        return self._traces[s.key()]

    def _timeline(self, s: Settings) -> Timeline:
        if s.key() not in self._timelines:
            report = self._report(s)
            measured = None if report is None else report.measured
            self._timelines[s.key()] = simulate(self._trace(s).final, s.chip, measured=measured)
        return self._timelines[s.key()]

    def _report(self, s: Settings) -> ProfileReport | None:
        if not s.profile:
            return None
        if s.key() not in self._reports:
            model = self._applied(replace(s, profile=""))[0]
            self._reports[s.key()] = self._profiles[s.profile].report(model, self._trace(s), s.chip)
        return self._reports[s.key()]

    @property
    def profile_report(self) -> ProfileReport | None:
        """What the profile gave under the current settings; None without one."""
        self.refresh_profile()
        return self._report(self.settings)

    @property
    def trace(self) -> Trace:
        """Trace under the current settings."""
        self.refresh_profile()
        return self._trace(self.settings)

    @property
    def timeline(self) -> Timeline:
        """Simulated timeline of the final snapshot."""
        self.refresh_profile()
        return self._timeline(self.settings)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Findings of the passes and of the independent checkers."""
        trace, key = self.trace, self.settings.key()
        if key not in self._issues:
            report = self._report(self.settings)
            self._issues[key] = check_trace(trace) + ((report.issue(),) if report is not None else ())
        used = self._profiles.get(self.settings.profile)
        return self._issues[key] if used is None or used.problem is None else (*self._issues[key], used.problem)

    def minimum_events(self, s: Snapshot) -> int | None:
        """Fewest events that give the order of ``s``, computed once per state; None while there are no events to count."""
        if s not in self._minimum:
            self._minimum[s] = minimum_events(s)
        return self._minimum[s]

    def result(self, strength: str) -> StrengthResult:
        """Figures of one strength under the current options, chip and switched-off passes.

        A trace that failed has no figures: its own error is raised.
        """
        s = replace(self.settings, strength=strength)
        failed = self._trace(s).failed
        if failed is not None and failed.error is not None:
            raise failed.error
        if s.key() not in self._results:
            self._results[s.key()] = strength_result(strength, self._trace(s).final, self._timeline(s), self.plan)
        return self._results[s.key()]

    @property
    def strength_names(self) -> tuple[str, ...]:
        """What can be compared: the plan's strengths; without a plan single and the graph as it is ("")."""
        return self.plan.strengths if self.plan is not None else ("single", "")

    @property
    def strengths(self) -> dict[str, StrengthResult]:
        """Figures of every name in ``strength_names``; one whose trace failed is left out."""
        return {n: self.result(n) for n in self.strength_names if self.trace_of(n).failed is None}

    def trace_of(self, strength: str) -> Trace:
        """Trace at another strength under the current settings."""
        return self._trace(replace(self.settings, strength=strength))

    @property
    def identities(self) -> Identities:
        """Letters, colours and hatches of the current trace's streams; a letter given once in this session stays."""
        key = self.settings.key()
        if key not in self._identities:
            busy = None
            if self.trace.failed is None:
                t = self.timeline
                busy = {int(s): float(t.busy_ns(int(s))) for s in set(t.stream.tolist())}
            self._identities[key] = self._known = identify(self.trace, self._known, busy)
        return self._identities[key]
