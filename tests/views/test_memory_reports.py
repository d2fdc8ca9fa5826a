"""Memory reports as data: proofs are real paths, differences add up, planner rows are the planners' results, GE steps replay."""

from __future__ import annotations

import pytest

from ge_explorer.memory.ge.decisions import pool_before
from ge_explorer.memory.model import MemoryPlan
from ge_explorer.text import Text
from ge_explorer.trace.state import MemoryState
from ge_explorer.views import memory_ab, memory_life, memory_planners, memory_reuse, memory_steps
from ge_explorer.views.memory_plans import SHOWN_KEYS, planned_state
from ge_explorer.views.table_html import picture_html
from tests.views.memory_cases import Case, chain, fork_join, random_case

A, B = Text("A"), Text("B")


# ---------------------------------------------------------------- reuse
@pytest.mark.parametrize("seed", range(4))
def test_verdict_of_every_pair_is_the_before_relation_and_proofs_are_paths(seed: int) -> None:
    case = random_case(seed, nodes=24)
    m, hb = case.book.memory, case.book.hb
    edges = {(o.first, o.second) for found in hb.predecessors.values() for o in found}
    for x in range(len(m.problem.buffers)):
        for y in range(x):
            r = memory_reuse.pair(m.problem, m.plan, hb, x, y, case.session.trace.final)
            first = bool(m.problem.before[y] >> x & 1), bool(m.problem.before[x] >> y & 1)
            want = {(True, False): "first-then-second", (False, True): "second-then-first", (False, False): "unordered"}
            assert r.verdict == want[first]
            assert not r.unsafe
            for w in r.witnesses:
                assert w.hops[0].first == w.user
                assert w.hops[-1].last == w.writer
                for a, b in zip(w.hops, w.hops[1:], strict=False):
                    assert a.last == b.first
                for h in w.hops:
                    if h.why == "stream":
                        assert hb.column[hb.row[h.first]] == hb.column[hb.row[h.last]]
                        assert hb.ordered(h.first, h.last)
                    else:
                        assert (h.first, h.last) in edges
            if r.verdict == "unordered":
                assert r.missing is not None
                assert not hb.ordered(*r.missing)
                assert r.curable == (r.missing[0] != r.missing[1] and not hb.ordered(r.missing[1], r.missing[0]))


def test_crossing_of_a_path_names_the_event_that_carries_it() -> None:
    case = fork_join()
    m, by = case.book.memory, case.session.graph.by_name
    r = memory_reuse.pair(
        m.problem, m.plan, case.book.hb, case.buffer("c:0"), case.buffer("f:0"), case.session.trace.final
    )
    assert r.verdict == "first-then-second"
    cross = [h for w in r.witnesses for h in w.hops if h.why != "stream"]
    assert [(h.first, h.last) for h in cross] == [(by["d"], by["e"])]
    assert cross[0].event is not None
    assert (cross[0].event.send, cross[0].event.recv) == (by["d"], by["e"])


def test_unsafe_plan_names_the_missing_event() -> None:
    case = fork_join()
    m, by = case.book.memory, case.session.graph.by_name
    x, y = case.buffer("b:0"), case.buffer("d:0")
    stacked = MemoryPlan((0,) * len(m.problem.buffers), 4608, "by hand", "user")
    r = memory_reuse.pair(m.problem, stacked, case.book.hb, x, y)
    assert r.unsafe
    assert r.missing is not None
    assert by["e"] in r.missing  # both are read there, so no event can help
    assert not r.curable


def test_buffer_report_counts_every_other_buffer_once() -> None:
    case = random_case(5)
    m = case.book.memory
    for i, b in enumerate(m.problem.buffers):
        r = memory_reuse.report(m.problem, m.plan, i)
        assert r.may_follow + r.may_precede + r.conflicts == len(m.problem.buffers) - 1
        assert sum(n for _, n in r.took) <= b.size
        for other, _ in r.took:
            assert m.problem.before[i] >> other & 1


# ---------------------------------------------------------------- A/B
def test_a_plan_against_itself_changes_nothing() -> None:
    v = random_case(0).lives()
    d = memory_ab.compare(v, v, A, B)
    assert d.count("same") == v.count
    assert [p.nbytes for p in d.at_peak] == [0, 0, d.live_a]
    assert "same place" in picture_html(memory_ab.table(d))


@pytest.mark.parametrize("other", ["ge", "none", "one-hb"])
def test_new_freed_and_common_add_up_to_both_peaks(other: str) -> None:
    case = random_case(4)
    a, b = case.lives(), case.lives(plan=other)
    d = memory_ab.compare(a, b, A, B)
    new, freed, common = (p.nbytes for p in d.at_peak)
    assert new + common == d.live_b
    resized = sum((p.size_b or 0) - (p.size_a or 0) for p in d.pairs if p.change == "resized")
    assert resized == 0
    assert freed + common == d.live_a
    assert len(d.pairs) == a.count == b.count


def test_buffers_of_different_graphs_are_new_and_gone() -> None:
    d = memory_ab.compare(chain(3).lives(), fork_join().lives(), A, B)
    assert d.count("new") == fork_join().lives().count
    assert d.count("gone") == chain(3).lives().count


# ---------------------------------------------------------------- planners
def test_planner_rows_are_the_results_of_the_planners() -> None:
    case = random_case(2)
    c = memory_planners.compare(case.book)
    by = {r.name.en: r for r in c.rows[:-1] if not r.candidate}
    assert (c.rows[-1].nbytes, c.rows[-1].gap) == (c.bound, 0)
    assert set(by) == {case.book.get(k).title.en for k in memory_planners.SHOWN}
    assert by["no reuse"].nbytes == c.no_reuse
    for r in c.rows:
        if r.candidate:
            assert any(
                r.nbytes == x.size for k in ("ge", "ge-priority") if (g := case.book.get(k).ge) for x in g.candidates
            )
    for r in c.rows:
        if not r.candidate and r.nbytes is not None:
            assert r.nbytes >= c.bound
    assert c.price[0].extra is not None
    assert c.price[0].extra >= 0


def test_one_stream_has_no_price() -> None:
    c = memory_planners.compare(chain().book)
    assert c.price == ()
    assert "no price" in picture_html(memory_planners.table(c))


def test_price_of_a_fork_join_is_one_buffer() -> None:
    c = memory_planners.compare(fork_join().book)
    assert c.streams == 3  # the output has a stream of its own
    bound = c.price[0]
    assert (bound.one, bound.many, bound.extra) == (3 * 2_560, 4 * 2_560, 2_560)


def test_slow_planners_wait_on_large_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_explorer.views.memory_plans.SEARCH_UPTO", 3)
    case = random_case(1)
    assert memory_planners.compare(case.book).waiting == ("ge", "ge-priority", "search")
    assert memory_planners.compare(case.book).price == ()
    assert memory_planners.compare(case.book, everything=True).waiting == ()


def test_failing_planner_is_a_row_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from ge_explorer.errors import PassFailed

    def fail(*_: object) -> None:
        raise PassFailed("GE stops here", todo="…")

    monkeypatch.setattr("ge_explorer.views.memory_plans.plan_problem", fail)
    row = next(r for r in memory_planners.compare(random_case(1).book).rows if r.name.en.startswith("GE, default"))
    assert row.nbytes is None
    assert "GE stops here" in row.note.en


def test_plans_before_the_planning_step_do_not_exist() -> None:
    trace = fork_join().session.trace
    assert planned_state(trace, 0) is None
    assert set(SHOWN_KEYS) >= {"current", "ge", "hb", "none"}


# ---------------------------------------------------------------- GE step by step
def _ge(case: Case) -> tuple[object, dict[tuple[int, str, int], int]]:
    return case.book.get("ge").ge, memory_steps.buffers_of(case.book.memory.problem, case.book.planned)


@pytest.mark.parametrize("seed", range(3))
def test_steps_show_the_pool_before_them_and_what_was_refused(seed: int) -> None:
    case = random_case(seed)
    ge, ids = _ge(case)
    for k, d in enumerate(ge.decisions):  # type: ignore[attr-defined]
        step = memory_steps.build(case.book.planned, ge, k, ids)  # type: ignore[arg-type]
        assert (step.index, step.action) == (k, d.action)
        if step.level == 1:
            want = pool_before(ge.decisions, k).get(d.pool, ())  # type: ignore[attr-defined]
            assert [b.uid for b in step.pool] == list(reversed(want))[: memory_steps.POOL_SHOWN]
            assert [b.uid for b in step.pool if b.chosen] == ([d.block] if d.action == "take" else [])
            assert {b.uid for b in step.pool if b.why is not None} <= {uid for _, uid in d.refused}
        else:
            assert step.other is not None
            assert step.pool == ()
        assert str(k + 1) in step.sentence.en


def test_tree_lists_every_block_once_inside_its_parent() -> None:
    case = random_case(3)
    ge, ids = _ge(case)
    step = memory_steps.build(case.book.planned, ge, 0, ids)  # type: ignore[arg-type]
    assert len(step.tree) + step.tree_left == len({b.uid for b in ge.blocks})  # type: ignore[attr-defined]
    stack: list[memory_steps.TreeLine] = []
    for line in step.tree:
        del stack[line.depth :]
        if stack:
            assert stack[-1].head <= line.head
            assert line.head + line.size <= stack[-1].head + stack[-1].size
        stack.append(line)


def test_jumps_find_the_next_of_a_kind_and_the_steps_of_a_buffer() -> None:
    case = random_case(1)
    ge, ids = _ge(case)
    k = memory_steps.next_of(ge, -1, frozenset({"take"}))  # type: ignore[arg-type]
    assert ge.decisions[k].action == "take"  # type: ignore[attr-defined]
    steps = memory_steps.find(ge, ids, 0)  # type: ignore[arg-type]
    assert steps
    assert steps == sorted(steps)
    assert memory_steps.next_of(ge, 0, frozenset({"nothing"})) == 0  # type: ignore[arg-type]


def test_lives_of_another_plan_use_its_offsets() -> None:
    case = fork_join()
    m = case.book.memory
    other = MemoryState(m.problem, MemoryPlan(tuple(range(0, 512 * len(m.problem.buffers), 512)), 9999, "x"), 0)
    v = memory_life.lives(case.book.planned, {}, None, other)
    assert v is not None
    assert v.offset.tolist() == list(other.plan.offsets)
