"""list-schedule: at most N in-order streams, and the node order, by list scheduling; ours, with a proven gap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.chips import DEFAULT_CHIP, Chip, resolve_chip
from ge_explorer.errors import OptionError
from ge_explorer.ids import Ref, node
from ge_explorer.issue import Issue
from ge_explorer.passes.streams.dag.mode import KEY, mode_text
from ge_explorer.passes.streams.max_concurrency import LIST_SCHEDULE, MODE, SINGLE
from ge_explorer.passes.streams.mini_dag import MiniDag
from ge_explorer.passes.streams.schedule.adapter import Tasks, scheduled, tasks_of
from ge_explorer.passes.streams.schedule.bound import PROOFS, Bound, lower_bound
from ge_explorer.passes.streams.schedule.build import Schedule
from ge_explorer.passes.streams.schedule.improve import WORK, Found, search
from ge_explorer.passes.streams.schedule.judge import OPTION_KEYS, Judge
from ge_explorer.passes.streams.schedule.problem import FREE
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

COSTS = "gx.scheduleCosts"
CHIP, SOC = "gx.chip", "ge.socVersion"
DEFAULT_STREAMS, MOST_STREAMS = 4, 64
MOST_WORK = 10_000_000
_DAG_KEYS = MiniDag.option_keys


def stream_limit(mode: str) -> int | None:
    """N of ``list-schedule`` (4) or ``list-schedule:N``; None for another mode, OptionError for a bad N."""
    name, colon, count = mode.partition(":")
    if name != LIST_SCHEDULE:
        return None
    if not colon:
        return DEFAULT_STREAMS
    if not (count.isascii() and count.isdigit() and 1 <= int(count[:4]) <= MOST_STREAMS):
        raise OptionError(
            f"{MODE} has no such number of streams", got=mode, todo=f"Use {LIST_SCHEDULE}:1 to :{MOST_STREAMS}."
        )
    return int(count)


@dataclass(frozen=True)
class ListSchedule(Pass):
    """Every node on the stream where it is over first, the ones with the longest way to the end first.

    Rule:
    1. Upward rank: the longest time from the start of a node to the end of the graph, by the cost model.
    2. Nodes by falling rank, each on the stream of N where it ends first; events from stream to stream cost their time, and cores
       are held while a node runs. The order of the nodes becomes that of their start times.
    3. The schedule is packed backwards and forwards, then nodes of the path that decides are moved; a fixed number of tries.
    4. GE's LoadBalance:N is compiled and simulated too, events included. Its streams stay where they are faster.

    Nodes with a stream label, runtime label nodes and bodies of subgraphs keep the streams of LoadBalance:N.

    Ours; times are our model's, not measured, and GE has no such mode. The lower bound is proven for that model.
    Options: ``gx.streamMode`` = list-schedule or list-schedule:N (4). ``gx.scheduleCosts`` = device, or free: events, dispatch and
    cores cost nothing. Chip: ``gx.chip``, else ``ge.socVersion``. Not run in single-stream mode.
    Example: A 10 µs → B 30 and C 20, then D: B stays with A, C goes to a second stream and ends before B.
    """

    work: int = WORK
    """Tasks placed in all moves of the search; more takes longer and may find more."""

    name: ClassVar[str] = LIST_SCHEDULE
    title: ClassVar[Text] = Text("List scheduling", "表调度")
    summary: ClassVar[Text] = Text(
        "Puts every node where it is over first by our cost model; shows how far that is from the best.",
        "按我们的代价模型把节点放到最早完成的流上，并给出与最优解的差距上界。",
    )
    chapter = "streams"
    reads: ClassVar[frozenset[str]] = frozenset(
        {"graph", "streams", "order", "sequence", "scope_order", "placement", "clusters"}
    )
    writes: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "order", "sequence", "scope_order"})
    option_keys: ClassVar[frozenset[str]] = frozenset({MODE, SINGLE, COSTS, CHIP, SOC}) | _DAG_KEYS | OPTION_KEYS
    source: ClassVar[str] = "ours"
    fidelity = "ours"
    rules = MappingProxyType(
        {
            "earliest-finish": Rule(
                Text(
                    "The stream on which it is over first, longest way to the end first.",
                    "放到最早完成的流上，离终点最远者优先。",
                ),
                "ours (HEFT, Topcuoglu et al. 2002)",
            ),
            "load-balance-stays": Rule(
                Text("GE's LoadBalance is faster under the model: its streams stay.", "按模型 GE 的 LoadBalance 更快，保留其流。"),
                "ours",
            ),
            "pinned": Rule(
                Text("Labels and bodies of subgraphs keep their stream.", "带标签的节点和子图内的节点保持原有流。"), "ours"
            ),
            "start-order": Rule(
                Text("Nodes in the order in which the schedule starts them.", "节点按调度的开始时间排序。"), "ours"
            ),
        }
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not 0 <= self.work <= MOST_WORK:
            raise OptionError(
                "work is out of range",
                where=self.name,
                got=self.work,
                todo=f"Use 0 to {MOST_WORK}; the default is {WORK}.",
            )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Off unless the option asks for it, and in single-stream mode; OptionError for a bad number or kind of costs."""
        if stream_limit(ctx.option(MODE)) is None:
            return Text(f"{MODE} is not {LIST_SCHEDULE}", f"未设置 {MODE}={LIST_SCHEDULE}")
        if ctx.option(COSTS) not in ("", "device", "free"):
            raise OptionError(f"{COSTS} has no such value", got=ctx.option(COSTS), todo="Use device or free.")
        if ctx.option(SINGLE) == "true":
            return Text("single-stream mode keeps one stream", "单流模式只用一条流")
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """The faster one of our schedule and GE's LoadBalance:N, both simulated. Status SUCCESS, NOT_CHANGED without a task."""
        limit = stream_limit(ctx.option(MODE)) or DEFAULT_STREAMS
        chip = _chip(ctx)
        judge = Judge.of(chip, _options(ctx, OPTION_KEYS), free=ctx.option(COSTS) == "free")
        theirs = _load_balance(s, ctx, limit)
        tasks = tasks_of(theirs, limit, chip, judge.launch, cores=judge.cores)
        if FREE not in tasks.problem.fixed:
            ctx.status = "NOT_CHANGED"
            return s.evolve()
        bound = lower_bound(tasks.problem)
        found = search(tasks.problem, bound.ns, work=self.work)
        shortest, kept, after = judge.makespan(theirs), True, theirs
        first_length = shortest
        chosen = found.best
        for plan in dict.fromkeys((found.best, found.first)):
            made = scheduled(theirs, tasks, plan)
            length = judge.makespan(made)
            if length < shortest or (length == shortest and kept):
                shortest, kept, after, chosen = length, False, made, plan
        _explain(ctx, s, after, tasks, chosen, kept=kept)
        ctx.report(_summary(limit, chip, shortest, first_length, bound, found, kept=kept))
        ctx.status = "SUCCESS"
        return s.evolve(
            graph=after.graph, streams=after.streams, order=after.order, sequence=after.sequence, scope_order=after.scope_order
        )  # fmt: skip


def _options(ctx: PassContext, keys: frozenset[str]) -> Mapping[str, str]:
    return {k: v for k in keys if (v := ctx.option(k))}


def _chip(ctx: PassContext) -> Chip:
    return resolve_chip(ctx.option(CHIP) or ctx.option(SOC) or DEFAULT_CHIP).chip


def _load_balance(s: Snapshot, ctx: PassContext, limit: int) -> Snapshot:
    """What GE makes of the same state with LoadBalance:N; a mode that is the graph's own has run already."""
    mini = MiniDag()
    options = {**_options(ctx, _DAG_KEYS), KEY: f"LoadBalance:{limit}"}
    inner = PassContext(mini.rules, options, mini.option_keys)
    real = Snapshot(
        **{k: getattr(s, k) for k in ("graph", "order", "sequence", "scope_order", "placement", "clusters", "streams")}
    )
    if mode_text(s.graph, "")[1] or mini.skip_reason(real, inner) is not None:
        return real
    return mini.run(real, inner)


def _explain(ctx: PassContext, s: Snapshot, after: Snapshot, tasks: Tasks, plan: Schedule, *, kept: bool) -> None:
    """A decision for every node, and one for the new order."""
    assert s.streams is not None and after.streams is not None
    before, now, p = s.streams.node.tolist(), after.streams.node.tolist(), tasks.problem
    names = {m: now[i] for i, m, f in zip(tasks.nodes, plan.stream, p.fixed, strict=True) if f == FREE}
    fresh = max(now, default=0) + 1
    for k in sorted(range(len(tasks.nodes)), key=lambda k: (-p.rank[k], k)):
        i = tasks.nodes[k]
        if p.fixed[k] != FREE:
            ctx.decide(node(i), "stream", before[i], now[i], "pinned", decisive=before[i] != now[i])
            continue
        if kept:
            ctx.decide(node(i), "stream", before[i], now[i], "load-balance-stays", decisive=before[i] != now[i])
            continue
        why = [node(tasks.nodes[u]) for u in sorted(p.pred[k], key=lambda u: (-plan.end[u], u))[:1]]
        ctx.decide(node(i), "stream", before[i], now[i], "earliest-finish", why, _why(k, p.rank[k], plan, names, fresh))
    moved = sum(a != b for a, b in zip(s.graph.root.nodes, after.graph.root.nodes, strict=True))
    if moved:
        note = Text(f"{moved} nodes changed place.", f"{moved} 个节点位置变化。")
        ctx.decide(Ref("scope", 0), "order", None, f"{moved}", "start-order", note=note)


def _why(k: int, rank: int, plan: Schedule, names: Mapping[int, int], fresh: int) -> Text:
    """``rank 42 µs; over at 12.5 µs on stream 0, 14.1 µs on stream 1: stream 0``. All unused streams are named once."""
    en, zh, empty = [], [], False
    for m, end in plan.offers[k]:
        if m in names:
            en.append(f"{end / 1000:g} µs on stream {names[m]}")
            zh.append(f"流 {names[m]} 上 {end / 1000:g} µs")
        elif not empty:
            empty = True
            en.append(f"{end / 1000:g} µs on a stream nobody uses")
            zh.append(f"空闲流上 {end / 1000:g} µs")
    mine = names.get(plan.stream[k], fresh)
    return Text(
        f"rank {rank / 1000:g} µs; would be over at {', '.join(en)}: stream {mine}",
        f"秩 {rank / 1000:g} µs；完成时间：{'，'.join(zh)}；选流 {mine}",
    )


def _summary(limit: int, chip: Chip, length: int, theirs: int, bound: Bound, found: Found, *, kept: bool) -> Issue:
    """Length, proven gap, GE's length beside it."""
    gap = 100 * (length / bound.ns - 1) if bound.ns else 0.0
    proof = PROOFS[bound.proof]
    best = "provably the shortest" if length <= bound.ns else f"at most {gap:.1f} % above the best"
    best_zh = "已证明最短" if length <= bound.ns else f"与最优相差至多 {gap:.1f} %"
    who = ("GE's LoadBalance stays", "保留 GE 的 LoadBalance") if kept else ("list scheduling", "表调度")
    us, ge_us, least = length / 1000, theirs / 1000, bound.ns / 1000
    return Issue(
        "GX153", "note",
        Text(
            f"At most {limit} streams, {who[0]}: {us:,.1f} µs, {best} (no plan is below {least:,.1f} µs: {proof.en}); "
            f"GE's LoadBalance:{limit} takes {ge_us:,.1f} µs. Our model of {chip.name}, not measured; "
            f"{found.built} schedules were tried.",
            f"至多 {limit} 条流，{who[1]}：{us:,.1f} µs，{best_zh}（任何方案都不低于 {least:,.1f} µs：{proof.zh}）；"
            f"GE 的 LoadBalance:{limit} 为 {ge_us:,.1f} µs。按我们的 {chip.name} 模型，非实测；共试了 {found.built} 个调度。",
        ),
        source="ours",
    )  # fmt: skip
