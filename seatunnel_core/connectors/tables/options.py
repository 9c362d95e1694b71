"""Options that table sinks share."""

from typing import Any

from seatunnel_core.connector_api.option import ENUM, STRING, Option
from seatunnel_core.connectors.tables.growth import TARGET_CONTRACT
from seatunnel_core.connectors.write_mode import (
    HISTORY_COLUMNS,
    KEEP_HISTORY,
    MERGE_KEY,
    PARTITIONS_COMPLETE,
    PRUNING_MODE,
    REPLACE_PARTITIONS,
)

SCHEMA_SAVE_MODE = Option(
    "schema_save_mode",
    ENUM("CREATE_SCHEMA_WHEN_NOT_EXIST", "RECREATE_SCHEMA", "ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"),
    default="CREATE_SCHEMA_WHEN_NOT_EXIST",
    doc="Handling of the existing table when the job first starts.",
)
DATA_SAVE_MODE = Option(
    "data_save_mode",
    ENUM("APPEND_DATA", "DROP_DATA", "ERROR_WHEN_DATA_EXISTS"),
    default="APPEND_DATA",
    doc="Handling of existing rows when the job first starts.",
)
TABLE = Option(
    "table",
    STRING,
    default="${table_name}",
    doc="Target table, created if missing. May contain variables of the rows' table.",
)
WRITE_MODE_OPTIONS: tuple[Option[Any], ...] = (
    PRUNING_MODE,
    MERGE_KEY,
    KEEP_HISTORY,
    HISTORY_COLUMNS,
    REPLACE_PARTITIONS,
    PARTITIONS_COMPLETE,
)
FILE_STAGED_OPTIONS: tuple[Option[Any], ...] = (*WRITE_MODE_OPTIONS, SCHEMA_SAVE_MODE, TARGET_CONTRACT, DATA_SAVE_MODE)
"""Options of a ``FileStagedTableSink``, in addition to ``TABLE`` and those of its database."""
