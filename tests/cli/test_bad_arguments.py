"""Wrong arguments and files: exit code 2, one clear sentence on standard error, no traceback, no control characters."""

from __future__ import annotations

from pathlib import Path

import pytest

from ge_explorer.cli import main

FILES = {
    "empty": b"", "page.html": b"<!doctype html><p>", "archive.zip": b"PK\x03\x04rest", "packed.gz": b"\x1f\x8b\x08",
    "text": b"hello\n", "p.pkl": b"\x80\x04\x95", "m.om": b"IMOD" + bytes(60), "cut.onnx": b"\x08\x08\x3a\xff\x01",
    "dump.txt": b'graph { name: "g" op { name: ',
    "own.json": b'{"format": "ge_explorer.graph/1"', "zeros": bytes(64),
}  # fmt: skip
ARGUMENTS = [
    *(["load", name] for name in FILES),
    ["load", ""], ["load", "nothing.onnx"], ["load", "fork_jon"], ["load", "a" * 3000], ["load", "."], ["load", "x\x1b[31m"],
    ["load", "/dev/null"],
    ["trace", "fork_join", "--mode", "nomode"], ["trace", "fork_join", "--chip", "nochip"], ["trace", "fork_join", "--option", "x"],
    ["trace", "fork_join", "--dim", "batch=x"], ["trace", "fork_join", "--input-shape", "x:1,a"],
    ["trace", "fork_join", "--pipeline", "static,-nopass"], ["trace", "text"],
    ["check", "p.pkl"], ["check", "zeros"],
    ["export", "fork_join", "-o", "/nowhere/x.html"], ["export", "fork_join", "-o", "x.pdf"],
    ["export", "fork_join", "-o", "x.dot", "--step", "nostep"], ["export", "fork_join", "-o", "x.html", "--step", "start"],
    ["export", "dump.txt", "-o", "x.html"],
    ["diff", "fork_join"], ["diff", "fork_join", "nothing.onnx"], ["diff", "page.html", "fork_join"],
    ["memory", "empty"], ["memory", "page.html"],
]  # fmt: skip
USAGE = [
    [], ["nonsense"], ["load"], ["load", "a", "b"], ["trace", "fork_join", "--bogus"], ["export", "fork_join"],
    ["list", "nonsense"],
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("argv", ARGUMENTS, ids=lambda a: " ".join(a)[:40])
def test_one_sentence(argv: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(argv)
    out, err = capsys.readouterr()
    assert code == 2 and out == ""
    assert err.startswith("ge-explorer: ") and err.count("\n") == 1 and len(err) < 1500
    assert "Traceback" not in err and err[:-1].isprintable()


@pytest.mark.parametrize("argv", USAGE, ids=lambda a: " ".join(a))
def test_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(argv)
    except SystemExit as e:  # argparse leaves this way
        code = int(e.code or 0)
    out, err = capsys.readouterr()
    assert code == 2 and "usage: ge-explorer" in out + err and "Traceback" not in err


def test_an_option_nobody_reads_is_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "fork_join", "--option", "ge.topoSortingMod=1"]) == 0
    assert "Did you mean 'ge.topoSortingMode'?" in capsys.readouterr().err


def test_formats_are_those_of_the_loaders(capsys: pytest.CaptureFixture[str]) -> None:
    from ge_explorer.cli.list_command import FORMATS
    from ge_explorer.loaders import LOADERS

    assert main(["list", "formats"]) == 0
    assert set(FORMATS) >= set(LOADERS.names())
    assert "never executed" in capsys.readouterr().out
