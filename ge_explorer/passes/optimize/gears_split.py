"""gears-split: one branch of a Case for every gear the user lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.errors import OptionError
from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import DATA_LIKE, Graph, Shape
from ge_explorer.ids import node
from ge_explorer.issue import Issue
from ge_explorer.passes.optimize.gears_options import KEYS, Gears, is_hybrid, read_gears
from ge_explorer.passes.optimize.gears_shapes import gear_shapes
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

BATCH_NUM, BATCH_LABEL, PRED_VALUE, INSERTED = "_batch_num", "_batch_label", "_pred_value", "mbatch-inserted-node"
PREFIX = "ascend_mbatch_shape"
SUFFIX = "_ascend_mbatch_batch_"
NODE_LIMIT = 200_000
_SOURCE = "compiler/graph/preprocess/multi_batch_copy_graph.cc: MultiBatchGraphCopyer"


@dataclass(frozen=True)
class GearsSplit(Pass):
    """Static copies of the graph for the sizes given by ``ge.dynamicBatchSize``, ``ge.dynamicImageSize`` or ``ge.dynamicDims``.

    Rule: the root becomes ``ascend_mbatch_shape_data`` (the sizes of this run) and a table of all gears, MapIndex that finds the
    gear, and a Case with one branch a gear. A branch is a copy of the graph: node names end in ``_ascend_mbatch_batch_<i>``, every
    node has ``_batch_label`` ``Batch_<i>``, shapes are those of gear i. Root inputs show the largest gear;
    ``_batch_num`` on the Case lets the branches share events. In hybrid mode (``ge.compileHybridMode``) GE compiles another graph
    beside this one, see gears_hybrid.py.

    GE source: multi_batch_copy_graph.cc. Simplified: all nodes are copied (GE keeps variables outside), and shapes follow the
    plain rules of gears_shapes.py instead of GE's inference.
    Example: x [-1, 3, 224, 224] with batch gears 1, 4, 8 -> Case with three branches.
    """

    name: ClassVar[str] = "gears-split"
    title: ClassVar[Text] = Text("Gears", "动态分档")
    summary: ClassVar[Text] = Text("Copies the graph for every listed size.", "为列出的每种尺寸复制一份图。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS
    ge_name: ClassVar[str] = "MultiBatchGraphCopyer"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "gear": Rule(Text("One branch for this gear.", "为该档位建立一个分支。"), _SOURCE),
            "select": Rule(Text("Finds the gear of the sizes of this run.", "由本次运行的尺寸选出档位。"), _SOURCE),
            "largest": Rule(
                Text("Root inputs have the shape of the largest gear.", "根图输入取最大档位的形状。"), _SOURCE
            ),
            "hybrid": Rule(
                Text(
                    "A second graph, compiled for unknown shapes, runs when no gear matches.",
                    "没有匹配的档位时执行另一张按动态 shape 编译的图。",
                ),
                "api/session/session/user_hybrid_graph_manager.cc: IsHybridMode",
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only when gears are asked for."""
        if any(BATCH_NUM in n.attrs for n in s.graph):
            return Text("the graph is split into gears already", "图已经分档")
        asked = read_gears(ctx.option, s.graph)
        return None if asked else Text("no gears are given", "未给出档位")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the Case; GX345 counts tensors whose shape stays unknown in some gear."""
        gears = read_gears(ctx.option, s.graph)
        if gears is None:
            return s
        if len(gears.rows) * len(s.graph) > NODE_LIMIT:
            raise OptionError(
                f"{len(gears.rows)} gears of {len(s.graph)} nodes are more than {NODE_LIMIT} nodes", where=gears.key,
                todo="List fewer gears.",
            )  # fmt: skip
        split = _Split(s.graph, gears)
        graph = split.run()
        ctx.decide(node(split.case), "node", None, "Case", "select", [node(i) for i in split.added])
        for i, scope in enumerate(split.scopes):
            text = ",".join(str(v) for v in gears.rows[i])
            ctx.decide(node(split.case), "branch", None, graph.scope(scope).name, "gear", note=Text(text, text))
        for d in split.datas:
            shape = graph.tensor(graph.node(d).outputs[0]).shape
            ctx.decide(node(d), "shape", s.graph.tensor(s.graph.node(d).outputs[0]).shape, shape, "largest")
        if is_hybrid(ctx.option):
            ctx.decide(node(split.case), "graph", None, f"{s.graph.name}_dynamic", "hybrid")
            ctx.report(_hybrid(split.case))
        if split.unknown:
            ctx.report(_unknown(split.unknown, split.case))
        ctx.status = "SUCCESS"
        return s.evolve(graph=graph)


class _Split:
    """The rewrite; ``case`` and ``scopes`` are set by ``run``."""

    def __init__(self, g: Graph, gears: Gears) -> None:
        self.g, self.gears, self.editor = g, gears, GraphEditor(g)
        self.datas = [n.id for n in map(g.node, g.root.nodes) if n.op in DATA_LIKE]
        self.scopes: list[int] = []
        self.added: list[int] = []
        self.case, self.unknown = -1, 0

    def run(self) -> Graph:
        g, editor, rows = self.g, self.editor, self.gears.rows
        old = [n.id for n in map(g.node, g.root.nodes) if n.op not in DATA_LIKE]
        ends = [i for i in old if g.node(i).op == "NetOutput"]
        results = [t for i in ends for t in g.node(i).inputs]
        shapes = [gear_shapes(g, gear) for gear in self.gears.shapes]
        largest = max(range(len(rows)), key=lambda i: prod(rows[i]))
        flat = np.array([v for row in rows for v in row], np.int32)
        width = len(rows[0])
        size = editor.add_node(f"{PREFIX}_data", "Data", outputs=[((width,), "int32")],
                               attrs={"index": len(self.datas), INSERTED: True})  # fmt: skip
        table = editor.add_node(f"{PREFIX}_const", "Const", outputs=[((len(flat),), "int32")],
                                attrs={VALUE: ConstantValue.of(flat, "int32"), INSERTED: True})  # fmt: skip
        pick = editor.add_node(f"{PREFIX}_mapindex", "MapIndex", inputs=[editor.output(size), editor.output(table)],
                               outputs=[((), "int32")], attrs={INSERTED: True})  # fmt: skip
        inputs = [editor.output(pick), *(editor.output(d) for d in self.datas)]
        specs = [(None, None) if t is None else (shapes[largest][0][t], g.tensor(t).dtype) for t in results]
        attrs = {BATCH_NUM: len(rows), INSERTED: True, **{f"{PRED_VALUE}_{i}": list(r) for i, r in enumerate(rows)}}
        self.case = editor.add_node(f"{PREFIX}_case", "Case", inputs=inputs, outputs=specs, attrs=attrs)
        self.added = [size, table, pick]
        for i in range(len(rows)):
            scope = editor.add_scope(f"{g.root.name}{SUFFIX}{i}", self.case)
            self.scopes.append(scope)
            self.unknown = max(self.unknown, shapes[i][1])
            self._copy(0, scope, i, shapes[i][0], {})
        editor.remove_nodes(i for i in old if i not in ends)
        k = 0
        for end in ends:
            for slot in range(len(g.node(end).inputs)):
                editor.connect(editor.output(self.case, k), end, slot)
                k += 1
        for d in self.datas:
            editor.set_tensor(editor.output(d), shape=shapes[largest][0][g.node(d).outputs[0]])
        editor.set_scope(0, dynamic=False)
        return editor.freeze()

    def _copy(
        self, source: int, scope: int, gear: int, shapes: Mapping[int, Shape | None], moved: dict[int, int]
    ) -> None:
        """Copy all nodes of a scope, and of the subgraphs they own, into ``scope``; ``moved``: old tensor -> new tensor."""
        g, editor = self.g, self.editor
        became: dict[int, int] = {}
        for i in g.scope(source).nodes:
            n = g.node(i)
            # a time given for the model says nothing about one of its gears
            kept = {k: v for k, v in n.attrs.items() if not k.startswith("_gx_duration")}
            attrs = {**kept, BATCH_LABEL: f"Batch_{gear}"}
            if source == 0 and n.op in DATA_LIKE:
                attrs[PARENT_INDEX] = 1 + self.datas.index(i)
            specs = [(shapes.get(t, g.tensor(t).shape), g.tensor(t).dtype) for t in n.outputs]
            new = editor.add_node(
                f"{n.name}{SUFFIX}{gear}", n.op, inputs=[None] * len(n.inputs), outputs=specs, attrs=attrs, scope=scope,
                source_op=n.source_op, origin=(i,), tensor_names=[g.tensor(t).name for t in n.outputs],
            )  # fmt: skip
            became[i] = new
            moved.update(zip(n.outputs, (editor.output(new, k) for k in range(len(n.outputs))), strict=True))
        for e in g.edges:
            if e.dst in became:
                editor.connect(moved[g.node(e.src).outputs[e.src_out]], became[e.dst], e.dst_in)
        for a, b in g.control:
            if a in became and b in became:
                editor.add_control(became[a], became[b])
        for i, new in became.items():
            for inner in g.node(i).subgraphs:
                s = g.scope(inner)
                copy = editor.add_scope(f"{s.name}{SUFFIX}{gear}", new, attrs=s.attrs)
                self._copy(inner, copy, gear, shapes, moved)


def _unknown(count: int, case: int) -> Issue:
    return Issue(
        "GX345", "note",
        Text("{n} tensors keep an unknown size in a gear; memory and cost count such a dimension as 1.",
             "{n} 个张量在分档后仍有未知维度；内存与代价把该维按 1 计。").format(n=count),
        (node(case),), Text("Import the model with shapes inferred.", "导入时先做形状推断。"), "ours",
    )  # fmt: skip


def _hybrid(case: int) -> Issue:
    return Issue(
        "GX346", "note",
        Text("Sizes that match no gear run a second graph, compiled for unknown shapes.",
             "不匹配任何档位的输入执行另一张按动态 shape 编译的图。"),
        (node(case),), Text("See it with session.dynamic_twin.", "可用 session.dynamic_twin 查看。"),
        "user_hybrid_graph_manager.cc",
    )  # fmt: skip
