"""Level 1: operators in order; outputs and workspaces take a block from the pool of their stream or make a new one
(memory.md A6; block_mem_assigner.cc AssignMemoryWithReuse).

There is no best fit here: a pooled block is taken only if its size class is exactly the one asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ge_explorer.memory.ge import continuous as side
from ge_explorer.memory.ge.blocks import FOREVER, Block, Entry, Kind
from ge_explorer.memory.ge.cleaned import cleaned_workspace
from ge_explorer.memory.ge.context import Context, Strategy
from ge_explorer.memory.ge.decisions import SHOWN_REFUSALS, Action, Decision
from ge_explorer.memory.ge.reuse_flags import WORKSPACE_FLAGS, ReuseFlags
from ge_explorer.memory.ge.size_classes import BATCH_LABEL, class_of
from ge_explorer.memory.ge.statistics import Counters
from ge_explorer.memory.ge.symbols import HBM, Symbol
from ge_explorer.memory.ge.view import Anchor, Op, Source
from ge_explorer.memory.sizes import aligned

NO_REUSE_FLAG, CONVERGE = "no_reuse_mem_flag", "l2fusion_dynamic_converge_op"


@dataclass(slots=True)
class Group:
    """A padded group while its members are found: number of inputs and the blocks by input index."""

    op: Op
    count: int
    members: dict[int, Block] = field(default_factory=dict)


@dataclass(slots=True)
class Request:
    """What an output or workspace asks for. ``group`` marks a member of a padded group that is laid out after level 2."""

    op: Op
    kind: Kind
    index: int
    size: int
    payload: int
    memory_type: int
    begin: int
    flags: ReuseFlags
    symbol: Symbol | None = None
    off: bool = False
    group: bool = False
    zero_copy: bool = False
    edge: bool = False
    life_end: int = 0
    not_in_zero_copy: bool = False
    fresh: bool = False


class State:
    """All mutable things of one candidate while level 1 runs."""

    def __init__(self, ctx: Context, strategy: Strategy, classes: Sequence[int]) -> None:
        self.ctx, self.strategy, self.classes = ctx, strategy, classes
        self.blocks: list[Block] = []
        self.block_of: dict[Anchor, Block] = {}
        self.pool: dict[tuple[int, int], list[Block]] = {}
        self.parked: dict[tuple[int, int], list[Block]] = {}
        self.groups: dict[int, Group] = {}
        self.zero: list[Source] = []
        self.marks: list[Source] = []
        self.counters = Counters()
        self.decisions: list[Decision] = []
        self.sizes = {k: x.size for k, x in ctx.symbols.by_key.items()}
        self.now = 0
        forced = ctx.view.attrs.get("_mem_release_first_reuse_first")
        self.first_release = strategy.first_release if forced is None else bool(forced)

    def record(
        self, action: Action, r: Op, kind: str, index: int, block: int, why: str, pool: tuple[int, int] = (0, 0),
        other: int = -1, refused: Sequence[tuple[str, int]] = (),
    ) -> None:  # fmt: skip
        """Append a decision."""
        self.decisions.append(
            Decision(
                action, r.node, kind, index, block, why, pool, other, len(refused), tuple(refused[:SHOWN_REFUSALS])
            )
        )

    def block_size(self, size: int) -> int:
        """Size class of a request."""
        return class_of(size, self.classes) if self.strategy.use_range else aligned(size)

    def reusable_op(self, op: Op) -> bool:
        """False for operators named in OP_NO_REUSE_MEM, by name or type."""
        named = self.ctx.options.no_reuse_ops
        return op.name not in named and op.type not in named


def take_or_new(s: State, r: Request) -> Block:
    """A pooled block of exactly the size class, or a new one; the request becomes its last entry."""
    ctx, op = s.ctx, r.op
    output = r.kind is Kind.OUTPUT
    stream = ctx.ids.output(op, r.index) if output else ctx.ids.of[op.place]
    want = s.block_size(r.size)
    begin = 1 if not r.flags.pre or r.off else r.begin
    agree = not output or ctx.ids.branches_agree(op, r.index)
    merge = output and r.symbol is not None and r.symbol.key in ctx.differing_merge
    reuse = ctx.options.reuse and s.reusable_op(op) and not r.off and not op.attrs.get(CONVERGE)
    reuse = reuse and agree and not r.fresh
    label = str(op.attrs.get(BATCH_LABEL, ""))
    key = (r.memory_type, stream)
    refused: list[tuple[str, int]] = []
    block: Block | None = None
    if reuse and r.flags.pre and not r.group and not r.zero_copy and not merge:
        pool = s.pool.get(key, [])
        for x in pool if s.first_release else reversed(pool):
            why = _refusal(x, want, label, begin)
            if not why:
                block = x
                break
            refused.append((why, x.uid))
        if block is not None:
            pool.remove(block)
            s.record("take", op, r.kind.name.lower(), r.index, block.uid, "same-class", key, refused=refused)
        else:
            why = "no-offer-fits" if refused else "pool-empty"
    else:
        why = (
            "reuse-off" if not ctx.options.reuse else "no-reuse-here" if not reuse else
            r.flags.why or "no-pre-reuse" if not r.flags.pre else "group" if r.group else "model-io" if r.zero_copy else "merge"
        )  # fmt: skip
    if block is None:
        block = Block(len(s.blocks), want, stream, r.memory_type, label, reuse)
        s.blocks.append(block)
        s.record("new", op, r.kind.name.lower(), r.index, block.uid, why, key, refused=refused)
    if output:
        block.post = block.post and r.flags.post
        block.prior = r.flags.prior
    e = Entry(op, r.kind, r.index, begin, r.size, r.payload, differing_merge=merge)
    if r.life_end:
        if side.known(r.life_end):
            e.end = r.life_end
        e.symbol_end = r.life_end if r.flags.post else FOREVER
    block.append(e)
    block.same_stream = block.same_stream and not merge
    block.reusable = block.reusable and (block.post or r.flags.pre)
    block.batch, block.symbol = label, r.symbol
    block.zero_copy |= r.zero_copy
    block.continuous |= r.group
    block.first |= r.edge
    block.last |= r.edge
    block.shares_zero_copy = block.shares_zero_copy and not r.not_in_zero_copy
    if ctx.in_label(label) and op.type != "PartitionedCall" and (not block.reusable or r.flags.pre):
        s.counters[r.memory_type].add(r.size, block.reusable)
    return block


def _refusal(x: Block, want: int, label: str, begin: int) -> str:
    """Why a pooled block cannot be taken; "" when it can."""
    if x.size != want:
        return "size"
    if x.continuous:
        return "group"
    if x.zero_copy:
        return "model-io"
    if x.batch != label:
        return "batch"
    if x.prior:
        return "kept-for-level-2"
    if not x.reusable:
        return "not-reusable"
    if begin and begin <= x.end(x.stream):
        return "alive"
    return ""


def start_statistics(s: State) -> None:
    """Symbols that must be new but are given away later count as live from the start."""
    for symbol in s.ctx.symbols.by_key.values():
        flags = s.ctx.flags_of(symbol)
        if not flags.pre and flags.post:
            s.counters[symbol.memory_type].live += aligned(s.sizes[symbol.key])


def workspaces(s: State, op: Op) -> None:
    """One block per workspace with bytes."""
    session = op.attrs.get("_workspace_memory_no_reuse_scope", ())
    may = op.attrs.get("workspace_reuse_flag", ())
    for w, size in enumerate(op.workspaces):
        if not size or cleaned_workspace(op, w, s.ctx.options):
            continue
        memory_type, shared = workspace_type(op, w)
        if memory_type == 0:
            continue
        off = bool(op.attrs.get(NO_REUSE_FLAG)) or (w < len(may) and not may[w])
        kept = off or not shared or (w < len(session) and session[w] == 1)
        r = Request(op, Kind.WORKSPACE, w, size, size, memory_type, op.id, WORKSPACE_FLAGS, off=off or not shared)
        block = take_or_new(s, r)
        block.refcount += 1
        if not kept:
            s.parked.setdefault((memory_type, block.stream), []).append(block)


def workspace_type(op: Op, w: int) -> tuple[int, bool]:
    """(memory type, may be shared) of a workspace; type 0 for on-chip buffers that need no block."""
    session = op.attrs.get("_workspace_memory_no_reuse_scope", ())
    types = op.attrs.get("_workspace_type", ())
    chip = op.attrs.get("tvm_workspace_type", ())
    if w < len(chip) and chip[w] in (65536, 131072, "L1", "UB"):
        return 0, False
    if w < len(types) and types[w] in (17, "P2P_DDR"):
        return 17, not (w < len(session) and session[w] == 1)
    if w < len(session) and session[w] == 1:
        return 1 << 32 | HBM, True
    return HBM, True
