"""The ``schema`` block of a source, and the names of its tables."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.config.option import Options
from seatunnel_core.rows.schema_block import DEFAULT_TABLE, table_name, table_schema

__all__ = ["DEFAULT_TABLE", "named_block", "table_name", "table_schema", "table_without_name"]


def table_without_name(options: Options) -> str:
    """Return the table name of a source without ``schema.table``: the name by which other plugins read its rows."""
    return options.get("plugin_output") or DEFAULT_TABLE


def named_block(options: Options) -> Mapping[str, Any]:
    """Return the ``schema`` block of a source, with a name for its table."""
    return {"table": table_without_name(options), **(options["schema"] or {})}
