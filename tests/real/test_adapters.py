"""A value the corpus gives is compared, ignored with a reason, or said to be left out; never silently passed over."""

from collections import Counter
from pathlib import Path

import pytest

from tests.real import adapters
from tests.real.adapters import Case

FX = """graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
    return (y,)
"""


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counter: Counter[str] = Counter()
    monkeypatch.setattr(adapters, "NOT_COMPARED", counter)
    return counter


def case(folder: Path, **expected: object) -> Case:
    file = folder / "fx.txt"
    file.write_text(FX)
    return Case("fx.txt", file, "torchair", expected, "")


def test_right_values_pass_and_nothing_is_left(tmp_path: Path, left: Counter[str]) -> None:
    case(tmp_path, placeholders=1, call_functions=1, lines=99).check_values()
    assert not left


def test_a_wrong_value_fails(tmp_path: Path, left: Counter[str]) -> None:
    with pytest.raises(AssertionError):
        case(tmp_path, placeholders=2).check_values()


def test_an_unknown_name_is_listed(tmp_path: Path, left: Counter[str]) -> None:
    case(tmp_path, placeholders=1, new_figure=3).check_values()
    assert left == {"torchair.new_figure": 1}


def test_a_case_without_any_known_name_fails(tmp_path: Path, left: Counter[str]) -> None:
    with pytest.raises(AssertionError, match="nothing was compared"):
        case(tmp_path, new_figure=3).check_values()


def test_a_name_to_compare_that_no_adapter_returns_fails(
    tmp_path: Path, left: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(adapters.ADAPTERS, "torchair", lambda path, expected: {"placeholders": 1})
    with pytest.raises(AssertionError, match="targets"):
        case(tmp_path, placeholders=1, targets={}).check_values()


def test_kinds_without_an_adapter_are_listed(tmp_path: Path, left: Counter[str]) -> None:
    (tmp_path / "expected.json").write_text(
        '{"a": {"kind": "hologram", "expected": {}}, "b": {"kind": "hologram", "expected": {}}}'
    )
    assert adapters.cases(tmp_path) == [] and left == {"files of kind hologram": 2}
