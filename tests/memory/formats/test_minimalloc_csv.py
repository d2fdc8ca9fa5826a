"""minimalloc's CSV: what is read, what is refused and with which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from ge_explorer.errors import InputError
from ge_explorer.memory.bounds import serial_live
from ge_explorer.memory.formats.minimalloc_csv import is_minimalloc_csv, read, read_file, write
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.planner import plan_hb
from tests.memory.search.problems import exclude, interval_problems

HEAD = "id,lower,upper,size\n"


def test_upper_is_the_first_free_time() -> None:
    problem, given_ = read(HEAD + "a,0,3,4\nb,3,9,4\nc,2,4,1\n")
    assert given_ is None
    assert not exclude(problem, 0, 1)
    assert exclude(problem, 0, 2)
    assert exclude(problem, 1, 2)
    assert [b.name for b in problem.buffers] == ["a", "b", "c"]
    assert serial_live(problem).bytes == 5


def test_columns_in_any_order_with_offsets_spaces_and_a_mark_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("\ufeffSize, upper,lower,id,offset\r\n4,3,0, a,8\r\n\r\n5,4,1,b,0\r\n".encode())
    problem, offsets = read_file(path)
    assert offsets == (8, 0)
    assert [(b.name, b.size) for b in problem.buffers] == [("a", 4), ("b", 5)]
    assert is_minimalloc_csv(path)


def test_times_beyond_32_bits_keep_their_order() -> None:
    problem, _ = read(HEAD + f"a,0,{2**50},4\nb,{2**50},{2**51},4\nc,{2**40},{2**51},4\n")
    assert [exclude(problem, x, y) for x, y in ((0, 1), (0, 2), (1, 2))] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "column 'id' is missing"),
        ("id,lower,size\n", "column 'upper' is missing"),
        ("id,lower,upper,size,size\n", "given twice"),
        ("id,lower,upper,size,alignment\n", "unknown"),
        (HEAD + "a,0,3\n", "3 fields, not 4, at x.csv, line 2"),
        (HEAD + "a,0,x,4\n", "upper must be a whole number.*line 2"),
        (HEAD + "a,0,3,-4\n", "size must be a whole number"),
        (HEAD + "a,0,3,4.5\n", "size must be a whole number"),
        (HEAD + "a,0,3,1e3\n", "size must be a whole number"),
        (HEAD + f"a,0,3,{2**63}\n", "size must be a whole number"),
        (HEAD + f"a,0,{'9' * 5000},1\n", "upper must be a whole number"),
        (HEAD + f"a,0,3,{2**60 - 1}\nb,0,3,{2**60 - 1}\n", "64 bits"),
        (HEAD + "a,3,3,4\n", "upper must be greater"),
        (HEAD + "a,0,3,4\na,1,2,4\n", "line 3.*line 2 already"),
        (HEAD + '"a,0,3,4\n', "no CSV|fields"),
    ],
)
def test_bad_input_is_one_clear_error(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as e:
        read(text, "x.csv")
    assert "x.csv" in str(e.value)
    assert len(str(e.value)) < 400


def test_no_text_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    for name, words in (("x.csv", "not text"), ("y.csv", "cannot be read")):
        with pytest.raises(InputError, match=words):
            read_file(tmp_path / name)
    assert not is_minimalloc_csv(tmp_path / "y.csv")
    assert not is_minimalloc_csv(tmp_path / "x.csv")


@settings(max_examples=50, deadline=None)
@given(interval_problems(8))
def test_written_and_read_again(problem: MemoryProblem) -> None:
    plan = plan_hb(problem)
    again, offsets = read(write(problem, plan))
    assert offsets == plan.offsets
    assert [(b.name, b.size) for b in again.buffers] == [(b.name, b.size) for b in problem.buffers]
    assert again.before == problem.before
