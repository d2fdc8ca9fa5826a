"""Records of a GE dump to a graph, its recorded facts and the report. One way for all dialects."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError, shorten
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import SOURCE_LIKE, Edge, Graph
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.loaders import ge_report
from ge_explorer.loaders.ge_events import recover_events
from ge_explorer.loaders.ge_facts import facts
from ge_explorer.loaders.ge_records import CONTROL, GraphRecord, ModelRecord, OpRecord
from ge_explorer.loaders.ge_version import version_issues
from ge_explorer.loaders.pbtxt import place
from ge_explorer.loaders.report import LoadReport, LoadResult
from ge_explorer.loaders.source import Source
from ge_explorer.text import Text

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

OUTPUT_LIMIT = 65_536
"""Outputs of one operator; a larger index in an input is damage, not a model."""
FORMAT_ATTR = "_gx_format"


def build(model: ModelRecord, source: Source, settings: LoadSettings) -> LoadResult:
    """Graph, facts and report of a dump. InputError names the operator or byte of what cannot be."""
    maker = _Maker(model, source, settings.node_limit)
    graph = maker.run()
    recorded = facts(model, graph, maker.records)
    events, event_issues = recover_events(graph, recorded.streams)
    recorded = ge_report.with_events(recorded, events)
    counts = ge_report.counts(model, recorded)
    report = LoadReport(
        model.format, source.name, tuple(ge_report.found(model, graph, recorded, counts)),
        tuple(ge_report.missing(model, graph, recorded)), tuple(maker.issues + event_issues), counts,
    )  # fmt: skip
    result = LoadResult(graph, report, recorded)
    noted = version_issues(result)
    return result if not noted else replace(result, report=replace(report, issues=(*report.issues, *noted)))


class _Maker:
    """Builds the graph; ``records`` then gives the record of each node id."""

    def __init__(self, model: ModelRecord, source: Source, node_limit: int) -> None:
        self.model, self.source, self.node_limit = model, source, node_limit
        self.issues: list[Issue] = []
        self.records: dict[int, OpRecord] = {}
        root = model.graphs[0]
        self.editor = GraphEditor.empty(
            root.name or "graph", dynamic=_dynamic(root), attrs={**_plain(root.attrs), FORMAT_ATTR: model.format}
        )
        self._outputs = 0
        self._data: dict[int, list[tuple[int, int] | None]] = {}
        self._control: dict[tuple[int, int], None] = {}

    def error(self, what: str, op: OpRecord | None, got: object = None, todo: str = "") -> InputError:
        where = self.source.name
        if op is not None:
            where = f"node {shorten(op.name)}"
            if op.at >= 0:
                where += f" in {place(self.source.data, op.at, self.source.name)}"
        return InputError(what, where=where, got=got, todo=todo or "Dump the graph again.")

    def run(self) -> Graph:
        graphs = self.model.graphs
        total = sum(len(g.ops) for g in graphs)
        if not total:
            raise self.error("the dump holds no operator", None)
        if total > self.node_limit:
            raise self.error("the graph is too large", None, f"{total} nodes, limit {self.node_limit}",
                             "Raise node_limit=… if the memory is there.")  # fmt: skip
        by_name: dict[str, int] = {}
        for k, g in enumerate(graphs[1:], 1):
            if g.name in by_name or not g.name:
                raise InputError(
                    "two subgraphs have the same name" if g.name else "a subgraph has no name",
                    where=place(self.source.data, g.at, self.source.name) if g.at >= 0 else self.source.name,
                    got=g.name, todo="Dump the graph again.",
                )  # fmt: skip
            by_name[g.name] = k
        owners = self._owners(by_name)
        scopes = {0: 0}
        todo = deque([0])
        loose = deque(range(1, len(graphs)))
        unattached: list[str] = []
        while todo or loose:
            if not todo:
                k = loose.popleft()
                if k in scopes:
                    continue
                scopes[k] = self.editor.add_scope(
                    graphs[k].name, -1, dynamic=_dynamic(graphs[k]), attrs=_plain(graphs[k].attrs)
                )
                unattached.append(graphs[k].name)
                todo.append(k)
            k = todo.popleft()
            nodes = self._scope(graphs[k], scopes[k])
            for op, node in zip(graphs[k].ops, nodes, strict=True):
                for child in owners.get(id(op), ()):
                    if child not in scopes:
                        g = graphs[child]
                        scopes[child] = self.editor.add_scope(g.name, node, dynamic=_dynamic(g), attrs=_plain(g.attrs))
                        todo.append(child)
        if unattached:
            self._note(
                "GX330", "note",
                Text("{n} subgraphs name no owner; they are shown on their own: {s}", "{n} 个子图没有所属节点，单独显示：{s}"),
                unattached,
            )  # fmt: skip
        return self._connected(self.editor.freeze())

    # ---------------------------------------------------------------- subgraphs
    def _owners(self, by_name: dict[str, int]) -> dict[int, list[int]]:
        """id(operator record) -> its subgraphs. Each subgraph has one owner: the first that names it."""
        owners: dict[int, list[int]] = {}
        taken: set[int] = set()
        absent: list[str] = []
        shared: list[str] = []
        for g in self.model.graphs:
            for op in g.ops:
                for name in op.subgraphs:
                    child = by_name.get(name)
                    if child is None:
                        absent.append(name)
                    elif child in taken:
                        shared.append(name)
                    else:
                        taken.add(child)
                        owners.setdefault(id(op), []).append(child)
        if absent:
            self._note("GX331", "warning", Text("{n} subgraphs that operators name are not in the file: {s}",
                                                "算子引用的 {n} 个子图不在文件中：{s}"), absent)  # fmt: skip
        if shared:
            self._note("GX332", "warning", Text("{n} subgraphs are named by more than one operator; the first one owns it: {s}",
                                                "{n} 个子图被多个算子引用；归第一个算子所有：{s}"), shared)  # fmt: skip
        return owners

    def _note(self, code: str, severity: Any, text: Text, names: list[str], refs: tuple[Ref, ...] = ()) -> None:
        shown = ", ".join(names[:4]) + (" …" if len(names) > 4 else "")
        # names come from the file: they are filled in after the template, never formatted themselves
        self.issues.append(Issue(code, severity, text.format(n=len(names), s=shown), refs))

    # ---------------------------------------------------------------- one graph
    def _scope(self, g: GraphRecord, scope: int) -> list[int]:
        first: dict[str, int] = {}
        need: dict[str, int] = {}
        for op in g.ops:
            for link in (*op.inputs,):
                if link is not None and link[1] > CONTROL:
                    if link[1] >= OUTPUT_LIMIT:
                        raise self.error("an input names an impossible output", op, f"{link[0]}:{link[1]}")
                    need[link[0]] = max(need.get(link[0], 0), link[1] + 1)
        for link in g.results:
            if link is not None and 0 <= link[1] < OUTPUT_LIMIT:
                need[link[0]] = max(need.get(link[0], 0), link[1] + 1)
        nodes = [self._node(op, need.get(op.name, 0), scope, first) for op in g.ops]
        for op, i in zip(g.ops, nodes, strict=True):
            self._inputs(op, i, first)
        if g.results and not any(op.type.removeprefix("ge:") == "NetOutput" for op in g.ops):
            self._end(g, scope, first)
        return nodes

    def _node(self, op: OpRecord, outputs: int, scope: int, first: dict[str, int]) -> int:
        if op.name in first:
            raise self.error(f"two operators are named {shorten(op.name)}", op, todo="Dump the graph again, whole.")
        kind = op.type.removeprefix("ge:")
        if not kind:
            raise self.error("an operator has no type", op)
        specs: list[tuple[Any, Any]] = [(d.shape, d.dtype) for d in op.outputs[:OUTPUT_LIMIT]]
        outputs = max(outputs, 1 if kind in SOURCE_LIKE else 0)  # a constant nobody reads still has its value
        specs += [(None, None)] * (outputs - len(specs))
        self._outputs += len(specs)
        if self._outputs > 8 * self.node_limit:
            raise self.error("the graph has too many outputs", op, self._outputs)
        attrs = dict(op.attrs)
        if op.workspace_bytes:
            attrs["workspace_bytes"] = tuple(op.workspace_bytes)
        i = self.editor.add_node(op.name, kind, outputs=specs, attrs=attrs, scope=scope, source_op=op.type)
        first[op.name] = i
        self.records[i] = op
        for k, d in enumerate(op.outputs[:OUTPUT_LIMIT]):
            if d.attrs:
                self.editor.set_tensor(self.editor.output(i, k), attrs=d.attrs)
        return i

    def _inputs(self, op: OpRecord, i: int, first: dict[str, int]) -> None:
        data = self._data.setdefault(i, [])
        for link in op.inputs:
            if link is not None and link[0] not in first:
                raise self.error("an input names an operator that is not in its graph", op, f"{link[0]}:{link[1]}",
                                 "The file is cut or was edited: dump the graph again.")  # fmt: skip
            if link is not None and link[1] < 0:
                self._control[first[link[0]], i] = None
            else:
                data.append(None if link is None else (first[link[0]], link[1]))

    def _end(self, g: GraphRecord, scope: int, first: dict[str, int]) -> None:
        """The NetOutput that a dialect leaves out but implies by ``return``."""
        ends: list[tuple[int, int] | None] = []
        for link in g.results:
            if link is None or link[0] not in first or link[1] >= OUTPUT_LIMIT:
                ends.append(None)
            else:
                ends.append((first[link[0]], max(link[1], 0)))
        name, k = "Node_Output", 0
        while name in first:
            k += 1
            name = f"Node_Output_{k}"
        self._data[self.editor.add_node(name, "NetOutput", scope=scope, source_op="return")] = ends

    def _connected(self, graph: Graph) -> Graph:
        """All edges at once: one by one would cost the square of the inputs of an operator."""
        nodes = list(graph.nodes)
        before: dict[int, list[int]] = {}
        for a, b in self._control:
            before.setdefault(b, []).append(a)
        edges: list[Edge] = []
        for n in graph:
            links = self._data.get(n.id, [])
            edges += [Edge(link[0], link[1], n.id, k) for k, link in enumerate(links) if link is not None]
            inputs = tuple(None if link is None else graph.node(link[0]).outputs[link[1]] for link in links)
            nodes[n.id] = replace(n, inputs=inputs, control_in=tuple(before.get(n.id, ())))
        return replace(graph, nodes=tuple(nodes), edges=tuple(edges), control=tuple(self._control))


def _dynamic(g: GraphRecord) -> bool:
    """GE marks every operator of an unknown-shape graph with OwnerGraphIsUnknown."""
    return any(op.attrs.get("OwnerGraphIsUnknown") is True or op.attrs.get("OwnerGraphIsUnknown") == 1 for op in g.ops)


def _plain(attrs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in attrs.items() if isinstance(v, int | float | str | bool | tuple)}
