"""Display values of a pipeline as JSON, for a job that runs in another process."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.reporting.metrics import PipelineMetrics, VertexMetrics
from seatunnel_core.reporting.report import PipelineView
from seatunnel_core.stored_fields import read_fields

_SHOWN = {
    "id": "id",
    "name": "name",
    "phase": "phase",
    "rows": "rows_read",
    "bytes": "bytes_read",
    "committed": "rows_committed",
    "bounded": "bounded",
    "splits_done": "splits_done",
    "splits_total": "splits_total",
    "checkpoint": "last_checkpoint_id",
    "degraded": "degraded",
}
"""Attributes of ``PipelineView`` by their keys in a record."""


def pipeline_record(view: PipelineView) -> dict[str, Any]:
    """Return the values to display for a pipeline. They do not change while the pipeline is idle."""
    shown = {key: getattr(view, name) for key, name in _SHOWN.items()}
    sources = {"sources": {name: each.record() for name, each in view.sources.items()}} if view.sources else {}
    return {**shown, "checkpoints_failed": view.checkpoints_failed, "warnings": list(view.warnings), **sources}


def measured_record(view: PipelineMetrics) -> dict[str, Any]:
    """Return the record with metrics, for pages. Rates keep changing for a minute after the last row."""
    return {
        **pipeline_record(view),
        **_moved(view),
        "vertices": {name: _moved(vertex) for name, vertex in view.vertices.items()},
        "loads": {name: load.record() for name, load in view.loads.items()},
        "full_sinks": list(view.full_sinks),
        "in_flight": view.units_in_flight,
        "running": view.units_running,
        "uncommitted": view.uncommitted,
        "restarts": view.restarts,
        "restores": view.restores,
        "failure": view.failure,
        "code": view.code,
        "checkpoints": {
            "triggered": view.checkpoints_triggered,
            "completed": view.checkpoints_completed,
            "failed": view.checkpoints_failed,
            "pending": view.checkpoints_pending,
            "epoch": view.epoch,
            "size_bytes": view.checkpoint_bytes,
            "acknowledge_ms": view.checkpoint_acknowledge.last_ms,
            "store_ms": view.checkpoint_store.last_ms,
            "commit_ms": view.checkpoint_commit.last_ms,
            "longest_ms": view.checkpoint_acknowledge.longest_ms,
        },
    }


def _moved(view: PipelineMetrics | VertexMetrics) -> dict[str, Any]:
    return {
        "rows": view.rows_read,
        "bytes": view.bytes_read,
        "rows_per_second": round(view.rows_read_per_second, 1),
        "bytes_per_second": round(view.bytes_read_per_second),
        "written": view.rows_written,
        "bytes_written": view.bytes_written,
        "rows_written_per_second": round(view.rows_written_per_second, 1),
        "bytes_written_per_second": round(view.bytes_written_per_second),
        "committed": view.rows_committed,
        "bytes_committed": view.bytes_committed,
        "skipped": view.rows_skipped,
    }


def pipeline_view(block: Mapping[str, Any]) -> PipelineView:
    """Return the pipeline that a record describes; omitted values are unknown."""
    given = {name: stored.member(block, key) for key, name in _SHOWN.items()}
    more = {key: block[key] for key in ("warnings", "sources") if key in block}
    return PipelineView(**read_fields(PipelineView, {**given, **more}, partial=True))
