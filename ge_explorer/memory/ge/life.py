"""When a buffer ends, if readers are on other streams (memory.md A8.3; ReleaseMemory, GetNodeMaxLifeBySymbol)."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.memory.ge.blocks import FOREVER, UNSET, Block, Entry
from ge_explorer.memory.ge.stream_edges import StreamEdges
from ge_explorer.memory.ge.symbols import Symbols
from ge_explorer.memory.ge.view import Anchor, View


@dataclass(frozen=True, slots=True)
class Life:
    """``out``: id of the last reader; ``back``: first task of the own stream that is surely later, FOREVER if none is known."""

    back: int
    out: int
    streams: frozenset[int]


def life_of(
    view: View, symbols: Symbols, edges: StreamEdges, stream: tuple[int, ...], made: Anchor, own: int, out: int
) -> Life:
    """Life of output ``made`` as stream ``own`` sees it, over all readers of its symbol, at least up to ``out``.

    The symbol is looked up by the output that opened it: an output absorbed by another symbol has no readers here (as in GE).
    """
    back = view.ops[made.op].id
    found = symbols.by_key.get(made)
    streams: set[int] = set()
    for a in found.anchors if found is not None else ():
        if a.out:
            continue
        r = view.ops[a.op]
        if not r.local:
            streams.add(stream[r.place])
        out = max(out, r.id)
        back = max(back, out)
        if stream[r.place] != own:
            after = edges.first_after(stream[r.place], own, r.id)
            back = max(back, FOREVER if after is None else after)
    return Life(back, out, frozenset(streams))


def settle(block: Block, releasing: int) -> None:
    """Set the end of the last buffer from its collected (last use, return) pairs; ``releasing``: stream of the last reader."""
    last = block.tail_entry
    if len(last.pairs) == 1:
        ((s, (out, back)),) = last.pairs.items()
        if s == block.stream or back != FOREVER:
            last.raise_end(back)
        else:
            last.foreign[releasing] = max(out, last.foreign.get(releasing, 0))
            if last.end == UNSET:
                last.end = FOREVER
        if block.prior and block.stream != releasing:
            last.foreign[releasing] = max(out, last.foreign.get(releasing, 0))
    elif last.pairs:
        end = max(back for _, back in last.pairs.values())
        last.raise_end(end)
        if end == FOREVER:
            block.same_stream = False


def collect(last: Entry, releasing: int, out: int, back: int) -> None:
    """Remember what one release says."""
    known = last.pairs.get(releasing)
    if known is None:
        last.pairs[releasing] = (out, back)
        last.out_count = max(last.out_count, len(last.pairs))
    else:
        last.pairs[releasing] = (max(known[0], out), max(known[1], back))
