"""swap-space: tensors the user names wait in host memory until they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import PassFailed, did_you_mean
from ge_explorer.graph.model import Graph, Node
from ge_explorer.ids import node
from ge_explorer.passes.optimize.base import OptimizePass, ranks, run
from ge_explorer.passes.optimize.hccl_scope import reachable
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

OPTION = "ge.swapSpaceNodes"
HOST = 129
"""RT_MEMORY_HOST."""
COPY_KIND, ATTACH = "_rt_memcpy_kind", "_force_attach_stream"
_SOURCE = "compiler/graph/passes/memory_optimize/swap_space_pass.cc"
_CONTINUOUS = ("continuous_input", "_no_padding_continuous_input")


@dataclass(frozen=True)
class SwapSpace(OptimizePass):
    """Copy a tensor to the host after it is made and back before a far reader.

    Rule (``ge.swapSpaceNodes`` = ``reader:input;…``, static root graph): between the tensor and the named readers stand two
    MemcpyAsync, ``<producer>_out_<i>_memcpy_async`` (device to host) and ``…_memcpy_async_memcpy_async`` (back). The near readers
    wait for the first copy, so that the memory is free soon; the second waits for the latest other input of the far reader.

    GE source: SwapSpacePass. Simplified: one copy back per tensor before all named readers, as GE; the trigger is looked for
    among direct inputs of the far readers only.
    Example: ``Node0 -> Node3`` with 200 MB in between: 200 MB less while Node1 and Node2 run, two copies more.
    """

    name: ClassVar[str] = "swap-space"
    title: ClassVar[Text] = Text("Swap to host", "换出到主机")
    summary: ClassVar[Text] = Text("Moves named tensors to host memory for a while.", "把指定张量暂存到主机内存。")
    ge_name: ClassVar[str] = "SwapSpacePass"
    source: ClassVar[str] = f"{_SOURCE}: SwapSpacePass::Run"
    option_keys: ClassVar[frozenset[str]] = OptimizePass.option_keys | {OPTION}
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "out": Rule(Text("Copied to the host.", "拷贝到主机。"), f"{_SOURCE}: SwapOutProcess"),
            "back": Rule(Text("Copied back for a far reader.", "为远端读者拷回设备。"), f"{_SOURCE}: SwapInProcess"),
            "near": Rule(Text("A near reader waits for the copy, so that the memory is free soon.",
                              "近端读者等待拷贝完成，以便尽快释放内存。"), f"{_SOURCE}: SwapOutProcess"),
            "trigger": Rule(Text("The copy back waits for the latest other input.", "拷回等待最晚的其他输入。"),
                            f"{_SOURCE}: FindSwapInTrigger"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Needs the option and a static root."""
        if not ctx.option(OPTION):
            return Text(f"{OPTION} is not set", f"未设置 {OPTION}")
        if s.graph.root.dynamic:
            return Text("GE swaps in graphs of known shape only", "GE 仅对静态 shape 图做换出")
        return super().skip_reason(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the copies; PassFailed names what the option gets wrong."""
        wanted = _candidates(s.graph, ctx.option(OPTION))
        return run(s, ctx, lambda w: _insert(w, wanted))


def _candidates(g: Graph, text: str) -> dict[int, list[int]]:
    """Tensor -> far readers."""
    out: dict[int, list[int]] = {}
    for item in filter(None, text.split(";")):
        name, colon, index = item.partition(":")
        if not colon or not index.strip().isdigit():
            raise PassFailed("a tensor to swap is written reader:input", where=OPTION, got=item,
                             todo="Write for example node_name1:0;node_name1:2;node_name2:0.")  # fmt: skip
        if name not in g.by_name:
            raise PassFailed(f"no node named {name!r}", where=OPTION, got=text,
                             todo=did_you_mean(name, list(g.by_name)[:5000]))  # fmt: skip
        n, k = g.node(name), int(index)
        if any(n.attrs.get(a) for a in _CONTINUOUS):
            raise PassFailed("inputs that must be continuous cannot be swapped", where=OPTION, got=item)
        t = n.inputs[k] if k < len(n.inputs) else None
        if t is None:
            raise PassFailed(f"node {name!r} has no input {k}", where=OPTION, got=item)
        out.setdefault(t, []).append(n.id)
    return out


def _insert(w: Work, wanted: Mapping[int, list[int]]) -> None:
    rank = ranks(w, 0)
    for tensor, far in wanted.items():
        t = w.e.tensor(tensor)
        producer = w.node(t.producer)
        edges = [e for e in w.e.readers(tensor) if e.dst in far]
        near = [e.dst for e in w.e.readers(tensor) if e.dst not in far]
        out = _copy(w, producer, f"{producer.name}_out_{t.index}_memcpy_async", tensor, "_output_memory_type", "out", 2)
        back = _copy(w, out, f"{out.name}_memcpy_async", out.outputs[0], "_input_memory_type", "back", 1)
        for e in edges:
            w.move(e, back.outputs[0])
        for i in dict.fromkeys(near):
            w.order(out.id, i)
            w.e.update_attrs(i, {ATTACH: True})
            w.say(w.node(i), None, out.name, "near", [node(out.id)])
        trigger = _trigger(w, back, far, rank)
        if trigger is not None:
            w.order(trigger, back.id)
            w.say(w.node(back.id), None, w.node(trigger).name, "trigger", [node(trigger)])


def _copy(w: Work, like: Node, name: str, tensor: int, memory: str, rule: str, kind: int) -> Node:
    t = w.e.tensor(tensor)
    attrs = {memory: [HOST], COPY_KIND: kind, ATTACH: True}
    made = w.add(
        like, w.unique(name), "MemcpyAsync", [tensor], t.shape, t.dtype, attrs=attrs, origin=(like.id,), after=like.id
    )
    w.say(made, None, "MemcpyAsync", rule, [node(like.id)])
    return made


def _trigger(w: Work, back: Node, far: list[int], rank: Mapping[int, int]) -> int | None:
    """Latest other input of the far readers that does not itself depend on the copy."""
    behind = reachable(w.e.freeze(), [back.id])
    rows: list[int] = []
    for i in far:
        n = w.node(i)
        rows += [*(w.e.tensor(t).producer for t in n.inputs if t is not None), *n.control_in]
    good = [i for i in rows if i not in behind and rank.get(i, 0) > 0 and not w.node(i).attrs.get("_stream_label")]
    return max(good, key=lambda i: rank.get(i, 0)) if good else None
