"""Sentences and findings about a loaded ONNX model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.loaders.ge_types import NEWEST_OPSET, NO_SUBGRAPH_ADAPTER, OLDEST_OPSET
from ge_explorer.loaders.onnx_convert import KIND, Converter
from ge_explorer.loaders.onnx_flatten import Flattener
from ge_explorer.loaders.onnx_records import GraphRecord, Proto
from ge_explorer.loaders.onnx_shapes import Types
from ge_explorer.loaders.onnx_tensors import GE_PARSER_DTYPES
from ge_explorer.loaders.onnx_unknown import UNKNOWN_SHAPE
from ge_explorer.text import Text


def found(counts: Mapping[str, Any], c: Converter, f: Flattener, format_: str) -> list[Text]:
    """What the file holds and what became of it."""
    opsets = ", ".join(f"{d} {v}" for d, v in counts["opsets"].items()) or "?"
    out = [
        Text("{f}, IR {ir}, opset {o}, written by {p}", "{f}，IR {ir}，算子集 {o}，由 {p} 导出").format(
            f=format_, ir=counts["ir"], o=opsets, p=counts["producer"] or "?"
        ),
        Text(
            "{n} nodes of {t} types, {i} inputs, {o} outputs, {w} weights",
            "{n} 个节点、{t} 种类型，{i} 个输入，{o} 个输出，{w} 个权重",
        ).format(
            n=counts["nodes"], t=len(counts["types"]), i=counts["inputs"] - counts["inputs_that_are_init"],
            o=counts["outputs"], w=counts["init"],
        ),
    ]  # fmt: skip
    if counts["subgraphs"]:
        out.append(
            Text(
                "{s} bodies (depth {d}) became scopes with {n} more nodes; each tensor a body takes from outside is an input of "
                "its owner and a Data node inside",
                "{s} 个子图（深度 {d}）成为作用域，另有 {n} 个节点；子图引用的每个外部张量都成为所属节点的输入和子"
                "图内的 Data 节点",
            ).format(s=counts["subgraphs"], d=counts["depth"], n=counts["nodes_all"] - counts["nodes"])
        )
    if f.expanded:
        out.append(
            Text(
                "{k} calls of local functions expanded into {n} nodes; their names start with the name of the call",
                "{k} 次本地函数调用已展开为 {n} 个节点，名称以调用节点名开头",
            ).format(k=f.expanded, n=f.from_functions)
        )
    if c.unused:
        out.append(
            Text(
                "{n} weights that nobody reads were left out (GE prunes them)",
                "{n} 个无人使用的权重已略去（GE 会剪除）",
            ).format(n=len(c.unused))
        )
    expanded = sum(k for (_, _, kind), k in c.mapped.items() if kind == "expanded")
    if expanded:
        out.append(
            Text(
                "{n} nodes that GE's parser would expand into small graphs are kept as one node each",
                "{n} 个节点在 GE 解析器中会展开成小图，此处各保留为一个节点",
            ).format(n=expanded)
        )
    if c.collectives:
        out.append(
            Text(
                "{n} collectives, grouped with _parallel_group", "{n} 个集合通信算子，已用 _parallel_group 分组"
            ).format(n=c.collectives)
        )
    known = c.tensors - c.unknown_shapes
    out.append(Text("shapes known for {k} of {n} tensors", "{n} 个张量中 {k} 个形状已知").format(k=known, n=c.tensors))
    return out


def missing(counts: Mapping[str, Any], c: Converter, graph: Graph, record: GraphRecord) -> list[Text]:
    """What the file does not say and what that means."""
    out: list[Text] = []
    symbols: Counter[str] = Counter()
    for n in graph:
        if n.op == "Data" and n.scope == 0:
            for d in graph.tensor(n.outputs[0]).shape or ():
                if not isinstance(d, int):
                    symbols[d or "?"] += 1
    if symbols:
        shown = ", ".join(list(symbols)[:6])
        out.append(
            Text(
                "values of the dynamic dimensions {d}: give dims={{…}} or input_shapes={{…}} (ge-explorer --dim, --input-shape)",
                "动态维度 {d} 的取值：请用 dims={{…}} 或 input_shapes={{…}} 给定（命令行 --dim、--input-shape）",
            ).format(d=shown)
        )
    starts = graph.attrs.get(UNKNOWN_SHAPE, ())
    if starts:
        out.append(
            Text(
                "known shapes for the compiler: unknown from {n} on, so GE compiles a graph of unknown shape, by default with "
                "every node on stream 0",
                "编译所需的确定形状：自 {n} 起未知，GE 按动态形状图编译，默认所有节点都在流 0",
            ).format(n=_list(starts))
        )
    if c.unknown_shapes:
        out.append(
            Text(
                "shapes of {n} tensors; their sizes and durations stay unknown", "{n} 个张量的形状；其大小与时长未知"
            ).format(n=c.unknown_shapes)
        )
    if counts["training"]:
        out.append(Text("the training part of the file is not read", "文件中的训练部分未读取"))
    if counts["subgraphs"]:
        out.append(Text("how often loops run and which branch is taken", "循环执行次数与分支走向"))
    out.append(
        Text(
            "streams, events, memory offsets and durations: an ONNX file has none, they are computed",
            "流、事件、内存偏移与时长：ONNX 文件中没有，由本工具计算",
        )
    )
    return out


def convert_issues(
    counts: Mapping[str, Any], c: Converter, graph: Graph, types: Types, absent: list[str]
) -> list[Issue]:
    """Findings of the conversion: what GE's parser would refuse, what is assumed, what is not there."""
    out: list[Issue] = []
    out += _opset(counts)
    by_source: dict[str, list[Ref]] = {}
    unknown: dict[str, list[Ref]] = {}
    for n in graph:
        if n.source_op in NO_SUBGRAPH_ADAPTER and n.subgraphs:
            by_source.setdefault(n.source_op, []).append(Ref("node", n.id))
        if (n.source_op, n.op, "none") in c.mapped:
            unknown.setdefault(n.source_op, []).append(Ref("node", n.id))
    for op, refs in sorted(by_source.items()):
        out.append(Issue("GX304", "warning", Text(
            "GE's ONNX parser has no adapter for {op} ({n} nodes) and would stop; it is shown with its body as a scope.",
            "GE 的 ONNX 解析器不支持 {op}（{n} 个节点），会报错；此处把其子图显示为作用域。").format(op=op, n=len(refs)),
            tuple(refs), source="parser/onnx/subgraph_adapter"))  # fmt: skip
    if unknown:
        refs_all = tuple(r for refs in unknown.values() for r in refs)
        out.append(Issue("GX305", "warning", Text(
            "No GE operator is known for {ops} ({n} nodes); the type is kept, engine and cost are assumed.",
            "未找到 {ops}（{n} 个节点）对应的 GE 算子；保留原类型，引擎与代价为假设。").format(
                ops=_list(unknown), n=len(refs_all)), refs_all,
            Text("Set the node attributes _gx_engine and _gx_core.", "可设置节点属性 _gx_engine 与 _gx_core。")))  # fmt: skip
    ours = sorted({o for o, _, kind in c.mapped if kind == "ours" and o not in NO_SUBGRAPH_ADAPTER})
    if ours:
        out.append(Issue("GX306", "note", Text(
            "GE has no plug-in for {ops}; the operator types shown for them are our choice.",
            "GE 没有 {ops} 的插件；所显示的算子类型由本工具选定。").format(ops=_list(ours))))  # fmt: skip
    if counts["functions_count"]:
        out.append(Issue("GX304", "warning", Text(
            "GE's ONNX parser does not read local functions; they were expanded here.",
            "GE 的 ONNX 解析器不读取本地函数；此处已展开。")))  # fmt: skip
    if types.failure:
        out.append(Issue("GX307", "warning", Text(
            "ONNX shape inference gave up: {why}", "ONNX 形状推导失败：{why}").format(why=types.failure)))  # fmt: skip
    if absent:
        out.append(Issue("GX309", "warning", Text(
            "{n} side files with weights are not beside the model: {names}. Shapes and sizes are known, values are not.",
            "{n} 个权重文件不在模型旁边：{names}。形状与大小已知，数值未知。").format(n=len(absent), names=_list(absent)),
            fix=Text("Put them into the model's folder.", "请把它们放到模型所在目录。")))  # fmt: skip
    if c.other_kinds:
        typed = tuple(Ref("node", n.id) for n in graph if any(KIND in graph.tensor(t).attrs for t in n.outputs))
        out.append(Issue("GX310", "note", Text(
            "{n} values are no plain tensors ({kinds}); their size is unknown.",
            "{n} 个值不是普通张量（{kinds}），其大小未知。").format(
                n=sum(c.other_kinds.values()), kinds=_list(c.other_kinds)), typed))  # fmt: skip
    if c.dropped_attributes:
        out.append(Issue("GX311", "warning", Text(
            "{n} attributes carry a reserved name with a value of the wrong kind and were ignored: {names}.",
            "{n} 个属性使用了保留名称但取值类型不对，已忽略：{names}。").format(
                n=len(c.dropped_attributes), names=_list(c.dropped_attributes))))  # fmt: skip
    strange = sorted({t.dtype for n in graph if n.op == "Data" and n.scope == 0 for t in [graph.tensor(n.outputs[0])]
                      if t.dtype is not None and t.dtype not in GE_PARSER_DTYPES})  # fmt: skip
    if strange:
        out.append(Issue("GX312", "warning", Text(
            "GE's ONNX parser does not take inputs of type {types}.",
            "GE 的 ONNX 解析器不接受类型为 {types} 的输入。").format(types=_list(strange))))  # fmt: skip
    if counts["sparse_init"]:
        out.append(Issue("GX313", "note", Text(
            "{n} sparse weights: GE's parser ignores them, they are shown as Const of their dense shape.",
            "{n} 个稀疏权重：GE 解析器会忽略，此处按其稠密形状显示为 Const。").format(n=counts["sparse_init"])))  # fmt: skip
    return out


def _opset(counts: Mapping[str, Any]) -> list[Issue]:
    version = counts["opsets"].get("ai.onnx", 0)
    if not version or OLDEST_OPSET <= version <= NEWEST_OPSET or "ai.onnx" not in counts["domains"]:
        return []
    return [Issue("GX304", "warning", Text(
        "Opset {v}: GE's plug-ins cover {a} to {b}, its parser would stop. Shown with the nearest rules.",
        "算子集 {v}：GE 插件只覆盖 {a} 到 {b}，解析器会报错。按最接近的规则显示。").format(
            v=version, a=OLDEST_OPSET, b=NEWEST_OPSET), source="REGISTER_CUSTOM_OP of the operator repositories")]  # fmt: skip


def checker_issues(model: Proto | str) -> list[Issue]:
    """ONNX's own verdict, as a note: a file it rejects can still be worth looking at.

    ``model`` is the message, or the path of its file (needed when weights lie in side files).
    """
    import onnx

    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, RuntimeError, TypeError) as e:
        lines = [line for line in str(e).strip().splitlines() if line.strip()] or [type(e).__name__]
        return [Issue("GX314", "note", Text(
            "ONNX's checker rejects the file: {why}", "ONNX 检查器拒绝该文件：{why}").format(why=lines[0][:200]))]  # fmt: skip
    return []


def _list(names: Any, limit: int = 4) -> str:
    listed = [n if len(n) <= 60 else n[:59] + "…" for n in names]
    return ", ".join(listed[:limit]) + (f" … ({len(listed)})" if len(listed) > limit else "")
