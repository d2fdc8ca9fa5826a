"""A dump compiled again: what the first compilation decided is no input of the second."""

from __future__ import annotations

from pathlib import Path

import ge_explorer as gx


def test_a_body_split_over_several_streams_compiles_again_from_its_dump(tmp_path: Path) -> None:
    b = gx.GraphBuilder("g")
    x, which = b.data("x", (4, 4)), b.data("which", (), "bool")
    holder = b.op("If", which, x, name="h", shape=(4, 4), dtype="float16")
    for name in ("then", "else"):
        with b.subgraph(holder, name) as inner:
            last = inner[-1]
            for k in range(20):
                last = b.op("Relu", last, name=f"r{k}")
            b.outputs(last)
    first = gx.compile(b.build(b.op("Abs", holder, name="after")), options={"gx.maxTasksPerStream": "34"})
    assert first.final.physical is not None
    assert any(first.final.physical.sync.active_streams.values())
    path = tmp_path / "dump.txt"
    path.write_text(gx.to_ge_text(first.final), encoding="utf-8")
    again = gx.compile(str(path))
    assert again.failed is None
