"""Print ours, theirs, ratio and what to reach (numbers of the row in perf.md). Best of several runs, process time."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Row:
    """One figure. ``ratio`` is ours / theirs unless the name says otherwise."""

    name: str
    ours: float
    theirs: float | None
    unit: str
    reach: str

    @property
    def ratio(self) -> float | None:
        return None if not self.theirs else self.ours / self.theirs


def best(run: Callable[[], object], times: int = 3) -> float:
    """Smallest wall time of several runs in seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def import_time() -> list[Row]:
    """Row 14: import of the package in a fresh interpreter, above the bare interpreter and numpy."""

    def run(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)

    bare, ours = run("pass"), run("import ge_explorer")
    trace = run("import ge_explorer as gx; gx.compile(gx.examples.fork_join())")
    return [
        Row("import ge_explorer", 1000 * (ours - bare), None, "ms", "< 150"),
        Row("import and compile fork_join", 1000 * (trace - bare), None, "ms", "-"),
    ]


def big_model(nodes: int, folder: Path) -> Path:
    """A chain with side branches as an ONNX file of about ``nodes`` nodes."""
    import onnx
    from onnx import TensorProto, helper

    made, last, side = [], "x", ["x"]
    for i in range(nodes):
        kind = i % 5
        if kind == 4:
            made.append(helper.make_node("Add", [last, side[-1]], [f"t{i}"]))
        elif kind == 3:
            made.append(helper.make_node("Sigmoid", [side[-1]], [f"t{i}"]))
            side.append(f"t{i}")
            continue
        else:
            made.append(
                helper.make_node(("MatMul", "Relu", "Tanh")[kind], [last, "w"] if kind == 0 else [last], [f"t{i}"])
            )
        last = f"t{i}"
    value = helper.make_tensor_value_info
    weight = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], [0.01] * 4096)
    graph = helper.make_graph(
        made, "big", [value("x", TensorProto.FLOAT, [64, 64])], [value(last, TensorProto.FLOAT, [64, 64])], [weight]
    )
    path = folder / "big.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def pipeline() -> list[Row]:
    """Row 10: file to events, memory and simulation, over onnxruntime's session creation with all optimisations."""
    from ge_explorer.api import open_session
    from tests.bench.orders import best

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = big_model(10_000, Path(folder))

        def ours() -> object:
            s = open_session(path, mode="LoadBalance:4")
            assert s.trace.failed is None
            return s.timeline

        theirs = None
        try:
            import onnxruntime as ort

            theirs = best(lambda: ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]))
        except ImportError:
            print("onnxruntime is not installed: no ratio", file=sys.stderr)
        rows.append(Row("10k nodes: load to simulation, LoadBalance:4", best(ours), theirs, "s", "<= 4.0 x"))
        session = open_session(path)
        _ = session.trace

        def toggle() -> None:
            session.cache._steps.popitem()
            session._traces.clear()
            session.toggle("optimize-by-recv")
            _ = session.trace

        rows.append(Row("10k nodes: toggle one event pass", best(toggle, 5), None, "s", "<= 0.5"))
    return rows


def layout() -> list[Row]:
    """Row 11: layered layout and the picture of all steps."""
    from ge_explorer.loaders.generated import generated_graph
    from ge_explorer.session import Session
    from ge_explorer.views.graph import build
    from ge_explorer.views.layout import Links, layered

    graph = generated_graph(10_000, seed=1)
    session = Session(graph)
    place = {i: k for k, i in enumerate(graph.node_ids)}
    pairs = [(place[a], place[b]) for a, b in graph.dependencies]
    links = Links(len(place), np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))
    return [
        Row("10k nodes: layered layout", best(lambda: layered(links)), None, "s", "< 0.3"),
        Row("10k nodes: picture of every step", best(lambda: build(session.trace)), None, "s", "-"),
    ]


def memory() -> list[Row]:
    """Rows 1 to 4: memory peaks over their bounds, against plain greedy."""
    from tests.bench.memory import figures

    return [Row(*f) for f in figures()]


def events() -> list[Row]:
    """Row 5: events beside the provable minimum."""
    from tests.bench.orders import events as figures

    return [Row(*f) for f in figures()]


def concurrency() -> list[Row]:
    """Row 6: streams beside the width, waits beside their minimum."""
    from tests.bench.orders import concurrency as figures

    return [Row(*f) for f in figures()]


def schedule() -> list[Row]:
    """Row 7: makespan of the best built-in plan beside HEFT."""
    from tests.bench.schedule import figures

    return [Row(*f) for f in figures()]


def simulation() -> list[Row]:
    """Row 8: simulator against SimPy, end times equal."""
    from tests.bench.simulation import figures

    return [Row(*f) for f in figures()]


def reduction() -> list[Row]:
    """Row 9: transitive reduction against networkx and rustworkx."""
    from tests.bench.orders import reduction as figures

    return [Row(*f) for f in figures()]


def shapes() -> list[Row]:
    """Row 13: ranks known, and time against ONNX's inference."""
    from tests.bench.shapes import figures

    return [Row(*f) for f in figures()]


def optimise() -> list[Row]:
    """Row 15: compute nodes left, beside onnxruntime's basic optimisation."""
    from tests.bench.optimise import figures

    return [Row(*f) for f in figures()]


ROWS: dict[str, Callable[[], list[Row]]] = {
    "import": import_time, "pipeline": pipeline, "layout": layout, "memory": memory, "shapes": shapes,
    "events": events, "concurrency": concurrency, "reduction": reduction, "simulation": simulation,
    "optimise": optimise, "schedule": schedule,
}  # fmt: skip


def main() -> int:
    """Run the named benches (default all)."""
    p = argparse.ArgumentParser(prog="python -m tests.bench")
    p.add_argument("names", nargs="*", choices=[*ROWS, []], help="which; default all")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    rows = [r for n in (args.names or ROWS) for r in ROWS[n]()]
    if args.json:
        print(json.dumps([{**asdict(r), "ratio": r.ratio} for r in rows], indent=1))
    else:
        for r in rows:
            theirs = "-" if r.theirs is None else f"{r.theirs:.3f}"
            ratio = "-" if r.ratio is None else f"{r.ratio:.3g} x"
            print(f"{r.name:<48} {r.ours:>9.3f} {r.unit:<3} theirs {theirs:>8}  ratio {ratio:>8}  reach {r.reach}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
