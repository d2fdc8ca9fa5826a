"""permute-remove: GE's pass on Permute nodes of TensorFlow models."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

FRAMEWORK = "framework"
"""ATC's parameter ``--framework``: 3 is TensorFlow, 5 is ONNX."""


@dataclass(frozen=True)
class PermuteRemove(GraphPass):
    """GE removes Permute nodes that only turn NHWC for an old convolution; TensorFlow models only.

    Rule: not modelled, because GE's removal counts on the builder to turn the data later. The step is here so that the list of
    GE's passes is whole: with ``framework`` 3 it names the Permute nodes GE would look at and changes nothing, otherwise it says
    why GE's pass does nothing.

    GE source: permute_pass.cc. Options: ``framework``. Example: any ONNX model skips it.
    """

    name: ClassVar[str] = "permute-remove"
    title: ClassVar[Text] = Text("Permute", "Permute")
    summary: ClassVar[Text] = Text(
        "TensorFlow models only; no effect is modelled.", "仅用于 TensorFlow 模型；其效果未建模。"
    )
    ge_name: ClassVar[str] = "PermutePass"
    source: ClassVar[str] = "compiler/graph/passes/standard_optimize/permute_pass.cc: PermutePass::Run"
    option_keys: ClassVar[frozenset[str]] = GraphPass.option_keys | {FRAMEWORK}
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "permute-seen": Rule(
                Text("GE may remove it; no effect is modelled.", "GE 可能将其删除；此处未建模。"),
                "compiler/graph/passes/standard_optimize/permute_pass.cc",
            )
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """GE asks for the framework first."""
        reason = super().skip_reason(s, ctx)
        if reason is None and ctx.option(FRAMEWORK) != "3":
            return Text("only for TensorFlow models (framework 3)", "仅用于 TensorFlow 模型（framework 为 3）")
        return reason

    def apply(self, w: Work, scope: int) -> None:
        """Name what GE would look at."""
        for i in w.e.members(scope):
            if w.node(i).op == "Permute":
                w.keep(w.node(i), "permute-seen")
