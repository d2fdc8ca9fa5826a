"""Outputs that are written over an input (memory.md A11; mem_inplace.cc ProcessInplace, graph_utils.cc).

GE also refuses pairs that its layout checker objects to and undoes all pairs when control-flow graphs conflict; those two checks
are not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import SOURCE_LIKE
from ge_explorer.memory.aliases import INPLACE_ABILITY
from ge_explorer.memory.ge.symbols import Symbols
from ge_explorer.memory.ge.view import Anchor, Op, Source, View

Pair = tuple[Source, int]
"""(output, index of the input it takes over)."""


def find_inplace(view: View, symbols: Symbols) -> tuple[Pair, ...]:
    """Pairs that pass all checks, examined against the unmerged symbols. PassFailed when a pair names what does not exist."""
    out: list[Pair] = []
    for op in view.ops:
        pairs = op.attrs.get(INPLACE_ABILITY, ())
        if not pairs or op.attrs.get("continuous_output") or op.attrs.get("_no_padding_continuous_output"):
            continue
        used: set[int] = set()
        wanted: dict[int, list[int]] = {}
        for o, i in pairs:
            if not 0 <= o < len(op.outputs) or not 0 <= i < len(op.inputs) or op.inputs[i] is None:
                raise PassFailed(
                    "an in-place pair names an output or input that is not there", where=op.name, got=[o, i],
                    todo=f"Correct {INPLACE_ABILITY}.",
                )  # fmt: skip
            wanted.setdefault(o, []).append(i)
        for o in sorted(wanted):
            for i in wanted[o]:
                if i not in used and _allowed(view, symbols, op, o, i):
                    used.add(i)
                    out.append((Source(op.place, o), i))
                    break
    return tuple(out)


def _allowed(view: View, symbols: Symbols, op: Op, o: int, i: int) -> bool:
    source = op.inputs[i]
    if source is None:
        return False
    producer = view.ops[source.op]
    readers = [view.ops[r.op] for x in producer.outputs for r in x.readers]
    streams = {x.stream for x in (producer, *readers)} - {-1}
    mine, theirs = symbols.of[Anchor(op.place, o, True)], symbols.output(source)
    return (
        op.id == max(r.id for r in readers)
        and len(streams) <= 1
        and not any(r.attrs.get("reference") for r in readers)
        and view.out(source).payload == op.outputs[o].payload
        and not any(view.ops[a.op].type in SOURCE_LIKE and not view.ops[a.op].body_input for a in theirs.outputs)
        and "ref_var_src_var_name" not in op.outputs[o].attrs
        and mine is not theirs
    )


def apply_inplace(view: View, symbols: Symbols, pairs: Sequence[Pair]) -> View:
    """Merge the symbols of the pairs and declare the references; returns the view with them."""
    ops = list(view.ops)
    for made, i in pairs:
        source = view.ops[made.op].inputs[i]
        mine = symbols.output(made)
        if source is None or symbols.output(source) is mine:
            continue
        symbols.merge(symbols.output(source), mine)
        op = ops[made.op]
        outputs = tuple(replace(x, refers=i) if k == made.index else x for k, x in enumerate(op.outputs))
        ops[made.op] = replace(op, outputs=outputs)
    return replace(view, ops=tuple(ops))
