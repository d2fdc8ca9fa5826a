"""The README's code blocks run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.M | re.S)


CONSOLE = [line[2:] for b in blocks("console") for line in b.splitlines() if line.startswith("$ ")]


def test_python_blocks_run_in_order(tmp_path: Path) -> None:
    code = "\n".join(blocks("python"))
    assert "gx.compile" in code
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120, capture_output=True)


@pytest.mark.parametrize("line", CONSOLE)
def test_console_lines_run(line: str, tmp_path: Path) -> None:
    program, *argv = shlex.split(line)
    assert program == "ge-explorer"
    done = subprocess.run(
        [sys.executable, "-m", "ge_explorer", *argv], cwd=tmp_path, timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_shell_blocks_are_the_ones_ci_and_people_use() -> None:
    shell = "\n".join(blocks("bash"))
    assert "pip install . && ge-explorer lab" in shell
    assert "python -m pytest" in shell


def test_linked_files_and_named_folders_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / target).exists(), target
    for row in re.findall(r"^\| (`[^|]+) \|", TEXT, re.M):
        for name in re.findall(r"`([\w./]+)`", row):
            assert (ROOT / "ge_explorer" / name).exists(), name
