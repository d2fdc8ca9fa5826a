"""Plans of GE logs: what one stream proves, what several leave open; our GE planner's plans written as log lines are accepted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.checks.memory_log import verify_log
from ge_explorer.cli import main
from ge_explorer.loaders.ge_recorded import BufferLine
from ge_explorer.memory.model import FOREVER
from tests.memory.ge.plans import Planned
from tests.memory.ge.test_properties import planned


def line(name: str, offset: int, begin: int, end: int, stream: int = 0, size: int = 512, **more: object) -> BufferLine:
    b = BufferLine("g", name, "Op", "output", 0, offset, stream, 2, size, size, size, begin, end, ((0, end),))
    return replace(b, **more)  # type: ignore[arg-type]


def codes(*lines: BufferLine) -> list[str]:
    return [i.code for i in verify_log(lines)]


def test_one_stream() -> None:
    assert codes(line("a", 0, 0, 1), line("b", 512, 1, 2), line("c", 0, 2, 3)) == []
    (issue,) = verify_log([line("a", 0, 0, 2, line=7), line("b", 512, 1, 2), line("c", 0, 2, 3, line=9)])
    assert issue.code == "GX201"
    assert "a and c share bytes 0..512 on stream 0" in issue.message.en
    assert "in use to 2 and the second from 2 (lines 7 and 9)" in issue.message.en
    assert codes(line("a", 0, 0, FOREVER), line("c", 0, 5, 6)) == ["GX201"]


def test_several_streams_are_left_open() -> None:
    """Part D 7: by ids X may take A's bytes, and nothing in a log says whether B is done before X."""
    (issue,) = verify_log([line("A", 0, 0, 1), line("X", 0, 2, 3, stream=1)])
    assert (issue.code, issue.severity) == ("GX208", "note")
    assert "does not say what orders them" in issue.message.en


def test_what_shares_by_design() -> None:
    a = line("a", 0, 0, 9)
    assert codes(a, line("r", 0, 3, 9, is_ref=True)) == []
    assert codes(a, line("p", 0, 3, 9, op="PartitionedCall")) == []
    assert codes(line("a", 0, 0, 9, batch="B0"), line("b", 0, 0, 9, batch="B1")) == []
    assert codes(line("a", 0, 0, 9, batch="B0"), line("b", 0, 0, 9)) == ["GX201"]
    assert codes(a, line("b", 0, 0, 9, memory_type=17)) == []
    assert codes(a, line("b", 0, 0, 9, graph="h")) == []
    assert codes(line("a", 0, 0, 9, size=1024, real_size=400), line("b", 512, 0, 9)) == [], (
        "the rest of a block is free"
    )


def lines_of(p: Planned) -> list[BufferLine]:
    out = []
    for b, m in p.members:
        if b.memory_type != 2:
            continue
        ends = (*(e for _, e in m.foreign), m.end)
        out.append(
            BufferLine(
                "g", m.name, "Op", "workspace" if m.kind == "ws" else "output", m.index, b.head, b.stream, 2, b.size, m.real,
                m.payload, m.begin, m.end, tuple(enumerate(ends)), is_ref=m.ref, batch=b.batch, line=len(out) + 1,
            )
        )  # fmt: skip
    return out


@settings(max_examples=60, deadline=None, derandomize=True)
@given(planned(references=True))
def test_ge_plans_as_lines_are_accepted(p: Planned) -> None:
    assert [i.message.en for i in verify_log(lines_of(p)) if i.severity == "error"] == []


@settings(max_examples=60, deadline=None, derandomize=True)
@given(planned(), st.data())
def test_a_moved_line_is_caught(p: Planned, data: st.DataObject) -> None:
    lines = lines_of(p)
    x, y = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    a, b = lines[x], lines[y]
    if x == y or a.stream != b.stream or not a.begin <= b.begin <= a.end:
        return
    lines[y] = replace(b, offset=a.offset)
    found = [i.message.en for i in verify_log(lines) if i.code == "GX201"]
    assert any(f"lines {a.line} and {b.line})" in m or f"lines {b.line} and {a.line})" in m for m in found)


LOG = (
    "[IMAS]Set g_1 name[{n}] optype[Add] output[0] offset to [{o}] streamid[0] memtype[2] size[512] realsize[100] noalignsize[100] "
    "life time begin[{b}] life time end[{e}] child[0:1:0:0:1] isref[0] batch[], block_type[data ]\n"
)


@pytest.mark.parametrize(("begin", "code"), [(2, 0), (1, 1)])
def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], begin: int, code: int) -> None:
    f = tmp_path / "build.log"
    f.write_text(LOG.format(n="a", o=0, b=0, e=1) + LOG.format(n="b", o=0, b=begin, e=3))
    assert main(["check", str(f)]) == code
    shown = capsys.readouterr().out
    assert ("share bytes 0..512" in shown) == bool(code)
    assert ("2 memory lines" in shown) == (not code)
    assert main(["check", str(f), "--json"]) == code
