"""place-engines: which engine runs each node, and on which kind of core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.engines import GE_ENGINES, VECTOR_ENGINE
from ge_explorer.device.op_table import (
    AICORE,
    AICPU_ASCEND,
    AICPU_DTYPES,
    CORES,
    LOCAL,
    RTS,
    Core,
    OpPlace,
    place_of,
)
from ge_explorer.device.overrides import OPTION, read_overrides
from ge_explorer.errors import ContractError
from ge_explorer.graph.builder import GX_CORE, GX_ENGINE
from ge_explorer.graph.model import Graph, Node
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Placement, Snapshot

DUMP_ENGINE = "_lxfusion_engine_name"
"""GE's attribute of a node whose engine was chosen before (EnginePlacer keeps it)."""
DUMP_CORE = "_cube_vector_core_type"
"""GE's attribute with the core kind of a compiled kernel."""
_DUMP_CORES: Mapping[str, Core] = MappingProxyType(
    {"AiCore": "AIC", "AIC": "AIC", "VectorCore": "AIV", "AIV": "AIV", "MIX": "MIX", "MIX_AIC": "MIX", "MIX_AIV": "MIX"}
)
_CORE_OF_ENGINE: Mapping[str, Core] = MappingProxyType(
    {
        "DNN_HCCL": "HCCL",
        "DSAEngine": "DSA",
        "DNN_VM_AICPU": "AICPU",
        "DNN_VM_AICPU_ASCEND": "AICPU",
        "VectorEngine": "AIV",
    }
)
_ASSUMED = OpPlace(AICORE, "AIV", "unknown", "kernel")
_PLACER = "compiler/graph/partition/engine_place.cc: EnginePlacer::SelectEngine"


@dataclass(frozen=True)
class PlaceEngines(Pass):
    """Give every node its engine and core kind.

    Rule, first match wins:
    0. The user's table (``gx.placement``), by node name, then by operator type.
    1. The node says it itself: our ``_gx_engine`` and ``_gx_core``, or GE's ``_lxfusion_engine_name`` and
       ``_cube_vector_core_type`` in a dump.
    2. AI Core types whose tensors are double, complex or string go to the AI CPU.
    3. The table of operator types; a missing version of a known type counts as that type.
    4. Anything else is assumed to be vector work on the AI Core (a node that owns subgraphs: GE local), with a note.

    GE source: engine_place.cc (EnginePlacer::SelectEngine). Simplified: GE asks each kernel library whether it supports the
    node; those lists belong to the operator package and are not public.

    Example: ``MatMulV2`` -> AIcoreEngine, AIC; ``Reshape`` -> DNN_VM_GE_LOCAL, NONE; ``HcomAllReduce`` -> DNN_HCCL.
    """

    name: ClassVar[str] = "place-engines"
    title: ClassVar[Text] = Text("Engines", "引擎选择")
    summary: ClassVar[Text] = Text("Chooses engine and core kind of every node.", "为每个节点选择执行引擎与核类型。")
    chapter = "partition"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"placement"})
    ge_name: ClassVar[str] = "EnginePlacer"
    option_keys: ClassVar[frozenset[str]] = frozenset({OPTION})
    source: ClassVar[str] = _PLACER
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "user": Rule(Text("You set the engine or core kind of this node.", "由用户为此节点指定。"), "ours"),
            "user-table": Rule(
                Text("Your placement table names this node or its type.", "用户的放置表指定了此节点或其类型。"), "ours"
            ),
            "given": Rule(Text("The dump names the engine or core kind.", "由 dump 中的属性给出。"), _PLACER),
            "rts": Rule(
                Text("The runtime engine registers this type.", "此类型由运行时引擎（RTS）注册。"),
                "compiler/engines/rts_engine/ops_kernel_store/op/op_factory.cc",
            ),
            "ge-local": Rule(
                Text(
                    "GE handles this type itself, nothing runs on the device.", "此类型由 GE 本地处理，设备上不执行。"
                ),
                "compiler/engines/local_engine",
            ),
            "control-flow": Rule(
                Text("Control flow is GE local; its subgraphs run.", "控制流节点属 GE 本地，执行的是其子图。"),
                "compiler/engines/local_engine",
            ),
            "hccl": Rule(
                Text("A collective: the communication engine.", "集合通信算子，由通信引擎执行。"),
                "compiler/engines/hccl_engine: HCOM_SUPPORTED_OP_TYPE",
            ),
            "dsa": Rule(
                Text("The random-number unit registers this type.", "此类型由随机数单元（DSA）注册。"),
                "ops_kernel_dsa_task_builder.h",
            ),
            "dvpp": Rule(Text("A media operator.", "媒体处理算子。"), "dvpp_constexpr.h"),
            "kernel": Rule(
                Text("An AI Core kernel exists for this type.", "此类型有 AI Core 核函数。"),
                "operator repositories (default table)",
            ),
            "fused-kernel": Rule(
                Text(
                    "A fused AI Core kernel that uses cube and vector cores together.",
                    "同时使用 Cube 与 Vector 核的融合核函数。",
                ),
                "operator repositories (default table)",
            ),
            "no-kernel": Rule(
                Text("No AI Core kernel was found: AI CPU.", "未找到 AI Core 核函数，交给 AI CPU。"),
                "operator repositories (default table)",
            ),
            "no-mapping": Rule(
                Text(
                    "ONNX type without a GE operator; place chosen by us.",
                    "没有对应 GE 算子的 ONNX 类型，位置由本工具选定。",
                ),
                "ours",
            ),
            "dtype": Rule(
                Text(
                    "AI Core kernels do not take this element type: AI CPU.",
                    "AI Core 核函数不支持此数据类型，交给 AI CPU。",
                ),
                "operator repositories (default table)",
            ),
            "version": Rule(
                Text("Another version of a known type; placed like it.", "已知类型的另一版本，按其放置。"), "ours"
            ),
            "assumed": Rule(
                Text(
                    "Unknown type: assumed to be vector work on the AI Core.",
                    "未知类型：假设为 AI Core 上的 Vector 任务。",
                ),
                "ours",
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Placement of all nodes; one decision per node, one note for all unknown types."""
        g = s.graph
        engine, core, reason = [""] * g.id_bound, [""] * g.id_bound, [""] * g.id_bound
        unknown: dict[str, list[Ref]] = {}
        strange: list[Ref] = []
        table = read_overrides(ctx.option(OPTION))
        for n in g:
            e, c, why = self._place(g, n, strange)
            wanted = table.get(f"node:{n.name}") or table.get(n.op)
            if wanted is not None:
                e = wanted.engine or (e if e in (AICORE, VECTOR_ENGINE) or not _kernel(wanted.core) else AICORE)
                c, why = wanted.core or _core_for(e, c), "user-table"
            engine[n.id], core[n.id], reason[n.id] = e, c, why
            if why == "assumed":
                unknown.setdefault(n.op, []).append(Ref("node", n.id))
            ctx.decide(Ref("node", n.id), "engine", "", f"{e}/{c}", why)
        if unknown:
            ctx.report(_unknown(unknown))
        if strange:
            ctx.report(_strange(strange))
        return s.evolve(placement=Placement(tuple(engine), tuple(core), tuple(reason)))

    @staticmethod
    def _place(g: Graph, n: Node, strange: list[Ref]) -> tuple[str, str, str]:
        entry, used = place_of(n.op)
        why: str = "assumed" if entry is None else entry.reason if used == n.op else "version"
        place = entry or (OpPlace(LOCAL, "NONE", "control flow", "control-flow") if n.subgraphs else _ASSUMED)
        engine, core = place.engine, str(place.core)
        if engine == AICORE and _wide(g, n):
            engine, core, why = AICPU_ASCEND, "AICPU", "dtype"
        attrs = n.attrs
        if DUMP_ENGINE in attrs or DUMP_CORE in attrs:
            given = str(attrs.get(DUMP_ENGINE, engine))
            core = _DUMP_CORES.get(str(attrs.get(DUMP_CORE, "")), _core_for(given, core))
            engine, why = given, "given"
        if GX_ENGINE in attrs or GX_CORE in attrs:
            wanted, kind = attrs.get(GX_ENGINE, engine), attrs.get(GX_CORE)
            if not isinstance(wanted, str) or not wanted or (kind is not None and kind not in CORES):
                strange.append(Ref("node", n.id))
                return engine, core, why
            core = str(kind) if kind is not None else _core_for(wanted, core)
            engine, why = wanted, "user"
            if wanted not in GE_ENGINES:
                strange.append(Ref("node", n.id))
        return engine, core, why

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Every existing node has an engine and a known core kind."""
        p = after.placement
        for n in after.graph:
            if p is None or not p.engine[n.id] or p.core[n.id] not in CORES:
                raise ContractError("a node has no engine", where=n.name)


def _kernel(core: str) -> bool:
    """True for a core kind that only the AI Core engines have."""
    return core in ("AIC", "AIV", "MIX")


def _core_for(engine: str, core: str) -> str:
    """Core kind that fits a given engine; ``core`` is what the type would have had."""
    if engine in _CORE_OF_ENGINE:
        return _CORE_OF_ENGINE[engine]
    if engine in (LOCAL, RTS):
        return "NONE"
    return core if core in ("AIC", "AIV", "MIX") else "AIV"


def _wide(g: Graph, n: Node) -> bool:
    """True if a tensor of the node has an element type AI Core kernels do not take."""
    return any(t is not None and g.tensor(t).dtype in AICPU_DTYPES for t in (*n.inputs, *n.outputs))


def _unknown(types: Mapping[str, list[Ref]]) -> Issue:
    refs = tuple(r for row in types.values() for r in row)
    names = sorted(types)
    shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    return Issue(
        "GX320",
        "note",
        Text(
            "{n} nodes of unknown type ({t}) are assumed to run on vector cores of the AI Core.",
            "{n} 个未知类型（{t}）的节点假设在 AI Core 的 Vector 核上执行。",
        ).format(n=len(refs), t=shown),
        refs,
        Text("Set _gx_engine and _gx_core on them.", "可为其设置 _gx_engine 与 _gx_core。"),
    )


def _strange(refs: list[Ref]) -> Issue:
    return Issue(
        "GX321",
        "warning",
        Text(
            "{n} nodes ask for an engine or core kind that GE does not have.",
            "{n} 个节点指定了 GE 没有的引擎或核类型。",
        ).format(n=len(refs)),
        tuple(refs),
        Text(
            f"Engines: {', '.join(GE_ENGINES)}. Core kinds: {', '.join(CORES)}.",
            f"引擎：{'、'.join(GE_ENGINES)}。核类型：{'、'.join(CORES)}。",
        ),
    )
