"""Who owns a subgraph, where the dump does not say it: by names, and only when there is one answer."""

from __future__ import annotations

from ge_explorer.loaders.ge_records import ModelRecord, OpRecord

HOLDERS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "If", "_If", "StatelessIf", "Case", "StatelessCase", "While", "_While",
     "StatelessWhile", "For", "_For"}
)  # fmt: skip
"""Types that own subgraphs."""


def guess_owners(model: ModelRecord) -> None:
    """Fill ``OpRecord.subgraphs``: the holder whose name begins with the subgraph's name, or is the longest one that the
    subgraph's name begins with or holds. A subgraph with no or several such holders stays unattached.

    GE names a partition ``<subgraph>_PartitionedCall_<n>`` and a body after its owner.
    """
    holders = [op for g in model.graphs for op in g.ops if op.type.removeprefix("ge:") in HOLDERS]
    for g in model.graphs[1:]:
        members = {id(op) for op in g.ops}
        others = [op for op in holders if id(op) not in members]
        owner = _one([op for op in others if op.name.startswith(f"{g.name}_") or op.name == g.name])
        if owner is None:
            named = [op for op in others if g.name.startswith(op.name)] or [op for op in others if op.name in g.name]
            longest = max((len(op.name) for op in named), default=0)
            owner = _one([op for op in named if len(op.name) == longest])
        if owner is not None:
            owner.subgraphs.append(g.name)


def _one(found: list[OpRecord]) -> OpRecord | None:
    return found[0] if len(found) == 1 else None
