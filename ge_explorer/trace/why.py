"""The why-trail: every decision about one thing, in order, with the rule that won."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ge_explorer.trace.passes import Decision, Rule

if TYPE_CHECKING:
    from ge_explorer.trace.trace import Step


@dataclass(frozen=True, slots=True, eq=False)
class WhyEntry:
    """One line of a why-trail: the decision, the step that took it, and whether it is the one that holds now."""

    step: Step
    decision: Decision
    final: bool

    @property
    def rule(self) -> Rule:
        """The rule the pass gives for the decision."""
        return self.step.pass_.rules[self.decision.rule]


class WhyTrail(tuple[WhyEntry, ...]):
    """Decisions in order; prints as text, shows as a list in a notebook.

    ``●`` marks the decision that holds, ``○`` an earlier or non-decisive one.
    """

    __slots__ = ()

    def text(self, lang: str = "en") -> str:
        """Plain text, two or three lines per decision."""
        lines = []
        for e in self:
            d = e.decision
            lines.append(f"{'●' if e.final else '○'} {e.step.name}: {d.facet} {d.before} → {d.after}")
            lines.append(f"    {e.rule.text.get(lang)}" + (f" [{e.rule.source}]" if e.rule.source else ""))
            if d.note is not None:
                lines.append(f"    {d.note.get(lang)}")
        return "\n".join(lines) or ("no decision about it" if lang == "en" else "没有相关决策")

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text())}</pre>"
