"""Rows 1 to 4: memory peaks over their lower bounds, next to plain greedy. Quality is deterministic: seeds and steps, no clock.

Real inputs are read where they lie (``GX_SHARED``, else ``../shared`` beside the checkout) and skipped when
absent. Made-up ones: ``guillotine`` cuts a full rectangle (the optimum is its height), ``crowded`` are random lifetimes that
overlap by the dozen, ``training`` is a forward and backward pass.
"""

from __future__ import annotations

import math
import os
import random
import time
from bisect import insort
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from ge_explorer.errors import GxError
from ge_explorer.memory.bounds import serial_live
from ge_explorer.memory.conflicts import conflicts_of
from ge_explorer.memory.formats.minimalloc_csv import intervals, read_file
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.planner import place, plan_hb
from ge_explorer.memory.search import search

Figure = tuple[str, float, float | None, str, str]
"""Name, ours, theirs, unit, what to reach."""
Interval = tuple[int, int, int]
"""Lower, upper (exclusive), size."""
STEPS = 15_000
T = TypeVar("T")


def data() -> Path:
    """Folder of the real files."""
    beside = Path(__file__).resolve().parents[3] / "shared"
    return Path(os.environ.get("GX_SHARED", beside)) / "data" / "real"


def problem_of(rows: Iterable[Interval]) -> MemoryProblem:
    """Problem of lifetimes, in order of their begin."""
    rows = sorted(rows)
    return intervals([str(k) for k in range(len(rows))], *(list(c) for c in zip(*rows, strict=True)))


def guillotine(count: int, seed: int, width: int = 10_000, height: int = 100_000) -> list[Interval]:
    """A full rectangle cut ``count - 1`` times, always straight through one piece. Optimum: ``height``."""
    rng = random.Random(seed)
    pieces = [(0, width, height)]
    while len(pieces) < count:
        k = max(range(len(pieces)), key=lambda i: (pieces[i][1] - pieces[i][0]) * pieces[i][2] * rng.random())
        a, b, h = pieces.pop(k)
        across = (b - a) / width > h / height * rng.uniform(0.3, 3.0)
        if across and b - a > 1:
            cut = a + max(1, min(b - a - 1, int((b - a) * rng.uniform(0.2, 0.8))))
            pieces += [(a, cut, h), (cut, b, h)]
        elif h > 1:
            part = max(1, min(h - 1, int(h * rng.uniform(0.2, 0.8))))
            pieces += [(a, b, part), (a, b, h - part)]
        else:
            pieces.append((a, b, h))
    return pieces


def crowded(count: int, seed: int) -> list[Interval]:
    """Random lifetimes and sizes over three orders of magnitude; a few live for most of the time."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        length = int(rng.choice((20, 60, 200, 700)) * rng.uniform(0.3, 1.5)) + 1
        begin = rng.randrange(1000)
        rows.append((begin, begin + length, int(2 ** rng.uniform(4, 14)) * 16))
    return rows


def training(layers: int, seed: int) -> list[Interval]:
    """Activations that live until their backward step, with short-lived scratch around them; 9 buffers per layer."""
    rng = random.Random(seed)
    rows: list[Interval] = []
    end = 6 * layers
    for k in range(layers):
        at, back = 3 * k, end - 3 * k
        base = 512 * rng.choice((16, 32, 64, 64, 128, 256))
        rows += [(at, back, base * rng.choice((1, 1, 2, 4))), (at + 1, back, base), (at + 2, back - 1, 512)]
        rows += [(at + i, at + i + rng.randint(1, 4), base * rng.choice((1, 2, 3))) for i in range(3)]
        rows += [(back - i, back - i + rng.randint(1, 5), base * rng.choice((1, 2))) for i in range(3)]
    return rows


def plain_greedy(rows: list[Interval]) -> int:
    """Largest first, lowest hole, in plain Python over sorted lists: what greedy-by-size allocators do. Returns the peak."""
    order = sorted(range(len(rows)), key=lambda k: (-rows[k][2], rows[k][0]))
    placed: list[tuple[int, int, int, int]] = []  # offset, end, lower, upper
    peak = 0
    for k in order:
        lower, upper, size = rows[k]
        here = 0
        for offset, stop, a, b in placed:
            if a < upper and lower < b:
                if here + size <= offset:
                    break
                here = max(here, stop)
        insort(placed, (here, here + size, lower, upper))
        peak = max(peak, here + size)
    return peak


def size_greedy(problem: MemoryProblem) -> int:
    """Peak of greedy by size, first fit."""
    order = sorted(range(len(problem.buffers)), key=lambda k: (-problem.buffers[k].size, k))
    return place(problem, conflicts_of(problem), order, "first")[1]


def geometric(values: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def _set(name: str, problems: dict[str, MemoryProblem], reach: str) -> list[Figure]:
    """Each problem and the set: our ratio to the bound, greedy's, and how many are proven optimal."""
    out: list[Figure] = []
    ours, theirs = [], []
    proven = 0
    started = time.perf_counter()
    for label, problem in problems.items():
        bound, greedy = serial_live(problem), size_greedy(problem)
        found = search(problem, bound, None, STEPS)
        assert found.plan.peak <= greedy, f"{label}: above plain greedy"
        assert found.optimal == (found.plan.peak == found.bound.bytes)
        ours.append(found.plan.peak / bound.bytes)
        theirs.append(greedy / bound.bytes)
        proven += found.optimal
        mark = "optimal" if found.optimal else "open"
        out.append((f"1 {name} {label}: {mark}, {found.method}", ours[-1], theirs[-1], "x", "<= greedy"))
    out.append(
        (f"1 {name}: geometric mean, {proven}/{len(ours)} proven", geometric(ours), geometric(theirs), "x", reach)
    )
    out.append((f"1 {name}: time", time.perf_counter() - started, None, "s", "<= 60 in all"))
    return out


def hard_inputs() -> list[Figure]:
    """Row 1."""
    files = sorted((data() / "memory").glob("minimalloc_?.*.csv"))
    rows = _set("minimalloc", {f.name[11:12]: read_file(f)[0] for f in files}, "<= 1.20, then 1.05") if files else []
    rows += _set("guillotine", {str(n): problem_of(guillotine(n, n)) for n in (50, 100, 200, 400)}, "<= 1.25")
    return rows + _set("crowded", {str(n): problem_of(crowded(n, n)) for n in (150, 300)}, "<= greedy")


def real_graphs() -> list[Figure]:
    """Rows 2 and 3: real ONNX graphs on one, two and four streams."""
    import onnx

    from ge_explorer.api import open_session

    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    files = [*sorted(light.glob("*.onnx")), *sorted((data() / "onnx").glob("*.onnx"))]
    rows: list[Figure] = []
    for row, mode in (("2", "single"), ("3", "LoadBalance:2"), ("3", "LoadBalance:4")):
        ratios, slowest = [], 0.0
        for f in files:
            try:
                trace = open_session(f, mode=mode).trace
            except GxError as e:  # a file this package cannot load is another row's business
                print(f"{f.name}: {e}")
                continue
            memory = trace.final.memory
            if memory is None or not memory.lower_bound:
                continue
            ratios.append(memory.plan.peak / memory.lower_bound)
            slowest = max([slowest, *(s.seconds for s in trace if s.name.startswith("plan-memory"))])
        name = f"{row} {mode}: worst peak / bound of {len(ratios)} graphs"
        rows.append((name, max(ratios, default=0.0), None, "x", "1.000"))
        rows.append((f"{row} {mode}: slowest plan with bound", slowest, None, "s", "< 2"))
    return rows


def large() -> list[Figure]:
    """Row 4: a real training set, and a made-up one of 18,000 buffers against plain Python."""
    rows: list[Figure] = []
    path = data() / "memory" / "somas_resnet50.csv"
    if path.exists():
        problem, _ = read_file(path)
        bound = serial_live(problem)
        started = time.perf_counter()
        found = search(problem, bound, None, STEPS)
        greedy = size_greedy(problem) / bound.bytes
        rows.append(("4 SOMAS resnet50, 1,042 buffers", found.plan.peak / bound.bytes, greedy, "x", "1.000"))
        rows.append(("4 SOMAS resnet50: time", time.perf_counter() - started, None, "s", "-"))
    made = sorted(training(2000, 7))
    theirs, plain = timed(lambda: plain_greedy(made))
    problem = problem_of(made)
    bound = serial_live(problem)
    ours, plan = timed(lambda: plan_hb(problem, lambda _: bound.bytes))
    rows.append(("4 training, 18,000 buffers: time", ours, theirs, "s", "<= 0.20 x"))
    rows.append(
        ("4 training, 18,000 buffers: peak", plan.peak / bound.bytes, plain / bound.bytes, "x", "<= greedy, 1.003")
    )
    return rows


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """(seconds, result)."""
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def figures() -> list[Figure]:
    """Rows 1 to 4."""
    return [*hard_inputs(), *real_graphs(), *large()]
