"""infer-origin-format: tensors learn which dimension is the channel, from convolutions outwards."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.work import FAMILY
from ge_explorer.graph.model import DATA_LIKE, Graph, Node, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import OptimizePass, run
from ge_explorer.passes.optimize.facts import SIZES_ONLY, layout
from ge_explorer.passes.optimize.format_shapes import FORMAT, HEAVY, ORIGIN_FORMAT
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "graph_metadef/graph/refiner/format_refiner.cc"
INPUT_FORMAT = "input_format"
"""ATC's parameter ``--input_format``; the graph's data format."""
INFERRED = "_is_graph_inferred"
"""GE's graph attribute: the first inference is over."""
LOCKED = "_format_locked"
RANK = MappingProxyType({"NCHW": 4, "NHWC": 4, "HWCN": 4, "CHWN": 4, "NCDHW": 5, "NDHWC": 5, "DHWCN": 5})
"""Plain formats with a meaning for every dimension, and how many dimensions they describe."""
_FILTER = MappingProxyType({"NHWC": "HWCN", "NDHWC": "DHWCN"})
_CHANGE_DIMS = frozenset({"Permute", "ExpandDims", "Squeeze"})
_OWN_FUNCTION = SIZES_ONLY - {"ReFormat"}


@dataclass(frozen=True)
class InferOriginFormat(OptimizePass):
    """Give tensors the origin format that convolutions (and formats in the file) imply.

    Rule: anchors are nodes with a format other than ND: what a file says, and convolutions by ``data_format`` (default NCHW or
    NCDHW; filters of channels-last networks HWCN). From each anchor the format goes to the producers of its inputs, then to the
    readers of its outputs; a node that got one gives the first it has to its other tensors. Scalars, locked nodes
    (``_format_locked``), NetOutput, and Permute, ExpandDims and Squeeze of less than four dimensions stop it. In the second run,
    Data of four dimensions or more that nothing reached take ``input_format`` and spread it as well.

    GE source: format_refiner.cc InferOrigineFormat. Ours: a format is given only to tensors of its rank; Reshape, Squeeze and
    the like pass nothing on (their own format functions are in the operator package, not public); a format does not cross the
    border of a subgraph (GE's reflections); without ``input_format`` Data stay as they are, though ATC's default for ONNX is NCHW.
    Options: ``input_format``. Example: ``Data -> Conv2D -> Relu`` is NCHW throughout.
    """

    name: ClassVar[str] = "infer-origin-format"
    title: ClassVar[Text] = Text("Origin format", "原始格式")
    summary: ClassVar[Text] = Text("Spreads formats from convolutions.", "从卷积向两侧推导格式。")
    option_keys: ClassVar[frozenset[str]] = OptimizePass.option_keys | {INPUT_FORMAT}
    source: ClassVar[str] = f"{_SOURCE}: FormatRefiner::InferOrigineFormat"
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "anchor": Rule(
                Text("Its operator type or its file fixes the format.", "算子类型或文件已确定格式。"), _SOURCE
            ),
            "backward": Rule(Text("Its reader needs this format.", "读者需要该格式。"), _SOURCE),
            "forward": Rule(Text("An input or output has this format.", "其输入或输出具有该格式。"), _SOURCE),
            "input-format": Rule(
                Text(
                    f"No operator says otherwise, so {INPUT_FORMAT} decides.", f"无算子指明，由 {INPUT_FORMAT} 决定。"
                ),
                f"{_SOURCE}: DataNodeFormatProcess",
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Also skipped without anything to start from."""
        reason = super().skip_reason(s, ctx)
        if reason is None and not ctx.option(INPUT_FORMAT) and not _has_anchor(s.graph):
            return Text("no operator says which format it works on", "没有算子指明格式")
        return reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Anchors of every graph, root first; then Data, if this is the second run."""
        wanted = ctx.option(INPUT_FORMAT)

        def body(w: Work) -> None:
            spread = _Spread(w)
            for i in w.before.walk():
                if _is_anchor(w.before, w.node(i)):
                    spread.anchor(w.node(i))
            if w.before.attrs.get(INFERRED) and wanted in RANK:
                spread.data(wanted)
            if spread.given and not w.before.attrs.get(INFERRED):
                w.e.set_graph_attrs({INFERRED: True})

        return run(s, ctx, body)


_CONVOLUTIONS = frozenset(op for op, family in FAMILY.items() if family in ("conv", "deconv"))


def _has_anchor(g: Graph) -> bool:
    return any(n.op in _CONVOLUTIONS for n in g) or any(
        t is not None and t.attrs and layout(t) in RANK for t in g.tensors
    )


def _is_anchor(g: Graph, n: Node) -> bool:
    if n.op in _CONVOLUTIONS:
        return True
    return any(layout(t) in RANK for t in (g.tensor(o) for o in n.outputs) if t.attrs)


def conv_format(n: Node, t: Tensor | None) -> str:
    """Format of a convolution's data: its ``data_format``, else channels first by rank; "" when the rank fits neither."""
    rank = len(t.shape) if t is not None and t.shape is not None else 0
    said = n.attrs.get("data_format")
    default = {4: "NCHW", 5: "NCDHW"}.get(rank, "")
    return said if isinstance(said, str) and RANK.get(said) == rank else default


class _Spread:
    """Gives formats to tensors that have none, and remembers whose neighbours are to be looked at."""

    def __init__(self, w: Work) -> None:
        self.w = w
        self.given: set[int] = set()
        self.queue: deque[int] = deque()

    def give(self, tensor: int, fmt: str, rule: str, why: int) -> None:
        """Set origin and storage format of a tensor unless it has one, is of another rank, or its producer is locked."""
        t = self.w.e.tensor(tensor)
        has = layout(t, origin=True)
        if has not in ("", "ND") or layout(t) in HEAVY or t.shape is None or len(t.shape) != RANK.get(fmt):
            return
        producer = self.w.node(t.producer)
        if producer.attrs.get(LOCKED) or (layout(t) not in ("", "ND") and rule != "anchor"):
            return
        self.w.e.set_tensor(tensor, attrs={**t.attrs, ORIGIN_FORMAT: fmt, FORMAT: fmt})
        self.w.changed = True
        self.given.add(tensor)
        evidence = [Ref("node", why)] if why != t.producer else []
        self.w.ctx.decide(Ref("node", t.producer), "format", has or "ND", fmt, rule, evidence)
        self.queue.append(t.producer)
        self.queue.extend(e.dst for e in self.w.e.readers(tensor))

    def anchor(self, n: Node) -> None:
        """Formats the node itself fixes, then everything they reach."""
        ins, outs = self.w.inputs(n), self.w.outputs(n)
        if n.op in _CONVOLUTIONS:
            data = conv_format(n, next(iter(outs), None))
            for t in (*outs[:1], *ins[:1]):
                if t is not None and data:
                    self.give(t.id, data, "anchor", n.id)
            if len(ins) > 1 and ins[1] is not None and data:
                self.give(ins[1].id, _FILTER.get(data, data), "anchor", n.id)
        for t in outs:
            if layout(t) in RANK:
                self.give(t.id, layout(t), "anchor", n.id)
        self.queue.append(n.id)
        self.run()

    def data(self, fmt: str) -> None:
        """Data nodes of the root graph that nothing reached."""
        for i in self.w.before.root.nodes:
            n = self.w.node(i)
            if n.op in DATA_LIKE:
                for t in n.outputs:
                    self.give(t, fmt, "input-format", n.id)
        self.run()

    def run(self) -> None:
        """One node after the other until nothing changes; a tensor gets a format once, so this ends."""
        while self.queue:
            n = self.w.node(self.queue.popleft())
            if n.op in _CONVOLUTIONS or n.op == "NetOutput" or n.subgraphs or n.op in _OWN_FUNCTION:
                continue
            ins = [t for t in self.w.inputs(n) if t is not None]
            outs = self.w.outputs(n)
            found = [layout(t, origin=True) for t in (*outs, *ins)]
            fmt = next((f for f in found if f in RANK), "")
            rank = RANK.get(fmt, 0)
            if not fmt or n.attrs.get(LOCKED) or (n.op in _CHANGE_DIMS and rank < 4):
                continue
            for t in ins:
                self.give(t.id, fmt, "backward", n.id)
            for t in outs:
                self.give(t.id, fmt, "forward", n.id)
