"""Decoding of change messages from Canal, Debezium, Maxwell and OGG to rows with kinds."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.batch import RowKind
from seatunnel_core.rows.repeated_keys import RepeatedKeys

Change = tuple[RowKind, Mapping[str, Any]]
Changed = Callable[[Mapping[str, Any], Mapping[str, str]], list[Change]]
"""Function that returns the changes in a message. Its second argument is ``debezium_record_table_filter``."""


def _canal(message: Mapping[str, Any], _: Mapping[str, str]) -> list[Change]:
    """Decode ``{data: […], old: […], type: UPDATE}``; ``old`` contains the previous values of changed columns."""
    kind = message["type"]
    if kind in ("TRUNCATE", "ERASE"):
        raise _emptied(kind)
    if message.get("isDdl"):
        return []
    rows = message["data"]
    rows = [rows] if isinstance(rows, Mapping) else rows or []
    if kind == "UPDATE":
        old = message.get("old") or [{}] * len(rows)
        return [change for row, before in zip(rows, old, strict=True) for change in _updated({**row, **before}, row)]
    if kind in ("INSERT", "DELETE"):
        return [(RowKind[kind], row) for row in rows]
    if kind in _NO_ROWS:
        return []
    raise ValueError(f"expected 'type' INSERT, UPDATE or DELETE, found {str(kind)[:40]!r}")


def _debezium(message: Mapping[str, Any], wanted: Mapping[str, str]) -> list[Change]:
    """Decode ``{before, after, op}``, alone or as the ``payload`` of a message with ``schema``.

    Debezium sends a deletion and an insertion if the key changes, so an update without ``before`` keeps the key.
    """
    if "payload" in message:
        message = message["payload"]
        if message is None:  # A tombstone.
            return []
    if "op" not in message:
        raise ValueError(
            "'op' is missing: the message is not a Debezium change event, or a Kafka Connect transform such "
            "as ExtractNewRecordState has changed it; read such messages with format = json"
        )
    kind = message["op"]
    if wanted and not _is_of(message.get("source") or {}, wanted):
        return []
    if kind in ("c", "r"):
        return [(RowKind.INSERT, _there(message, "after"))]
    if kind == "u" and message.get("before") is None:
        return [(RowKind.UPDATE_AFTER, _there(message, "after"))]
    if kind == "u":
        return _updated(_there(message, "before"), _there(message, "after"))
    if kind == "d":
        return [(RowKind.DELETE, _there(message, "before"))]
    if kind == "t":
        raise _emptied("op = t")
    if kind == "m":  # An application wrote this message.
        return []
    raise ValueError(f"expected 'op' c, r, u or d, found {str(kind)[:40]!r}")


def _maxwell(message: Mapping[str, Any], _: Mapping[str, str]) -> list[Change]:
    """Decode ``{type: update, data: {…}, old: {…}}``."""
    kind = str(message["type"])
    if kind in ("insert", "bootstrap-insert"):
        return [(RowKind.INSERT, message["data"])]
    if kind == "update":
        return _updated({**message["data"], **(message.get("old") or {})}, message["data"])
    if kind == "delete":
        return [(RowKind.DELETE, message["data"])]
    if kind in ("table-drop", "table-truncate", "database-drop"):
        raise _emptied(kind)
    if kind.startswith(("table-", "database-", "bootstrap-")):
        return []
    raise ValueError(f"expected 'type' insert, update or delete, found {kind[:40]!r}")


def _ogg(message: Mapping[str, Any], _: Mapping[str, str]) -> list[Change]:
    """Decode ``{op_type: U, before: {…}, after: {…}}``."""
    kind = message["op_type"]
    if kind == "I":
        return [(RowKind.INSERT, _there(message, "after"))]
    if kind == "U":
        return _updated(_there(message, "before"), _there(message, "after"))
    if kind == "D":
        return [(RowKind.DELETE, _there(message, "before"))]
    if kind == "T":
        raise _emptied("op_type = T")
    raise ValueError(f"expected 'op_type' I, U or D, found {str(kind)[:40]!r}")


CHANGES: Mapping[str, Changed] = {
    "canal_json": _canal,
    "debezium_json": _debezium,
    "maxwell_json": _maxwell,
    "ogg_json": _ogg,
}

_NO_ROWS = {"CREATE", "ALTER", "QUERY", "RENAME", "CINDEX", "DINDEX"}


def _emptied(kind: str) -> ValueError:
    return ValueError(
        f"the table was truncated or dropped ({kind}), but its rows are not deleted in the sink: empty the "
        "target and start a new job, or set row_error_handle_way = SKIP to skip such messages"
    )


def _updated(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    return [(RowKind.UPDATE_BEFORE, before), (RowKind.UPDATE_AFTER, after)]


def _there(message: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    row = message.get(side)
    if not isinstance(row, Mapping):
        raise ValueError(
            f"{side!r} is missing: the database does not log old rows (in PostgreSQL, set REPLICA IDENTITY FULL)"
            if side == "before"
            else f"{side!r} is missing"
        )
    return row


def _is_of(source: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    keys = {"database_name": "db", "schema_name": "schema", "table_name": "table"}
    return all(source.get(keys[name]) == value for name, value in wanted.items() if value is not None)


def with_bytes(row: Mapping[str, Any], columns: pa.Schema, message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a Canal row with its binary columns decoded. Canal represents each byte as a character."""
    types = message.get("mysqlType") or {}
    found = {
        column.name: row[column.name].encode("latin-1")
        for column in columns
        if pa.types.is_binary(column.type)
        and isinstance(row.get(column.name), str)
        and _BINARY.match(str(types.get(column.name)))
    }
    if isinstance(row, RepeatedKeys):
        return RepeatedKeys({**row, **found}, row.repeated)
    return {**row, **found} if found else row


_BINARY = re.compile(r"(tiny|medium|long)?blob|(var)?binary", re.IGNORECASE)
