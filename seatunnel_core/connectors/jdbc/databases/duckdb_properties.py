"""Properties of DuckDB's JDBC driver; all other properties are DuckDB settings."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.connectors.jdbc.databases.properties import KnownProperties

_IDLE = frozenset(
    [
        *("duckdb.read_only", "jdbc_auto_commit", "jdbc_ignore_unsupported_options", "jdbc_pin_db"),
        *("jdbc_stream_results",),
    ]
)

_INSTEAD = {
    "access_mode": "a source always opens the file read-only",
    "TimeZone": "the session uses UTC; to convert a column, write timezone('Europe/Berlin', column) in query",
    "session_init_sql_file": "write settings as properties, and other statements into query",
}


def require(properties: tuple[tuple[str, str], ...]) -> None:
    """Raise ``UsageError`` for unsupported properties of the driver; DuckDB checks its own settings."""
    others = {name for name, _ in properties} - _IDLE - _INSTEAD.keys()
    KnownProperties(
        database="DuckDB",
        honoured=frozenset(others),
        idle=_IDLE,
        as_by_default={"access_mode": "READ_ONLY", "TimeZone": "UTC"},
        instead=_INSTEAD,
    ).require(properties)


def settings(properties: tuple[tuple[str, str], ...]) -> Mapping[str, Any]:
    """Return the properties that are DuckDB settings."""
    return {name: value for name, value in properties if name not in _IDLE and name not in _INSTEAD}
