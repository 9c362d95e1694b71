"""Selection of the pipelines to display for a large job."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from seatunnel_core.reporting.report import PipelineView

View = TypeVar("View", bound="PipelineView")

MOST_LINES = 50
"""Maximum number of pipelines that are displayed individually. Failed ones are always displayed."""


def shown_pipelines(pipelines: Sequence[View]) -> list[View]:
    """Return the pipelines to display individually, sorted by ID: all failed ones, and others up to the limit."""
    if len(pipelines) <= MOST_LINES:
        return list(pipelines)
    failed = [view for view in pipelines if view.failure]
    others = [view for view in pipelines if not view.failure]
    return sorted([*failed, *others[: max(0, MOST_LINES - len(failed))]], key=lambda view: view.id)
