"""Every step in GE's order, one line each, and the presets built from them.

GE's order (streams.md section 1, sync.md section 1): optimise, partition, logical streams, memory, events, tasks, physical split.
Adding a pass: one file in ``passes/``, one line here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph
from ge_explorer.passes.dynamic import DYNAMIC_STEPS
from ge_explorer.passes.optimize.gears_options import asks_for_gears
from ge_explorer.passes.streams.custom_stream import StreamFunction, custom_stream
from ge_explorer.registry import Registry
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass
from ge_explorer.trace.pipeline import Item, Pipeline, parse_pipeline

_P = "ge_explorer.passes."

STEPS: tuple[tuple[str, str], ...] = (
    # optimise: normalisation and engines' preparation
    ("copy-before-scatter", _P + "optimize.scatter_copy:CopyBeforeScatter"),
    ("inner-identity-add", _P + "optimize.inner_identity:InnerIdentityAdd"),
    ("gears-split", _P + "optimize.gears_split:GearsSplit"),
    ("hccl-prepare", _P + "optimize.hccl_prepare:HcclPrepare"),
    # formats and shape inference, then preparation (graph_prepare.cc)
    ("infer-origin-format", _P + "optimize.infer_format:InferOriginFormat"),
    ("infer-shape", _P + "optimize.unmodelled:InferShapePass"),
    ("infer-value-range", _P + "optimize.unmodelled:InferValueRangePass"),
    ("optimise-while-inferring", _P + "optimize.stages:InferenceGroup"),
    ("inline-calls", _P + "optimize.inline_calls:InlineCalls"),
    ("infer-origin-format", _P + "optimize.infer_format:InferOriginFormat"),
    ("shape-operate-remove", _P + "optimize.unmodelled:ShapeOperateOpRemovePass"),
    ("trans-shape-to-const", _P + "optimize.to_const:TransShapeToConst"),
    ("mark-agnostic", _P + "optimize.unmodelled:MarkAgnosticPass"),
    ("cond-normalise", _P + "optimize.cond_normalise:CondNormalise"),
    ("optimise-prepare", _P + "optimize.stages:PrepareGroup"),
    ("prune", _P + "optimize.prune:Prune"),
    ("hccl-memcpy", _P + "optimize.hccl_memcpy:HcclMemcpy"),
    ("recompute", _P + "optimize.recompute:Recompute"),
    # original graph: fusion
    ("fuse-graph", _P + "optimize.fusion_graph:FuseGraph"),
    ("hccl-fuse", _P + "optimize.hccl_fuse:HcclFuse"),
    # types and storage formats of the engines
    ("transop-direct", _P + "optimize.transop_direct:TransOpDirect"),
    ("refine-running-format", _P + "optimize.format_refine:RefineRunningFormat"),
    # after formats are chosen (graph_manager.cc SubexpressionMigration, OptimizeSwitchOp)
    ("subexpression-migration", _P + "optimize.subexpression_migration:SubexpressionMigration"),
    ("unused-args", _P + "optimize.unused_args:UnusedArgs"),
    ("hccl-group", _P + "optimize.hccl_group:HcclGroup"),
    ("mark-references", _P + "optimize.references:MarkReferences"),
    # first stage (graph_manager.cc OptimizeStage1)
    ("merge-input-memcpy", _P + "optimize.merges_v1:MergeInputMemcpy"),
    ("switch-bypass", _P + "optimize.switches_v1:SwitchBypass"),
    ("constant-fuse-same", _P + "optimize.constant_fuse_same:ConstantFuseSame"),
    ("common-subexpression", _P + "optimize.common_subexpression:CommonSubexpression"),
    ("branch-data", _P + "optimize.branch_data:BranchData"),
    ("branch-subexpression", _P + "optimize.branch_data:BranchSubexpression"),
    ("permute-remove", _P + "optimize.format_permute:PermuteRemove"),
    ("same-transdata-breadth", _P + "optimize.same_transdata:SameTransDataBreadth"),
    ("variable-format", _P + "optimize.variables:VariableFormat"),
    ("transop-direct", _P + "optimize.transop_direct:TransOpDirect"),
    ("transop-breadth", _P + "optimize.transop_breadth:TransOpBreadth"),
    ("data-flow-prepare", _P + "optimize.unmodelled:DataFlowPreparePass"),
    ("merge-shape-n", _P + "optimize.shape_n:MergeShapeN"),
    ("switch-logic-remove", _P + "optimize.unmodelled:SwitchLogicRemovePass"),
    ("optimise-stage1", _P + "optimize.stages:Stage1Group"),
    ("subgraph-constants", _P + "optimize.subgraph_constants:SubgraphConstants"),
    ("unused-args", _P + "optimize.unused_args:UnusedArgs"),
    ("prune", _P + "optimize.prune:Prune"),
    ("next-iteration", _P + "optimize.loops_v1:NextIteration"),
    ("control-trigger", _P + "optimize.unmodelled:ControlTriggerPass"),
    ("merge-to-stream-merge", _P + "optimize.merges_v1:MergeToStreamMerge"),
    ("switch-to-stream-switch", _P + "optimize.switches_v1:SwitchToStreamSwitch"),
    ("branch-labels", _P + "optimize.branch_labels:BranchLabels"),
    ("multi-batch", _P + "optimize.unmodelled:MultiBatchPass"),
    ("subgraph-multi-dims", _P + "optimize.unmodelled:SubgraphMultiDimsPass"),
    ("iterator", _P + "optimize.unmodelled:IteratorOpPass"),
    ("variable-ref-control", _P + "optimize.unmodelled:VariableRefUselessControlOutDeletePass"),
    ("reshape-recovery", _P + "optimize.reshape_recovery:ReshapeRecovery"),
    ("remove-same-const", _P + "optimize.remove_same_const:RemoveSameConst"),
    ("hccl-memcpy", _P + "optimize.hccl_memcpy:HcclMemcpy"),
    ("hccl-sequence", _P + "optimize.hccl_tailing:HcclSequence"),
    ("global-step", _P + "optimize.unmodelled:GlobalStepInsertPass"),
    ("hccl-tailing", _P + "optimize.hccl_tailing:HcclTailing"),
    ("identity-remove", _P + "optimize.identity:IdentityRemove"),
    ("control-transfer", _P + "optimize.control_transfer:ControlTransfer"),
    # engine parts, then the second stage (graph_manager.cc OptimizeStage2)
    ("fuse-buffers", _P + "optimize.ub_fusion:FuseBuffers"),
    ("inner-identity-delete", _P + "optimize.inner_identity:InnerIdentityDelete"),
    ("link-gen-mask", _P + "optimize.unmodelled:LinkGenMaskNodesPass"),
    ("hccl-continuous-memcpy", _P + "optimize.hccl_continuous:HcclContinuousMemcpy"),
    ("optimise-stage2", _P + "optimize.stages:Stage2Group"),
    ("inline-calls", _P + "optimize.inline_calls:InlineCalls"),
    ("inplace-support", _P + "optimize.unmodelled:InplaceSupportCheckPass"),
    ("remove-isolated-const", _P + "optimize.remove_isolated_const:RemoveIsolatedConst"),
    ("flow-control", _P + "optimize.unmodelled:FlowCtrlPass"),
    ("multi-batch", _P + "optimize.unmodelled:MultiBatchPass"),
    ("ref-identity-delete", _P + "optimize.variables:RefIdentityDelete"),
    ("variable-ref-delete", _P + "optimize.variables:VariableRefDelete"),
    ("compile-nodes", _P + "optimize.unmodelled:CompileNodesPass"),
    ("swap-space", _P + "optimize.swap_space:SwapSpace"),
    ("mark-io", _P + "optimize.unmodelled:InputOutputConnectionIdentifyPass"),
    ("atomic-clean", _P + "optimize.atomic_clean:AtomicClean"),
    ("end-of-sequence", _P + "optimize.unmodelled:EndOfSequenceAddControlPass"),
    ("subgraph-memcpy", _P + "optimize.subgraph_memcpy:SubgraphMemcpy"),
    ("memcpy-addr-async", _P + "optimize.unmodelled:MemcpyAddrAsyncPass"),
    ("buffer-pool", _P + "optimize.unmodelled:BufferPoolMemoryPass"),
    ("hccl-chain", _P + "optimize.hccl_chain:HcclChain"),
    ("concat-no-task", _P + "optimize.concat_no_task:ConcatNoTask"),
    ("pack-no-task", _P + "optimize.pack_no_task:PackNoTask"),
    ("split-no-task", _P + "optimize.split_no_task:SplitNoTask"),
    ("tensor-move-delete", _P + "optimize.tensor_move_delete:TensorMoveDelete"),
    ("read-write-conflict", _P + "optimize.unmodelled:HandleMemoryRWConflict"),
    ("layout-conflict", _P + "optimize.unmodelled:HandleMemoryLayoutConflict"),
    ("ffts-plus", _P + "optimize.unmodelled:SetFftsPlusAttrPass"),
    # partition
    ("place-engines", _P + "partition.place_engines:PlaceEngines"),
    ("attach-stream-labels", _P + "partition.attach_stream_labels:AttachStreamLabels"),
    ("label-bodies", _P + "partition.label_bodies:LabelBodies"),
    ("user-stream-labels", _P + "partition.user_stream_labels:UserStreamLabels"),
    ("topological-sort", _P + "partition.topological_sort:TopologicalSort"),
    ("mark-cv-parallel", _P + "partition.mark_cv_parallel:MarkCvParallel"),
    ("second-partition", _P + "partition.second_partition:SecondPartition"),
    ("topological-sort", _P + "partition.topological_sort:TopologicalSort"),
    # streams: the chain runs per graph, root first (LogicalStreamAllocator::Assign)
    ("single-stream", _P + "streams.single_stream:SingleStream"),
    ("mde-group", _P + "streams.mde_group:MdeGroup"),
    ("assign-by-label", _P + "streams.assign_by_label:AssignByLabel"),
    ("independent-stream", _P + "streams.independent_stream:IndependentStream"),
    ("assign-by-dependency", _P + "streams.assign_by_dependency:AssignByDependency"),
    ("node-stream-update", _P + "streams.node_stream_update:NodeStreamUpdate"),
    ("parallel-group", _P + "streams.parallel_group:ParallelGroup"),
    ("all-reduce-parallel", _P + "streams.all_reduce_parallel:AllReduceParallel"),
    ("skipped-engine", _P + "streams.skipped_engine:SkippedEngine"),
    ("optimize-ineffective", _P + "streams.optimize_ineffective:OptimizeIneffective"),
    ("mini-dag", _P + "streams.mini_dag:MiniDag"),
    ("max-concurrency", _P + "streams.max_concurrency:MaxConcurrency"),
    ("list-schedule", _P + "streams.list_schedule:ListSchedule"),
    ("refresh-streams", _P + "streams.refresh_streams:RefreshStreams"),
    ("attach-streams", _P + "streams.attach_streams:AttachStreams"),
    # memory: GE plans it on logical streams, before any event exists
    ("plan-memory", _P + "memory.plan_memory:PlanMemory"),
    # events
    ("activate-by-label", _P + "sync.activate_by_label:ActivateByLabel"),
    ("activate-by-subgraph", _P + "sync.activate_by_subgraph:ActivateBySubgraph"),
    ("insert-events", _P + "sync.insert_events:InsertEvents"),
    ("optimize-by-send", _P + "sync.optimize_by_send:OptimizeBySend"),
    ("optimize-by-recv", _P + "sync.optimize_by_recv:OptimizeByRecv"),
    ("optimize-by-activation", _P + "sync.optimize_by_activation:OptimizeByActivation"),
    ("switch-clean-up", _P + "sync.switch_clean_up:SwitchCleanUp"),
    ("minimal-events", _P + "sync.minimal_events:MinimalEvents"),
    ("renumber-events", _P + "sync.renumber_events:RenumberEvents"),
    ("reuse-events", _P + "sync.reuse_events:ReuseEvents"),
    ("attached-events", _P + "sync.attached_events:AttachedEvents"),
    ("activate-by-switch", _P + "sync.activate_by_switch:ActivateBySwitch"),
    ("activate-loop", _P + "sync.activate_loop:ActivateLoop"),
    ("cover-netoutput", _P + "sync.cover_netoutput:CoverNetOutput"),
    ("generate-sync-nodes", _P + "sync.generate_sync_nodes:GenerateSyncNodes"),
    ("attached-resources", _P + "sync.attached_resources:AttachedResources"),
    # physical: how many tasks there are, and which streams are too long for the device
    ("count-tasks", _P + "physical.count_tasks:CountTasks"),
    ("assign-single-stream", _P + "physical.assign_single_stream:AssignSingleStream"),
    ("split-streams", _P + "physical.split_streams:SplitStreams"),
    ("update-activation", _P + "physical.update_activation:UpdateActivation"),
    ("generate-split-nodes", _P + "physical.generate_split_nodes:GenerateSplitNodes"),
    ("post-process-streams", _P + "physical.post_process:PostProcessStreams"),
)

_SINGLE: tuple[tuple[str, str], ...] = (
    # passes that run inside a group above, for experiments with one of them
    ("fold-constants", _P + "optimize.fold_constants:FoldConstants"),
    ("constant-folding", _P + "optimize.constant_folding:ConstantFolding"),
    ("dimension-compute", _P + "optimize.dimension_compute:DimensionCompute"),
    ("dimension-adjust", _P + "optimize.dimension_adjust:DimensionAdjust"),
    ("replace-with-empty-const", _P + "optimize.replace_with_empty:ReplaceWithEmptyConst"),
    ("cond-remove", _P + "optimize.cond_remove:CondRemove"),
    ("switch-dead-branch", _P + "optimize.switch_dead_branch:SwitchDeadBranch"),
    ("merge-remove", _P + "optimize.merge_remove:MergeRemove"),
    ("assert-remove", _P + "optimize.pass_through:AssertRemove"),
    ("dropout-remove", _P + "optimize.pass_through:DropoutRemove"),
    ("add-n-remove", _P + "optimize.pass_through:AddNRemove"),
    ("stop-gradient-remove", _P + "optimize.pass_through:StopGradientRemove"),
    ("prevent-gradient-remove", _P + "optimize.pass_through:PreventGradientRemove"),
    ("placeholder-with-default-remove", _P + "optimize.pass_through:PlaceholderWithDefaultRemove"),
    ("snapshot-remove", _P + "optimize.pass_through:SnapshotRemove"),
    ("guarantee-const-remove", _P + "optimize.pass_through:GuaranteeConstRemove"),
    ("unused-const", _P + "optimize.unused_const:UnusedConst"),
    ("no-use-reshape", _P + "optimize.no_use_reshape:NoUseReshape"),
    ("unchanged-transpose", _P + "optimize.unchanged_transpose:UnchangedTranspose"),
    ("cast-remove", _P + "optimize.cast_remove:CastRemove"),
    ("transpose-transdata", _P + "optimize.transpose_transdata:TransposeTransData"),
    ("reshape-remove", _P + "optimize.reshape_remove:ReshapeRemove"),
    ("transop-symmetry", _P + "optimize.transop_symmetry:TransOpSymmetry"),
    ("transop-allreduce", _P + "optimize.transop_allreduce:TransOpAllReduce"),
    ("useless-control-out", _P + "optimize.useless_control_out:UselessControlOut"),
    ("dim1-transpose", _P + "optimize.dim1_transpose:Dim1Transpose"),
    ("enter-const", _P + "optimize.loop_constants:EnterConst"),
    ("print-remove", _P + "optimize.loop_constants:PrintRemove"),
    ("variable-is-initialized", _P + "optimize.to_const:VariableIsInitialized"),
    ("parallel-concat-start", _P + "optimize.to_const:ParallelConcatStart"),
    ("split-shape-n", _P + "optimize.shape_n:SplitShapeN"),
    ("constant-clip", _P + "optimize.constant_clip:ConstantClip"),
    ("assign-remove", _P + "optimize.assign_remove:AssignRemove"),
)

_FRONT = STEPS[: [name for name, _ in STEPS].index("single-stream")]
_MINIMAL = next(step for step in STEPS if step[0] == "minimal-events")
_DYNAMIC = (
    *(step for step in _FRONT if step[0] != "label-bodies"),
    *(x for step in DYNAMIC_STEPS for x in ((_MINIMAL, step) if step[0] == "dynamic-renumber" else (step,))),
)

PASSES: Registry[type[Pass]] = Registry(
    "pass", {**dict(STEPS), **dict(DYNAMIC_STEPS), **dict(_SINGLE), "custom-stream": _P + "streams.custom_stream:CustomStream"},
    group="ge_explorer.passes",
)  # fmt: skip

MODES: Mapping[str, tuple[Text, Mapping[str, str]]] = MappingProxyType(
    {
        "default": (Text("GE's defaults", "GE 默认"), {}),
        "single": (Text("One stream", "单流"), {"ge.enableSingleStream": "true"}),
        "cv": (Text("Cube and vector side by side", "Cube/Vector 并行"), {"ge.autoMultistreamParallelMode": "cv"}),
        "LoadBalance:4": (
            Text("Automatic, balanced over 4 streams", "自动多流，4 条流负载均衡"),
            {"ge.autoMultistreamParallelMode": "LoadBalance:4"},
        ),
        "MainStream:4": (
            Text("Automatic, one main stream and up to 3 beside it", "自动多流，主流加最多 3 条"),
            {"ge.autoMultistreamParallelMode": "MainStream:4"},
        ),
        "list-schedule:4": (
            Text(
                "List scheduling over 4 streams (ours, by our cost model)",
                "表调度，至多 4 条流（我们的模式与代价模型，非 GE）",
            ),
            {"gx.streamMode": "list-schedule:4"},
        ),
        "dynamic": (
            Text("Unknown shapes: one stream an engine", "动态 shape：每个引擎一条流"),
            {"ENABLE_DYNAMIC_SHAPE_MULTI_STREAM": "1"},
        ),
    }
)
"""Named option sets offered in the explorer and by ``--mode``."""

MODE_KEYS = (
    "ge.enableSingleStream", "ge.autoMultistreamParallelMode", "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM", "gx.streamMode",
)  # fmt: skip
"""Options that choose the mode; setting a mode replaces all of them."""


@cache
def static() -> Pipeline:
    """The known-shape compile path (GraphBuilder::BuildForKnownShapeGraph)."""
    return Pipeline.of(PASSES.get(name)() for name, _ in STEPS)


@cache
def dynamic() -> Pipeline:
    """The compile path of a graph of unknown shape (GraphBuilder::BuildForUnknownShapeGraph)."""
    return Pipeline.of(PASSES.get(name)() for name, _ in _DYNAMIC)


def presets() -> dict[str, Pipeline]:
    """Preset name -> pipeline. A preset name may start a pipeline text: ``static,-optimize-ineffective``."""
    return {"static": static(), "dynamic": dynamic()}


def pipeline(text: str = "static", *, stream_passes: Sequence[StreamFunction] = ()) -> Pipeline:
    """Pipeline from its text form (see trace/pipeline.py).

    ``stream_passes`` are run where GE runs custom stream passes: after the automatic modes, before streams are renumbered.
    """
    found = parse_pipeline(text, PASSES.get, presets())
    if not stream_passes:
        return found
    names = [i.pass_.name for i in found]
    anchors = ("refresh-streams", "dynamic-refresh-by-node")
    at = next((names.index(a) for a in anchors if a in names), None)
    if at is None:
        raise OptionError("this pipeline assigns no streams, so custom stream passes have no place in it", got=text)
    own = [Item(custom_stream(f)) for f in stream_passes]
    return Pipeline.from_items((*found.items[:at], *own, *found.items[at:]))


def preset_for(graph: Graph, options: Mapping[str, str] | None = None) -> str:
    """``dynamic`` for a root graph of unknown shape, else ``static``. Gears make it static: every branch has fixed shapes."""
    gears = asks_for_gears(lambda k: (options or {}).get(k, ""))
    return "dynamic" if graph.root.dynamic and not gears else "static"


def mode_options(name: str) -> dict[str, str]:
    """Options of a named mode, or of any ``LoadBalance:N``, ``MainStream:N`` or ``list-schedule:N``; OptionError otherwise."""
    if name in MODES:
        return dict(MODES[name][1])
    if name.split(":")[0] in ("LoadBalance", "MainStream", "WeightedLoadBalance"):
        return {"ge.autoMultistreamParallelMode": name}
    if name.split(":")[0] == "list-schedule":
        return {"gx.streamMode": name}
    raise OptionError(f"no mode named {name!r}", todo=f"Known: {', '.join(MODES)}.")
