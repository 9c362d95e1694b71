"""A pipeline of a job elsewhere as JSON values: what a screen shows of it."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.reporting.report import PipelineView


def pipeline_record(view: PipelineView) -> dict[str, Any]:
    """Return what is shown of a pipeline; nothing of it changes while the pipeline does nothing."""
    return {
        "id": view.id,
        "name": view.name,
        "phase": view.phase,
        "rows": view.rows_read,
        "bytes": view.bytes_read,
        "committed": view.rows_committed,
        "bounded": view.bounded,
        "splits_done": view.splits_done,
        "splits_total": view.splits_total,
        "checkpoint": view.last_checkpoint_id,
        "degraded": view.degraded,
    }


def pipeline_view(block: Mapping[str, Any]) -> PipelineView:
    """Return the pipeline that ``pipeline_record`` described; what it leaves out is not known.

    Raises:
        StoredValueError: it is not one.
    """
    return PipelineView(
        id=stored.number(block, "id"),
        name=stored.text(block, "name"),
        phase=stored.text(block, "phase"),
        rows_read=stored.number(block, "rows"),
        bytes_read=stored.number(block, "bytes"),
        rows_committed=stored.number(block, "committed"),
        bounded=stored.flag(block, "bounded"),
        splits_done=stored.number(block, "splits_done"),
        splits_total=_number(block, "splits_total"),
        last_checkpoint_id=_number(block, "checkpoint"),
        degraded=stored.text(block, "degraded"),
    )


def _number(block: Mapping[str, Any], key: str) -> int | None:
    return None if stored.member(block, key) is None else stored.number(block, key)
