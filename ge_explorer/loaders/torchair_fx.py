"""Loader for the text of a ``torch.fx`` graph, as torchair logs it: ``%add : … = call_function[target=…](args = …)``.

Log prefixes are skipped; a log with several graphs gives the last one (the most optimised). torchair's stream scopes
(``torch.ops.air.scope_enter`` / ``scope_exit``) become attributes of the operators inside, as its converter does.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ge_explorer.errors import InputError
from ge_explorer.graph.model import Shape
from ge_explorer.loaders.ge_build import build
from ge_explorer.loaders.ge_dtypes import dtype_name
from ge_explorer.loaders.ge_readable_values import Braces, split_items
from ge_explorer.loaders.ge_records import DescRecord, GraphRecord, ModelRecord, OpRecord
from ge_explorer.loaders.pbtxt import as_text
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source
from ge_explorer.loaders.torchair_types import ge_type_of
from ge_explorer.text import Text

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

LINE_LIMIT = 1024 * 1024
KEPT_ARGS = 2000
"""Characters of an operator's arguments kept as an attribute."""
CALLS = ("call_function", "call_method", "call_module")
_START = re.compile(r"(?:^|[\s:])graph\((?P<args>[^()]*)\):\Z")
_NODE = re.compile(
    r"%(?P<name>[A-Za-z_]\w*)(?: : (?:[\w.\[\](), \x22\x27:*=/+-]{1,200}?)?)?\s*"
    r"(?:\[#?(?:num_)?users=(?P<users>\d{1,9})\])?"
    r" = (?P<kind>placeholder|get_attr|call_function|call_method|call_module|output)\[target=(?P<target>[^\]]*+)\]"
    r"(?P<rest>.*)\Z"
)
_REFERENCE = re.compile(r"%([A-Za-z_]\w*)")
_GETITEM = re.compile(r"\(args = \(%(\w+), (\d{1,5})\), kwargs = \{\}\)\Z", re.ASCII)
_INPUT = re.compile(r"input (?P<index>\d{1,6}): (?P<value>.*)\Z", re.ASCII)
_SIZE = re.compile(r"size=\((?P<dims>[^()]*)\)")
_DTYPE = re.compile(r"dtype=torch\.(\w{1,20})")
_FX = re.compile(
    rb"%[A-Za-z_]\w*[^\n%]{0,300}? = (?:placeholder|call_function|get_attr|call_method|call_module)\[target="
)


@dataclass
class _Fx:
    record: GraphRecord
    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    inputs: dict[int, DescRecord] = field(default_factory=dict)
    scopes: list[dict[str, str]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)
    returns: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


class FxTextLoader:
    """FX graph text, recognised by a line ``graph(…):`` and a line ``%x : … = placeholder[target=…]``."""

    def sniff(self, source: Source) -> bool:
        """True when a graph starts in the text and a node of FX's form follows."""
        return source.is_text and b"graph(" in source.data and _FX.search(source.data) is not None

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with the line."""
        graphs = read_graphs(source)
        result = build(_model(graphs[-1], graphs), source, settings)
        return _with_remarks(result, graphs)


FX_TEXT = FxTextLoader()


def read_graphs(source: Source) -> list[_Fx]:
    """All FX graphs of a text, in order."""
    graphs: list[_Fx] = []
    inputs: dict[int, DescRecord] = {}
    open_ = False
    at = 0
    for number, raw in enumerate(source.data.split(b"\n"), 1):
        if len(raw) > LINE_LIMIT:
            raise _error(source, "a line is too long", number, f"{len(raw)} bytes")
        text = as_text(raw).strip()
        start = at
        at += len(raw) + 1
        m = _START.search(text) if "graph(" in text else None
        if m is not None:
            graphs.append(_Fx(GraphRecord(f"graph_{len(graphs)}" if graphs else "graph", at=start), inputs=inputs))
            inputs, open_ = {}, True
            for name in filter(None, (a.strip().removeprefix("%") for a in m["args"].split(","))):
                _add(graphs[-1], source, number, start, name, "placeholder", name, "")
        elif open_ and text.startswith("%"):
            node = _NODE.match(text)
            if node is None:
                raise _error(source, "this node line cannot be read (or is cut off)", number, text)
            if node["kind"] == "placeholder" and node["name"] in graphs[-1].values:
                continue  # older texts list the inputs in the header as well
            _add(graphs[-1], source, number, start, node["name"], node["kind"], node["target"], node["rest"])
        elif open_ and text.startswith("return"):
            _return(graphs[-1], text)
            open_ = False
        elif (given := _INPUT.search(text)) is not None:
            inputs[int(given["index"])] = _input(given["value"])
    if not graphs or not any(g.record.ops for g in graphs):
        raise _error(source, "there is no graph in it", 1)
    if open_:
        raise _error(source, "the text ends inside a graph: its return line is missing", number)
    return [g for g in graphs if g.record.ops]


def _error(source: Source, what: str, number: int, got: object = None) -> InputError:
    return InputError(f"this FX graph cannot be read: {what}", where=f"{source.name}, line {number}", got=got,
                      todo="Copy the log again, from the graph's first line to its return.")  # fmt: skip


def _add(g: _Fx, source: Source, number: int, at: int, name: str, kind: str, target: str, rest: str) -> None:
    if name in g.values:
        raise _error(source, "two lines give the same name", number, name)
    g.kinds[kind] += 1
    if kind in CALLS:
        g.targets[target] += 1
    if kind == "output":
        g.returns.append(rest)
        g.record.results = [g.values.get(r) for r in _REFERENCE.findall(rest)]
        return
    if target.startswith(("torch.ops.air.scope_enter", "torch.ops.air.scope_exit")):
        _scope(g, source, number, target, rest)
        return
    references = _REFERENCE.findall(rest)
    for r in references:
        if r not in g.values:
            raise _error(source, "an argument names a value that is not above it", number, f"%{r}")
    item = _GETITEM.match(rest) if "getitem" in target else None
    if item is not None and g.values[item[1]][1] == 0:
        g.values[name] = (g.values[item[1]][0], int(item[2]))
        return
    op = OpRecord(name, "", [g.values[r] for r in references], at=at)
    op.outputs = [DescRecord()]
    if kind == "placeholder":
        index = g.kinds["placeholder"] - 1
        op.type, op.attrs["index"] = "Data", index
        op.outputs = [g.inputs.get(index, DescRecord())]
    elif kind == "get_attr":
        op.type = "Const"
        op.attrs["target"] = target
    else:
        op.type = ge_type_of(target, kind)
        op.attrs["target"] = target
        for scope in g.scopes:
            op.attrs.update(scope)
        if rest:
            op.attrs["args"] = rest if len(rest) <= KEPT_ARGS else f"{rest[:KEPT_ARGS]}…"
    g.values[name] = (name, 0)
    g.record.ops.append(op)


def _scope(g: _Fx, source: Source, number: int, target: str, rest: str) -> None:
    """torchair's ``with npu_stream_switch(…)``: string attributes for every operator inside; inner scopes win."""
    if "scope_exit" in target:
        if g.scopes:
            g.scopes.pop()
        return
    try:
        parts = split_items(rest[rest.index("(", 1) + 1 : rest.index("), kwargs")])
        keys, values = (split_items(p.strip("[]()")) for p in parts[:2])
    except (Braces, ValueError):
        raise _error(source, "the arguments of scope_enter cannot be read", number, rest) from None
    g.scopes.append({k.strip("'\""): v.strip("'\"") for k, v in zip(keys, values, strict=False)})


def _return(g: _Fx, text: str) -> None:
    g.returns.append(text)
    for name in re.findall(r"[A-Za-z_]\w*", text.removeprefix("return").removeprefix(" ").replace("None", " ")):
        if name not in g.values:
            g.unknown.append(name)
        g.record.results.append(g.values.get(name))


def _input(value: str) -> DescRecord:
    """``FakeTensor(..., size=(64, s0), dtype=torch.float16)`` or a symbol such as ``s0``."""
    m, dtype = _SIZE.search(value), _DTYPE.search(value)
    if m is None:
        return DescRecord(dtype="int64", shape=()) if re.fullmatch(r"s\d+|\d+", value.strip()) else DescRecord()
    shape: Shape = tuple(
        int(d) if d.isdecimal() and len(d) < 19 else d for d in (x.strip() for x in m["dims"].split(",")) if d
    )
    # torch prints no type for its default, float32
    return DescRecord(dtype=dtype_name(dtype[1]) if dtype else "float" if "FakeTensor" in value else None, shape=shape)


def _model(g: _Fx, graphs: list[_Fx]) -> ModelRecord:
    model = ModelRecord("fx graph text", [g.record])
    total: Counter[str] = Counter()
    for x in graphs:
        total += x.kinds
    model.counts = {
        "graph_starts": len(graphs),
        "placeholders": total["placeholder"],
        "call_functions": total["call_function"],
        "targets": dict(sum((x.targets for x in graphs), Counter())),
        "returns": [r for x in graphs for r in x.returns],
        "stream_id_histogram": {},
    }
    return model


def _with_remarks(result: LoadResult, graphs: list[_Fx]) -> LoadResult:
    report = result.report
    found, missing = list(report.found), [
        Text("streams, events and offsets: this graph is from before GE", "流、事件与偏移：该图早于 GE 编译")
    ]  # fmt: skip
    if len(graphs) > 1:
        found.append(
            Text("{n} graphs in the text; the last one is shown", "文本中有 {n} 个图，显示最后一个").format(
                n=len(graphs)
            )
        )
    unknown = [n for g in graphs[-1:] for n in g.unknown]
    if unknown:
        missing.append(
            Text("values that the return line names but no line defines: {s}", "return 行引用但未定义的值：{s}").format(
                s=", ".join(unknown[:5])
            )
        )
    if any(t is not None and t.shape is None for t in result.graph.tensors):
        missing.append(Text("shapes and types inside the graph", "图内部的形状与数据类型"))
    return replace(result, report=replace(report, found=tuple(found), missing=tuple(missing)))
