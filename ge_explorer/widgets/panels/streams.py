"""Streams panel."""

from __future__ import annotations

from ge_explorer.device.chips import chip_named
from ge_explorer.views import streams
from ge_explorer.views.table import TablePicture
from ge_explorer.widgets.panels.context import PanelContext
from ge_explorer.widgets.panels.table_panel import TablePanel


class StreamsPanel(TablePanel):
    """One row per stream of the step shown. Tasks and load belong to the final state only."""

    name = "streams"

    def picture(self, ctx: PanelContext) -> TablePicture:
        """Streams at the step shown."""
        last = ctx.snapshot.streams is ctx.session.trace.final.streams
        return streams.build(
            ctx.snapshot,
            ctx.identities_at(ctx.step),
            timeline=ctx.timeline if last else None,
            stream_limit=chip_named(ctx.session.chip).streams,
        )
