"""The options of the source and the sink ``Iceberg``, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.increments import incremental_option
from seatunnel_core.connector_api.option import BOOLEAN, ENUM, MAP, STRING, Option, within
from seatunnel_core.connectors.file import sink_options as of_files
from seatunnel_core.connectors.file.source_options import READ_COLUMNS
from seatunnel_core.connectors.write_mode import MERGE_KEY, PARTITIONS_COMPLETE, REPLACE_PARTITIONS, WRITE_MODE

CATALOG_NAME = Option("catalog_name", STRING, default="default", doc="What the catalog is called.")
CATALOG = Option(
    "iceberg.catalog.config",
    MAP,
    secret=True,
    doc="The catalog: type (rest, hive, glue, sql …), uri, warehouse, and whatever else pyiceberg's catalog takes.",
)
CATALOG_TYPE = Option("catalog_type", STRING, doc="The older place of type in iceberg.catalog.config.")
URI = Option("uri", STRING, secret=True, doc="The older place of uri in iceberg.catalog.config.")
WAREHOUSE = Option("warehouse", STRING, doc="The older place of warehouse in iceberg.catalog.config.")
NAMESPACE = Option(
    "namespace",
    STRING,
    default="default",
    doc="The namespace of the table, levels with dots between them; created when it is missing. May have variables of "
    "the rows' table, such as ${database_name}.",
)
TABLE = Option(
    "table",
    STRING,
    required=True,
    doc="The name of the table: one for all rows, or ${table_name} for one for each table of the rows, which may stand "
    "in a longer name.",
)
CASE_SENSITIVE = Option(
    "case_sensitive",
    BOOLEAN,
    default=False,
    doc="Whether a column of the rows goes into a column of the table only if both names have the same case.",
)
WRITE_PROPERTIES = Option(
    "iceberg.table.write-props",
    MAP,
    doc="Properties of the table, write.parquet.compression-codec for example, that this job sees otherwise.",
)
CREATE_PROPERTIES = Option(
    "iceberg.table.auto-create-props", MAP, doc="The properties of a table that this sink creates."
)
PARTITION_KEYS = Option(
    "iceberg.table.partition-keys",
    STRING,
    doc="By what a table that this sink creates is partitioned, with commas between: a column, year(column), "
    "month(column), day(column), hour(column), bucket(column, 16) or truncate(column, 10). Tables that are there "
    "already keep their partitions.",
)
SCHEMA_SAVE_MODE = evolve(
    of_files.SCHEMA_SAVE_MODE,
    doc="What happens with the table when the job first starts; IGNORE leaves it as it is, and so it must be there.",
)
DATA_SAVE_MODE = evolve(
    of_files.DATA_SAVE_MODE, doc="What happens with rows that are in the table when the job first starts."
)
BRANCH = Option(
    "iceberg.table.commit-branch", ENUM("main"), default="main", doc="The branch; rows go to main and no other yet."
)
UPSERT = Option(
    "iceberg.table.upsert-mode-enabled",
    BOOLEAN,
    default=False,
    doc="The older name of write_mode = merge.",
)
EVOLUTION = Option(
    "iceberg.table.schema-evolution-enabled",
    ENUM("false"),
    default="false",
    doc="Always false: the columns of the table are never changed.",
)
SNAPSHOT = Option(
    "use_snapshot_id",
    within(0, 2**63 - 1),
    doc="The snapshot that is read; without it, the newest when the job begins.",
)
SNAPSHOT_TIME = Option(
    "use_snapshot_timestamp",
    within(0, 2**63 - 1),
    unit="ms",
    doc="Read the snapshot that was the newest at this time, in milliseconds since 1970.",
)
INCREMENTAL = incremental_option(
    "Read only what came since the last job of this name, with column = snapshot: the first job reads the table as it "
    "is, or what came with the snapshot start and later ones; each next one the rows that were added since."
)
_JAVA = "pyiceberg reads no files of Hadoop"
_HADOOP: tuple[Option[Any], ...] = (
    Option("hadoop.config", MAP, no_effect=_JAVA, doc="Settings of Hadoop."),
    Option("iceberg.hadoop-conf-path", STRING, no_effect=_JAVA, doc="A folder of Hadoop's files."),
)

SOURCE_OPTIONS: tuple[Option[Any], ...] = (
    CATALOG_NAME,
    CATALOG,
    CATALOG_TYPE,
    URI,
    WAREHOUSE,
    evolve(NAMESPACE, doc="The namespace of the table, levels with dots between them."),
    evolve(TABLE, doc="The name of the table."),
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
