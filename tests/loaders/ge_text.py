"""Writes small dumps in GE's forms, so that a test knows what is in them. Independent of the loaders."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Op:
    name: str
    type: str
    inputs: list[str] = field(default_factory=list)
    stream: int | None = 0
    id: int = 0
    attrs: dict[str, Any] = field(default_factory=dict)
    outputs: list[tuple[str, list[int]]] = field(default_factory=lambda: [("DT_FLOAT", [4])])
    offsets: list[int] = field(default_factory=list)
    workspace: list[tuple[int, int]] = field(default_factory=list)
    subgraphs: list[str] = field(default_factory=list)


def quote(text: str) -> str:
    out = []
    for b in text.encode():
        c = chr(b)
        out.append({"\n": "\\n", '"': '\\"', "\\": "\\\\"}.get(c) or (c if 32 <= b < 127 else f"\\{b:03o}"))
    return f'"{"".join(out)}"'


def value(v: Any) -> str:
    if isinstance(v, bool):
        return f"b: {str(v).lower()}"
    if isinstance(v, int):
        return f"i: {v}"
    if isinstance(v, float):
        return f"f: {v}"
    if isinstance(v, str):
        return f"s: {quote(v)}"
    return "list { " + " ".join(value(x) for x in v) + " val_type: VT_LIST_INT }"


def desc(dtype: str, shape: list[int]) -> str:
    return f'dtype: {dtype} shape {{ {" ".join(f"dim: {d}" for d in shape)} }} layout: "ND" size: 64'


def ge_op(op: Op, level: int = 1) -> str:
    lines = [f"name: {quote(op.name)}", f"type: {quote(op.type)}", *(f"input: {quote(i)}" for i in op.inputs)]
    if level < 3:
        lines += [f"attr {{ key: {quote(k)} value {{ {value(v)} }} }}" for k, v in sorted(op.attrs.items())]
        lines += [f"id: {op.id}"] if op.id else []
        lines += [f"stream_id: {op.stream}"] if op.stream else []  # proto3 leaves out a zero
        lines += [f"output_i: {o}" for o in op.offsets]
        lines += [f"workspace: {o}" for o, _ in op.workspace] + [f"workspace_bytes: {b}" for _, b in op.workspace]
        lines += [f"output_desc {{ {desc(*d)} }}" for d in op.outputs]
        lines += [f"subgraph_name: {quote(s)}" for s in op.subgraphs]
    return "  op {\n    " + "\n    ".join(lines) + "\n  }\n"


def ge_proto(graphs: dict[str, list[Op]], model: dict[str, Any] | None = None, level: int = 1) -> bytes:
    text = "".join(
        f"graph {{\n  name: {quote(n)}\n{''.join(ge_op(o, level) for o in ops)}}}\n" for n, ops in graphs.items()
    )
    text += "".join(f"attr {{\n  key: {quote(k)}\n  value {{ {value(v)} }}\n}}\n" for k, v in (model or {}).items())
    return text.encode()


def _attribute(name: str, v: Any) -> str:
    kinds: list[tuple[type, str, str]] = [
        (bool, "INT", "i"),
        (int, "INT", "i"),
        (float, "FLOAT", "f"),
        (str, "STRING", "s"),
    ]
    for kind, word, key in kinds:
        if isinstance(v, kind):
            body = f"{key}: {quote(v) if isinstance(v, str) else int(v) if word == 'INT' else v}" if v else ""
            return f"attribute {{ name: {quote(name)} {body} type: {word} }}"
    texts = bool(v) and isinstance(v[0], str)
    body = " ".join(f"strings: {quote(x)}" if texts else f"ints: {x}" for x in v)
    return f"attribute {{ name: {quote(name)} {body} type: {'STRINGS' if texts else 'INTS'} }}"


def ge_node(op: Op, level: int = 1) -> str:
    parts = [f"input: {quote(i)}" for i in op.inputs] + [
        f"name: {quote(op.name)}",
        f"op_type: {quote('ge:' + op.type)}",
    ]
    if level < 3:
        attrs: dict[str, Any] = {
            **op.attrs, "id": op.id, "output_i": op.offsets, "output_desc_nums": len(op.outputs),
            "workspace": [o for o, _ in op.workspace], "workspace_bytes": [b for _, b in op.workspace],
        }  # fmt: skip
        if op.stream is not None:
            attrs["stream_id"] = op.stream
        for k, (dtype, shape) in enumerate(op.outputs):
            if len(op.outputs) >= 20:
                attrs[f"output_desc_{k}"] = json.dumps({"dtype": dtype, "shape": shape, "size": 64})
            else:
                attrs |= {f"output_desc_dtype:{k}": dtype, f"output_desc_shape:{k}": shape, f"output_desc_size:{k}": 64}
        parts += [_attribute(k, v) for k, v in sorted(attrs.items())]
    return "node { " + "\n ".join(parts) + " }\n"


def ge_onnx(graphs: dict[str, list[Op]], level: int = 1) -> bytes:
    (root, ops), *others = graphs.items()
    body = "".join(ge_node(o, level) for o in ops)
    for name, inner in others:
        held = "".join(ge_node(o, level) for o in inner)
        body += (
            f"node {{ name: {quote(name)} op_type: \"subgraph\" attribute {{ name: \"graph\" g {{ {held} name: {quote(name)} }} "
            f"type: GRAPH }} }}\n"
        )  # fmt: skip
    return f'ir_version: 6\nproducer_name: "GE"\ngraph {{\n{body}name: {quote(root)}\n}}\n'.encode()


def two_streams() -> dict[str, list[Op]]:
    """``x → a(0) → c(0)`` and ``x → b(1) → c``, with the two Send/Recv pairs GE would write, and a control edge."""
    return {
        "g": [
            Op("x", "Data", stream=-1, id=0, offsets=[0]),
            Op("a", "Relu", ["x:0"], 0, 1, offsets=[512], attrs={"_user_stream_label": "main"}),
            Op("g_Send_0", "Send", ["a:-1"], 0, 2, {"event_id": 0}, []),
            Op("g_Recv_0", "Recv", [], 1, 3, {"event_id": 0}, []),
            Op("b", "Relu", ["x:0", "g_Recv_0:-1"], 1, 4, offsets=[1024], workspace=[(2048, 100)]),
            Op("g_Send_1", "Send", ["b:-1"], 1, 5, {"event_id": 1}, []),
            Op("g_Recv_1", "Recv", [], 0, 6, {"event_id": 1}, []),
            Op("c", "Add", ["a:0", "b:0", "g_Recv_1:-1"], 0, 7, offsets=[1536]),
            Op("out", "NetOutput", ["c:0"], 0, 8, outputs=[]),
        ]
    }
