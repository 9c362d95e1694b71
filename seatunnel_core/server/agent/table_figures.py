"""Metrics by table, as in SeaTunnel: rows of a table that a source reads or a sink writes.

Rows are counted by source and sink, so a table has metrics only if it is the only table of its source or sink. The
metrics of several sinks for the same table are added.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_core.reporting.rest_text import text_of
from seatunnel_core.server.description import Description

_KINDS = {
    "source": {
        "TableSourceReceivedCount": "rows",
        "TableSourceReceivedBytes": "bytes",
        "TableSourceReceivedQPS": "rows_per_second",
        "TableSourceReceivedBytesPerSeconds": "bytes_per_second",
    },
    "sink": {
        "TableSinkWriteCount": "written",
        "TableSinkWriteBytes": "bytes_written",
        "TableSinkWriteQPS": "rows_written_per_second",
        "TableSinkWriteBytesPerSeconds": "bytes_written_per_second",
        "TableSinkCommittedCount": "committed",
        "TableSinkCommittedBytes": "bytes_committed",
    },
}
"""SeaTunnel's metric names with their keys in ``measured_record``, keyed by kind of vertex."""


def by_table(described: Description, pipelines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return the values of each of SeaTunnel's metrics by table, as strings."""
    found: dict[str, dict[str, float]] = {name: {} for names in _KINDS.values() for name in names}
    measured = {str(each["id"]): each for each in pipelines}
    vertices = {each["vertexId"]: each for each in described.vertices}
    for number, edges in described.edges.items():
        ends = {edge[end] for edge in edges for end in ("inputVertexId", "targetVertexId")}
        for kind, names in _KINDS.items():
            of_kind = [vertices[each] for each in ends if vertices[each]["type"] == kind]
            for vertex in of_kind:
                moved = _moved(measured.get(number, {}), vertex["name"], alone=len(of_kind) == 1)
                if moved is None or len(vertex["tablePaths"]) != 1:
                    continue
                (table,) = vertex["tablePaths"]
                for name, key in names.items():
                    found[name][table] = found[name].get(table, 0) + moved.get(key, 0)
    return {name: {table: text_of(value) for table, value in values.items()} for name, values in found.items()}


def _moved(pipeline: Mapping[str, Any], vertex: str, *, alone: bool) -> Mapping[str, Any] | None:
    """Return the metrics of a source or sink, or of the pipeline if it is ``alone``; ``None`` if unknown."""
    if alone:
        return pipeline or None
    found: Mapping[str, Any] | None = pipeline.get("vertices", {}).get(vertex)
    return found
