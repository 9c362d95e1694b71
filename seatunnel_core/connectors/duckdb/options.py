"""The options of the ``DuckDB`` sink."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import MAP, STRING, Option, within
from seatunnel_core.connectors.tables.options import FILE_STAGED_OPTIONS
from seatunnel_core.connectors.tables.options import TABLE as ANY_TABLE
from seatunnel_core.connectors.write_mode import MATCH_WHOLE_ROWS, MERGE_KEY

PATH = Option(
    "path",
    STRING,
    required=True,
    doc=(
        "Database file, such as /data/shop.duckdb; created if missing. Tasks stage rows in the folder .seatunnel next "
        "to it, which the driver and the tasks must access under the same path."
    ),
)
TABLE = evolve(
    ANY_TABLE,
    doc=(
        "Table, optionally preceded by its schema (by default main); created if missing. May contain variables of the "
        "rows' table."
    ),
)
WAIT = Option(
    "lock_timeout",
    within(0, 86_400),
    default=60,
    unit="s",
    doc="Time that a commit waits while another process has the file open.",
)
PROPERTIES = Option(
    "properties",
    MAP,
    secret=True,
    doc="DuckDB settings, such as memory_limit or threads, that apply while this job has the file open.",
)
SINK_OPTIONS: tuple[Option[Any], ...] = (
    PATH,
    TABLE,
    *(evolve(each, aliases=("primary_keys",)) if each is MERGE_KEY else each for each in FILE_STAGED_OPTIONS),
    MATCH_WHOLE_ROWS,
    WAIT,
    PROPERTIES,
)
