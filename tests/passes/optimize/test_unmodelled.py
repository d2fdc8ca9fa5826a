"""GE's pass list is the pipeline's; passes without a model say so, cost nothing and stay out of the way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.passes.optimize.base import NodeGroup
from ge_explorer.passes.optimize.unmodelled import CLASSES, Unmodelled
from ge_explorer.trace.runner import run_trace
from ge_explorer.views.strip import strip_model
from tests.passes.optimize.helpers import run

GE_ORDER = (
    "InnerIdentityAddPass", "InferShapePass", "InferValueRangePass", "AssertPass", "SwitchDeadBranchElimination",
    "CondRemovePass", "MergePass", "ReplaceWithEmptyConstPass", "SplitShapeNPass", "DimensionComputePass",
    "ConstantClipPass", "ConstantFoldingPass", "ShapeOperateOpRemovePass", "ReplaceTransShapePass", "MarkAgnosticPass",
    "CondPass", "EnterPass", "PrintOpPass", "NoUseReshapeRemovePass", "DropOutPass", "AssertPass",
    "UnchangedTransposeRemovePass", "UnusedConstPass", "StopGradientPass", "PreventGradientPass",
    "PlaceholderWithDefaultPass", "SnapshotPass", "GuaranteeConstPass", "VarIsInitializedOpPass",
    "ParallelConcatStartOpPass", "IdentityPass", "PrunePass", "HcclMemcpyPass", "RecomputePass", "MergeInputMemcpyPass",
    "SwitchDataEdgesBypass", "ConstantFuseSamePass", "CommonSubexpressionEliminationPass",
    "FuseDataNodesWithCommonInputPass", "CommonSubexpressionEliminationPass", "PermutePass",
    "SameTransdataBreadthFusionPass", "VariableOpPass", "TransOpWithoutReshapeFusionPass", "TransOpBreadthFusionPass",
    "DataFlowPreparePass", "MergeUnknownShapeNPass", "SwitchLogicRemovePass", "EnterPass", "AddNPass",
    "SwitchDeadBranchElimination", "MergePass", "CastRemovePass", "TransposeTransDataPass", "ReshapeRemovePass",
    "TransOpSymmetryEliminationPass", "TransOpNearbyAllreduceFusionPass", "ReplaceWithEmptyConstPass",
    "DimensionComputePass", "ConstantClipPass", "ConstantFoldingPass", "DimensionAdjustPass", "UselessControlOutRemovePass",
    "Dim1TransposeToSqueezePass", "SubgraphConstMigrationPass", "UnusedArgsCleanPass", "PrunePass", "NextIterationPass",
    "ControlTriggerPass", "MergeToStreamMergePass", "SwitchToStreamSwitchPass", "AttachStreamLabelPass", "MultiBatchPass",
    "SubgraphMultiDimsPass", "IteratorOpPass", "VariableRefUselessControlOutDeletePass", "ReshapeRecoveryPass",
    "RemoveSameConstPass", "HcclMemcpyPass", "HcclSequenceAdjustPass", "GlobalStepInsertPass",
    "HcclTailingOptimizationPass", "IdentityPass", "CtrlEdgeTransferPass", "InnerIdentityDeletePass",
    "LinkGenMaskNodesPass", "HcclContinuousMemcpyPass", "ConstantFoldingPass", "CondRemovePass", "AssignRemovePass",
    "InplaceSupportCheckPass", "FlowCtrlPass", "MultiBatchPass", "RefIdentityDeleteOpPass", "VariableRefDeleteOpPass",
    "CompileNodesPass", "SwapSpacePass", "InputOutputConnectionIdentifyPass", "AtomicAddrCleanPass",
    "EndOfSequenceAddControlPass", "SubgraphPass", "MemcpyAddrAsyncPass", "BufferPoolMemoryPass", "ParallelGroupPass",
    "ConcatNotaskPass", "PackNotaskPass", "TensorMoveDeletePass", "HandleMemoryRWConflict", "HandleMemoryLayoutConflict",
    "SetFftsPlusAttrPass",
)  # fmt: skip
"""The list of optimize.md section 1.3 by GE's names. Two places differ: what is no node pass here stands before the group GE runs
it in (InferShapePass, SwitchLogicRemovePass), and stage 2 leaves out ReshapeRemovePass and DimensionAdjustPass (Stage2Group)."""


def ours() -> Iterator[str]:
    for item in pipelines.static():
        p = item.pass_
        yield from (m.ge_name for m in p.members) if isinstance(p, NodeGroup) else (p.ge_name,)


def test_the_steps_are_in_the_order_of_ge() -> None:
    left = ours()
    for name in GE_ORDER:
        assert name in left, f"{name} is missing or too early"  # a generator: what was passed over is gone


@pytest.mark.parametrize("ge_name", CLASSES)
def test_a_pass_without_a_model_says_so(ge_name: str) -> None:
    p = CLASSES[ge_name]
    assert p.ge_name == ge_name
    assert p.ge_name in p.source
    assert pipelines.PASSES.get(p.name) is p
    b = GraphBuilder("g")
    t = run(b.build(b.op("Relu", b.data("x", (4,), "float"), name="r")), p.name)
    assert t.steps[0].status == "skipped"
    assert t.steps[0].reason == p.reason
    assert t.final.graph is t.initial.graph
    if p.level > 1:
        off = run(t.final.graph, p.name, {"ge.oo.level": "O1"}).steps[0]
        assert "O3" in (off.reason.en if off.reason else "")


def test_they_are_folded_away_in_the_strip_and_ask_nothing_of_the_graph() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4,), "float")
    for k in range(3000):
        x = b.op("Relu", x, name=f"r{k}")
    t = run_trace(b.build(x), pipelines.static(), {})
    model = strip_model(t)
    chips = {s["index"]: s for c in model["chapters"] for s in c["steps"]}
    steps = [s for s in t if isinstance(s.pass_, Unmodelled)]
    assert len(steps) >= len(CLASSES)
    for s in steps:
        assert s.index in model["quiet"]
        assert chips[s.index]["badge"] == {"en": "not modelled", "zh": "未建模"}
    assert sum(s.seconds for s in steps) == 0.0  # skipped before the clock starts


def test_an_unknown_name_is_no_pass() -> None:
    from ge_explorer.passes.optimize import unmodelled

    assert not hasattr(unmodelled, "NoSuchPass")
