"""Events panel."""

from __future__ import annotations

from ge_explorer.views import events
from ge_explorer.views.table import TablePicture
from ge_explorer.widgets.panels.context import PanelContext
from ge_explorer.widgets.panels.table_panel import TablePanel


class EventsPanel(TablePanel):
    """Inserted → removed → kept, and every event of the step shown. Waiting times belong to the final state only."""

    name = "events"

    def picture(self, ctx: PanelContext) -> TablePicture:
        """Events at the step shown."""
        last = ctx.snapshot.sync is ctx.session.trace.final.sync
        timeline = ctx.timeline if last else None
        return events.build(
            ctx.snapshot,
            ctx.identities_at(ctx.step),
            trace=ctx.session.trace,
            timeline=timeline,
            minimum=ctx.session.minimum_events(ctx.snapshot),
        )
