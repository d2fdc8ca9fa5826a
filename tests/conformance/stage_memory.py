"""GE's static memory planner: sizes, lifetimes, blocks, offsets."""

from __future__ import annotations

from typing import Any

from conformance.build import build_graph, build_snapshot
from conformance.memory_facts import ASSIGN, BINARY, HYBRID, INSIDE, MAX, Facts, compare_own_memory
from conformance.registry import Case, Report, Unsupported, handles
from ge_explorer.errors import PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.memory.aliases import REUSE_FLAG, REUSE_INDEX
from ge_explorer.memory.ge.planner import plan_ge
from ge_explorer.memory.ge.result import GeCandidate, GeMemoryResult
from ge_explorer.memory.ge.statistics import Statistics
from ge_explorer.memory.ge.stream_ids import given_stream
from ge_explorer.memory.ge.symbols import HBM
from ge_explorer.memory.ge.view import MERGE, SIZE, build_view
from ge_explorer.memory.problem import WORKSPACE

DTYPES = {"float32": "float"}


def memory_graph(case: Case) -> Graph:
    """Graph of a case with sizes, shapes, workspaces and references on it. Sizes that are not stated are 0, as in GE."""
    raw = dict(case.raw)
    graphs = {"": dict(case.graph), **{k: dict(v) for k, v in case.graph.get("subgraphs", {}).items()}}
    for g in graphs.values():
        g["nodes"] = [_counted(n) for n in g.get("nodes", [])]
    raw["graph"] = graphs.pop("") | ({"subgraphs": graphs} if graphs else {})
    counted = Case(raw, case.file)
    graph = build_graph(counted)
    e = GraphEditor(graph)
    for g in (raw["graph"], *graphs.values()):
        for n in g["nodes"]:
            i = graph.by_name[n["name"]]
            for o, t in enumerate(graph.node(i).outputs):
                sizes, shapes = n.get("output_sizes", ()), n.get("output_shapes", ())
                attrs: dict[str, Any] = {**graph.tensor(t).attrs, SIZE: sizes[o] if o < len(sizes) else 0}
                source = n.get("output_reuse_input", {}).get(str(o))
                if source is not None:
                    attrs |= {REUSE_FLAG: True, REUSE_INDEX: int(source)}
                shape = tuple(shapes[o]) if o < len(shapes) else None
                e.set_tensor(t, shape=shape, dtype=DTYPES.get(n.get("dtype", ""), n.get("dtype")), attrs=attrs)
    return e.freeze()


def _counted(n: dict[str, Any]) -> dict[str, Any]:
    """Node with its numbers of inputs and outputs filled in from the listed sizes, and its workspaces as an attribute."""
    out = dict(n)
    out["inputs"] = max(int(n.get("inputs", 0)), len(n.get("input_sizes", ())))
    out["outputs"] = max(int(n.get("outputs", 0)), len(n.get("output_sizes", ())))
    if n.get("workspace"):
        out["attrs"] = {**n.get("attrs", {}), WORKSPACE: list(n["workspace"])}
    return out


GE_LOCAL = frozenset({"Data", "NetOutput", "PartitionedCall"})
"""Types that GE's own tests run in the GE-local engine; in recordings no node has an engine library."""
IO_INDEXES = (("ge.exec.inputReuseMemIndexes", "Data"), ("ge.exec.outputReuseMemIndexes", "NetOutput"))
"""GE reads these two from the options of the graph. Its tests also set them globally, without effect, and the cases do not say
which; the global ones are one list for all graphs of a fixture, so they name inputs and outputs the graph does not have."""


def run_planner(case: Case, graph: Graph | None = None) -> tuple[Graph, GeMemoryResult]:
    """Plan the graph of a case with the streams and ids it states."""
    graph = memory_graph(case) if graph is None else graph
    state = build_snapshot(case, graph)
    options = dict(case.options)
    local: set[int] = set()
    if case.level != "oracle":
        local = {n.id for n in graph if n.op in GE_LOCAL}
        for key, kind in IO_INDEXES:
            root = [n for n in graph if n.op == kind and n.scope == 0]
            have = len(root) if kind == "Data" else sum(len(n.inputs) for n in root)
            if any(not x.isdigit() or int(x) >= have for x in options.get(key, "").split(",") if x):
                del options[key]
    assert state.streams is not None
    assert state.order is not None
    return graph, plan_ge(graph, state.streams.node.tolist(), state.order.tolist(), options, local=local)


@handles("MemoryAssigner::AssignMemory", when=lambda case: case.level == "oracle")
def recorded(case: Case, report: Report) -> None:
    """All candidates, then the whole assigner."""
    graph, result = run_planner(case)
    want = case.expect
    report.equal("status", "failed" if result.failure else "success", str(want["status"]).lower())
    if "report_codes" in want:
        report.equal("report_codes", ["E19999"] if result.failure else [], want["report_codes"])
    for c, w in zip(result.candidates, want.get("candidates", result.candidates), strict=True):
        if w is c:
            continue
        got: dict[str, Any] = {"name": c.name, "size": c.size, "ranges": list(c.classes), "stat": _quadruple(c)}
        if "blocks" in w:
            got["blocks"] = _block_rows(c)
        for key in w:
            if key not in got:
                raise Unsupported(f"recorded field {key}")
            _listed(case, report, f"{c.name}.{key}", got[key], w[key])
    for key, value in (("total_size", result.total), ("zero_copy_size", result.zero_copy)):
        if key in want:
            report.equal(key, value, want[key])
    if "offsets" in want:
        _listed(case, report, "offsets", _offset_rows(graph, result), want["offsets"])


def _listed(case: Case, report: Report, what: str, got: Any, want: Any) -> None:
    """Strict, except for the places of order-dependent cases: there what lies together and how large it is must agree."""
    if not case.order_dependent or what.split(".")[-1] not in ("blocks", "offsets"):
        report.equal(what, got, want)
        return
    report.equal(f"{what}, places aside", _without_places(got), _without_places(want))
    report.relaxed(what, _without_places(got), _without_places(want))


def _without_places(rows: Any) -> Any:
    if isinstance(rows, dict):
        return sorted(x for row in rows.values() for offsets in row.values() for x in offsets)
    return sorted((b["size"], sorted(m[:3] for m in b["members"])) for b in rows)


def _quadruple(c: GeCandidate) -> list[int]:
    s = c.statistics.get(HBM, Statistics())
    return [s.theory_min, s.theory, s.no_reuse, s.total]


def _block_rows(c: GeCandidate) -> list[dict[str, Any]]:
    place = {b.uid: i for i, b in enumerate(c.blocks)}
    rows = []
    for b in c.blocks:
        members = [
            [
                m.name,
                "out" if m.kind == "output" else "ws",
                m.index,
                m.begin,
                m.end,
                m.real,
                *(["ref"] if m.ref else []),
            ]
            for m in b.members
        ]
        row: dict[str, Any] = {"head": b.head, "members": members, "size": b.size, "stream": b.stream}
        row["tail"] = 0 if b.zero_copy else b.tail
        if b.parent >= 0:
            row["parent"] = place[b.parent]
        if b.zero_copy:
            row["zero_copy"] = True
        if not b.reusable:
            row["no_reuse"] = True
        rows.append(row)
    return rows


def _offset_rows(graph: Graph, result: GeMemoryResult) -> dict[str, dict[str, list[int]]]:
    rows: dict[str, dict[str, list[int]]] = {}
    for n in graph:
        row = {"out": list(result.offsets[n.id]), "ws": list(result.workspaces[n.id])}
        row = {k: v for k, v in row.items() if v}
        if row:
            rows[n.name] = row
    return rows


@handles(ASSIGN, BINARY, MAX, HYBRID, INSIDE, when=lambda case: case.level != "oracle")
def one_graph(case: Case, report: Report) -> None:
    """Named facts about one planned graph."""
    want = case.expect
    try:
        graph, result = run_planner(case)
    except PassFailed:
        if "status" in want:
            report.equal("status", "failed", str(want["status"]).lower())
        if "merged_symbols" in want:
            report.equal("merged_symbols", 0, want["merged_symbols"])
        return
    facts = Facts(case, graph, result)
    for key, value in want.items():
        facts.compare(key, value, report)
    for name, value in case.derived.get("topo_ids", {}).items():
        report.hint(f"topo id of {name}", facts.ids[name], value)


@handles("GetNoNeedAssignMemoryFlag")
def own_memory(case: Case, report: Report) -> None:
    """Which outputs have no block of their own."""
    compare_own_memory(memory_graph(case), case.expect["no_own_memory"], report)


@handles("MemReuseUtils::GetStreamId")
def stream_id(case: Case, report: Report) -> None:
    """Stream of a node as memory sees it."""
    graph = memory_graph(case)
    state = build_snapshot(case, graph)
    assert state.streams is not None
    view = build_view(graph, state.streams.node.tolist())
    name = case.call.get("node")
    op = view.ops[view.by_name[name]] if name else view.ops[0]
    report.equal("return", given_stream(op), case.expect["return"])


@handles("MemReuseUtils::IsMergeNode")
def is_merge(case: Case, report: Report) -> None:
    """Is a type a merge?"""
    types = [n["type"] for n in case.graph.get("nodes", [])[:1]]
    report.equal("return", case.call.get("type", *types) in MERGE, case.expect["return"])
