"""switch-bypass and switch-to-stream-switch: what becomes of the Switch nodes of TensorFlow 1."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Edge, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import MADE_HERE
from ge_explorer.passes.optimize.cond_normalise import CONDITION
from ge_explorer.passes.optimize.facts import BY_GE, MERGE, SWITCH
from ge_explorer.passes.optimize.rare import RarePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

TRUE_BRANCH = "_switch_true_branch_flag"
_P = "compiler/graph/passes/control_flow_and_stream"
_BYPASS, _SWITCH = f"{_P}/switch_data_edges_bypass.cc", f"{_P}/switch_to_stream_switch_pass.cc"
_STAY = MERGE | {"NetOutput", "Exit", "RefExit"}


def _direct(w: Work, e: Edge) -> bool:
    """An edge that may go round the Switch: no branch ends in it, and it is not what an earlier bypass left."""
    n = w.node(e.dst)
    return n.op not in _STAY and not (n.op == "Identity" and n.attrs.get(BY_GE))


@dataclass(frozen=True)
class SwitchBypass(RarePass):
    """Data edges go round a Switch; the branch keeps its condition as a control edge.

    Rule: readers of an output read what the Switch reads, and wait for an Identity on that output. Readers where a branch ends
    (Merge, Exit, NetOutput) and the Switch nodes of a loop are left alone, which is assumed.

    GE source: switch_data_edges_bypass.cc. The name of the Identity is ours.
    Example: ``x -> Switch -> Relu`` becomes ``x -> Relu`` and ``Switch -> Identity -(control)-> Relu``.
    """

    name: ClassVar[str] = "switch-bypass"
    title: ClassVar[Text] = Text("Round Switch", "绕过 Switch")
    summary: ClassVar[Text] = Text("Leads data round Switch nodes.", "让数据边绕过 Switch。")
    ge_name: ClassVar[str] = "SwitchDataEdgesBypass"
    source: ClassVar[str] = _BYPASS
    level: ClassVar[int] = 1
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = SWITCH
    rules = MappingProxyType(
        {"round": Rule(Text("A Switch passes data on unchanged; only the order matters.", "Switch 原样传递数据，只需保留先后。"),
                       _BYPASS)}
    )  # fmt: skip

    def apply(self, w: Work, scope: int) -> None:
        """Lead the data of one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            p = w.producer(n, 1) if n.op in SWITCH else None
            if p is None or n.inputs[0] is None or p.op == "LoopCond" or "LoopCond" in {x.op for x in w.producers(p)}:
                continue
            for k, t in enumerate(n.outputs):
                edges = [e for e in w.e.readers(t) if _direct(w, e)]
                if not edges:
                    continue
                x = w.e.tensor(t)
                mark = w.add(n, w.unique(f"{n.name}_Identity_{k}"), "Identity", [t], x.shape, x.dtype, attrs={BY_GE: True},
                             origin=(i,), after=i)  # fmt: skip
                w.say(mark, None, "Identity", "round", [Ref("node", i)])
                for e in edges:
                    w.move(e, n.inputs[0])
                    w.order(mark.id, e.dst)


@dataclass(frozen=True)
class SwitchToStreamSwitch(RarePass):
    """Switch becomes a StreamSwitch per side, which starts the stream of that side.

    Rule:
    1. Switch nodes of one graph with the same predicate share a StreamSwitch per side that is read; it compares the predicate (cast
       to int32) with a constant 0, and says by a flag which side it is.
    2. Readers of a side read the Switch's data and wait for the StreamSwitch; where a branch would end right there, an Identity
       stands for it.

    GE source: switch_to_stream_switch_pass.cc. Not modelled: its StreamActive behind the StreamSwitch (activate-by-switch adds one
    where a side has several streams), groups. The names are ours.
    Example: a Switch with both sides read gives ``p_Switch_t`` and ``p_Switch_f``.
    """

    name: ClassVar[str] = "switch-to-stream-switch"
    title: ClassVar[Text] = Text("StreamSwitch", "StreamSwitch")
    summary: ClassVar[Text] = Text("Lets a condition start one of two streams.", "由条件启动两条流之一。")
    ge_name: ClassVar[str] = "SwitchToStreamSwitchPass"
    source: ClassVar[str] = _SWITCH
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = SWITCH
    rules = MappingProxyType(
        {
            "stream-switch": Rule(
                Text("Starts this side when the predicate says so.", "谓词成立时启动该侧。"), _SWITCH
            ),
            "compared": Rule(Text("The predicate is compared with 0 as int32.", "谓词以 int32 与 0 比较。"), _SWITCH),
            "branch-value": Rule(Text("The branch does nothing but hand its input on.", "该分支只传递输入。"), _SWITCH),
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Convert in one graph."""
        made: dict[tuple[int, bool], int] = {}
        for i in w.e.members(scope):
            n = w.node(i)
            if n.op not in SWITCH or len(n.inputs) < 2 or n.inputs[0] is None or n.inputs[1] is None:
                continue
            data, predicate = n.inputs[0], self._compared(w, n, n.inputs[1])
            for k, t in enumerate(n.outputs[:2]):
                for e in w.e.readers(t):
                    key = (predicate, k == 1)
                    if key not in made:
                        made[key] = self._stream_switch(w, n, *key)
                    if w.node(e.dst).op in MERGE | {"StreamMerge", "NetOutput"}:
                        x = w.e.tensor(t)
                        value = w.add(
                            n, w.unique(f"{n.name}_value_{k}"), "MemcpyAsync", [data], x.shape, x.dtype, origin=(i,)
                        )
                        w.order(made[key], value.id)
                        w.say(value, None, "MemcpyAsync", "branch-value", [Ref("node", i)])
                        w.move(e, value.outputs[0])
                    else:
                        w.move(e, data)
                        w.order(made[key], e.dst)
            sides = [Ref("node", s) for (p, _), s in made.items() if p == predicate]
            for s in [s for (p, _), s in made.items() if p == predicate]:
                for c in n.control_in:
                    w.order(c, s)
                for c in w.e.control_targets(i):
                    w.order(s, c)
            w.delete(n, "stream-switch", sides)
            w.e.set_graph_attrs({MADE_HERE: True})

    def _compared(self, w: Work, n: Node, t: int) -> int:
        """The predicate as int32; one Cast for all Switch nodes that ask it."""
        p = w.node(w.e.tensor(t).producer)
        root = p.inputs[0] if CONDITION in p.attrs and p.op == "Cast" and p.inputs[0] is not None else t
        for e in w.e.readers(root):
            c = w.node(e.dst)
            if c.op == "Cast" and c.attrs.get(CONDITION):
                return c.outputs[0]
        if w.e.tensor(t).dtype == "int32" or w.e.tensor(t).dtype is None:
            return t
        x = w.e.tensor(root)
        name = w.unique(f"{w.node(x.producer).name}_Switch_Cast")
        cast = w.add(
            n, name, "Cast", [root], x.shape, "int32", attrs={CONDITION: True}, origin=(n.id,), after=x.producer
        )
        w.say(cast, None, "Cast", "compared", [Ref("node", x.producer)])
        return cast.outputs[0]

    def _stream_switch(self, w: Work, n: Node, predicate: int, true: bool) -> int:
        """StreamSwitch for one side of a predicate, with the constant it compares with."""
        owner = w.node(w.e.tensor(predicate).producer)
        name = w.unique(f"{owner.name}_StreamSwitch_{'t' if true else 'f'}")
        zero = ConstantValue.of(np.zeros((), np.int32), "int32")
        c = w.add(
            n, w.unique(f"{name}_Constant"), "Const", [], (), "int32", attrs={VALUE: zero}, origin=(n.id,), front=True
        )
        s = w.e.add_node(name, "StreamSwitch", inputs=[predicate, c.outputs[0]], attrs={TRUE_BRANCH: true}, scope=n.scope,
                         origin=(n.id,), after=owner.id)  # fmt: skip
        w.say(w.node(s), None, "StreamSwitch", "stream-switch", [Ref("node", n.id), Ref("node", owner.id)])
        return s
