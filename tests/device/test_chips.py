"""Chip table against figures computed by hand from the ini values, and what family names mean."""

from __future__ import annotations

import pytest

from ge_explorer.device.chips import ALIASES, CHIPS, resolve_chip
from ge_explorer.errors import OptionError
from ge_explorer.provenance import Origin


@pytest.mark.parametrize(
    ("name", "tflops", "ddr", "l2"),
    [
        ("Ascend910B1", 364, 1421, 4884),
        ("Ascend910B3", 295, 1152, 3960),
        ("Ascend910B4", 246, 960, 3300),
        ("Ascend950PR_9599", 531, 2009, 6480),
        ("Ascend950DT_9581", 433, 4224, 5280),
        ("Ascend950PR_957d", 378, 1063, 4620),
        ("Ascend950PR_950z", 54, 26, 660),
        ("Ascend310P3", 69, 144, 967),
        ("Ascend910A", 262, 1024, 3520),
    ],
)
def test_derived_peaks(name: str, tflops: int, ddr: int, l2: int) -> None:
    chip = CHIPS[name]
    values = (chip.fp16_flops, chip.ddr_bandwidth, chip.l2_bandwidth)
    shown = [round(float(q.value or 0) / scale) for q, scale in zip(values, (1e12, 1e9, 1e9), strict=True)]
    assert shown == [tflops, ddr, l2]
    assert {q.origin for q in values} == {Origin.MODEL}


def test_910b_means_the_a2_family_and_says_so() -> None:
    found = resolve_chip("Ascend910B")
    assert (found.chip.name, found.chip.aic, found.chip.aiv) == ("Ascend910B1", 24, 48)
    assert found.note is not None
    assert "Ascend910B1" in found.note.en and "Ascend910B-old" in found.note.en
    assert "Ascend910B1" in found.note.zh
    old = resolve_chip("Ascend910B-old").chip
    assert (old.aic, old.aiv, old.mhz) == (30, 0, 900)
    assert "Ascend910B.ini" in old.notes[0].en


def test_names_in_any_case_need_no_note() -> None:
    assert resolve_chip("910b3").chip.name == "Ascend910B3"
    assert resolve_chip(" ascend310p3 ").note is None
    assert resolve_chip().chip.name == "Ascend910B1"


def test_every_alias_points_at_a_row() -> None:
    assert all(target in CHIPS for target in ALIASES.values())
    assert not {a for a in ALIASES if a in {c.lower() for c in CHIPS}}


def test_unknown_chip_gets_a_suggestion() -> None:
    with pytest.raises(OptionError, match="Did you mean 'Ascend910B3'"):
        resolve_chip("Ascend910B33")
