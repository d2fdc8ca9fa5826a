"""A learner's prediction about memory beside what the planner proves: peak bytes, and which tensors may share."""

from __future__ import annotations

from collections.abc import Mapping

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.text import Text
from ge_explorer.trace.trace import Trace
from ge_explorer.views.marks import number, size
from ge_explorer.views.memory_life import lives
from ge_explorer.views.memory_plans import PlanBook, planned_state
from ge_explorer.views.memory_reuse import pair
from ge_explorer.views.memory_reuse_table import verdict
from ge_explorer.views.prediction import Guess, Prediction


def predict_memory(
    trace: Trace,
    *,
    peak: int | None = None,
    share: Mapping[tuple[str, str], bool] | None = None,
    price: int | None = None,
) -> Prediction:
    """Compare predictions with the memory plan of a trace.

    ``peak``: bytes of the plan; ``share``: (tensor, tensor) -> may they use the same bytes? A tensor is named by its node, or
    ``node:index``. ``price``: bytes that the streams cost every safe plan against one queue. Errors: OptionError for an unknown
    tensor or a trace without a memory plan.
    """
    planned = planned_state(trace)
    if planned is None or planned.memory is None:
        raise OptionError("this trace plans no memory", todo="Keep the step plan-memory switched on.")
    book, m = PlanBook(planned), planned.memory
    out: list[Guess] = []
    if peak is not None:
        gap = m.plan.peak - m.lower_bound
        proof = Text(
            f"proven: {m.bound_name} needs {size(m.lower_bound)}" if not gap else f"{size(gap)} above the proven bound",
            f"已证明：{m.bound_name} 需要 {size(m.lower_bound)}" if not gap else f"比已证明的下界高 {size(gap)}",
        )
        out.append(Guess("peak", f"{number(peak)} B", f"{number(m.plan.peak)} B", proof))
    known = {b.name: b.id for b in m.problem.buffers}
    view = lives(planned, {})
    for (a, b), guess in (share or {}).items():
        x, y = (_find(known, name) for name in (a, b))
        found = pair(m.problem, m.plan, book.hb, x, y, trace.final)
        yes = found.verdict in ("first-then-second", "second-then-first")
        assert view is not None
        out.append(Guess(f"{a}, {b}", _word(guess), _word(yes), verdict(view, found)))
    if price is not None:
        one = book.get("one-hb").memory
        bound = m.lower_bound - (one.lower_bound if one is not None else m.lower_bound)
        why = Text(
            f"bound on {book.streams} streams {size(m.lower_bound)}, in one queue {size(m.lower_bound - bound)}",
            f"{book.streams} 条流的下界 {size(m.lower_bound)}，单队列 {size(m.lower_bound - bound)}",
        )
        out.append(Guess("price of the streams", f"{number(price)} B", f"{number(bound)} B", why))
    return Prediction(out)


def _find(known: Mapping[str, int], name: str) -> int:
    for candidate in (name, f"{name}:0"):
        if candidate in known:
            return known[candidate]
    raise OptionError("no such tensor in the feature map", got=name, todo=did_you_mean(name, sorted(known)))


def _word(yes: bool) -> str:
    return "may share" if yes else "may not share"
