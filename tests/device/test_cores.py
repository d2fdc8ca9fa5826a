"""Core limits as GE reads them, and core scaling against the recipe's measured pairs."""

from __future__ import annotations

import pytest

from ge_explorer.device.cores import CoreFit, CoreLimits, read_limits, scale_with_cores
from ge_explorer.errors import OptionError

# LongCat-Flash on A3, microseconds with 12/24 and with 24/48 cores, and the figures expected for 16 and 8 cube cores.
MEASURED = {
    "MLAProlog": (68.1, 45.2, 56.6, 91.0),
    "FA": (118, 91.8, 104.9, 144.2),
    "MM": (18, 14.2, 16.1, 21.8),
    "TBMM": (19.6, 12.5, 16.1, 26.7),
    "QBMM1": (18.7, 14.6, 16.6, 22.8),
    "QBMM2": (20.1, 16.3, 18.2, 23.9),
}


def test_half_the_cores_cost_half_as_much_again() -> None:
    assert scale_with_cores(100, 24, 12) == 150
    assert scale_with_cores(100, 24, 24) == 100
    assert scale_with_cores(100, 8, 24) == 100  # a limit above what the operator takes changes nothing


@pytest.mark.parametrize("name", MEASURED)
def test_two_point_fit(name: str) -> None:
    half, full, at16, at8 = MEASURED[name]
    fit = CoreFit.of(12, half, 24, full)
    assert fit.at(24) == pytest.approx(full)
    assert fit.at(16) == pytest.approx(at16, abs=0.35)  # the published pairs and predictions are rounded
    assert fit.at(8) == pytest.approx(at8, abs=0.15)


def test_default_share_lies_inside_the_measured_ratios() -> None:
    ratios = [half / full for half, full, *_ in MEASURED.values()]
    assert min(ratios) <= scale_with_cores(1, 24, 12) <= max(ratios)


def test_limits_are_decimal_strings() -> None:
    read = {"_op_aicore_num": "8", "_op_vectorcore_num": "16"}
    assert read_limits(read, total_aic=24, total_aiv=48) == CoreLimits(8, 16)
    assert read_limits({}, total_aic=24, total_aiv=48) == CoreLimits()
    assert read_limits({"_op_aicore_num": "0"}, total_aic=24, total_aiv=48) == CoreLimits(None, None)


@pytest.mark.parametrize("value", ["08", "", "-1", "8.0", "25", 8, "８"])
def test_bad_limits_are_refused_as_in_ge(value: object) -> None:
    with pytest.raises(OptionError, match="E10001"):
        read_limits({"_op_aicore_num": value}, total_aic=24, total_aiv=48)
