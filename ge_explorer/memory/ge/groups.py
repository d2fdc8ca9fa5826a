"""Padded groups after level 2: their blocks leave the list and are put at its end side by side (memory.md A13)."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.memory.ge.blocks import Block
from ge_explorer.memory.ge.level1 import State
from ge_explorer.memory.ge.libstdcxx import hash_map_order


def line_up_groups(s: State, blocks: Sequence[Block]) -> list[Block]:
    """Final block list; groups come in the order of GE's hash map over their ids, members in input order."""
    by_id = {g.op.id: g for g in s.groups.values()}
    out = list(blocks)
    for key in hash_map_order(list(by_id)):
        g = by_id[key]
        members = [g.members[i] for i in sorted(g.members)]
        if len({b.uid for b in members}) != g.count:
            continue
        gone = {b.uid for b in members}
        out = [b for b in out if not b.nested and b.uid not in gone] + members
        members[0].first = members[-1].last = True
    return out
