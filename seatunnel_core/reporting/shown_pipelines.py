"""Selection of the pipelines of a large job that are shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from seatunnel_core.reporting.report import PipelineView

View = TypeVar("View", bound="PipelineView")

MOST_LINES = 50
"""Pipelines that are shown one by one; the failed ones always are."""


def shown_pipelines(pipelines: Sequence[View]) -> list[View]:
    """Return the pipelines that are shown one by one, by their ids: all that failed, and others while there is room."""
    if len(pipelines) <= MOST_LINES:
        return list(pipelines)
    failed = [view for view in pipelines if view.failure]
    others = [view for view in pipelines if not view.failure]
    return sorted([*failed, *others[: max(0, MOST_LINES - len(failed))]], key=lambda view: view.id)
