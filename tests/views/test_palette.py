import numpy as np
import pytest

from ge_explorer.views.palette import HATCHES, SWATCHES, hatch, identify, letters, swatch
from tests.ui.canvas_page import moe_trace


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    hi, lo = sorted((luminance(a), luminance(b)), reverse=True)
    return (hi + 0.05) / (lo + 0.05)


def test_letters_go_on_after_z():
    assert [letters(i) for i in (0, 7, 25, 26, 51, 52)] == ["A", "H", "Z", "AA", "AZ", "BA"]
    with pytest.raises(ValueError, match="negative"):
        letters(-1)


@pytest.mark.parametrize("k", range(8))
def test_every_colour_stands_out_from_its_ground(k):
    assert contrast(SWATCHES[k].light, "#FFFFFF") >= 3.0
    assert contrast(SWATCHES[k].dark, "#212121") >= 3.0


def test_colour_and_hatch_together_are_unique_for_64_streams():
    assert len({(swatch(i).light, hatch(i)) for i in range(64)}) == 64
    assert hatch(8) == HATCHES[1]
    assert swatch(8) == swatch(0)


def test_busiest_stream_is_a_whatever_its_number():
    ids = identify(moe_trace())
    assert [(x.letter, x.label) for x in ids.items] == [("A", ""), ("B", "22")]
    assert dict(ids.by_step[3]) == {0: 1, 1: 0}
    assert dict(ids.by_step[0]) == {}


def test_weights_decide_who_is_a():
    ids = identify(moe_trace(), busy={0: 90.0, 1: 10.0})
    assert ids.of(2, 0).letter == "A"


def test_letters_survive_a_second_run():
    first = identify(moe_trace())
    again = identify(moe_trace(), known=first, busy={0: 90.0, 1: 10.0})
    assert again.of(2, 1).letter == "A"
    assert len(again.items) == 2


def test_node_index_maps_numbers_to_identities():
    ids = identify(moe_trace())
    got = ids.node_index(2, np.asarray([-1, 0, 1], np.int32))
    assert got.tolist() == [-1, 1, 0]
