"""Loader for PyTorch: an ``nn.Module`` traced by ``torch.export``, or an ``ExportedProgram``.

The operators are ATen's under GE's types, as for torchair's logs. The path of the module an operator came from is its name's
first part and an attribute; parameters and buffers are Const, bodies of ``torch.cond`` and ``while_loop`` are scopes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError
from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Dim, Graph, Shape
from ge_explorer.loaders.ge_dtypes import dtype_name
from ge_explorer.loaders.onnx_convert import KIND, OUTPUT_NAMES
from ge_explorer.loaders.onnx_unknown import UNKNOWN_SHAPE, sources_of_unknown, with_unknown_scopes
from ge_explorer.loaders.report import LoadReport, LoadResult
from ge_explorer.loaders.torch_stream import LABEL
from ge_explorer.loaders.torchair_types import ge_type_of
from ge_explorer.text import Text

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

FORMAT = "PyTorch module"
MODULE = "_gx_module"
"""Our attribute: path of the module an operator belongs to, such as ``layers.0.mlp``."""
MODULE_TYPE = "_gx_module_type"
KEPT_ARGS = 2000
BODIES = {"cond": ("If", 1), "while_loop": ("While", 0)}
"""Higher-order operator -> GE's type, and how many inputs stand before those of the bodies."""
_TRACE_ERRORS = (
    RuntimeError,
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    AssertionError,
    ImportError,
    ArithmeticError,
)
"""What torch.export and a user's own forward raise; torch's errors are RuntimeErrors."""
Spec = tuple[Shape | None, str | None]


def read_module(source: Any, example_inputs: Any, settings: LoadSettings) -> LoadResult:
    """Graph and report. ``example_inputs``: tuple of arguments, or a mapping of keyword arguments.

    InputError when inputs are missing or torch cannot trace the module; what torch says is in the message.
    """
    program = source if type(source).__name__ == "ExportedProgram" else _export(source, example_inputs)
    maker = _Maker(program, settings.node_limit)
    name = type(source).__name__ if program is not source else "ExportedProgram"
    graph = maker.run(name)
    opaque = {i for i in graph.node_ids if i in maker.unknown}
    graph = with_unknown_scopes(graph, sources_of_unknown(graph, KIND, opaque, True))
    return LoadResult(graph, _report(graph, maker, name))


def _export(module: Any, example_inputs: Any) -> Any:
    import torch
    from torch.fx import traceback

    where = type(module).__name__
    if example_inputs is None:
        raise InputError("a module needs example inputs to be traced", where=where,
                         todo="Give load(module, (x, …)) or load(module, {'x': x}).")  # fmt: skip
    kwargs = dict(example_inputs) if isinstance(example_inputs, Mapping) else {}
    args = () if kwargs or isinstance(example_inputs, Mapping) else _tuple(example_inputs)
    try:
        with traceback.preserve_node_meta():
            return torch.export.export(module, args, kwargs, strict=False)
    except _TRACE_ERRORS as e:
        lines = [line for line in str(e).strip().splitlines() if line.strip()] or [type(e).__name__]
        raise InputError("torch.export cannot trace this module", where=where, got=lines[0][:200],
                         todo="Call the module on these inputs first; branches on values need torch.cond.") from e  # fmt: skip


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


class _Maker:
    """Builds the graph of an ExportedProgram."""

    def __init__(self, program: Any, node_limit: int) -> None:
        self.program, self.limit = program, node_limit
        self.inputs = {
            s.arg.name: (s.kind.name, s.target) for s in program.graph_signature.input_specs if hasattr(s.arg, "name")
        }
        self.editor = GraphEditor.empty("")
        self.names: set[str] = set()
        self.unknown: set[int] = set()
        self.labels: Counter[str] = Counter()
        self.targets: Counter[str] = Counter()
        self.weights = 0
        self.bodies = 0
        self.count = 0

    def run(self, name: str) -> Graph:
        """The whole graph."""
        self.editor = GraphEditor.empty(name, attrs={"_gx_format": FORMAT})
        self._graph(self.program.graph, self.program.graph_module, 0, "", 0)
        return self.editor.freeze()

    def _graph(self, graph: Any, owner: Any, scope: int, prefix: str, shift: int) -> None:
        values: dict[Any, tuple[int, ...]] = {}
        self._index = 0
        index = 0
        for n in graph.nodes:
            self.count += 1
            if self.count > self.limit:
                raise InputError(
                    "the graph is too large", got=f"more than {self.limit} nodes", todo="Raise node_limit."
                )
            if n.op == "placeholder":
                values[n] = self._input(n, scope, prefix, index, shift)
                index += scope > 0 or self.inputs.get(n.name, ("USER_INPUT",))[0] == "USER_INPUT"
            elif n.op == "get_attr":
                held = _attribute(owner, str(n.target))
                if held is not None and not hasattr(held, "graph"):
                    values[n] = self._weight(n, str(n.target), scope, prefix)
            elif n.op == "output":
                self._output(n, values, scope, prefix)
            elif "getitem" in str(getattr(n.target, "__name__", n.target)) and n.args[0] in values:
                made = values[n.args[0]]
                values[n] = made[n.args[1] : n.args[1] + 1] if isinstance(n.args[1], int) else made
            else:
                values[n] = self._call(n, values, owner, scope, prefix)

    def _name(self, wanted: str) -> str:
        name, k = wanted, 0
        while name in self.names:
            k += 1
            name = f"{wanted}_{k}"
        self.names.add(name)
        return name

    def _input(self, n: Any, scope: int, prefix: str, index: int, shift: int) -> tuple[int, ...]:
        kind, target = self.inputs.get(n.name, ("USER_INPUT", None)) if not scope else ("USER_INPUT", None)
        if kind != "USER_INPUT":
            return self._weight(n, str(target or n.name), scope, prefix)
        attrs: dict[str, Any] = {"index": index}
        if scope:
            attrs[PARENT_INDEX] = index + shift
        specs = _specs(n) or [(None, None)]
        i = self.editor.add_node(self._name(prefix + n.name), "Data", outputs=specs[:1], attrs=attrs, scope=scope,
                                 source_op="placeholder")  # fmt: skip
        return (self.editor.output(i),)

    def _weight(self, n: Any, target: str, scope: int, prefix: str) -> tuple[int, ...]:
        self.weights += 1
        specs = _specs(n) or [(None, None)]
        i = self.editor.add_node(self._name(prefix + target), "Const", outputs=specs[:1], attrs={"target": target}, scope=scope,
                                 source_op="get_attr")  # fmt: skip
        return (self.editor.output(i),)

    def _call(
        self, n: Any, values: Mapping[Any, tuple[int, ...]], owner: Any, scope: int, prefix: str
    ) -> tuple[int, ...]:
        target = str(n.target)
        short = getattr(n.target, "__name__", target)
        graphs = [(a, g) for a in n.args if hasattr(a, "op") and a.op == "get_attr"
                  and hasattr(g := _attribute(owner, str(a.target)), "graph")]  # fmt: skip
        inputs: list[int | None] = []
        for a in _flat((n.args, n.kwargs)):
            if a in values:
                inputs += values[a][:1] or [None]
        op, shift = ge_type_of(target if target.startswith("torch.") else f"torch.ops.{target}", n.op), 0
        if graphs:
            op, shift = BODIES.get(short, ("PartitionedCall", 0))
        self.targets[target] += 1
        path, kind = _module_path(n)
        attrs: dict[str, Any] = {"target": target}
        if path:
            attrs[MODULE], attrs[MODULE_TYPE] = path, kind
        label = (n.meta.get("custom") or {}).get(LABEL)
        if isinstance(label, str):
            attrs[LABEL] = label
            self.labels[label] += 1
        plain = [repr(a)[:200] for a in n.args if not _flat(a)] + [
            f"{k}={v!r}"[:200] for k, v in n.kwargs.items() if not _flat(v)
        ]
        if plain:
            attrs["args"] = ", ".join(plain)[:KEPT_ARGS]
        specs = _specs(n)
        i = self.editor.add_node(
            self._name(f"{prefix}{path}/{n.name}" if path else f"{prefix}{n.name}"), op, inputs=inputs,
            outputs=specs if specs is not None else 1, attrs=attrs, scope=scope, source_op=target,
        )  # fmt: skip
        if specs is None:
            self.unknown.add(i)
        for a, g in graphs:
            self.bodies += 1
            inner = self.editor.add_scope(self._name(f"{prefix}{n.name}_{a.target}"), i)
            self._graph(g.graph, g, inner, f"{prefix}{n.name}_{a.target}/", shift)
        return tuple(self.editor.output(i, k) for k in range(len(self.editor.node(i).outputs)))

    def _output(self, n: Any, values: Mapping[Any, tuple[int, ...]], scope: int, prefix: str) -> None:
        ends: list[int | None] = []
        names: list[str] = []
        for a in _flat(n.args):
            if a in values:
                ends += values[a][:1] or [None]
                names.append(a.name)
        self.editor.add_node(self._name(f"{prefix}Node_Output"), "NetOutput", inputs=ends, scope=scope,
                             attrs={OUTPUT_NAMES: tuple(names)}, source_op="output")  # fmt: skip


def _attribute(owner: Any, path: str) -> Any:
    for part in path.split("."):
        owner = getattr(owner, part, None)
    return owner


def _flat(value: Any) -> list[Any]:
    """FX nodes inside nested arguments, in order."""
    if hasattr(value, "op") and hasattr(value, "target") and hasattr(value, "users"):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, tuple | list):
        return []
    return [n for v in value for n in _flat(v)]


def _module_path(n: Any) -> tuple[str, str]:
    """(path, class) of the innermost module; ("", "") at the top."""
    stack = n.meta.get("nn_module_stack") or {}
    rows = [v for v in stack.values() if isinstance(v, tuple) and len(v) == 2]
    path, kind = rows[-1] if rows else ("", "")
    text = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
    return str(path).removeprefix("L['self']").lstrip("."), text.rsplit(".", 1)[-1]


def _specs(n: Any) -> list[Spec] | None:
    """(shape, dtype) per result from the traced value; None when torch recorded none."""
    value = n.meta.get("val")
    if value is None:
        return None
    return [_spec(v) for v in (value if isinstance(value, tuple | list) else (value,))]


def _spec(value: Any) -> Spec:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return tuple(_dim(d) for d in value.shape), dtype_name(str(value.dtype).removeprefix("torch."))
    kinds = {
        "SymInt": "int64",
        "int": "int64",
        "SymFloat": "double",
        "float": "double",
        "SymBool": "bool",
        "bool": "bool",
    }
    return (), kinds.get(type(value).__name__)


def _dim(d: Any) -> Dim:
    return int(d) if isinstance(d, int) else str(d)


def _report(g: Graph, m: _Maker, name: str) -> LoadReport:
    calls = sum(m.targets.values())
    found = [
        Text("torch.export: {n} operators of {t} kinds, {w} parameters and buffers",
             "torch.export：{n} 个算子、{t} 种类型，{w} 个参数和缓冲区").format(n=calls, t=len(m.targets), w=m.weights)
    ]  # fmt: skip
    if m.labels:
        listed = ", ".join(f"{k} ({v})" for k, v in sorted(m.labels.items())[:8])
        found.append(Text("stream labels: {s}", "流标签：{s}").format(s=listed))
    if m.bodies:
        found.append(Text("{n} bodies of control flow became scopes", "{n} 个控制流子图成为作用域").format(n=m.bodies))
    missing: list[Text] = []
    starts: Iterable[str] = g.attrs.get(UNKNOWN_SHAPE, ())
    if starts:
        missing.append(Text("known shapes for the compiler: unknown from {n} on", "编译所需的确定形状：自 {n} 起未知").format(
            n=", ".join(list(starts)[:4])))  # fmt: skip
    missing.append(
        Text("streams, events and offsets: this graph is from before GE", "流、事件与偏移：该图早于 GE 编译")
    )
    counts = {
        "format": FORMAT,
        "targets": dict(m.targets),
        "weights": m.weights,
        "labels": dict(m.labels),
        "bodies": m.bodies,
    }
    return LoadReport(FORMAT, name, tuple(found), tuple(missing), (), counts)
