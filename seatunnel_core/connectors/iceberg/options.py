"""The options of the ``Iceberg`` source and sink, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.increments import incremental_option
from seatunnel_core.connector_api.option import BOOLEAN, ENUM, MAP, STRING, Option, within
from seatunnel_core.connectors.file import sink_options as of_files
from seatunnel_core.connectors.file.source_options import READ_COLUMNS
from seatunnel_core.connectors.write_mode import MERGE_KEY, PARTITIONS_COMPLETE, REPLACE_PARTITIONS, WRITE_MODE

CATALOG_NAME = Option("catalog_name", STRING, default="default", doc="Name of the catalog.")
CATALOG = Option(
    "iceberg.catalog.config",
    MAP,
    secret=True,
    doc="Catalog properties: type (rest, hive, glue, sql …), uri, warehouse, and further properties of "
    "pyiceberg's catalogs.",
)
CATALOG_TYPE = Option("catalog_type", STRING, doc="Deprecated; set type in iceberg.catalog.config.")
URI = Option("uri", STRING, secret=True, doc="Deprecated; set uri in iceberg.catalog.config.")
WAREHOUSE = Option("warehouse", STRING, doc="Deprecated; set warehouse in iceberg.catalog.config.")
NAMESPACE = Option(
    "namespace",
    STRING,
    default="default",
    doc="Namespace of the table, levels separated by dots; created if missing. May contain variables of the "
    "rows' table, such as ${database_name}.",
)
TABLE = Option(
    "table",
    STRING,
    required=True,
    doc=("Name of the table for all rows. If it contains ${table_name}, each input table is written to its own table."),
)
CASE_SENSITIVE = Option(
    "case_sensitive",
    BOOLEAN,
    default=False,
    doc="True to compare column names of rows and table case-sensitively.",
)
WRITE_PROPERTIES = Option(
    "iceberg.table.write-props",
    MAP,
    doc="Table properties that this job overrides, for example write.parquet.compression-codec.",
)
CREATE_PROPERTIES = Option("iceberg.table.auto-create-props", MAP, doc="Properties of tables that this sink creates.")
PARTITION_KEYS = Option(
    "iceberg.table.partition-keys",
    STRING,
    doc="Partitioning of tables that this sink creates, separated by commas: a column, year(column), "
    "month(column), day(column), hour(column), bucket(column, 16) or truncate(column, 10). Existing tables keep their "
    "partitioning.",
)
SCHEMA_SAVE_MODE = evolve(
    of_files.SCHEMA_SAVE_MODE,
    doc="Handling of the table when the job first starts; IGNORE leaves it unchanged and requires that it exists.",
)
DATA_SAVE_MODE = evolve(of_files.DATA_SAVE_MODE, doc="Handling of existing rows when the job first starts.")
BRANCH = Option(
    "iceberg.table.commit-branch", ENUM("main"), default="main", doc="Branch for commits; only main is supported."
)
UPSERT = Option(
    "iceberg.table.upsert-mode-enabled",
    BOOLEAN,
    default=False,
    doc="Deprecated; set write_mode = merge.",
)
EVOLUTION = Option(
    "iceberg.table.schema-evolution-enabled",
    ENUM("false"),
    default="false",
    doc="Must be false: the columns of the table do not change.",
)
SNAPSHOT = Option(
    "use_snapshot_id",
    within(0, 2**63 - 1),
    doc="ID of the snapshot to read; by default the newest when the job starts.",
)
SNAPSHOT_TIME = Option(
    "use_snapshot_timestamp",
    within(0, 2**63 - 1),
    unit="ms",
    doc="Read the snapshot that was current at this time, in milliseconds since 1970.",
)
INCREMENTAL = incremental_option(
    "Read only rows added since the last job of this name, with column = snapshot. The first job reads the whole "
    "table or, if start is set, the rows added from this snapshot on. Each later job reads newer rows."
)
_JAVA = "pyiceberg does not read Hadoop's configuration"
_HADOOP: tuple[Option[Any], ...] = (
    Option("hadoop.config", MAP, no_effect=_JAVA, doc="Hadoop settings."),
    Option("iceberg.hadoop-conf-path", STRING, no_effect=_JAVA, doc="Folder of Hadoop's configuration files."),
)

SOURCE_OPTIONS: tuple[Option[Any], ...] = (
    CATALOG_NAME,
    CATALOG,
    CATALOG_TYPE,
    URI,
    WAREHOUSE,
    evolve(NAMESPACE, doc="Namespace of the table, levels separated by dots."),
    evolve(TABLE, doc="Name of the table."),
    SNAPSHOT,
    SNAPSHOT_TIME,
    READ_COLUMNS,
    INCREMENTAL,
    *_HADOOP,
)

SINK_OPTIONS: tuple[Option[Any], ...] = (
    CATALOG_NAME,
    CATALOG,
    CATALOG_TYPE,
    URI,
    WAREHOUSE,
    NAMESPACE,
    TABLE,
    CASE_SENSITIVE,
    WRITE_PROPERTIES,
    CREATE_PROPERTIES,
    PARTITION_KEYS,
    WRITE_MODE,
    evolve(MERGE_KEY, aliases=("iceberg.table.primary-keys",)),
    REPLACE_PARTITIONS,
    PARTITIONS_COMPLETE,
    SCHEMA_SAVE_MODE,
    DATA_SAVE_MODE,
    BRANCH,
    UPSERT,
    EVOLUTION,
    *_HADOOP,
)
