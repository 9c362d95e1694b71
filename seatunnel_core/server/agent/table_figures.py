"""Figures by table, as SeaTunnel has them: the rows of a table that a source reads, or a sink writes.

Rows are counted by pipeline. So a table has figures where it is the only one that its pipeline reads, or the pipeline
has one sink; where there are several, none of them has.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_core.server.description import Description, text_of

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
    },
}
"""By the kind of a vertex: SeaTunnel's name of a figure, and its key in ``measured_record``."""


def by_table(described: Description, pipelines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return for each figure of SeaTunnel the values of the tables that have one, as texts.

    Args:
        described: the job's graph.
        pipelines: their figures, as ``measured_record`` writes them; those of some may be unknown.
    """
    found: dict[str, dict[str, str]] = {name: {} for names in _KINDS.values() for name in names}
    measured = {str(each["id"]): each for each in pipelines}
    vertices = {each["vertexId"]: each for each in described.vertices}
    for number, edges in described.edges.items():
        if number not in measured:
            continue
        ends = {edge[end] for edge in edges for end in ("inputVertexId", "targetVertexId")}
        for kind, names in _KINDS.items():
            of_kind = [vertices[each] for each in ends if vertices[each]["type"] == kind]
            tables = [path for vertex in of_kind for path in vertex["tablePaths"]]
            if len(of_kind) == len(tables) == 1:
                for name, key in names.items():
                    found[name][tables[0]] = text_of(measured[number].get(key, 0))
    return found
