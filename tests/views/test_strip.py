"""Pass strip: badges are exact counts, folding knows what changed nothing, failures say why and offer repairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ge_explorer
from ge_explorer.views.palette import SWATCHES, identify
from ge_explorer.views.strip import blocking, strip_model
from tests.views import small_trace


def chips(model: dict) -> dict[str, dict]:
    return {s["key"]: s for c in model["chapters"] for s in c["steps"]}


def test_chips_in_chapters_with_counts() -> None:
    t = small_trace.trace()
    model = strip_model(t, identify(t))
    assert [c["key"] for c in model["chapters"]] == ["partition", "streams", "memory", "events"]
    got = {k: (s["status"], s["badge"]["en"]) for k, s in chips(model).items()}
    assert got == {
        "place": ("changed", "8 placed"),
        "nothing": ("unchanged", "no change"),
        "not-needed": ("skipped", "not needed"),
        "assign": ("changed", "7 on 2 streams"),
        "plan": ("changed", "7.00 MiB"),
        "insert": ("changed", "+3 events"),
        "optimise": ("changed", "−1 event"),
    }
    assert model["quiet"] == [1, 2]
    assert model["failed"] is None
    json.dumps(model)


@pytest.mark.parametrize("key", ["insert", "optimise"])
def test_counts_match_the_diff_of_the_step(key: str) -> None:
    t = small_trace.trace()
    i = t.step(key).index
    d = t.diff(i - 1, i)
    n = len(d.events_added) - len(d.events_removed)
    assert chips(strip_model(t))[key]["badge"]["zh"].startswith(("−" if n < 0 else "+") + str(abs(n)))


def test_every_chip_speaks_chinese() -> None:
    for s in chips(strip_model(small_trace.trace())).values():
        assert any("\u4e00" <= c <= "\u9fff" for c in s["title"]["zh"])
        assert any("\u4e00" <= c <= "\u9fff" for c in s["badge"]["zh"]) or "MiB" in s["badge"]["zh"]


def test_pass_off_names_the_failure_and_its_repair() -> None:
    t = small_trace.trace(disabled=("assign",))
    model = strip_model(t)
    got = chips(model)
    assert (got["assign"]["status"], got["plan"]["status"], got["optimise"]["status"]) == (
        "disabled",
        "failed",
        "not_run",
    )
    assert 3 not in model["quiet"]
    failed = model["failed"]
    assert "streams" in failed["what"]
    assert failed["repairs"][0] == {**failed["repairs"][0], "action": "toggle", "key": "assign", "on": True}
    assert [s.name for s in blocking(t)] == ["assign"]


def test_ge_failure_shows_its_code_and_offers_to_remove_the_option() -> None:
    model = strip_model(small_trace.trace(options={"ge.enableSingleStream": "true"}))
    assert chips(model)["assign"]["badge"] == {"en": "E10055", "zh": "E10055"}
    failed = model["failed"]
    assert (failed["code"], failed["ge_status"]) == ("E10055", "PARAM_INVALID")
    assert failed["repairs"][0]["action"] == "option"
    assert failed["repairs"][0]["key"] == "ge.enableSingleStream"
    assert failed["repairs"][0]["value"] == ""


def test_style_sheet_has_the_palette_of_the_pictures() -> None:
    css = (Path(ge_explorer.__file__).parent / "widgets/static/gx.css").read_text(encoding="utf-8").lower()
    for i, swatch in enumerate(SWATCHES):
        assert f"--gx{i}: {swatch.light.lower()};" in css
        assert f"--gx{i}: {swatch.dark.lower()};" in css
