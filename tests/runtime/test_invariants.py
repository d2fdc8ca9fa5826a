"""Random sessions: vectors never shrink, no device stream has two owners, capacity is respected, nothing leaks."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ge_explorer.runtime import Activator, DeviceSession, DynamicModel, StaticModel, streams_needed

SMALL = st.integers(0, 6)


class Sessions(RuleBasedStateMachine):
    """Loads and unloads at will on a small device."""

    def __init__(self) -> None:
        super().__init__()
        self.session = DeviceSession()
        self.sizes = (1, 0, 0)
        self.count = 0

    @initialize(limit=st.integers(2, 24), other=st.integers(0, 1))
    def begin(self, limit: int, other: int) -> None:
        self.session = DeviceSession("A2", limit=limit, other_streams=other)

    def _name(self) -> str:
        self.count += 1
        return f"m{self.count}"

    @rule(streams=SMALL, events=SMALL, notifies=SMALL, hcom=st.booleans(), follow=st.lists(st.integers(0, 3), max_size=2),
          switched=st.booleans(), own=st.booleans())  # fmt: skip
    def load_static(
        self, streams: int, events: int, notifies: int, hcom: bool, follow: list[int], switched: bool, own: bool
    ) -> None:
        model = StaticModel(
            self._name(), streams, events, notifies, hcom=(0,) if hcom and streams else (),
            follow={0: tuple(follow)} if follow and streams else {}, caller_stream=own,
            activators=(Activator("StreamSwitch", (streams - 1,)),) if switched and streams else (),
        )  # fmt: skip
        before = self.session
        keep = [m.name for m in before.state.loaded() if isinstance(m.spec, StaticModel) and m.spec.has_hccl]
        self.session = before.load_model(model)
        names = [m.name for m in self.session.state.loaded()]
        assert set(keep) <= set(names), "collective models stay"
        if streams_needed(model) <= before.available:
            assert self.session.ok and set(names) == {*(m.name for m in before.state.loaded()), model.name}
        if self.session.ok:
            held = [r for r in self.session.rows() if r.model == model.name]
            assert len(held) == streams_needed(model) - own

    @rule(streams=st.integers(0, 8), attached=st.integers(0, 2), events=SMALL, notifies=SMALL, external=st.booleans(),
          part=st.integers(0, 2))  # fmt: skip
    def load_dynamic(self, streams: int, attached: int, events: int, notifies: int, external: bool, part: int) -> None:
        parts = (StaticModel("p", part),) if part else ()
        given = ("stream", "event", "notify") if external else ()
        model = DynamicModel(self._name(), streams, attached, events, notifies, parts, given)  # type: ignore[arg-type]
        self.session = self.session.load_model(model)

    @precondition(lambda self: self.session.state.loaded())
    @rule(data=st.data())
    def unload(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([m.name for m in self.session.state.loaded()]))
        self.session = self.session.unload(name)
        assert self.session.ok

    @invariant()
    def capacity_is_respected(self) -> None:
        device = self.session.state.device
        assert device.live + device.other <= device.limit
        assert device.available >= 0 and device.events >= 0 and device.notifies >= 0

    @invariant()
    def vectors_never_shrink(self) -> None:
        shared = self.session.state.shared
        now = (shared.size, shared.events, shared.notifies)
        assert all(a <= b for a, b in zip(self.sizes, now, strict=True))
        self.sizes = now

    @invariant()
    def ids_of_living_streams_are_unique(self) -> None:
        ids = [s.id for s in self.session.state.device.streams if s.alive]
        assert len(set(ids)) == len(ids)

    @invariant()
    def no_stream_has_two_owners(self) -> None:
        """Models share streams through the caller's allocators and the caller's own stream only."""
        state = self.session.state
        common = {s for s in state.shared.slots if s is not None} | {s for _, s in state.callers}
        seen: dict[int, str] = {}
        for model in state.loaded():
            for b in model.bindings:
                assert b.serial is not None
                assert state.device.streams[b.serial].alive
                if b.serial not in common:
                    assert b.serial not in seen
                    seen[b.serial] = model.name

    @invariant()
    def nothing_leaks(self) -> None:
        state = self.session.state
        held = {b.serial for m in state.loaded() for b in m.bindings}
        held |= {s for m in state.loaded() if m.builtin for s in m.builtin.slots} | set(state.shared.slots)
        held |= {s for _, s in state.callers} | {0}
        assert {s.serial for s in state.device.streams if s.alive} <= held
        own = sum(m.events + (m.builtin.events if m.builtin else 0) for m in state.loaded())
        assert state.device.events == own + state.shared.events

    def teardown(self) -> None:
        closed = self.session.close()
        assert closed.state.device.live == 1 + len(closed.state.callers)
        assert closed.state.device.events == closed.state.device.notifies == 0


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)
