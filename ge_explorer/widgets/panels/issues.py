"""Issues panel."""

from __future__ import annotations

from ge_explorer.views import issues_view, profile_view
from ge_explorer.views.table import TablePicture
from ge_explorer.widgets.panels.context import PanelContext
from ge_explorer.widgets.panels.table_panel import TablePanel


class IssuesPanel(TablePanel):
    """Findings of the passes and of the independent checkers about the final state."""

    name = "issues"

    def picture(self, ctx: PanelContext) -> TablePicture:
        """All findings, errors first; below them what the profile gave, if there is one."""
        s = ctx.session.trace.final
        found = issues_view.build(s, ctx.session.issues, ctx.identities_at(ctx.final_step))
        return profile_view.with_profile(found, ctx.session.profile_report, s)
