"""May a symbol take over bytes, may it give them away? (memory.md A7; block_mem_assigner.cc InitReuseFlag)"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ge_explorer.memory.ge.options import GeOptions
from ge_explorer.memory.ge.stream_ids import PRIOR_HOPS, StreamIds, detour
from ge_explorer.memory.ge.symbols import Symbol
from ge_explorer.memory.ge.view import Op, View

NO_PRE = frozenset(
    {
        "Data", "AippData", "AnnData", "QueueData", "RefData", "Proposal", "Const", "Constant", "ConstantOp", "GetNext",
        "DropOutGenMask", "AdpGetNext", "DynamicGetNext",
    }
)  # fmt: skip
NO_POST = frozenset(
    {
        "Data", "AippData", "QueueData", "RefData", "Enter", "RefEnter", "NextIteration", "RefNextIteration", "GetNext",
        "AdpGetNext", "DynamicGetNext", "DropOutGenMask",
    }
)  # fmt: skip
_VERSION = re.compile(r"V[1-4]$")


@dataclass(frozen=True, slots=True)
class ReuseFlags:
    """``pre``: may take somebody's bytes; ``post``: may be given away; ``prior``: kept for level 2 (a detour of two or more)."""

    pre: bool = True
    post: bool = True
    prior: bool = False
    why: str = ""


WORKSPACE_FLAGS = ReuseFlags()


def reuse_flags(view: View, symbol: Symbol, ids: StreamIds, options: GeOptions) -> ReuseFlags:
    """Flags of a symbol: its output anchors in list order, AND-ed, until both say no."""
    pre = post = True
    prior = False
    why = ""
    body_data = any(view.ops[a.op].body_input for a in symbol.anchors)
    for a in symbol.outputs:
        op = view.ops[a.op]
        if op.body_input:
            continue
        hops, back = detour(view, op, ids.of)
        prior = back is not None and len(hops) >= PRIOR_HOPS
        p, q, reason = _one(view, op, a.index, options, body_data)
        pre, post, why = pre and p, post and q, why or reason
        if not pre and not post:
            break
    return ReuseFlags(pre, post, prior, why)


def _one(view: View, op: Op, o: int, options: GeOptions, body_data: bool) -> tuple[bool, bool, str]:
    pre = post = True
    why = ""
    is_input = op.root_input
    if is_input:
        pre, post, why = False, view.input_index(op) in options.inputs, "graph-input"
    result = next((r for r in op.outputs[o].readers if view.ops[r.op].root_output), None)
    if result is not None:
        pre, post, why = pre and result.index in options.outputs, False, why or "graph-output"
    kind = _VERSION.sub("", op.type)
    if kind in NO_PRE and result is None:
        pre, why = False, why or "type"
    if kind in NO_POST and not is_input:
        post, why = False, why or "type"
    if op.attrs.get("_original_type", op.attrs.get("original_type", "")) == "IteratorV2" and op.type == "FunctionOp":
        pre, post, why = False, False, why or "type"
    if op.attrs.get("reference") and body_data:
        pre, why = False, why or "reference-of-body-input"
    if keeps_output(view, op):
        post, why = False, why or "resource"
    return pre, post, why


def keeps_output(view: View, op: Op) -> bool:
    """True when an input or output is a resource or variant (IsNoReleaseNodeOutBlock)."""
    types = [x.dtype for x in op.outputs] + [view.out(s).dtype for s in op.inputs if s is not None]
    return any(t in ("resource", "variant") for t in types)
