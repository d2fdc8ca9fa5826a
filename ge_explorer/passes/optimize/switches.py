"""Which passes run: GE's optimisation levels and the three options that switch single passes."""

from __future__ import annotations

from ge_explorer.errors import PassFailed
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext

LEVEL = "ge.oo.level"
FOLDING = "ge.oo.constantFolding"
DEAD_CODE = "ge.oo.deadCodeElimination"
SWITCH = "ge.optimizationSwitch"
DISABLE = "ge.disableOptimizations"
KEYS = frozenset({LEVEL, FOLDING, DEAD_CODE, SWITCH, DISABLE})

_MAY_DISABLE = frozenset({"RemoveSameConstPass", "ConstantFoldingPass", "TransOpWithoutReshapeFusionPass"})


def level_of(ctx: PassContext) -> int:
    """1 or 3. GE accepts O1 and O3 only (E10001 otherwise); O3 is the default."""
    value = ctx.option(LEVEL)
    if value in ("", "O3"):
        return 3
    if value == "O1":
        return 1
    raise PassFailed(
        "no such optimisation level",
        code="E10001",
        ge_status="PARAM_INVALID",
        where=LEVEL,
        got=value,
        todo="Use O1 or O3.",
    )


def off_reason(ctx: PassContext, ge_name: str, level: int, bound: str = "") -> Text | None:
    """Why a pass does not run, None if it does.

    ``level`` is the lowest level it is registered for, ``bound`` the option GE ties it to (constant folding or dead code).
    Order of GE's look-up: ge.disableOptimizations, ge.optimizationSwitch, the bound option, the level.

    Source: pass_utils.cc IsOptimizationDisabled, base/common/option_register.cc.
    """
    # GE trims the whole text, not each name: the second name of "A, B" is " B" and matches nothing
    disabled = ctx.option(DISABLE).strip().split(",")
    if ge_name in _MAY_DISABLE and ge_name in disabled:
        return Text(f"off by {DISABLE}", f"被 {DISABLE} 关闭")
    single = _switch(ctx.option(SWITCH)).get(ge_name)
    if single is not None:
        return None if single else Text(f"off by {SWITCH}", f"被 {SWITCH} 关闭")
    if bound and ctx.option(bound) == "false":
        return Text(f"off by {bound}", f"被 {bound} 关闭")
    if level > level_of(ctx):
        return Text(f"runs at level O{level} only ({LEVEL} is O1)", f"仅在 O{level} 级运行（{LEVEL} 为 O1）")
    return None


def _switch(text: str) -> dict[str, bool]:
    """``Pass:on;Pass2:off``; what cannot be read is ignored (GE warns). Option keys are refused, so they are ignored too."""
    out = {}
    for item in text.split(";"):
        name, colon, value = item.partition(":")
        if colon and value.strip() in ("on", "off") and not name.strip().startswith("ge."):
            out[name.strip()] = value.strip() == "on"
    return out
