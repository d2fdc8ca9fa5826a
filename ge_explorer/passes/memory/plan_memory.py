"""plan-memory: give every buffer of the feature map its bytes, in GE's place of the build (before events exist)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.op_table import place_of
from ge_explorer.errors import PassFailed
from ge_explorer.graph.builder import GX_ENGINE
from ge_explorer.graph.happens_before import DeadlockError
from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref
from ge_explorer.memory.bounds import Bound, best_bound
from ge_explorer.memory.ge.bridge import plan_problem
from ge_explorer.memory.ge.options import OPTION_KEYS
from ge_explorer.memory.ge.view import LOCAL_ENGINE
from ge_explorer.memory.model import MemoryPlan
from ge_explorer.memory.planner import PLANNERS, plan_hb
from ge_explorer.memory.problem import build_problem, order_before_events
from ge_explorer.memory.reuse import takeovers
from ge_explorer.memory.search import improve
from ge_explorer.memory.teaching.catalogue import plans_by_lifetime
from ge_explorer.text import Text
from ge_explorer.trace.passes import Chapter, Fidelity, Pass, PassContext, Rule
from ge_explorer.trace.state import MemoryState, Snapshot

DISABLE_REUSE = "ge.exec.disableReuseMemory"
PLANNER = "gx.memoryPlanner"
SEARCH = "gx.memorySearchSteps"
SEARCH_STEPS, SEARCH_UPTO = 300, 1_000
"""Steps spent by default where the greedy plan lies above the bound, and the most buffers for which they are."""
GE = "ge"
"""Value of ``gx.memoryPlanner`` for GE's own planner. It needs the graph, so it is no entry of ``PLANNERS``."""


@dataclass(frozen=True)
class PlanMemory(Pass):
    """Place all buffers so that no two can be alive on the same byte, on any stream.

    Rule: 1. tensors that are one piece of memory form one buffer (references, views, subgraph borders, in-place pairs);
    2. sizes are padded and aligned as GE does; 3. buffer Y may take X's bytes only if every task that touches X has surely
    completed before Y is first written; 4. of several placement orders the smallest peak wins; above the bound a search follows.

    GE source: model_builder.cc (AssignMemory before InsertSyncNodesByLogicStream), graph_utils.cc GetRefMapping,
    mem_assigner.h. The placement itself is ours; ``gx.memoryPlanner=ge`` takes GE's own block lists instead (memory/ge).

    Options: ``ge.exec.disableReuseMemory`` = 1 gives every buffer its own bytes; ``gx.memoryPlanner`` = hb, search, none, ge or one
    of the teaching planners (memory/teaching/catalogue.py; arena and interval are blind to streams, the checks show their races);
    ``gx.memorySearchSteps`` = how long hb searches where its greedy plan lies above the bound (0: not at all); GE's
    planner also reads its own options (memory policy, I/O reuse indexes, clean policy, OP_NO_REUSE_MEM ...).

    Example: chain a -> b -> c on one stream: c takes over a's bytes, the peak is two buffers.
    """

    name: ClassVar[str] = "plan-memory"
    title: ClassVar[Text] = Text("Plan memory", "内存规划")
    summary: ClassVar[Text] = Text(
        "Gives every buffer an offset; buffers share bytes only where the streams prove an order.",
        "为每个缓冲区分配偏移；只有流之间能证明先后顺序时才共用字节。",
    )
    chapter: ClassVar[Chapter] = "memory"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "order", "sequence", "streams"})
    writes: ClassVar[frozenset[str]] = frozenset({"memory"})
    option_keys: ClassVar[frozenset[str]] = frozenset({DISABLE_REUSE, PLANNER, SEARCH}) | OPTION_KEYS
    ge_name: ClassVar[str] = "MemoryAssigner::AssignMemory"
    source: ClassVar[str] = "compiler/graph/build/memory/memory_assigner.cc"
    fidelity: ClassVar[Fidelity] = "ours"
    rules: ClassVar[Mapping[str, Rule]] = MappingProxyType(
        {
            "shares": Rule(
                Text(
                    "takes over bytes: every task that touches the earlier buffers is surely done before this one is written",
                    "复用字节：使用先前缓冲区的所有任务必定在写入本缓冲区之前完成",
                ),
                "ours",
            ),
            "by-lifetime": Rule(
                Text(
                    "takes over bytes by lifetime alone: on several streams nothing proves that the earlier tasks are done",
                    "仅按生命周期复用字节：多流时没有任何机制证明先前的任务已完成",
                ),
                "teaching planner (article)",
            ),
            "own": Rule(
                Text("takes bytes nobody held before", "使用此前无人占用的字节"),
                "ours",
            ),
            "no-reuse": Rule(
                Text("memory reuse is switched off", "内存复用已关闭"),
                "compiler/graph/build/memory/block_mem_assigner.cc",
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Plan on the streams of ``s``; one decision per buffer."""
        if s.streams is None or s.sequence is None or s.order is None:  # declared reads: the runner has checked them
            raise PassFailed("plan-memory needs streams and an order", where=self.name)
        off = ctx.option(DISABLE_REUSE) == "1"
        name = "none" if off else ctx.option(PLANNER) or "hb"
        planner = None if name == GE else PLANNERS.get(name)
        names = s.graph.unique_names
        try:
            hb = order_before_events(s.graph, s.sequence, s.streams.node)
        except DeadlockError as e:
            chain = " <- ".join(names.get(b.node, f"#{b.node}") for b in e.chain)
            raise PassFailed(
                "the streams order some tasks in a circle, so no memory plan exists", where=self.name, got=chain,
                todo="Change the stream labels so that dependencies follow the order of each stream.",
            ) from e  # fmt: skip
        problem = build_problem(s.graph, s.sequence, s.streams.node, s.order, hb)
        bounds: list[Bound] = []

        def stop_at(first: MemoryPlan) -> int:
            bounds.append(best_bound(problem, hb, first))
            return bounds[0].bytes

        if planner is None:
            options = {k: ctx.option(k) for k in OPTION_KEYS if ctx.option(k)}
            plan, _ = plan_problem(
                problem, s.graph, s.sequence, s.streams.node, s.order, options, ge_local_nodes(s.graph)
            )
        else:
            plan = planner(problem, stop_at)
        blind = plans_by_lifetime(plan.planner)
        bound = bounds[0] if bounds else best_bound(problem, hb, plan_hb(problem) if blind else plan)
        if plan.planner == "hb" and plan.peak > bound.bytes:
            plan, bound = improve(problem, plan, bound, _steps(ctx.option(SEARCH), len(problem.buffers)))
        taken = "by-lifetime" if blind else "shares"
        for b, at, previous in zip(problem.buffers, plan.offsets, takeovers(problem, plan), strict=True):
            note = None
            if b.assumed:
                note = Text(
                    "the size is assumed: unknown dimensions count as 1",
                    "大小为假设值：未知维度按 1 计算",
                )
            rule = "no-reuse" if off else taken if previous else "own"
            ctx.decide(Ref("buffer", b.id), "offset", None, at, rule, [Ref("buffer", p) for p in previous], note)
        return s.evolve(memory=MemoryState(problem, plan, bound.bytes, bound.name))


def ge_local_nodes(graph: Graph) -> frozenset[int]:
    """Nodes of the GE-local engine: they run no task, so GE's planner concludes no order from them."""
    return frozenset(
        n.id
        for n in graph
        if n.attrs.get(GX_ENGINE, "") == LOCAL_ENGINE
        or (GX_ENGINE not in n.attrs and (n.subgraphs or _engine(n.op) == LOCAL_ENGINE))
    )


def _engine(op: str) -> str:
    place, _ = place_of(op)
    return place.engine if place is not None else ""


def _steps(option: str | None, buffers: int) -> int:
    """Search steps: the option, or the default up to the size where it costs little."""
    if not option:
        return SEARCH_STEPS if buffers <= SEARCH_UPTO else 0
    if not (option.isascii() and option.isdigit() and len(option) <= 9):
        raise PassFailed(f"{SEARCH} takes a whole number of steps", where="plan-memory", got=option)
    return int(option)
