"""Figures by table, as SeaTunnel has them: the rows of a table that a source reads, or a sink writes.

Rows are counted by source and by sink. So a table has figures where it is the only one that its source gives to the
job, and the only one that its sink takes; several sinks that take the same table are added up.
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
"""By the kind of a vertex: SeaTunnel's name of a figure, and its key in ``measured_record``."""


def by_table(described: Description, pipelines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return for each figure of SeaTunnel the values of the tables that have one, as texts.

    Args:
        described: the job's graph.
        pipelines: their figures, as ``measured_record`` writes them; those of some may be unknown.
    """
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
    """Return what a source or a sink of a pipeline has moved; ``None`` where that is not known.

    Where it is the only one of its kind, that is what the pipeline has moved.
    """
    if alone:
        return pipeline or None
    found: Mapping[str, Any] | None = pipeline.get("vertices", {}).get(vertex)
    return found
