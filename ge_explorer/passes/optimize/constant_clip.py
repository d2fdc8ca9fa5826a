"""constant-clip: weights are clipped to what a narrower type can hold before they are cast to it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import CONST
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

OPTION = "ge.is_weight_clip"
CLIPPED = "_gx_clipped"
"""Our mark on a Cast whose constant was clipped (it may be folded before the Cast is looked at again)."""
_SOURCE = "compiler/graph/passes/standard_optimize/constant_folding/constant_clip_pass.cc"
_RANGE = MappingProxyType({("float", "float16"): 65504.0, ("double", "float16"): 65504.0,
                           ("double", "float"): float(np.finfo(np.float32).max),
                           ("double", "bfloat16"): 3.3895313892515355e38})  # fmt: skip
"""(from, to) -> largest finite number of the narrower type."""


@dataclass(frozen=True)
class ConstantClip(NodePass):
    """ClipByValue between a Const and a Cast to a type of smaller range.

    Rule: only with ``ge.is_weight_clip`` (1 or true). Without it a weight beyond the range becomes infinite. Folding then computes
    both at once.

    GE source: constant_clip_pass.cc. Which pairs of types count is our reading ("narrowing").
    Example: ``Const 1e6 (float) -> Cast (float16)`` gives 65504 and not infinity.
    """

    name: ClassVar[str] = "constant-clip"
    title: ClassVar[Text] = Text("Clip weights", "权重截断")
    summary: ClassVar[Text] = Text("Clips weights before a narrowing cast.", "窄化转换前截断权重。")
    option_keys: ClassVar[frozenset[str]] = NodePass.option_keys | {OPTION}
    ge_name: ClassVar[str] = "ConstantClipPass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = frozenset({"Cast"})
    rules = MappingProxyType(
        {"clip": Rule(Text("The target type has a smaller range.", "目标类型的取值范围更小。"), _SOURCE)}
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try one Cast."""
        p = w.producer(n)
        if w.option(OPTION) not in ("1", "true") or p is None or p.op not in CONST or n.attrs.get(CLIPPED):
            return
        source, target = w.e.tensor(p.outputs[0]), w.e.tensor(n.outputs[0])
        limit = _RANGE.get((source.dtype or "", target.dtype or ""))
        if limit is None or source.dtype is None:
            return
        ends = []
        for word, v in (("min", -limit), ("max", limit)):
            value = ConstantValue.of(np.asarray(v), source.dtype)
            c = w.add(n, w.unique(f"{n.name}_clip_{word}"), "Const", [], (), source.dtype, attrs={VALUE: value}, origin=(n.id,),
                      front=True)  # fmt: skip
            ends.append(c.outputs[0])
        clip = w.add(n, w.unique(f"{n.name}_clip"), "ClipByValue", [source.id, *ends], source.shape, source.dtype,
                     origin=(n.id,), after=p.id, source_op="Clip")  # fmt: skip
        w.say(clip, None, "ClipByValue", "clip", [Ref("node", p.id), Ref("node", n.id)])
        w.e.update_attrs(n.id, {CLIPPED: True})
        w.e.retarget(clip.outputs[0], n.id, 0)
