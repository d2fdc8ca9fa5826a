"""Rows 5, 6 and 9: events beside their provable minimum, streams and waits beside theirs, transitive reduction beside libraries.

Graphs are generated with fixed seeds, real ONNX files join where they lie (see memory.data). Every figure of a count is asserted
in the tests; here they are shown.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import ge_explorer as gx
from ge_explorer.errors import GxError
from ge_explorer.graph.chains import chains, cover_by_arcs, cover_by_paths
from ge_explorer.graph.model import Graph
from ge_explorer.graph.reduction import reduced_predecessors
from ge_explorer.loaders.generated import generated_graph
from ge_explorer.passes.streams.concurrency import stream_bounds, task_graph
from ge_explorer.passes.sync.economy import event_economy
from tests.bench.memory import Figure, data

NO_MEMORY = "static,-plan-memory"
Rows = list[list[int]]


def best(run: Callable[[], object], times: int = 5) -> float:
    """Smallest process time of several runs in seconds."""
    found = []
    for _ in range(times):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def geometric(values: Iterable[float]) -> float:
    """Geometric mean."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs))


def real_graphs() -> Iterator[tuple[str, Graph]]:
    """Real ONNX models without subgraphs (the modes leave bodies alone), by file name."""
    for path in sorted(data().glob("onnx/**/*.onnx")):
        with suppress(GxError):
            g = gx.load(path).graph
            if len(g) > 2 and not any(n.subgraphs for n in g):
                yield path.stem, g


def graphs(seeds: int = 6) -> Iterator[tuple[str, Graph]]:
    """Generated graphs of 2,000 nodes without labels, then the real ones."""
    for seed in range(seeds):
        yield f"generated {seed}", generated_graph(2000, seed=seed, labels=0)
    yield from real_graphs()


def events() -> list[Figure]:
    """Row 5: kept events over the minimum, GE's and in minimal mode; the time of the reduction at 10,000 nodes."""
    kept: dict[str, list[float]] = {"ge": [], "minimal": []}
    modes = ("", "LoadBalance:4", "MainStream:4")
    for _, g in graphs():
        for stream_mode in modes:
            for mode, ratios in kept.items():
                options = {
                    "gx.eventMode": mode,
                    **({"ge.autoMultistreamParallelMode": stream_mode} if stream_mode else {}),
                }
                found = event_economy(gx.compile(g, pipeline=NO_MEMORY, options=options))
                if found is not None and found.ratio is not None:
                    ratios.append(found.ratio)
    big = gx.compile(
        generated_graph(10_000, seed=1), pipeline=NO_MEMORY, options={"ge.autoMultistreamParallelMode": "LoadBalance:4"}
    )
    return [
        ("events GE / minimum, geo", geometric(kept["ge"]), 1.0, "x", "GE 1.2-1.36"),
        ("events GE / minimum, worst", max(kept["ge"]), 1.0, "x", "-"),
        ("events minimal mode / minimum, worst", max(kept["minimal"]), 1.0, "x", "= 1.000"),
        ("10k nodes: event economy", 1000 * best(lambda: event_economy(big)), None, "ms", "< 300"),
    ]


def concurrency() -> list[Figure]:
    """Row 6: streams over width in the one mode, waits over their minimum in the other; time of both covers at 10,000 nodes."""
    streams, waits = [1.0], [1.0]
    for _, g in graphs():
        few, spare = (
            stream_bounds(gx.compile(g, pipeline=NO_MEMORY, options={"gx.streamMode": mode, "gx.eventMode": "minimal"}))
            for mode in ("fewest-streams", "fewest-waits")
        )
        if few is None or spare is None:
            continue
        streams.append(few.streams_used / max(1, few.width))
        if spare.minimum_waits:
            waits.append((spare.waits or 0) / spare.minimum_waits)
    big = gx.compile(generated_graph(10_000, seed=1, labels=0), pipeline=NO_MEMORY)
    g = task_graph(big.final)

    def covers() -> None:
        by_arcs = cover_by_arcs(g.succ)
        chains(by_arcs.after)
        chains(cover_by_paths(g.succ, by_arcs.after).after)

    return [
        ("streams / width, worst (fewest-streams)", max(streams), 1.0, "x", "= 1.000"),
        ("waits / minimum, worst (fewest-waits)", max(waits), 1.0, "x", "= 1.000"),
        ("10k nodes reduced: both covers and proofs", 1000 * best(covers), None, "ms", "<= 30"),
        ("10k nodes: stream bounds of a trace", 1000 * best(lambda: stream_bounds(big)), None, "ms", "< 300"),
    ]


def near(nodes: int, back: int, seed: int = 1) -> Rows:
    """Predecessors of a random graph: two arcs a node, from at most ``back`` places before."""
    rng = random.Random(seed)
    return [sorted({rng.randrange(max(0, v - back), v) for _ in range(2)}) if v else [] for v in range(nodes)]


def reduction() -> list[Figure]:
    """Row 9: our reduction against networkx and rustworkx (where installed) at 10,000 nodes, same arcs; ours at 100,000."""
    import networkx as nx

    g = generated_graph(10_000, seed=1)
    order, pred = g.walk(), [list(dict.fromkeys(row)) for row in g.pred]
    arcs = [(u, v) for v in order for u in pred[v]]
    ours = best(lambda: reduced_predecessors(order, pred), 9)
    found = {(u, v) for v, row in reduced_predecessors(order, pred).items() for u in row}
    theirs = nx.DiGraph(arcs)
    start = time.process_time()
    reduced = nx.transitive_reduction(theirs)
    seconds = time.process_time() - start
    assert set(reduced.edges) == found
    rows: list[Figure] = [("reduction of 10k nodes / networkx", 1000 * ours, 1000 * seconds, "ms", "<= 1/200")]
    try:
        import rustworkx as rx
    except ImportError:
        print("rustworkx is not installed: no ratio", file=sys.stderr)
    else:
        for name, p in (
            ("as above", pred),
            ("2 arcs, 200 back", near(10_000, 200)),
            ("2 arcs, anywhere", near(10_000, 10_000)),
        ):
            o = order if name == "as above" else range(len(p))
            rust = rx.PyDiGraph()
            rust.add_nodes_from(range(len(p)))
            rust.add_edges_from_no_data([(u, v) for v in o for u in p[v]])
            same, _ = rx.transitive_reduction(rust)
            mine = {(u, v) for v, row in reduced_predecessors(o, p).items() for u in row}
            assert set(same.edge_list()) == mine
            rows.append(
                (
                    f"reduction of 10k / rustworkx: {name}", 1000 * best(lambda o=o, p=p: reduced_predecessors(o, p), 9),
                    1000 * best(lambda rust=rust: rx.transitive_reduction(rust), 1), "ms", "<= 1/20",
                )
            )  # fmt: skip
    for name, p in (("200 back", near(100_000, 200)), ("anywhere", near(100_000, 100_000))):
        rows.append(
            (
                f"reduction of 100k, {name}",
                best(lambda p=p: reduced_predecessors(range(len(p)), p), 3),
                None,
                "s",
                "< 1",
            )
        )
    return rows
