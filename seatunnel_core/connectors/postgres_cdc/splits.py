"""Splits of the source: chunks of tables and ranges of the log."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.connector_api.source import DiscoveredObject
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.change_data.chunks import ROW_BYTES, ordering_key_of
from seatunnel_core.connectors.postgres_cdc.range_reading import LogRange


def split_of(index: int, item: DiscoveredObject) -> Split:
    """Return the split for a planned chunk or range."""
    if "chunk" in item:
        chunk, rows = item["chunk"], int(item["rows"])
        key = ordering_key_of(stored.number(chunk, "number"))
        return Split(index=index, weight_bytes=rows * ROW_BYTES, rows=rows, body={"chunk": chunk}, ordering_key=key)
    wanted = LogRange.of(item)
    return Split(index=index, weight_bytes=wanted.end.value - wanted.start.value, rows=1, body=item)


def described(body: Mapping[str, Any]) -> str:
    """Return a description of a split for messages."""
    if "log" in body:
        return f"the log from {body['log']['start']} to {body['log']['end']}"
    chunk = body["chunk"]
    sides = [f"from {chunk['low']}"] if chunk["low"] is not None else []
    sides += [f"below {chunk['high']}"] if chunk["high"] is not None else []
    return f"table {chunk['table']}, " + (f"{chunk['column']} {' '.join(sides)}" if sides else "all rows")
