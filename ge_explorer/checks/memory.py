"""Is the memory plan still safe once the real events exist? (memory.md C6: check again after every change of events or plan.)

A reuse rests on an order, and orders come and go with events. ``without_events`` and ``with_offsets`` make the edited state,
``verify_change`` says what the edit broke, naming the event that is gone, and ``events_behind_plan`` which events must stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ge_explorer.checks.ordering import deadlock_issue, event_orders, real_order
from ge_explorer.checks.schedule import Schedule, streams_of
from ge_explorer.errors import OptionError
from ge_explorer.graph.happens_before import DeadlockError, HappensBefore
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.memory.verify import RACE, Race, find_races, verify
from ge_explorer.text import Text
from ge_explorer.trace.state import Event, Snapshot, SyncPlan


def verify_plan(s: Snapshot, hb: HappensBefore | None = None) -> tuple[Issue, ...]:
    """Issues of the plan of ``s`` under the order its streams, events and activations really give; empty without a plan.

    The plan was made before events existed, so it must hold without anything that only GE takes for granted. ``hb``: the real
    order if it is at hand already.
    """
    if s.memory is None or s.streams is None:
        return ()
    try:
        hb = hb or real_order(_plan(s))
    except DeadlockError as e:
        return (deadlock_issue(_plan(s), e),)
    return verify(s.memory.problem, s.memory.plan, hb, s.graph.unique_names, streams_of(s).node.tolist())


def _plan(s: Snapshot) -> Schedule:
    """The schedule the plan was made for: logical streams. A split keeps their order; where it does not, GX144 says so."""
    return Schedule.of(s if s.physical is None else s.evolve(physical=None))


def without_events(s: Snapshot, uids: Iterable[int]) -> Snapshot:
    """The state with some events taken out (their Send and Recv nodes stay in the graph and order nothing). OptionError for an
    unknown uid.
    """
    sync = s.sync or SyncPlan()
    gone = set(uids)
    unknown = gone - {e.uid for e in sync.events}
    if unknown:
        raise OptionError("there is no such event", got=sorted(unknown), todo="Use the uid of an event that is alive.")
    return s.evolve(sync=replace(sync, events=tuple(e for e in sync.events if e.uid not in gone)))


def with_offsets(s: Snapshot, offsets: Mapping[int, int]) -> Snapshot:
    """The state with some buffers moved (buffer id -> offset in bytes); the segment grows when needed. OptionError for an unknown
    buffer or a negative offset.
    """
    if s.memory is None:
        raise OptionError("there is no memory plan yet", todo="Edit a state after plan-memory.")
    buffers, plan = s.memory.problem.buffers, s.memory.plan
    for b, at in offsets.items():
        if not 0 <= b < len(buffers) or at < 0:
            raise OptionError("a buffer id and an offset of at least 0 are needed", got=(b, at))
    moved = tuple(offsets.get(b, at) for b, at in enumerate(plan.offsets))
    peak = max((at + b.size for b, at in zip(buffers, moved, strict=True)), default=0)
    return s.evolve(memory=replace(s.memory, plan=replace(plan, offsets=moved, peak=peak, origin="user")))


def verify_change(before: Snapshot, after: Snapshot) -> tuple[Issue, ...]:
    """What an edit broke: issues of ``after`` that ``before`` does not have. A race that a lost event used to prevent names it."""
    try:
        old, new = real_order(_plan(before)), real_order(_plan(after))
    except DeadlockError as e:
        return (deadlock_issue(_plan(after), e),)
    had = {(r.x, r.y) for r in _races(before, old)}
    known = set(verify_plan(before, old))
    races = iter(_races(after, new))
    out = []
    for issue in verify_plan(after, new):
        race = next(races, None) if issue.code == RACE else None
        if race is None:
            if issue not in known:
                out.append(issue)
        elif (race.x, race.y) not in had:
            out.append(_with_lost_event(issue, race, _lost_event(before, after, race), after))
    return tuple(out)


def events_behind_plan(s: Snapshot) -> Mapping[int, tuple[tuple[int, int], ...]]:
    """Event uid -> pairs of buffers that would race without it. Events that are not in it can go as far as memory is concerned.

    Looks at one event at a time: of two events that prove the same order either may go, but not both.
    """
    if s.memory is None or s.streams is None or s.sync is None:
        return {}
    had = {(r.x, r.y) for r in _races(s, None)}
    out = {}
    for e in s.sync.events:
        found = _races(without_events(s, [e.uid]), None)
        pairs = tuple((r.x, r.y) for r in found if (r.x, r.y) not in had)
        if pairs:
            out[e.uid] = pairs
    return out


def _races(s: Snapshot, hb: HappensBefore | None) -> tuple[Race, ...]:
    if s.memory is None or len(s.memory.plan.offsets) != len(s.memory.problem.buffers):
        return ()
    return tuple(find_races(s.memory.problem.buffers, s.memory.plan.offsets, hb or real_order(_plan(s))))


def _lost_event(before: Snapshot, after: Snapshot, race: Race) -> Event | None:
    """The event of ``before`` whose return alone would order the pair again; None if no single one does."""
    left = {o.event for o in event_orders(_plan(after))}
    for o in event_orders(_plan(before)):
        if o.event in left:
            continue
        event = next(e for e in (before.sync or SyncPlan()).events if e.uid == o.event)
        sync = after.sync or SyncPlan()
        try:
            hb = real_order(_plan(after.evolve(sync=replace(sync, events=(*sync.events, event)))))
        except DeadlockError:
            continue
        if hb.ordered(race.user, race.writer):
            return event
    return None


def _with_lost_event(issue: Issue, race: Race, lost: Event | None, s: Snapshot) -> Issue:
    if lost is None:
        return issue
    names = s.graph.unique_names
    a, b = names.get(lost.send, f"#{lost.send}"), names.get(lost.recv, f"#{lost.recv}")
    user, writer = names.get(race.user, f"#{race.user}"), names.get(race.writer, f"#{race.writer}")
    return replace(
        issue,
        message=Text(
            f"{issue.message.en}. Event {lost.id} from {a} to {b} kept them apart and is gone",
            f"{issue.message.get('zh')}。原有事件 {lost.id}（{a} 到 {b}）将二者隔开，现已不在",
        ),
        refs=(*issue.refs, Ref("event", lost.uid)),
        fix=Text(
            f"Restore event {lost.id} from {a} to {b}, add an event from {user} to {writer}, or give the buffers separate bytes.",
            f"恢复事件 {lost.id}（{a} 到 {b}），或在 {user} 与 {writer} 之间加一个事件，或让两个缓冲区使用不同的字节。",
        ),
    )
