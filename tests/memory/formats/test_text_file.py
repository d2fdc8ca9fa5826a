"""Text files: bounded, UTF-8, and never a pipe that could keep the reader waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ge_explorer.errors import InputError
from ge_explorer.memory.formats.minimalloc_csv import read_file
from ge_explorer.memory.formats.text_file import read_text


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfid,lower")
    assert read_text(tmp_path / "a.csv", 100, "CSV") == "id,lower"


@pytest.mark.parametrize(
    ("content", "says"), [(b"x" * 101, "too large"), (b"\xff\xfe\x00", "not text"), (None, "cannot be read")]
)
def test_unusable_files_are_refused_with_their_path(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "a.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=says) as raised:
        read_text(path, 100, "CSV")
    assert str(path) in str(raised.value)


@pytest.mark.timeout(20)
def test_a_named_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="not a regular file"):
        read_file(tmp_path / "pipe.csv")
