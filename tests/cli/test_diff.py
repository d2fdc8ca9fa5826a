"""``ge-explorer diff``: text, JSON and exit codes."""

import json
from pathlib import Path

import pytest

from ge_explorer.cli import main
from tests.loaders.ge_text import ge_proto, two_streams


@pytest.fixture
def dumps(tmp_path: Path) -> tuple[str, str]:
    after = two_streams()
    after["g"][4].stream = 0
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, graphs in zip(paths, (two_streams(), after), strict=True):
        path.write_bytes(ge_proto(graphs, {"stream_num": 2}))
    return str(paths[0]), str(paths[1])


def test_text(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *dumps]) == 0
    out = capsys.readouterr().out
    assert "~  stream  b 1 → 0" in out and "streams moved" in out
    assert main(["diff", dumps[0], dumps[0]]) == 0
    assert "equal, 9 nodes" in capsys.readouterr().out


def test_chinese(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *dumps, "--lang", "zh"]) == 0
    assert "流变化" in capsys.readouterr().out


def test_json_and_exit_code(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *dumps, "--json", "--exit-code"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["moved"] == [["b", 1, 0]] and not report["equal"]
    assert main(["diff", dumps[0], dumps[0], "--exit-code"]) == 0


def test_own(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", dumps[0], "--own", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["streams"]["compared"] == 4
    assert {n["name"] for n in report["streams"]["nodes"]} == {"a", "b", "c", "out"}
    assert report["offsets"]["compared"] == 2
    assert main(["diff", dumps[0], "--own"]) == 0
    assert "nodes on the same stream" in capsys.readouterr().out


def test_bad_use(dumps: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", dumps[0]]) == 2
    assert main(["diff", *dumps, "--own"]) == 2
    assert main(["diff", "fork_join", "--own"]) == 2
    assert "records no compilation" in capsys.readouterr().err
