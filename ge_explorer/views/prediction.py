"""A learner's prediction beside what GE does: right or wrong per thing, and the rule that decided."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.text import Text
from ge_explorer.trace.trace import Trace

_HEAD = (Text("what", "对象"), Text("you", "预测"), Text("GE", "GE"), Text("", ""), Text("because", "原因"))


@dataclass(frozen=True, slots=True)
class Guess:
    """One line: what was asked, the prediction, what holds, and the rule (both languages)."""

    what: str
    predicted: str
    actual: str
    why: Text

    @property
    def right(self) -> bool:
        """True if the prediction holds."""
        return self.predicted == self.actual


class Prediction(tuple[Guess, ...]):
    """Guesses with their answers; prints as text, shows as a table in a notebook."""

    __slots__ = ()

    @property
    def score(self) -> tuple[int, int]:
        """(right, all)."""
        return sum(g.right for g in self), len(self)

    def text(self, lang: str = "en") -> str:
        """Plain text, one line a guess."""
        lines = [
            f"{'✓' if g.right else '✗'} {g.what}: {g.predicted} → {g.actual}  {g.why.get(lang)}".rstrip() for g in self
        ]
        right, total = self.score
        return "\n".join([*lines, {"en": f"{right} of {total} right", "zh": f"{total} 个中答对 {right} 个"}[lang]])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{html.escape(t.en)}</th>" for t in _HEAD)
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:left'>{cell}</td>"
                for cell in (
                    html.escape(g.what), html.escape(g.predicted), f"<b>{html.escape(g.actual)}</b>",
                    "✓" if g.right else "✗", f"{html.escape(g.why.en)}<br><small>{html.escape(g.why.get('zh'))}</small>",
                )
            )
            + "</tr>"
            for g in self
        )  # fmt: skip
        right, total = self.score
        note = html.escape(f"{right} of {total} right / {total} 个中答对 {right} 个")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{note}</p>"


def predict(
    trace: Trace, streams: Mapping[str, int | None] | None = None, *, events: Collection[str] | None = None,
    parts: Mapping[str, int] | None = None, step: str | None = None,
) -> Prediction:  # fmt: skip
    """Compare predictions with a trace.

    ``streams``: node name -> logical stream (None or -1: none); ``events``: ``"A>B"`` pairs thought to be all events;
    ``parts``: node name -> physical stream; ``step``: compare with the state after this step instead of the last one.
    Errors: GraphError for an unknown node, OptionError for an event that is not ``sender>receiver``.
    """
    s = trace.step(step).after if step is not None else trace.final
    upto = trace.step(step).index if step is not None else None
    out: list[Guess] = []
    for name, guess in (streams or {}).items():
        i = s.graph.node(name).id
        now = int(s.streams.node[i]) if s.streams is not None else -1
        out.append(
            Guess(name, _stream(-1 if guess is None else guess), _stream(now), _why(trace, name, "stream", upto))
        )
    for name, part in (parts or {}).items():
        i = s.graph.node(name).id
        now = int(s.physical.node[i]) if s.physical is not None else -1
        out.append(Guess(name, _stream(part), _stream(now), _why(trace, name, "physical stream", upto)))
    if events is not None:
        names = s.graph.unique_names
        kept = {f"{names[e.send]}>{names[e.recv]}" for e in (s.sync.events if s.sync is not None else ())}
        gone = {
            f"{names[r.event.send]}>{names[r.event.recv]}": r for r in (s.sync.removed if s.sync is not None else ())
        }
        rules = {p.name: p.rules for p in (x.pass_ for x in trace)}
        for pair in dict.fromkeys((*events, *sorted(kept))):
            ends = pair.split(">")
            if len(ends) != 2:
                raise OptionError(
                    "an event is written sender>receiver", got=pair, todo=did_you_mean(pair, sorted(kept))
                )
            for end in ends:
                s.graph.node(end)
            why = Text("")
            if pair not in kept and pair in gone:
                why = rules[gone[pair].step][gone[pair].rule].text
            yes, no = "an event", "none"
            out.append(Guess(pair, yes if pair in events else no, yes if pair in kept else no, why))
    return Prediction(out)


def _stream(i: int) -> str:
    return "none" if i < 0 else str(i)


def _why(trace: Trace, name: str, facet: str, upto: int | None) -> Text:
    entries = [e for e in trace.why(name, facet, upto) if e.decision.decisive]
    return entries[-1].rule.text if entries else Text("no pass moved it", "没有 pass 改动它")
