"""Profiling files as GE reads them: plain commas, exact column names, unreadable rows skipped, the last row wins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.errors import InputError
from ge_explorer.passes.streams.dag import profiling
from ge_explorer.passes.streams.dag.profiling import (
    Profile,
    ProfileRow,
    core_counts,
    parse_row,
    parse_text,
    read_profile,
)

HEADER = "Op Name,Task Type,Task Duration(us),Block Num,Mix Block Num\n"
ALL = range(5)


def one(*fields: str) -> ProfileRow | None:
    return parse_row(fields, ALL)


def test_columns_are_found_wherever_they_stand() -> None:
    text = "Task Type,Step,Op Name,Block Num,Task Duration(us),Mix Block Num\nMIX_AIV,1,a,8,150.5,3\n"
    assert parse_text(text).rows == {"a": ProfileRow("a", 150.5, 3, 8)}


def test_the_last_row_of_an_operator_wins_and_bad_rows_are_counted() -> None:
    text = HEADER + "a,AI_CORE,1,2,0\n\nb,AI_CORE,N/A,2,0\na,AI_VECTOR_CORE,3,4,0\nshort,AI_CORE\n"
    assert parse_text(text) == Profile({"a": ProfileRow("a", 3.0, 0, 4)}, unreadable=2)


def test_commas_split_even_inside_quotes() -> None:
    """GE does not know quotes: a quoted comma before a wanted column shifts the row."""
    text = 'Shapes,Op Name,Task Type,Task Duration(us),Block Num,Mix Block Num\n"1,2",a,AI_CORE,5,1,0\n'
    assert parse_text(text) == Profile({}, unreadable=1)


@pytest.mark.parametrize(
    ("kind", "want"),
    [("AI_CORE", (10, 0)), ("AI_VECTOR_CORE", (0, 10)), ("MIX_AIC", (10, 5)), ("MIX_AIV", (5, 10)), ("AI_CPU", (0, 0))],
)
def test_blocks_by_task_type(kind: str, want: tuple[int, int]) -> None:
    assert core_counts(kind, 10, 5) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("13.360\t", float(profiling.float32(13.36))),
        (" 5us", 5.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-2", -2.0),
        ("0", 0.0),
    ],
)
def test_durations_are_leading_numbers(text: str, want: float) -> None:
    row = one("a", "AI_CORE", text, "1", "0")
    assert row is not None
    assert row.time == want


@pytest.mark.parametrize("text", ["", "x", "N/A", "us5", "1e39", "1e-50", "nan", "inf", "--1", "٣"])
def test_durations_nobody_can_read(text: str) -> None:
    assert one("a", "AI_CORE", text, "1", "0") is None


@pytest.mark.parametrize(
    ("text", "want"), [("40.0", 40), ("-1", (1 << 32) - 1), (str((1 << 32) + 7), 7), ("x", None), (str(1 << 64), None)]
)
def test_block_numbers_wrap_like_unsigned_32_bit(text: str, want: int | None) -> None:
    row = one("a", "AI_CORE", "1", text, "0")
    assert (None if row is None else row.cube) == want


def test_names_match_in_full_then_after_the_last_slash() -> None:
    p = parse_text(HEADER + "conv,AI_CORE,1,1,0\nnet/conv,AI_CORE,2,1,0\n")
    assert [r.time if (r := p.find(n)) else None for n in ("net/conv", "other/conv", "conv", "x/", "x")] == [
        2.0, 1.0, 1.0, None, None,
    ]  # fmt: skip


def test_a_trailing_comma_makes_no_field() -> None:
    assert parse_row(["a", "AI_CORE", "1", "1", ""], ALL) is None, "an empty block number"
    assert parse_text(HEADER.replace("\n", ",\n") + "a,AI_CORE,1,1,0,\n").rows.keys() == {"a"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "is empty"),
        ("\n", "no column 'Op Name'"),
        ("Step Id,Name,Type\n", "op_summary"),
        ("Op Name,Task Type,Task Duration(us),Block Dim,Mix Block Num\n", "Older msprof"),
        ("Op Name,Task Type,Task Duration(us),Block Num,Mix Block Num\r\n", "carriage return"),
        ("\ufeffOp Name,Task Type,Task Duration(us),Block Num,Mix Block Num\n", "byte-order mark"),
    ],
)
def test_headers_ge_refuses_say_what_to_do(text: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        parse_text(text)


def test_only_regular_csv_files_of_a_bearable_size_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = tmp_path / "a.csv"
    good.write_bytes(HEADER.encode() + b"\xff\xfe,AI_CORE,1,1,0\nb,AI_CORE,1,1,0\n")
    assert "b" in read_profile(str(good)).rows
    fifo = tmp_path / "pipe.csv"
    os.mkfifo(fifo)
    for path, word in (
        (str(tmp_path / "a.txt"), "must end in .csv"),
        (str(tmp_path / "none.csv"), "No such file"),
        (str(fifo), "not a file"),
        ("x\0.csv", "cannot be read"),
    ):
        with pytest.raises(InputError, match=word):
            read_profile(path)
    folder = tmp_path / "dir.csv"
    folder.mkdir()
    with pytest.raises(InputError, match="not a file"):
        read_profile(str(folder))
    monkeypatch.setattr(profiling, "SIZE_LIMIT", 10)
    with pytest.raises(InputError, match="too large"):
        read_profile(str(good))


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for content in (text, HEADER + text):
        try:
            profile = parse_text(content)
        except InputError:
            continue
        assert all(row.time == row.time and row.cube >= 0 and row.vec >= 0 for row in profile.rows.values())
