"""ModelProto to records: resolve names over graph levels, expand local functions, name unnamed nodes as GE does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ge_explorer.errors import InputError
from ge_explorer.issue import Issue
from ge_explorer.loaders.onnx_expansion import expanded_size
from ge_explorer.loaders.onnx_records import GraphRecord, NodeRecord, Proto, local_symbols, reads, topological
from ge_explorer.text import Text

GRAPH, GRAPHS = 5, 10
"""AttributeProto.type of a graph and of a list of graphs."""
DEPTH_LIMIT = 64
"""Function calls inside function calls; deeper means the functions call each other in a circle."""
BRANCHES = frozenset({"If"})
"""Operators whose bodies take no inputs; files that declare some mean outer names."""


@dataclass(slots=True)
class _Level:
    """Names visible in one graph: definition positions per name, the enclosing level, and where we are in it."""

    outer: _Level | None
    outer_position: int
    defined: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def add(self, name: str, position: int, symbol: str) -> None:
        self.defined.setdefault(name, []).append((position, symbol))

    def resolve(self, name: str, position: int) -> str | None:
        """Symbol of ``name`` at a node position: the latest definition before it, else the first after it."""
        level: _Level | None = self
        while level is not None:
            found = level.defined.get(name)
            if found:
                if len(found) > 1:
                    before = [s for p, s in found if p < position]
                    return before[-1] if before else found[0][1]
                return found[0][1]
            position, level = level.outer_position, level.outer
        return None


@dataclass(frozen=True, slots=True)
class _Call:
    """Context of the function body being expanded: name prefix, attribute values, opsets, chain of functions."""

    prefix: str = ""
    values: Mapping[str, Proto] | None = None
    opsets: Mapping[str, int] = field(default_factory=dict)
    chain: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


class Flattener:
    """Turns one ModelProto into a GraphRecord; ``issues`` and ``expanded`` tell what happened on the way."""

    def __init__(self, model: Proto, node_limit: int) -> None:
        self.model, self.node_limit = model, node_limit
        self.issues: list[Issue] = []
        self.expanded = 0
        self.from_functions = 0
        self.renamed: list[str] = []
        self.unresolved: list[str] = []
        self.redefined: list[str] = []
        self._functions = {(f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions}
        self._symbols: set[str] = set()
        self._names: set[str] = set()
        self._unnamed = 0
        self._count = 0

    def run(self) -> GraphRecord:
        """Records of the main graph and all its bodies."""
        opsets = {o.domain or "ai.onnx": o.version for o in self.model.opset_import}
        if self._functions and (size := expanded_size(self.model, DEPTH_LIMIT)) > self.node_limit:
            raise InputError("the graph is too large once its local functions are expanded", where=self.model.graph.name,
                             got=f"{size} nodes, limit {self.node_limit}",
                             todo="Raise node_limit, or load a part of the model.")  # fmt: skip
        # names given in the file come first, so that a generated name never takes one
        self._reserved = {n.name for n in self.model.graph.node if n.name}
        graph = self._graph(self.model.graph, None, 0, _Call(opsets=opsets), self.model.graph.name or "graph")
        return graph

    # ---------------------------------------------------------------- one level
    def _graph(
        self, g: Proto, outer: _Level | None, position: int, call: _Call, name: str, branch: bool = False
    ) -> GraphRecord:
        level, record = _Level(outer, position), GraphRecord(name)
        weights = {t.name for t in g.initializer} | {t.values.name for t in g.sparse_initializer}
        types = {v.name: v.type for v in (*g.value_info, *g.output)}
        for v in g.input:
            if v.name in weights or (branch and outer is not None and outer.resolve(v.name, position) is not None):
                types.setdefault(v.name, v.type)
                continue
            symbol = self._symbol(call.prefix + v.name)
            level.add(v.name, -1, symbol)
            record.inputs.append((symbol, v.type if v.HasField("type") else None))
        for t in (*g.initializer, *g.sparse_initializer):
            tensor_name = t.name if hasattr(t, "name") else t.values.name
            symbol = self._symbol(call.prefix + tensor_name)
            level.add(tensor_name, -1, symbol)
            record.weights.append((symbol, t))
        self._body(g.node, level, record, call)
        for v in g.output:
            record.outputs.append(self._use(v.name, level, len(g.node)))
        for tensor_name, message in types.items():
            for _, symbol in level.defined.get(tensor_name, ())[-1:]:
                record.types[symbol] = message
        self._close(record)
        return record

    def _body(self, nodes: Proto, level: _Level, record: GraphRecord, call: _Call) -> None:
        outputs: list[list[str | None]] = []
        for k, n in enumerate(nodes):
            row: list[str | None] = []
            for o in n.output:
                if not o:
                    row.append(None)
                    continue
                if o in level.defined and (position := level.defined[o][-1][0]) >= 0 and position != _BOUND:
                    self.redefined.append(o)
                bound = [s for p, s in level.defined.get(o, ()) if p == _BOUND]
                symbol = bound[0] if bound else self._symbol(call.prefix + o)
                if not bound:
                    level.add(o, k, symbol)
                row.append(symbol)
            outputs.append(row)
        for k, n in enumerate(nodes):
            inputs = [self._use(i, level, k) for i in n.input]
            function = self._functions.get((n.domain, n.op_type, getattr(n, "overload", "")))
            if function is None:
                record.nodes.append(self._node(n, inputs, outputs[k], level, k, call))
            else:
                self._expand(n, function, inputs, outputs[k], record, call)

    def _node(self, n: Proto, inputs: list[str | None], outputs: list[str | None], level: _Level, position: int,
              call: _Call) -> NodeRecord:  # fmt: skip
        self._count += 1
        if self._count > self.node_limit:
            raise InputError("the graph is too large", where=self.model.graph.name, got=f"more than {self.node_limit} nodes",
                             todo="Raise node_limit, or load a part of the model.")  # fmt: skip
        domain = n.domain or "ai.onnx"
        name = self._name(n, call)
        node = NodeRecord(name, n.op_type, domain, call.opsets.get(domain, 0), inputs, outputs, n, function=call.chain,
                          calls=call.calls)  # fmt: skip
        k = 0
        for a in n.attribute:
            if a.ref_attr_name:
                value = (call.values or {}).get(a.ref_attr_name)
                if value is None:
                    continue
                a = _renamed(value, a.name)
            if a.type in (GRAPH, GRAPHS):
                for g in (a.g,) if a.type == GRAPH else a.graphs:
                    body = self._graph(g, level, position, call, f"{name}_{k}_{a.name}", n.op_type in BRANCHES)
                    node.bodies.append((a.name, body))
                    k += 1
            else:
                node.attributes.append(a)
        return node

    def _close(self, record: GraphRecord) -> None:
        order, cycle = topological(record)
        if cycle:
            names = ", ".join(record.nodes[i].name for i in cycle[:4])
            raise InputError("the graph has a cycle", where=f"graph {record.name!r}, nodes {names}",
                             got=f"{len(cycle)} nodes on or behind it",
                             todo="A node must not depend on its own result.")  # fmt: skip
        record.in_order = order == sorted(order)
        own = local_symbols(record)
        seen: dict[str, None] = {}
        for n in record.nodes:
            for s in reads(n):
                if s not in own:
                    seen[s] = None
        for o in record.outputs:
            if o is not None and o not in own:
                seen[o] = None
        record.captured = list(seen)

    # ---------------------------------------------------------------- functions
    def _expand(self, n: Proto, f: Proto, inputs: list[str | None], outputs: list[str | None], record: GraphRecord,
                call: _Call) -> None:  # fmt: skip
        if len(call.chain) >= DEPTH_LIMIT:
            raise InputError("local functions call each other in a circle", where=" > ".join(call.chain[-3:]),
                             todo="Export the model with its functions inlined.")  # fmt: skip
        self.expanded += 1
        name = self._name(n, call)
        values: dict[str, Proto] = {a.name: a for a in f.attribute_proto}
        for a in n.attribute:
            value = (call.values or {}).get(a.ref_attr_name) if a.ref_attr_name else a
            if value is not None:
                values[a.name] = value
        opsets = {o.domain or "ai.onnx": o.version for o in f.opset_import}
        inner = _Call(f"{name}/", values, opsets, (*call.chain, f"{f.domain}::{f.name}" if f.domain else f.name),
                      (*call.calls, name))  # fmt: skip
        level = _Level(None, 0)
        for i, formal in enumerate(f.input):
            actual = inputs[i] if i < len(inputs) else None
            if actual is not None:
                level.add(formal, -1, actual)
            else:
                level.add(formal, -1, "")
        made = {o for m in f.node for o in m.output}
        passed: list[tuple[str, str | None, str]] = []
        for i, formal in enumerate(f.output):
            actual = outputs[i] if i < len(outputs) else None
            if actual is None:
                continue
            if formal in made:
                level.add(formal, _BOUND, actual)
            else:
                source = level.resolve(formal, 0)
                passed.append((formal, source or None, actual))
        before = len(record.nodes)
        self._body(f.node, level, record, inner)
        for (
            formal,
            source,
            actual,
        ) in passed:  # an output that is an input: ONNX has no alias, so name it by an Identity
            title = self._unique(f"{inner.prefix}{formal}")
            record.nodes.append(
                NodeRecord(
                    title,
                    "Identity",
                    "ai.onnx",
                    opsets.get("ai.onnx", 0),
                    [source],
                    [actual],
                    None,
                    function=inner.chain,
                    calls=inner.calls,
                )
            )
        self.from_functions += len(record.nodes) - before
        for v in getattr(f, "value_info", ()):
            for _, symbol in level.defined.get(v.name, ())[-1:]:
                if symbol:
                    record.types.setdefault(symbol, v.type)

    # ---------------------------------------------------------------- names
    def _use(self, name: str, level: _Level, position: int) -> str | None:
        if not name:
            return None
        symbol = level.resolve(name, position)
        if symbol is None:
            self.unresolved.append(name)
        return symbol or None

    def _symbol(self, wanted: str) -> str:
        symbol, k = wanted, 1
        while symbol in self._symbols or not symbol:
            k += 1
            symbol = f"{wanted}#{k}"
        self._symbols.add(symbol)
        return symbol

    def _name(self, n: Proto, call: _Call) -> str:
        if n.name:
            return self._unique(call.prefix + n.name, given=True)
        while True:
            name = f"{call.prefix}{n.op_type}_{self._unnamed}"
            self._unnamed += 1
            if name not in self._reserved and name not in self._names:
                self._names.add(name)
                return name

    def _unique(self, wanted: str, given: bool = False) -> str:
        name, k = wanted, 0
        while name in self._names:
            k += 1
            name = f"{wanted}_{k}"
        if k and given:
            self.renamed.append(wanted)
        self._names.add(name)
        return name


_BOUND = 1 << 60
"""Position of a function output: its symbol is given by the caller."""


def _renamed(attribute: Proto, name: str) -> Proto:
    if attribute.name == name:
        return attribute
    copy = type(attribute)()
    copy.CopyFrom(attribute)
    copy.name = name
    return copy


def flatten_issues(f: Flattener, record: GraphRecord) -> list[Issue]:
    """Findings of the flattening as issues."""
    out: list[Issue] = []
    if not record.in_order:
        out.append(Issue("GX301", "note", Text(
            "The nodes are not in topological order; edges were found by tensor name.",
            "节点不按拓扑序排列；数据边按张量名匹配。")))  # fmt: skip
    if f.renamed:
        out.append(Issue("GX302", "note", Text(
            "{n} nodes repeat the name of another one and got a number: {names}.",
            "{n} 个节点与其他节点重名，已加编号：{names}。").format(n=len(f.renamed), names=_some(f.renamed))))  # fmt: skip
    if f.redefined:
        out.append(Issue("GX303", "warning", Text(
            "{n} tensors are written twice: {names}. Each reader got the last write before it.",
            "{n} 个张量被写了两次：{names}。读者取其之前的最后一次写入。").format(
                n=len(f.redefined), names=_some(f.redefined))))  # fmt: skip
    if f.unresolved:
        out.append(Issue("GX308", "warning", Text(
            "{n} inputs name a tensor that nothing produces: {names}. They are left open.",
            "{n} 个输入引用了无人产生的张量：{names}，保持悬空。").format(
                n=len(f.unresolved), names=_some(f.unresolved))))  # fmt: skip
    return out


def _some(names: list[str], limit: int = 3) -> str:
    shown = ", ".join(n if len(n) <= 60 else n[:59] + "…" for n in dict.fromkeys(names[: limit * 4]))
    parts = shown.split(", ")
    return ", ".join(parts[:limit]) + (" …" if len(parts) > limit or len(names) > limit * 4 else "")
