"""Events panel: every event with its cause, the balance of inserted and removed, and the budgets of the chip."""

from __future__ import annotations

from ge_explorer.device.chips import chip_named
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views import event_economy_panel, events, stream_budget
from ge_explorer.views.parts_html import gauges_html
from ge_explorer.views.table import TablePicture
from ge_explorer.views.table_html import figures_html, picture_html
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.switch_panel import SwitchPanel


class EventsPanel(SwitchPanel):
    """Inserted → removed → kept, and every event of the step shown. Waiting times belong to the final state only."""

    name = "events"
    views = {"list": Text("Events", "事件"), "balance": Text("Balance", "账目")}

    def __init__(self, on_select: OnSelect | None = None, view: str = "") -> None:
        super().__init__(on_select, view)
        self._spare: tuple[Snapshot, frozenset[int]] | None = None

    def picture(self, ctx: PanelContext) -> TablePicture:
        """Events at the step shown."""
        s = ctx.snapshot
        minimum = ctx.session.minimum_events(s)
        spare: frozenset[int] = frozenset()
        if minimum is not None and s.sync is not None and minimum < len(s.sync.events):
            if self._spare is None or self._spare[0] is not s:
                self._spare = (s, event_economy_panel.spare_events(s))
            spare = self._spare[1]
        timeline = ctx.timeline if s.sync is ctx.session.trace.final.sync else None
        return events.build(
            s, ctx.identities_at(ctx.step), trace=ctx.session.trace, timeline=timeline, minimum=minimum, spare=spare
        )

    def body(self, ctx: PanelContext) -> str:
        """Figures and list with the budgets below, or figures and balance."""
        p = self.picture(ctx)
        if self.view == "balance":
            balance = event_economy_panel.build(
                ctx.snapshot, trace=ctx.session.trace, minimum=ctx.session.minimum_events(ctx.snapshot)
            )
            return figures_html(p.figures, ctx.lang) + picture_html(balance, ctx.lang)
        chip = chip_named(ctx.session.chip)
        gauges = stream_budget.build(ctx.snapshot, ctx.identities_at(ctx.step), chip)
        shown = [g for g in gauges if g.key in ("events", "notifies")]
        return picture_html(p, ctx.lang, ctx.selected) + (gauges_html(shown, ctx.lang) if shown else "")
