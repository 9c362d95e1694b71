"""Splits of the source: chunks of tables and ranges of the log."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.connector_api.source import DiscoveredObject
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.change_data.chunks import ROW_BYTES, ordering_key_of
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of


def split_of(index: int, body: DiscoveredObject) -> Split:
    """Return the split for a planned chunk or range."""
    rows = body.get("rows", 1)
    key = ordering_key_of(stored.number(body, "chunk")) if "chunk" in body else None
    return Split(index=index, weight_bytes=rows * ROW_BYTES, rows=rows, body=body, ordering_key=key)


def start_of(split: Split) -> LogPosition:
    """Return the first log position that a split needs."""
    return position_of(stored.text(split.body, "log" if "chunk" in split.body else "from"))


def described(body: Mapping[str, Any]) -> str:
    """Return a description of a split, for messages."""
    if "chunk" not in body:
        return f"log from {body['from']} to {body['to']}"
    sides = [f"from {body['low']}"] if body["low"] is not None else []
    sides += [f"below {body['high']}"] if body["high"] is not None else []
    return f"table {body['table']}" + (f", {body['column']} {' '.join(sides)}" if sides else "")
