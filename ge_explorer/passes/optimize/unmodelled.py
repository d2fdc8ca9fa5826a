"""Passes of GE's list whose effect is not modelled: they show where GE runs them, and say so."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.optimize.base import OptimizePass
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot

_GM = "compiler/graph/manager/graph_manager.cc"
_AT_LOAD = Text("done when the model was loaded", "加载模型时已完成")


@dataclass(frozen=True)
class Unmodelled(OptimizePass):
    """A pass that GE runs here. It looks at nothing and changes nothing, in constant time."""

    fidelity = "simplified"
    modelled: ClassVar[bool] = False
    reason: ClassVar[Text] = Text("GE runs it here; no effect is modelled", "GE 在此运行；未建模其效果")

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text:
        """Off by GE's own switches, or not modelled."""
        return self.off(ctx) or self.reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Never called; the graph as it is."""
        return s


def _row(name: str, level: int, title: tuple[str, str], does: tuple[str, str], reason: Text | None = None,
         source: str = _GM) -> tuple[str, int, Text, Text, Text, str]:  # fmt: skip
    said = reason or Text(f"{does[0]} Not modelled.", f"{does[1]}未建模。")
    return name, level, Text(*title), Text(*does), said, source


_ROWS = {
    "InferShapePass": _row("infer-shape", 1, ("Infer shapes", "形状推导"), ("Infers shapes.", "推导形状。"), _AT_LOAD),
    "InferValueRangePass": _row(
        "infer-value-range", 1, ("Value ranges", "取值范围"), ("Infers ranges of values.", "推导取值范围。")),
    "ShapeOperateOpRemovePass": _row(
        "shape-operate-remove", 0, ("Shape operators", "形状算子"), ("Drops shape operators.", "去掉形状操作算子。")),
    "MarkAgnosticPass": _row(
        "mark-agnostic", 1, ("Any format", "格式无关"), ("Marks operators that take any format.", "标记与格式无关的算子。")),
    "DataFlowPreparePass": _row(
        "data-flow-prepare", 0, ("Stacks", "栈与数据流"), ("Prepares stacks and data flow handles.", "准备栈与数据流句柄。")),
    "SwitchLogicRemovePass": _row(
        "switch-logic-remove", 3, ("Nested Switch", "嵌套 Switch"), ("Removes needless Switch logic.", "去掉多余的 Switch 逻辑。")),
    "ControlTriggerPass": _row(
        "control-trigger", 0, ("ControlTrigger", "ControlTrigger"),
        ("Makes one ControlTrigger a branch.", "每个分支一个 ControlTrigger。")),
    "MultiBatchPass": _row(
        "multi-batch", 1, ("Gear labels", "档位标签"), ("Labels the branches of old-style gears.", "为旧式档位分支打标签。")),
    "SubgraphMultiDimsPass": _row(
        "subgraph-multi-dims", 1, ("Gears inside", "子图档位"), ("Gears inside a subgraph.", "子图内的档位。")),
    "IteratorOpPass": _row("iterator", 1, ("Iterator", "迭代器"), ("Copies of a data iterator's output.", "拷贝数据迭代器输出。")),
    "VariableRefUselessControlOutDeletePass": _row(
        "variable-ref-control", 3, ("Variable control", "变量控制边"),
        ("Deletes needless control edges of variable copies.", "删除变量引用的多余控制边。")),
    "GlobalStepInsertPass": _row(
        "global-step", 0, ("Global step", "全局步数"), ("Adds the step counter of training.", "训练时加入步数计数器。")),
    "LinkGenMaskNodesPass": _row(
        "link-gen-mask", 3, ("Dropout masks", "Dropout 掩码"), ("Links mask makers to their readers' streams.",
                                                              "把掩码生成节点与其读者的流相连。")),
    "InplaceSupportCheckPass": _row(
        "inplace-support", 3, ("In place?", "原地支持"), ("Only when the host executes.", "仅用于主机执行。")),
    "FlowCtrlPass": _row(
        "flow-control", 1, ("Iterations", "迭代控制"), ("Adds iteration control in training.", "训练时加入迭代控制。")),
    "CompileNodesPass": _row("compile-nodes", 0, ("Compile rest", "编译剩余"), ("Compiles what is left over.", "编译剩余节点。")),
    "InputOutputConnectionIdentifyPass": _row(
        "mark-io", 0, ("Mark I/O", "标记输入输出"),
        ("Marks what touches the model's inputs and outputs.", "标记与模型输入输出相连的节点。")),
    "EndOfSequenceAddControlPass": _row(
        "end-of-sequence", 0, ("End of data", "数据结束"), ("Adds control edges to EndOfSequence.", "为 EndOfSequence 加控制边。")),
    "MemcpyAddrAsyncPass": _row(
        "memcpy-addr-async", 0, ("Address copies", "地址拷贝"),
        ("Copies addresses where buffers move.", "在缓冲区可变处拷贝地址。")),
    "BufferPoolMemoryPass": _row("buffer-pool", 3, ("Buffer pools", "缓冲池"), ("Shares pools of buffers.", "共享缓冲池。")),
    "HandleMemoryRWConflict": _row(
        "read-write-conflict", 0, ("Read and write", "读写冲突"), ("Copies where a read meets a write.", "在读写冲突处插入拷贝。")),
    "HandleMemoryLayoutConflict": _row(
        "layout-conflict", 0, ("Layout", "布局冲突"), ("Copies where two layouts meet.", "在内存布局冲突处插入拷贝。")),
    "SetFftsPlusAttrPass": _row("ffts-plus", 3, ("FFTS+", "FFTS+"), ("Marks FFTS+ graphs.", "标记 FFTS+ 图。")),
}  # fmt: skip


def _class(ge_name: str) -> type[Unmodelled]:
    name, level, title, summary, reason, source = _ROWS[ge_name]
    body = {"name": name, "level": level, "title": title, "summary": summary, "reason": reason, "ge_name": ge_name,
            "source": f"{source}: {ge_name}", "__doc__": f"{summary.en} GE source: {ge_name}; its effect is not modelled.",
            "__module__": __name__}  # fmt: skip
    return type(ge_name, (Unmodelled,), body)


CLASSES = MappingProxyType({ge_name: _class(ge_name) for ge_name in _ROWS})
"""GE's name -> pass."""


def __getattr__(name: str) -> type[Unmodelled]:
    """The pass by GE's name, as the list of steps names it."""
    try:
        return CLASSES[name]
    except KeyError:
        raise AttributeError(name) from None
