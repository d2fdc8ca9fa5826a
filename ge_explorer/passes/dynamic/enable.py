"""When the dynamic allocator runs: one environment variable and one option, kept as options under their literal keys.

Source: StreamUtils::EnableDynamicShapeMultiStream (compiler/graph/build/stream/stream_utils.cc),
DynamicStreamAllocator::GetAcParallelEnableConfig (compiler/graph/build/stream/dynamic_stream_allocator.cc).
"""

from __future__ import annotations

from ge_explorer.errors import PassFailed
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot

ENABLE = "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM"
"""Environment variable of GE; here an option of the same name."""
AC_PARALLEL = "ac_parallel_enable"

STATIC_ROOT = Text("the graph has known shapes", "该图形状已知")
STATIC_SCOPE = Text("this subgraph has known shapes: the static path compiles it", "该子图形状已知：由静态路径编译")
OFF = Text(
    f"multi-stream for dynamic shapes is off: set {ENABLE} to 1 to switch it on",
    f"动态形状多流未开启：将 {ENABLE} 设为 1 即可开启",
)


def multi_stream_enabled(value: str) -> bool:
    """True for exactly "1". No option of GE can switch it on, ``ge.autoMultistreamParallelMode`` neither."""
    return value == "1"


def ac_parallel(value: str) -> bool:
    """Reads ``ac_parallel_enable``: "" and "0" are off, "1" is on; PassFailed E10001 for anything else."""
    if value not in ("", "0", "1"):
        raise PassFailed(
            f"{AC_PARALLEL} has an illegal value", code="E10001", ge_status="PARAM_INVALID", where=f"option {AC_PARALLEL}",
            got=value, todo="Use 0 or 1, or leave it empty.",
        )  # fmt: skip
    return value == "1"


def off_reason(s: Snapshot, ctx: PassContext) -> Text | None:
    """Why no pass of the allocator runs; None when it does."""
    if not s.graph.root.dynamic:
        return STATIC_ROOT
    return None if multi_stream_enabled(ctx.option(ENABLE)) else OFF
