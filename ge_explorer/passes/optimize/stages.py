"""Node-pass groups: the passes GE runs on one work-list in each stage, in GE's order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.passes.optimize import pass_through as pt
from ge_explorer.passes.optimize.assign_remove import AssignRemove
from ge_explorer.passes.optimize.base import NodeGroup, NodePass, group_options, group_rules
from ge_explorer.passes.optimize.cast_remove import CastRemove
from ge_explorer.passes.optimize.cond_remove import CondRemove
from ge_explorer.passes.optimize.constant_clip import ConstantClip
from ge_explorer.passes.optimize.constant_folding import ConstantFolding
from ge_explorer.passes.optimize.dim1_transpose import Dim1Transpose
from ge_explorer.passes.optimize.dimension_adjust import DimensionAdjust
from ge_explorer.passes.optimize.dimension_compute import DimensionCompute
from ge_explorer.passes.optimize.identity import IdentityRemove
from ge_explorer.passes.optimize.loop_constants import EnterConst, PrintRemove
from ge_explorer.passes.optimize.merge_remove import MergeRemove
from ge_explorer.passes.optimize.no_use_reshape import NoUseReshape
from ge_explorer.passes.optimize.replace_with_empty import ReplaceWithEmptyConst
from ge_explorer.passes.optimize.reshape_remove import ReshapeRemove
from ge_explorer.passes.optimize.shape_n import SplitShapeN
from ge_explorer.passes.optimize.switch_dead_branch import SwitchDeadBranch
from ge_explorer.passes.optimize.to_const import ParallelConcatStart, VariableIsInitialized
from ge_explorer.passes.optimize.transop_allreduce import TransOpAllReduce
from ge_explorer.passes.optimize.transop_symmetry import TransOpSymmetry
from ge_explorer.passes.optimize.transpose_transdata import TransposeTransData
from ge_explorer.passes.optimize.unchanged_transpose import UnchangedTranspose
from ge_explorer.passes.optimize.unused_const import UnusedConst
from ge_explorer.passes.optimize.useless_control_out import UselessControlOut
from ge_explorer.text import Text

_INFER: tuple[NodePass, ...] = (
    pt.AssertRemove(), SwitchDeadBranch(), CondRemove(), MergeRemove(), ReplaceWithEmptyConst(mark_only=True), SplitShapeN(),
    DimensionCompute(mark_only=True), ConstantClip(), ConstantFolding(),
)  # fmt: skip
_PREPARE: tuple[NodePass, ...] = (
    EnterConst(), PrintRemove(), NoUseReshape(), pt.DropoutRemove(), pt.AssertRemove(), UnchangedTranspose(), UnusedConst(),
    pt.StopGradientRemove(), pt.PreventGradientRemove(), pt.PlaceholderWithDefaultRemove(), pt.SnapshotRemove(),
    pt.GuaranteeConstRemove(), VariableIsInitialized(), ParallelConcatStart(), IdentityRemove(),
)  # fmt: skip
_STAGE1: tuple[NodePass, ...] = (
    EnterConst(), pt.AddNRemove(), SwitchDeadBranch(), MergeRemove(), CastRemove(), TransposeTransData(), ReshapeRemove(),
    TransOpSymmetry(), TransOpAllReduce(), ReplaceWithEmptyConst(), DimensionCompute(), ConstantClip(), ConstantFolding(),
    DimensionAdjust(), UselessControlOut(), Dim1Transpose(),
)  # fmt: skip
_STAGE2: tuple[NodePass, ...] = (ConstantFolding(), CondRemove(), AssignRemove())


@dataclass(frozen=True)
class InferenceGroup(NodeGroup):
    """What GE does while it infers shapes: decide constant branches and fold constants.

    Rule: the members in order on one work-list; known shapes and empty tensors are only marked, and take effect after each walk.
    GE source: graph_prepare.cc InferShapeForPreprocess. Shape inference itself happened when the model was loaded.
    Example: ``Shape -> Gather -> Equal -> If`` keeps one branch.
    """

    name: ClassVar[str] = "optimise-while-inferring"
    title: ClassVar[Text] = Text("Inference", "推导期")
    summary: ClassVar[Text] = Text("Folds constants and decides constant branches.", "折叠常量并确定常量分支。")
    source: ClassVar[str] = "compiler/graph/preprocess/graph_prepare.cc: InferShapeForPreprocess"
    members: ClassVar[tuple[NodePass, ...]] = _INFER
    rules = group_rules(_INFER)
    option_keys: ClassVar[frozenset[str]] = NodeGroup.option_keys | group_options(_INFER)
    fidelity = "simplified"


@dataclass(frozen=True)
class PrepareGroup(NodeGroup):
    """Clean-up before the engines see the graph: needless Reshape and Transpose, training leftovers, unread constants, Identity.

    GE source: graph_prepare.cc PrepareOptimize. CondPass is a step of its own before (cond-normalise).
    Example: ``Conv2D -> Dropout -> Identity -> Relu`` becomes ``Conv2D -> Relu``.
    """

    name: ClassVar[str] = "optimise-prepare"
    title: ClassVar[Text] = Text("Prepare", "预处理")
    summary: ClassVar[Text] = Text("Removes what does nothing at run time.", "去掉运行时无作用的节点。")
    source: ClassVar[str] = "compiler/graph/preprocess/graph_prepare.cc: PrepareOptimize"
    members: ClassVar[tuple[NodePass, ...]] = _PREPARE
    rules = group_rules(_PREPARE)
    option_keys: ClassVar[frozenset[str]] = NodeGroup.option_keys | group_options(_PREPARE)
    fidelity = "simplified"


@dataclass(frozen=True)
class Stage1Group(NodeGroup):
    """The main node passes, after graph fusion: casts, layout pairs, Reshape, folding, dimensions.

    GE source: graph_manager.cc OptimizeStage1_2. Not modelled: SwitchLogicRemovePass.
    Example: ``Cast(float16) -> Cast(float)`` goes, and every Reshape for the time being.
    """

    name: ClassVar[str] = "optimise-stage1"
    title: ClassVar[Text] = Text("Stage 1", "阶段 1")
    summary: ClassVar[Text] = Text(
        "Removes casts, layout pairs and Reshape; folds again.", "去掉 Cast、互逆变换与 Reshape，并再次折叠。"
    )
    source: ClassVar[str] = "compiler/graph/manager/graph_manager.cc: OptimizeStage1"
    members: ClassVar[tuple[NodePass, ...]] = _STAGE1
    rules = group_rules(_STAGE1)
    option_keys: ClassVar[frozenset[str]] = NodeGroup.option_keys | group_options(_STAGE1)
    fidelity = "simplified"


@dataclass(frozen=True)
class Stage2Group(NodeGroup):
    """Folding once more on the whole graph, after the engines merged their parts.

    GE source: graph_manager.cc OptimizeStage2. GE lists ReshapeRemovePass and DimensionAdjustPass here as well; they are left
    out, because the Reshape nodes that reshape-recovery put back stay in the final graph.
    Example: a recovered Reshape of a constant becomes a constant.
    """

    name: ClassVar[str] = "optimise-stage2"
    title: ClassVar[Text] = Text("Stage 2", "阶段 2")
    summary: ClassVar[Text] = Text("Folds what became constant meanwhile.", "折叠其间变为常量的节点。")
    source: ClassVar[str] = "compiler/graph/manager/graph_manager.cc: OptimizeStage2"
    members: ClassVar[tuple[NodePass, ...]] = _STAGE2
    rules = group_rules(_STAGE2)
    option_keys: ClassVar[frozenset[str]] = NodeGroup.option_keys | group_options(_STAGE2)
    fidelity = "simplified"
