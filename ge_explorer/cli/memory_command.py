"""``ge-explorer memory``: a memory plan, its lower bound, and whether it is proven optimal."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.cli.memory_output import FORMATS, snapshot_answer, write_plan
from ge_explorer.errors import InputError, OptionError, PassFailed
from ge_explorer.memory.bounds import Bound
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.unknown_shapes import unknown_shapes

DEFAULT = "search"
"""Greedy portfolio, then the search (memory.search)."""
SHOWN = 5
"""Races printed by a planner that knows nothing of streams; ``check`` on the written plan lists them all."""
UNLIMITED = 1 << 60
"""Steps when seconds are the budget."""


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    p.add_argument(
        "--planner",
        default=DEFAULT,
        help="search (default), hb, ge, none, or a teaching planner: arena, interval, colouring, size-slots, first-fit, best-fit, "
        "pools, partition",
    )
    p.add_argument("--streams", type=int, metavar="K", help="spread the graph over K streams (1: one queue)")
    p.add_argument(
        "--seconds", type=float, metavar="S", help="stop searching after S seconds (default: a number of steps)"
    )
    p.add_argument(
        "-o", "--output", metavar="plan.json", help="write the plan; ge-explorer check plan.json verifies it"
    )
    p.add_argument(
        "--format",
        choices=FORMATS,
        help="form of -o: json (ours), article (its fields only), csv (a table), minimalloc",
    )
    shared.json_flag(p)
    shared.language(p)


def run(args: argparse.Namespace) -> int:
    """Plan and print. CSV problems are planned without a graph, a snapshot is described; both are always answered in JSON."""
    from ge_explorer.memory.formats.minimalloc_csv import is_minimalloc_csv
    from ge_explorer.memory.formats.static_op_mem import is_static_op_mem
    from ge_explorer.memory.formats.torch_snapshot import is_torch_snapshot

    if args.seconds is not None and not 0 < args.seconds < float("inf"):
        raise OptionError("--seconds takes a number above 0", got=args.seconds)
    if args.streams is not None and not 1 <= args.streams <= 1024:
        raise OptionError("--streams takes a number from 1 to 1024", got=args.streams)
    path = Path(args.source)
    if path.suffix.lower() == ".csv":
        if is_static_op_mem(path):
            return _run_static(args, path)
        if path.is_file() and not is_minimalloc_csv(path):
            raise InputError(
                "this CSV holds no placement problem",
                where=str(path),
                todo="Its first line must be id,lower,upper,size, or that of the profiler's static_op_mem.csv.",
            )
        return _run_csv(args, path)
    if is_torch_snapshot(path):
        shared.print_json(snapshot_answer(path))
        return 0
    return _run_graph(args)


def _run_csv(args: argparse.Namespace, path: Path) -> int:
    from ge_explorer.memory.formats.minimalloc_csv import read_file

    problem, _ = read_file(path)
    answer, plan = _without_graph(args, problem)
    shared.print_json(answer)
    write_plan(args.output, args.format, problem, plan, lower_bound=answer["lower_bound"])
    return 0


def _run_static(args: argparse.Namespace, path: Path) -> int:
    """GE's static graphs as the profiler lists them: a plan per graph."""
    from ge_explorer.memory.formats.static_op_mem import read_static_op_mem

    found = read_static_op_mem(path)
    if args.output and len(found.graphs) != 1:
        raise OptionError(f"this file holds {len(found.graphs)} graphs, -o writes one plan", todo="Cut out one graph.")
    answers = {}
    for graph, rows in found.graphs.items():
        problem = found.problem(graph)
        answer, plan = _without_graph(args, problem)
        answers[graph] = {"buffers": len(rows), "no_reuse": sum(b.size for b in problem.buffers), **answer}
        write_plan(args.output, args.format, problem, plan, lower_bound=answer["lower_bound"])
    shared.print_json({"format": "static_op_mem", "graphs": answers})
    return 0


def _without_graph(args: argparse.Namespace, problem: MemoryProblem) -> tuple[dict[str, Any], MemoryPlan]:
    from ge_explorer.memory.bounds import serial_live

    start = time.perf_counter()
    plan, low, optimal, extra = _planned(problem, serial_live(problem), args.planner, args.seconds)
    return {
        "peak": plan.peak, "lower_bound": low, "optimal": optimal, "planner": args.planner,
        "seconds": round(time.perf_counter() - start, 3),
        "offsets": {b.name: at for b, at in zip(problem.buffers, plan.offsets, strict=True)}, **extra,
    }, plan  # fmt: skip


def _planned(
    problem: MemoryProblem, bound: Bound, planner: str, seconds: float | None
) -> tuple[MemoryPlan, int, bool, dict[str, Any]]:
    """(plan, lower bound, proven optimal, what else to say)."""
    from ge_explorer.memory.planner import PLANNERS
    from ge_explorer.memory.search import DEFAULT_STEPS, search

    if planner != DEFAULT:
        plan = PLANNERS.get(planner)(problem, lambda _: bound.bytes)
        return plan, bound.bytes, plan.peak <= bound.bytes, {"bound": bound.name}
    steps = DEFAULT_STEPS if seconds is None else UNLIMITED
    found = search(problem, bound, None, steps, seconds)
    extra = {"bound": found.bound.name, "method": found.method, "steps": found.steps}
    return found.plan, found.bound.bytes, found.optimal, extra


def _run_graph(args: argparse.Namespace) -> int:
    from ge_explorer.memory.bounds import best_bound
    from ge_explorer.memory.planner import plan_hb
    from ge_explorer.memory.problem import order_before_events
    from ge_explorer.memory.search import DEFAULT_STEPS, search
    from ge_explorer.memory.search.price import price_of_streams
    from ge_explorer.memory.teaching.catalogue import NOTES
    from ge_explorer.memory.verify import RACE, verify

    if args.streams is not None:
        args.mode = "single" if args.streams == 1 else f"LoadBalance:{args.streams}"
    base = "hb" if args.planner == DEFAULT else args.planner
    args.option = [*args.option, f"gx.memoryPlanner={base}"]
    started = time.perf_counter()
    trace = shared.open_source(args).trace
    # The state in which memory was planned: later steps add events and tasks, which this plan does not rest on.
    planned = next((step.after for step in trace if step.after.memory is not None), None)
    if planned is None or planned.memory is None or planned.streams is None or planned.sequence is None:
        failed = trace.failed
        raise PassFailed(
            "no memory was planned", where=failed.name if failed else args.pipeline,
            todo=str(failed.error) if failed else _without_plan(trace.final),
        )  # fmt: skip
    graph, stream = planned.graph, planned.streams.node
    problem, plan = planned.memory.problem, planned.memory.plan
    hb = order_before_events(graph, planned.sequence, stream)
    races = [i for i in verify(problem, plan, hb, graph.unique_names, stream.tolist()) if i.code == RACE]
    bound = best_bound(problem, hb, plan_hb(problem) if races else plan)
    answer: dict[str, Any] = {}
    if args.planner == DEFAULT:
        steps = DEFAULT_STEPS if args.seconds is None else UNLIMITED
        found = search(problem, bound, plan, steps, args.seconds)
        plan, bound = found.plan, found.bound
        answer = {"method": found.method, "steps": found.steps}
    price = price_of_streams(graph, planned.sequence, stream, planned.order)
    answer = {
        "peak": plan.peak, "lower_bound": bound.bytes, "optimal": plan.peak <= bound.bytes and not races,
        "planner": args.planner, "origin": NOTES[args.planner].origin if args.planner in NOTES else "user", "races": len(races),
        "seconds": round(time.perf_counter() - started, 3), "bound": bound.name, **answer,
        "streams": len(hb.streams), "no_reuse": price.no_reuse, "price_of_streams": price.bytes,
        "lower_bound_one_stream": price.bound_one,
        "offsets": {b.name: at for b, at in zip(problem.buffers, plan.offsets, strict=True)},
    }  # fmt: skip
    if args.json:
        shared.print_json(answer)
    else:
        _print(answer, args.lang)
        for issue in races[:SHOWN]:
            print(f"{issue.code} {issue.severity}: {printable(issue.message.get(args.lang))}")
    write_plan(args.output, args.format, problem, plan, hb, graph.unique_names, bound.bytes)
    return 0


def _without_plan(s: Snapshot) -> str:
    unknown = unknown_shapes(s)
    return "The pipeline needs the step plan-memory." if unknown is None else unknown.en


def _print(a: dict[str, Any], lang: str) -> None:
    """The figures, one per line."""
    zh = lang == "zh"
    proof = ("，已证明最优" if zh else ", provably optimal") if a["optimal"] else ""
    lines = [
        ("峰值" if zh else "peak", f"{a['peak']} B{proof}"),
        ("下界" if zh else "lower bound", f"{a['lower_bound']} B ({a['bound']})"),
        ("不复用" if zh else "no reuse", f"{a['no_reuse']} B"),
        ("多流代价" if zh else "price of streams", f"{a['price_of_streams']} B ({a['streams']})"),
        ("规划器" if zh else "planner", a["planner"] + (f" ({a['method']})" if "method" in a else "")),
    ]
    if a["races"]:
        lines.append(
            ("竞争" if zh else "races", f"{a['races']}" + ("（此规划不安全）" if zh else ", this plan is not safe"))
        )
    theirs = {lines[0][0], lines[4][0], lines[-1][0]}
    for name, text in lines:
        print(f"{name:<17} {printable(text)}  {_label(a['origin'] if name in theirs else 'ours', zh)}")


def _label(origin: str, zh: bool) -> str:
    """Whose figures these are: our model, or the article's idea in our model."""
    if origin == "article":
        return "[文章的思路，我们的模型]" if zh else "[article's idea, our model]"
    return "[我们的模型]" if zh else "[our model]"
