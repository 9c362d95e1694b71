"""The options of the sink ``DuckDB``."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import ENUM, MAP, STRING, Option, within
from seatunnel_core.connectors.growing import TARGET_CONTRACT
from seatunnel_core.connectors.jdbc import options as of_jdbc
from seatunnel_core.connectors.write_mode import (
    HISTORY_COLUMNS,
    KEEP_HISTORY,
    MERGE_KEY,
    PARTITIONS_COMPLETE,
    PRUNING_MODE,
    REPLACE_PARTITIONS,
)

PATH = Option(
    "path",
    STRING,
    required=True,
    doc="The file of the database, such as /data/shop.duckdb; created when it is missing. Tasks stage rows in the "
    "folder .seatunnel beside it, so they must reach that under the same path.",
)
TABLE = Option(
    "table",
    STRING,
    default="${table_name}",
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
DATA_SAVE_MODE = evolve(of_jdbc.DATA_SAVE_MODE, type=ENUM("APPEND_DATA", "DROP_DATA", "ERROR_WHEN_DATA_EXISTS"))

SINK_OPTIONS: tuple[Option[Any], ...] = (
    PATH,
    TABLE,
    PRUNING_MODE,
    evolve(MERGE_KEY, aliases=("primary_keys",)),
    KEEP_HISTORY,
    HISTORY_COLUMNS,
    REPLACE_PARTITIONS,
    PARTITIONS_COMPLETE,
    of_jdbc.SCHEMA_SAVE_MODE,
    TARGET_CONTRACT,
    DATA_SAVE_MODE,
    WAIT,
    PROPERTIES,
)
