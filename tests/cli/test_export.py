"""``ge-explorer export -o FILE``: every form, and the ways to ask wrongly."""

import json
from pathlib import Path

import networkx
import pytest

from ge_explorer.cli import main
from ge_explorer.cli.export_command import FORMS
from ge_explorer.loaders import load


@pytest.mark.parametrize("ending", list(FORMS))
def test_every_form(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / f"x{ending}"
    assert main(["export", "moe_shared_expert", "-o", str(target)]) == 0
    assert capsys.readouterr().out.strip() == str(target)
    assert target.stat().st_size > 500


def test_files_we_read_back(tmp_path: Path) -> None:
    for ending in (".onnx", ".txt", ".json"):
        target = tmp_path / f"x{ending}"
        assert main(["export", "moe_shared_expert", "-o", str(target)]) == 0
        assert {n.name for n in load(target).graph} >= {"sh.gate_up", "Node_Output"}
    parts = json.loads((tmp_path / "x.json").read_text())["parts"]
    assert parts["plan"]["format"] == "ge_explorer.plan/1"


@pytest.mark.parametrize(
    "argv",
    [
        ["moe_shared_expert", "--strength", "C2", "--pipeline", "static,-optimize-by-recv"],
        ["fork_join", "--mode", "LoadBalance:4", "--chip", "Ascend310P3"],
    ],
)
def test_json_brings_its_settings(argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def report(*source: str) -> dict[str, object]:
        main(["trace", *source, "--json"])
        found = json.loads(capsys.readouterr().out)
        for step in found["steps"]:
            del step["seconds"]
        return dict(found)

    target = tmp_path / "x.json"
    assert main(["export", *argv, "-o", str(target)]) == 0
    capsys.readouterr()
    assert report(str(target)) == report(*argv)
    assert report(str(target), "--chip", "Ascend910B1")["chip"] == "Ascend910B1"


def test_damaged_settings_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "x.json"
    assert main(["export", "chain", "-o", str(target)]) == 0
    target.write_text(target.read_text().replace('"chip":"Ascend910B1"', '"chip":[1]'))
    assert main(["trace", str(target)]) == 2
    assert "parts.chip" in capsys.readouterr().err


def test_graphml_is_what_networkx_reads(tmp_path: Path) -> None:
    target = tmp_path / "x.graphml"
    assert main(["export", "moe_shared_expert", "-o", str(target)]) == 0
    g = networkx.read_graphml(target)
    assert g.nodes["sh.gate_up"]["op"] and "stream" in g.nodes["sh.gate_up"]


def test_a_step(tmp_path: Path) -> None:
    sizes = []
    for step in ("start", "refresh-streams", ""):
        target = tmp_path / "x.txt"
        assert main(["export", "moe_shared_expert", "-o", str(target), "--step", step]) == 0
        sizes.append(target.read_text().count("stream_id:"))
    assert sizes[0] == 0 < sizes[1]


def test_bad_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "chain", "-o", str(tmp_path / "x.xyz")]) == 2
    assert main(["export", "chain", "-o", str(tmp_path / "x.dot"), "--anonymise"]) == 2
    assert main(["export", "chain", "-o", str(tmp_path / "x.dot"), "--step", "nope"]) == 2
    assert main(["export", "chain", "-o", str(tmp_path / "x.html"), "--step", "start"]) == 2
    assert main(["export", "chain", "-o", str(tmp_path / "no" / "x.dot")]) == 2
    assert "cannot be written" in capsys.readouterr().err
