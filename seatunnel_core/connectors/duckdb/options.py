"""The options of the sink ``DuckDB``."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import MAP, STRING, Option, within
from seatunnel_core.connectors.tables.options import FILE_STAGED_OPTIONS
from seatunnel_core.connectors.tables.options import TABLE as ANY_TABLE
from seatunnel_core.connectors.write_mode import MERGE_KEY

PATH = Option(
    "path",
    STRING,
    required=True,
    doc="The file of the database, such as /data/shop.duckdb; created when it is missing. Tasks stage rows in the "
    "folder .seatunnel beside it, so they must reach that under the same path.",
)
TABLE = evolve(
    ANY_TABLE,
    doc="The table, with its schema before it or that of main; created when it is missing. May have variables of the "
    "rows' table.",
)
WAIT = Option(
    "lock_timeout",
    within(0, 86_400),
    default=60,
    unit="s",
    doc="How long a commit waits for another process that has the file open.",
)
PROPERTIES = Option(
    "properties", MAP, secret=True, doc="Settings of DuckDB while it is open here, such as memory_limit or threads."
)
SINK_OPTIONS: tuple[Option[Any], ...] = (
    PATH,
    TABLE,
    *(evolve(each, aliases=("primary_keys",)) if each is MERGE_KEY else each for each in FILE_STAGED_OPTIONS),
    WAIT,
    PROPERTIES,
)
