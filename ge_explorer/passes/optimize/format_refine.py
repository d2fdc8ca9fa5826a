"""refine-running-format: storage formats for the cube unit, and the conversions between operators that disagree."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import PassFailed
from ge_explorer.passes.optimize.base import OptimizePass, run
from ge_explorer.passes.optimize.format_choice import Choices, choose_formats
from ge_explorer.passes.optimize.format_insert import Inserter
from ge_explorer.passes.optimize.format_precision import HALF, PRECISION, choose_types
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

HEAVY_FORMAT = "gx.heavyFormat"
"""Our option: "1" stores convolutions and constant matrices in the cube unit's formats (parts before 910B)."""
_ON, _OFF = ("1", "on", "true"), ("", "0", "off", "false")
_ASSUMED = "ours (assumed: the operator information files are not public)"
_FE = "compiler/engines/nn_engine/optimizer: trans node insertion"


@dataclass(frozen=True)
class RefineRunningFormat(OptimizePass):
    """Choose storage formats and element types, and insert TransData and Cast where the two ends of an edge differ.

    Rule: Conv2D reads and makes NC1HWC0, its filter is FRACTAL_Z; a constant right-hand matrix is FRACTAL_NZ; elementwise
    operators of four dimensions take over the format of a neighbour, however far the convolution is; everything else, Data and
    NetOutput stay plain. A tensor's shape becomes the stored one; ``origin_format`` and ``origin_shape`` keep what the
    user sees. Between two types the Cast is on the plain side, because C0 depends on the type. Conversions of a constant fold in
    stage 1. With ``force_fp16`` or ``allow_fp32_to_fp16``, float operators of the cube unit (the first mode: vector ones too)
    work in float16.

    GE source: stage RefineRunningFormat of the fusion engine. Which operator supports which format is in files that are not
    public, so the choice is assumed; names and shapes follow dumps and profiles. A Transpose is never needed here. Conversions
    take the stream label of the operator they are made for (assumed).
    Options: ``gx.heavyFormat`` (off: 910B, 950), ``ge.exec.precision_mode``.
    Example: ``Data -> Conv2D -> Relu -> Softmax`` gets a TransData before the Conv2D and one before the Softmax.
    """

    name: ClassVar[str] = "refine-running-format"
    title: ClassVar[Text] = Text("Storage format", "存储格式")
    summary: ClassVar[Text] = Text(
        "Chooses storage formats and inserts TransData and Cast.", "选择存储格式并插入 TransData 与 Cast。"
    )
    option_keys: ClassVar[frozenset[str]] = OptimizePass.option_keys | {HEAVY_FORMAT, PRECISION}
    source: ClassVar[str] = _FE
    level: ClassVar[int] = 0
    fidelity = "ours"
    rules = MappingProxyType(
        {
            "conv": Rule(
                Text(
                    "The cube unit reads features as NC1HWC0 and filters as FRACTAL_Z.",
                    "Cube 单元按 NC1HWC0 读取特征、按 FRACTAL_Z 读取卷积核。",
                ),
                _ASSUMED,
            ),
            "conv-kept": Rule(
                Text(
                    "Stays plain: it has not four dimensions with known channels of a cube type.",
                    "保持原格式：不是通道已知且类型受 Cube 支持的四维卷积。",
                ),
                _ASSUMED,
            ),
            "matmul-weight": Rule(
                Text("A constant matrix is stored in tiles, once, at compile time.", "常量矩阵在编译期按分块存储。"),
                _ASSUMED,
            ),
            "adopts": Rule(
                Text(
                    "Works element by element, so it takes the format of its neighbour.",
                    "逐元素计算，沿用相邻算子的格式。",
                ),
                _ASSUMED,
            ),
            "adopts-not": Rule(
                Text("Elementwise, but cannot take its neighbour's format.", "虽为逐元素算子，但不能沿用相邻格式。"),
                _ASSUMED,
            ),
            "cube-type": Rule(
                Text("The cube unit works in float16 in this mode.", "该模式下 Cube 使用 float16。"), PRECISION
            ),
            "vector-type": Rule(
                Text("force_fp16 takes vector operators to float16 as well.", "force_fp16 同样作用于向量算子。"),
                PRECISION,
            ),
            "differs": Rule(
                Text("Its producer stores another format than its reader wants.", "生产者的存储格式与读者需要的不同。"),
                _FE,
            ),
            "cast": Rule(
                Text("Its producer makes another type than its reader wants.", "生产者的类型与读者需要的不同。"), _FE
            ),
            "merged": Rule(
                Text("Several readers want the same, so one node serves them.", "多个读者需求相同，共用一个节点。"), _FE
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Also skipped when neither formats nor types are to change."""
        reason = super().skip_reason(s, ctx)
        if reason is None and not heavy(ctx) and ctx.option(PRECISION) not in HALF:
            return Text(
                f"this part stores tensors as they are ({HEAVY_FORMAT} is off)",
                f"该芯片按原格式存储（{HEAVY_FORMAT} 关闭）",
            )
        return reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Types, formats, conversions; every graph on its own, because borders of graphs are plain."""

        def body(w: Work) -> None:
            inserter = Inserter(w)
            for scope in w.e.scopes():
                choices = Choices()
                choose_types(w, scope, choices, ctx.option(PRECISION))
                if heavy(ctx):
                    choose_formats(w, scope, choices)
                inserter.scope(scope, choices)

        return run(s, ctx, body)


def heavy(ctx: PassContext) -> bool:
    """True if the option asks for the cube unit's formats."""
    value = ctx.option(HEAVY_FORMAT).lower()
    if value in _ON:
        return True
    if value in _OFF:
        return False
    raise PassFailed("no such value", where=HEAVY_FORMAT, got=value, todo='Use "1" or "0".')
