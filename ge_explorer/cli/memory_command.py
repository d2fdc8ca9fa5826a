"""``ge-explorer memory``: a memory plan, its lower bound, and whether it is proven optimal."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.errors import InputError, OptionError, PassFailed
from ge_explorer.memory.bounds import Bound
from ge_explorer.memory.formats.plan_json import plan_record
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.unknown_shapes import unknown_shapes

DEFAULT = "search"
"""Greedy portfolio, then the search (memory.search)."""
UNLIMITED = 1 << 60
"""Steps when seconds are the budget."""


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    p.add_argument("--planner", default=DEFAULT, help="search (default), hb, none, or another registered planner")
    p.add_argument("--streams", type=int, metavar="K", help="spread the graph over K streams (1: one queue)")
    p.add_argument(
        "--seconds", type=float, metavar="S", help="stop searching after S seconds (default: a number of steps)"
    )
    p.add_argument(
        "-o", "--output", metavar="plan.json", help="write the plan; ge-explorer check plan.json verifies it"
    )
    shared.json_flag(p)
    shared.language(p)


def run(args: argparse.Namespace) -> int:
    """Plan and print. A minimalloc CSV is planned without a graph and always answered in JSON."""
    from ge_explorer.memory.formats.minimalloc_csv import is_minimalloc_csv

    if args.seconds is not None and not 0 < args.seconds < float("inf"):
        raise OptionError("--seconds takes a number above 0", got=args.seconds)
    if args.streams is not None and not 1 <= args.streams <= 1024:
        raise OptionError("--streams takes a number from 1 to 1024", got=args.streams)
    path = Path(args.source)
    if path.suffix.lower() == ".csv":
        if path.is_file() and not is_minimalloc_csv(path):
            raise InputError(
                "this CSV holds no placement problem",
                where=str(path),
                todo="Its first line must be id,lower,upper,size.",
            )
        return _run_csv(args, path)
    return _run_graph(args)


def _run_csv(args: argparse.Namespace, path: Path) -> int:
    from ge_explorer.memory.bounds import serial_live
    from ge_explorer.memory.formats.minimalloc_csv import read_file

    problem, _ = read_file(path)
    start = time.perf_counter()
    plan, low, optimal, extra = _planned(problem, serial_live(problem), args.planner, args.seconds)
    shared.print_json(
        {
            "peak": plan.peak,
            "lower_bound": low,
            "optimal": optimal,
            "planner": args.planner,
            "seconds": round(time.perf_counter() - start, 3),
            "offsets": {b.name: at for b, at in zip(problem.buffers, plan.offsets, strict=True)},
            **extra,
        }
    )
    _write(args, plan_record(problem, plan, lower_bound=low))
    return 0


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
    from ge_explorer.memory.problem import order_before_events
    from ge_explorer.memory.search import DEFAULT_STEPS, search
    from ge_explorer.memory.search.price import price_of_streams

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
    bound = best_bound(problem, hb, plan)
    answer: dict[str, Any] = {}
    if args.planner == DEFAULT:
        steps = DEFAULT_STEPS if args.seconds is None else UNLIMITED
        found = search(problem, bound, plan, steps, args.seconds)
        plan, bound = found.plan, found.bound
        answer = {"method": found.method, "steps": found.steps}
    price = price_of_streams(graph, planned.sequence, stream, planned.order)
    answer = {
        "peak": plan.peak, "lower_bound": bound.bytes, "optimal": plan.peak <= bound.bytes, "planner": args.planner,
        "seconds": round(time.perf_counter() - started, 3), "bound": bound.name, **answer,
        "streams": len(hb.streams), "no_reuse": price.no_reuse, "price_of_streams": price.bytes,
        "lower_bound_one_stream": price.bound_one,
        "offsets": {b.name: at for b, at in zip(problem.buffers, plan.offsets, strict=True)},
    }  # fmt: skip
    if args.json:
        shared.print_json(answer)
    else:
        _print(answer, args.lang)
    _write(args, plan_record(problem, plan, hb, graph.unique_names, bound.bytes))
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
    for name, text in lines:
        print(f"{name:<17} {printable(text)}  " + ("[我们的模型]" if zh else "[our model]"))


def _write(args: argparse.Namespace, record: dict[str, Any]) -> None:
    if args.output:
        Path(args.output).write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
