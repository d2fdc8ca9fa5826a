"""A state as text of GE's ModelDef (the form of ``ge_proto_*_Build.txt``), so that it can be compared with GE's own dumps.

Fields as in ge_ir.proto: a zero is left out, inputs are ``producer:output``, control edges ``producer:-1``, -1 is an
unknown size and a lone -2 an unknown rank, tensor types by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ge_explorer.errors import OptionError
from ge_explorer.graph.builder import GX_CORE, GX_DURATION, GX_DURATION_ORIGIN, GX_ENGINE
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Graph, Node, Tensor
from ge_explorer.memory.sizes import padded_size
from ge_explorer.trace.state import NO_STREAM, Snapshot

_DTYPES = {"bfloat16": "DT_BF16", None: "DT_UNDEFINED", "": "DT_UNDEFINED"}
_OURS = frozenset({GX_ENGINE, GX_CORE, GX_DURATION, GX_DURATION_ORIGIN})
"""Assumptions of ours that a compilation depends on; GE's readers skip attributes they do not know."""
_LISTS: tuple[tuple[type | tuple[type, ...], str, str], ...] = (
    (bool, "b", "VT_LIST_BOOL"), (int, "i", "VT_LIST_INT"), ((int, float), "f", "VT_LIST_FLOAT"), (str, "s", "VT_LIST_STRING"),
)  # fmt: skip


def to_ge_text(source: Snapshot | Graph) -> str:
    """Text of a graph, or of a state with its order, streams, offsets and activation lists.

    OptionError for a graph with two subgraphs of one name, which this form cannot tell apart.
    """
    s = source if isinstance(source, Snapshot) else Snapshot(source)
    names = [x.name for x in s.graph.scopes if x is not None and x.id]
    if len(set(names)) != len(names) or s.graph.root.name in names:
        raise OptionError("two graphs of this model have one name", todo="Rename one of them.")
    return "\n".join(_Writer(s).model()) + "\n"


class _Writer:
    def __init__(self, s: Snapshot) -> None:
        self.s, self.g = s, s.graph
        self.streams = None
        if s.streams is not None:
            self.streams = s.physical.node if s.physical is not None else s.streams.node
        self.offset: dict[int, int] = {}
        self.workspace: dict[int, list[tuple[int, int]]] = {}
        if s.memory is not None:
            for b, at in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True):
                for t in b.tensors:
                    self.offset[t] = at + b.inside.get(t, 0)
                if b.kind == "workspace" and b.producers:
                    self.workspace.setdefault(b.producers[0], []).append((at, b.size))
        lists = [
            x.active_streams for x in (s.sync, s.physical.sync if s.physical is not None else None) if x is not None
        ]
        self.active: dict[int, tuple[int, ...]] = {k: v for m in lists for k, v in m.items()}

        # events without nodes (graphs of unknown shape, or a state before the nodes are made) stand at their operators
        self.sends: dict[int, list[int]] = {}
        self.waits: dict[int, list[int]] = {}
        for x in (s.sync, s.physical.sync if s.physical is not None else None):
            made = set(x.sync_nodes.values()) if x is not None else set()
            for e in x.events if x is not None else ():
                if e.uid not in made and e.kind == "event":
                    self.sends.setdefault(e.send, []).append(e.id)
                    self.waits.setdefault(e.recv, []).append(e.id)

    def model(self) -> Iterator[str]:
        s = self.s
        yield 'name: "ge_explorer"'
        for k, scope in enumerate(x for x in self.g.scopes if x is not None):
            yield "graph {"
            yield f"  name: {quoted(scope.name)}"
            for i in scope.nodes:
                yield "  op {"
                yield from (f"    {line}" for line in self._op(self.g.node(i)))
                yield "  }"
            if k == 0 and s.options.values:
                inner = " ".join(
                    f"attr {{ key: {quoted(o)} value {{ s: {quoted(v)} }} }}"
                    for o, v in sorted(s.options.values.items())
                )
                yield f'  attr {{ key: "GraphOptions" value {{ func {{ {inner} }} }} }}'
            yield "}"
        facts: dict[str, int] = {}
        if s.streams is not None:
            facts["stream_num"] = s.physical.count if s.physical is not None else s.streams.count
        sync = s.physical.sync if s.physical is not None else s.sync
        if sync is not None:
            facts |= {"event_num": sync.event_num, "notify_num": sync.notify_num}
        if s.memory is not None:
            facts["memory_size"] = s.memory.plan.peak
        for key, value in facts.items():
            yield f"attr {{ key: {quoted(key)} value {{ i: {value} }} }}"

    def _op(self, n: Node) -> Iterator[str]:
        s, g = self.s, self.g
        yield f"name: {quoted(n.name)}"
        yield f"type: {quoted(n.op)}"
        for t in n.inputs:
            yield f"input: {quoted('' if t is None else f'{g.node(g.tensor(t).producer).name}:{g.tensor(t).index}')}"
        for c in n.control_in:
            yield f"input: {quoted(f'{g.node(c).name}:-1')}"
        for key, value in sorted(self._attrs(n).items()):
            text = written(value)
            if text is not None:
                yield f"attr {{ key: {quoted(key)} value {{ {text} }} }}"
        order = int(s.order[n.id]) if s.order is not None and n.id < len(s.order) else 0
        if order:
            yield f"id: {order}"
        if self.streams is not None and n.id < len(self.streams) and int(self.streams[n.id]):
            yield f"stream_id: {int(self.streams[n.id])}"
        if n.outputs and all(t in self.offset for t in n.outputs):
            yield from (f"output_i: {self.offset[t]}" for t in n.outputs)
        for at, size in self.workspace.get(n.id, ()):
            yield f"workspace: {at} workspace_bytes: {size}"
        yield from (f"subgraph_name: {quoted(g.scope(x).name)}" for x in n.subgraphs)
        for t in n.inputs:
            yield f"input_desc {{ {'' if t is None else _desc(g.tensor(t))} }}"
        for t in n.outputs:
            yield f"output_desc {{ {_desc(g.tensor(t))} }}"

    def _attrs(self, n: Node) -> dict[str, Any]:
        out = {k: v for k, v in n.attrs.items() if not k.startswith("_gx_") or k in _OURS}
        out.pop("workspace_bytes", None)
        if isinstance(n.attrs.get(VALUE), ConstantValue):
            out["value"] = n.attrs[VALUE]
        if self.g.scope(n.scope).dynamic:
            out["OwnerGraphIsUnknown"] = True
        for key, listed in (("send_event_id_list", self.sends), ("recv_event_id_list", self.waits)):
            if n.id in listed:
                out[key] = tuple(listed[n.id])
        if n.id in self.active:
            out["active_stream_list"] = self.active[n.id]
        s = self.s
        if s.streams is not None:
            if n.id < len(s.streams.node) and int(s.streams.node[n.id]) != NO_STREAM and s.physical is not None:
                out["_logic_stream_id"] = int(s.streams.node[n.id])
            if s.streams.attached.get(n.id):
                out["_logic_attached_stream_ids"] = tuple(s.streams.attached[n.id])
        return out


def _desc(t: Tensor) -> str:
    dims = [-2] if t.shape is None else [d if isinstance(d, int) else -1 for d in t.shape]
    shape = " ".join(f"dim: {d}" for d in dims)
    dtype = _DTYPES.get(t.dtype) or f"DT_{str(t.dtype).upper()}"
    layout = t.attrs.get("format", "ND")
    given = t.attrs.get("size")
    bytes_ = given if isinstance(given, int) else None if t.nbytes is None else padded_size(t.nbytes)
    size = f" size: {bytes_}" if bytes_ else ""
    origin = "".join(
        f" attr {{ key: {quoted(k)} value {{ {v} }} }}"
        for k in _ORIGIN
        if (v := written(_number(t.attrs.get(k)))) is not None
    )
    return f"dtype: {dtype} shape {{ {shape} }} layout: {quoted(str(layout))}{origin}{size}"


_ORIGIN = ("origin_format", "origin_shape")
"""What a tensor is before a storage format changes it; GE keeps it in the descriptor's attributes."""


def _number(value: Any) -> Any:
    """Unknown sizes of a shape as -1."""
    return tuple(d if isinstance(d, int) else -1 for d in value) if isinstance(value, tuple) else value


def written(value: Any) -> str | None:
    """AttrDef of a plain value; None for a value this form does not hold.

    >>> written((1, 2)), written("a")
    ('list { i: 1 i: 2 val_type: VT_LIST_INT }', 's: "a"')
    """
    if isinstance(value, bool):
        return f"b: {str(value).lower()}"
    if isinstance(value, int):
        return f"i: {value}"
    if isinstance(value, float):
        return f"f: {value!r}"
    if isinstance(value, str):
        return f"s: {quoted(value)}"
    if isinstance(value, ConstantValue):
        dims = " ".join(f"dim: {d}" for d in value.shape)
        dtype = _DTYPES.get(value.dtype) or f"DT_{value.dtype.upper()}"
        return f"t {{ desc {{ dtype: {dtype} shape {{ {dims} }} }} data: {_bytes(value.data)} }}"
    if isinstance(value, tuple):
        for kind, key, name in _LISTS:
            if all(isinstance(v, kind) for v in value):
                items = " ".join(item for v in value if (item := _item(key, v)))
                return f"list {{ {items} val_type: {name} }}"
        if all(isinstance(v, tuple) and all(isinstance(x, int) for x in v) for v in value):
            rows = " ".join("list_list_i { " + " ".join(f"list_i: {x}" for x in v) + " }" for v in value)
            return f"list_list_int {{ {rows} }}"
        return None
    if isinstance(value, Mapping):
        inner = [(str(k), written(v)) for k, v in value.items()]
        return "func { " + " ".join(f"attr {{ key: {quoted(k)} value {{ {v} }} }}" for k, v in inner if v) + " }"
    return None


def _item(key: str, v: Any) -> str:
    if key == "s":
        return f"s: {quoted(v)}"
    return f"b: {str(v).lower()}" if key == "b" else f"{key}: {v!r}"


def quoted(text: str) -> str:
    """Text of a protobuf text file: everything but plain ASCII as octal bytes."""
    return _bytes(text.encode("utf-8", "surrogatepass"))


_PLAIN = {b: chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03o}" for b in range(256)}


def _bytes(data: bytes) -> str:
    return '"' + "".join([_PLAIN[b] for b in data]) + '"'
