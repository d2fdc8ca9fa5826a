"""Pipeline text round-trips and its errors name the item."""

from __future__ import annotations

import pytest

from ge_explorer import pipelines
from ge_explorer.errors import OptionError


def test_every_step_of_static_loads_and_round_trips() -> None:
    p = pipelines.static()
    assert pipelines.pipeline(str(p)) == p
    assert [i.pass_.name for i in p] == [name for name, _ in pipelines.STEPS]


def test_preset_with_one_pass_off_round_trips() -> None:
    p = pipelines.pipeline("static,-optimize-ineffective,-topological-sort#2")
    assert [i.key for i in p if not i.enabled] == ["topological-sort#2", "optimize-ineffective"]
    assert pipelines.pipeline(str(p)) == p


def test_every_pass_declares_what_views_need() -> None:
    for item in pipelines.static():
        p = item.pass_
        assert p.title.en, p.name
        assert p.title.zh, p.name
        assert p.summary.en and p.summary.zh, p.name
        assert p.source or p.fidelity == "ours", p.name
        assert p.reads or p.writes, p.name
        for key, rule in p.rules.items():
            assert rule.text.en and rule.text.zh, (p.name, key)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("static,-optimise-ineffective", "optimize-ineffective"),
        ("", "empty pipeline"),
        ("assign-by-label{colour=red}", "no option 'colour'"),
        ("<script>", "cannot read"),
    ],
)
def test_wrong_text_says_what_and_offers_the_closest(text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        pipelines.pipeline(text)
