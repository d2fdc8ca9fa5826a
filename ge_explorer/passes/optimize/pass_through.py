"""Operators that only matter in training, or that only check: bypassed before anything is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import DATA_LIKE, Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_P = "compiler/graph/passes/standard_optimize"
_MODE = "ge.graphRunMode"
_RULES = MappingProxyType(
    {
        "pass-through": Rule(Text("It hands its input on.", "它只传递输入。"), f"{_P}/remove_unsupported_op"),
        "check-only": Rule(Text("It only checks a condition.", "它只检查条件。"), f"{_P}/assert_pass.cc"),
        **SHARED_RULES,
    }
)


@dataclass(frozen=True)
class _PassThrough(NodePass):
    """Common body: readers of output 0 read input 0."""

    level: ClassVar[int] = 0
    rules = _RULES

    def visit(self, w: Work, n: Node) -> None:
        """Bypass, if nobody reads the other outputs."""
        if n.inputs and n.inputs[0] is not None and not any(w.e.readers(t) for t in n.outputs[1:]):
            w.bypass(n, "pass-through")


@dataclass(frozen=True)
class DropoutRemove(_PassThrough):
    """Bypass Dropout when the graph is for inference.

    Rule: ``ge.graphRunMode`` is not training; the mask (output 1) is not read; the model does not force training mode.
    GE source: dropout_pass.cc. Options: ``ge.graphRunMode``. Example: ``Conv2D -> Dropout -> Relu`` becomes ``Conv2D -> Relu``.
    """

    name: ClassVar[str] = "dropout-remove"
    title: ClassVar[Text] = Text("Dropout", "Dropout")
    summary: ClassVar[Text] = Text("Bypasses Dropout in inference.", "推理时去掉 Dropout。")
    option_keys: ClassVar[frozenset[str]] = NodePass.option_keys | {_MODE}
    ge_name: ClassVar[str] = "DropOutPass"
    source: ClassVar[str] = f"{_P}/dropout_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"Dropout", "DropOut"})

    def visit(self, w: Work, n: Node) -> None:
        """Bypass one node."""
        training = w.value(n.inputs[2]) if len(n.inputs) > 2 else None
        forced = n.attrs.get("training_mode") or (len(n.inputs) > 2 and n.inputs[2] is not None and training is None)
        array = training.array() if training is not None else None
        if w.option(_MODE) == "1" or forced or (array is not None and bool(array.any())):
            return
        super().visit(w, n)


@dataclass(frozen=True)
class StopGradientRemove(_PassThrough):
    """Bypass StopGradient. GE source: stop_gradient_pass.cc. Example: ``x -> StopGradient -> y`` becomes ``x -> y``."""

    name: ClassVar[str] = "stop-gradient-remove"
    title: ClassVar[Text] = Text("StopGradient", "StopGradient")
    summary: ClassVar[Text] = Text("Bypasses StopGradient.", "去掉 StopGradient。")
    ge_name: ClassVar[str] = "StopGradientPass"
    source: ClassVar[str] = f"{_P}/remove_unsupported_op/stop_gradient_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"StopGradient"})


@dataclass(frozen=True)
class PreventGradientRemove(_PassThrough):
    """Bypass PreventGradient. GE source: prevent_gradient_pass.cc. Example: as StopGradient."""

    name: ClassVar[str] = "prevent-gradient-remove"
    title: ClassVar[Text] = Text("PreventGradient", "PreventGradient")
    summary: ClassVar[Text] = Text("Bypasses PreventGradient.", "去掉 PreventGradient。")
    ge_name: ClassVar[str] = "PreventGradientPass"
    source: ClassVar[str] = f"{_P}/remove_unsupported_op/prevent_gradient_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"PreventGradient"})


@dataclass(frozen=True)
class PlaceholderWithDefaultRemove(_PassThrough):
    """Bypass PlaceholderWithDefault: its default is used. GE source: placeholder_with_default_pass.cc."""

    name: ClassVar[str] = "placeholder-with-default-remove"
    title: ClassVar[Text] = Text("Default", "默认占位符")
    summary: ClassVar[Text] = Text("Bypasses PlaceholderWithDefault.", "去掉 PlaceholderWithDefault。")
    ge_name: ClassVar[str] = "PlaceholderWithDefaultPass"
    source: ClassVar[str] = f"{_P}/placeholder_with_default_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"PlaceholderWithDefault"})


@dataclass(frozen=True)
class SnapshotRemove(_PassThrough):
    """Bypass Snapshot. GE source: snapshot_pass.cc."""

    name: ClassVar[str] = "snapshot-remove"
    title: ClassVar[Text] = Text("Snapshot", "Snapshot")
    summary: ClassVar[Text] = Text("Bypasses Snapshot.", "去掉 Snapshot。")
    ge_name: ClassVar[str] = "SnapshotPass"
    source: ClassVar[str] = f"{_P}/remove_unsupported_op/snapshot_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"Snapshot"})


@dataclass(frozen=True)
class GuaranteeConstRemove(_PassThrough):
    """Bypass GuaranteeConst. GE source: guarantee_const_pass.cc."""

    name: ClassVar[str] = "guarantee-const-remove"
    title: ClassVar[Text] = Text("GuaranteeConst", "GuaranteeConst")
    summary: ClassVar[Text] = Text("Bypasses GuaranteeConst.", "去掉 GuaranteeConst。")
    ge_name: ClassVar[str] = "GuaranteeConstPass"
    source: ClassVar[str] = f"{_P}/remove_unsupported_op/guarantee_const_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"GuaranteeConst"})


@dataclass(frozen=True)
class AddNRemove(_PassThrough):
    """Bypass AddN with a single input. GE source: addn_pass.cc. Example: ``x -> AddN -> y`` becomes ``x -> y``."""

    name: ClassVar[str] = "add-n-remove"
    title: ClassVar[Text] = Text("AddN", "AddN")
    summary: ClassVar[Text] = Text("Bypasses sums of one term.", "去掉只有一项的求和。")
    level: ClassVar[int] = 3
    ge_name: ClassVar[str] = "AddNPass"
    source: ClassVar[str] = f"{_P}/addn_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"AddN"})

    def visit(self, w: Work, n: Node) -> None:
        """Bypass one node."""
        if len(n.inputs) == 1:
            super().visit(w, n)


@dataclass(frozen=True)
class AssertRemove(NodePass):
    """Delete Assert and everything that only fed it, when the graph is for inference.

    Rule: ``ge.graphRunMode`` is not training; going backwards, producers without any reader left go too (Data stays).
    GE source: assert_pass.cc. Options: ``ge.graphRunMode``. Example: ``x -> Equal -> Assert`` leaves ``x``.
    """

    name: ClassVar[str] = "assert-remove"
    title: ClassVar[Text] = Text("Assert", "Assert")
    summary: ClassVar[Text] = Text("Deletes Assert and what only fed it.", "去掉 Assert 及其专用输入。")
    option_keys: ClassVar[frozenset[str]] = NodePass.option_keys | {_MODE}
    level: ClassVar[int] = 0
    ge_name: ClassVar[str] = "AssertPass"
    source: ClassVar[str] = f"{_P}/assert_pass.cc"
    types: ClassVar[frozenset[str] | None] = frozenset({"Assert"})
    rules = _RULES

    def visit(self, w: Work, n: Node) -> None:
        """Delete one Assert with its cone."""
        if w.option(_MODE) == "1" or w.readers(n):
            return
        cone = w.producers(n)
        w.bypass(n, "check-only", ())
        while cone:
            p = cone.pop()
            if w.e.has(p.id) and not w.readers(w.node(p.id)) and p.op not in DATA_LIKE and not p.subgraphs:
                cone += w.producers(w.node(p.id))
                w.bypass(w.node(p.id), "unread", ())
