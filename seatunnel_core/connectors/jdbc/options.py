"""The options of the ``Jdbc`` source and sink, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.increments import INCREMENTAL
from seatunnel_core.connector_api.option import BOOLEAN, ENTRIES, ENUM, LIST, MAP, NUMBER, STRING, Option, within
from seatunnel_core.connectors.tables import options as tables
from seatunnel_core.connectors.tables.growth import TARGET_CONTRACT
from seatunnel_core.connectors.write_mode import MATCH_WHOLE_ROWS

_NO_JARS = "url determines the driver, and no jar is needed"

URL = Option(
    "url",
    STRING,
    required=True,
    secret=True,
    doc="URL of the database: jdbc:postgresql://host:5432/database, jdbc:mysql://…, jdbc:sqlite:/path or "
    "jdbc:duckdb:/path. Connection properties follow a question mark.",
)
DRIVER = Option("driver", STRING, no_effect=_NO_JARS, doc="Class of the Java driver.")
USER = Option("user", STRING, aliases=("username",), doc="User name.")
PASSWORD = Option("password", STRING, secret=True, doc="Password of the user.")
PROPERTIES = Option(
    "properties",
    MAP,
    secret=True,
    doc="Further connection properties, such as sslmode, currentSchema or ApplicationName, named as in JDBC or "
    "in the database's own client.",
)
TIMEOUT = Option("connection_check_timeout_sec", within(0, 86_400), default=30, unit="s", doc="Timeout for connecting.")
POOL = Option(
    "connection_pool_size",
    within(2, 1000),
    default=8,
    doc="Maximum number of connections of a process to this database, shared by the readers and writers of all "
    "tables, sources and sinks. A reader or writer that holds a connection never waits for a second one.",
)
QUERY = Option(
    "query", STRING, unless=("table_path", "table_list"), required=True, doc="Query that returns the rows to read."
)
TABLE_PATH = Option(
    "table_path",
    STRING,
    doc="Table to read, as database.schema.table or a part of it. With query, it only sets the table name of the "
    "emitted rows.",
)
WHERE = Option("where_condition", STRING, doc="Filter on the rows of each table or query; starts with where.")
PARTITION_COLUMN = Option(
    "partition_column",
    STRING,
    doc="Column by which rows are divided into splits. By default the primary key of table_path; a table without a "
    "primary key is a single split.",
)
PARTITION_NUM = Option(
    "partition_num",
    within(1, 100_000),
    doc="Number of splits. By default, a table has splits of split.size rows, and a query has one split per parallel "
    "reader.",
)
LOWER = Option("partition_lower_bound", STRING, doc="Smallest value of partition_column to read.")
UPPER = Option("partition_upper_bound", STRING, doc="Largest value of partition_column to read.")
SPLIT_SIZE = Option(
    "split.size", within(1, 2**31 - 1), default=100_000, unit="rows", doc="Approximate number of rows in a split."
)
EVEN_LOWER = Option(
    "split.even-distribution.factor.lower-bound",
    NUMBER,
    default=0.05,
    doc="Numbers count as evenly distributed if their range has at least this many values per row.",
)
EVEN_UPPER = Option(
    "split.even-distribution.factor.upper-bound",
    NUMBER,
    default=100.0,
    doc="Numbers count as evenly distributed if their range has at most this many values per row.",
)
THRESHOLD = Option(
    "split.sample-sharding.threshold",
    within(1, 2**31 - 1),
    default=1000,
    doc="If there are more splits than this, the bounds of uneven splits are computed from a sample of the rows.",
)
ALLOW_SAMPLING = Option(
    "split.allow-sampling", BOOLEAN, default=True, doc="True to compute the bounds of uneven splits from a sample."
)
SAMPLING_RATE = Option(
    "split.inverse-sampling.rate", within(1, 2**31 - 1), default=1000, doc="Sampling rate: one row out of this many."
)
_BY_ORDER = "strings are split by their order in the database"
STRING_MODE = Option(
    "split.string_split_mode",
    ENUM("sample", "charset_based"),
    default="sample",
    no_effect=_BY_ORDER,
    doc="SeaTunnel's way of splitting strings.",
)
STRING_COLLATE = Option(
    "split.string_split_mode_collate", STRING, no_effect=_BY_ORDER, doc="Collation of the strings to split."
)
ROW_ERRORS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP", "NULL"),
    default="FAIL",
    doc=(
        "Handling of a row with a value that no column type can represent, such as the date infinity: fail the "
        "pipeline, skip and count the row, or replace the value with null (NULL). A warning reports the number of "
        "such rows, with an example."
    ),
)
SELECT_COUNT = Option(
    "use_select_count",
    BOOLEAN,
    default=False,
    doc="True to count the rows of a table instead of using the database's estimate.",
)
FETCH_SIZE = Option(
    "fetch_size",
    within(0, 2**31 - 1),
    default=0,
    unit="rows",
    doc="Maximum number of rows in a batch; 0 lets the engine choose.",
)

INT_NARROWING = Option(
    "int_type_narrowing",
    BOOLEAN,
    default=True,
    doc="True to read tinyint(1) of MySQL as boolean; a value other than 0 and 1 is then an error.",
)

CONNECTION: tuple[Option[Any], ...] = (URL, DRIVER, USER, PASSWORD, PROPERTIES, TIMEOUT, POOL)

_SPLITTING: tuple[Option[Any], ...] = (
    PARTITION_COLUMN,
    PARTITION_NUM,
    LOWER,
    UPPER,
    SPLIT_SIZE,
    EVEN_LOWER,
    EVEN_UPPER,
    THRESHOLD,
    ALLOW_SAMPLING,
    SAMPLING_RATE,
    STRING_MODE,
    STRING_COLLATE,
    SELECT_COUNT,
)
"""Options for dividing a table or a query into splits."""

_OF_A_TABLE: tuple[Option[Any], ...] = (
    evolve(QUERY, required=False, unless=()),
    TABLE_PATH,
    *_SPLITTING,
)
TABLE_LIST = Option(
    "table_list",
    ENTRIES(*_OF_A_TABLE),
    doc="Tables to read: one block per table, with table_path and, optionally, query and split options. Options "
    "outside table_list are the defaults of its entries.",
)

SOURCE_OPTIONS: tuple[Option[Any], ...] = (
    *CONNECTION,
    QUERY,
    TABLE_PATH,
    TABLE_LIST,
    WHERE,
    INCREMENTAL,
    *_SPLITTING,
    FETCH_SIZE,
    ROW_ERRORS,
    INT_NARROWING,
    Option(
        "decimal_type_narrowing",
        BOOLEAN,
        default=True,
        no_effect="columns keep their types",
        doc="SeaTunnel's option for Oracle's numbers.",
    ),
)

GENERATE = Option(
    "generate_sink_sql",
    BOOLEAN,
    default=False,
    doc="True to generate the statements from the options database and table; if false, set query or write_mode.",
)
DATABASE = Option(
    "database",
    STRING,
    doc="Database of the table; by default the database in url. On PostgreSQL it must be the database of url, because "
    "a connection has a single database.",
)
TABLE = Option(
    "table",
    STRING,
    doc="Table, preceded by its schema if the database has schemas. May contain variables of the rows' table, "
    "such as ${table_name}.",
)
SINK_QUERY = Option(
    "query",
    STRING,
    required=True,
    unless=("generate_sink_sql", "write_mode"),
    doc="INSERT … VALUES (…) statement with ? for the columns in their order, or :name for a column.",
)
PRIMARY_KEYS: Option[tuple[str, ...]] = Option(
    "primary_keys",
    LIST(),
    doc="Key columns for updates, deletes and upserts. By default the primary key of the rows.",
)
UPSERT = Option(
    "enable_upsert",
    BOOLEAN,
    default=True,
    doc="With primary keys: true to replace an existing row with the same key when a row is inserted; false to fail.",
)
QUERY_KEY = Option(
    "support_upsert_by_query_primary_key_exist",
    BOOLEAN,
    default=False,
    no_effect="a table without a unique index on primary_keys is always queried for existing keys",
    doc="SeaTunnel's option to query existing keys before each write.",
)
FIELD_IDE = Option(
    "field_ide",
    ENUM("ORIGINAL", "UPPERCASE", "LOWERCASE"),
    default="ORIGINAL",
    doc="Case of the column names in tables that this sink creates or writes.",
)
BATCH_SIZE = Option(
    "batch_size",
    within(1, 2**31 - 1),
    default=100_000,
    unit="rows",
    doc="Maximum number of rows per statement.",
)
EXACTLY_ONCE = Option(
    "is_exactly_once",
    BOOLEAN,
    default=False,
    doc="True to stage rows in tables of the same database, and move them to the target in one transaction "
    "when their checkpoint completes. If false, tasks write to the table directly, and a failure may duplicate rows.",
)
COMMIT_ATTEMPTS = Option(
    "max_commit_attempts",
    within(1, 1000),
    default=3,
    doc="Maximum number of attempts to commit after errors that may be temporary; then the pipeline restarts.",
)
DATA_SAVE_MODE = evolve(
    tables.DATA_SAVE_MODE, type=ENUM("APPEND_DATA", "DROP_DATA", "CUSTOM_PROCESSING", "ERROR_WHEN_DATA_EXISTS")
)
CUSTOM_SQL = Option("custom_sql", STRING, doc="Statement for data_save_mode = CUSTOM_PROCESSING.")
_IN_A_TRANSACTION = "rows are staged in tables and moved in one transaction, without XA"

SINK_OPTIONS: tuple[Option[Any], ...] = (
    *CONNECTION,
    GENERATE,
    DATABASE,
    TABLE,
    SINK_QUERY,
    *tables.WRITE_MODE_OPTIONS,
    MATCH_WHOLE_ROWS,
    PRIMARY_KEYS,
    UPSERT,
    QUERY_KEY,
    FIELD_IDE,
    BATCH_SIZE,
    EXACTLY_ONCE,
    COMMIT_ATTEMPTS,
    tables.SCHEMA_SAVE_MODE,
    TARGET_CONTRACT,
    DATA_SAVE_MODE,
    CUSTOM_SQL,
    Option(
        "use_copy_statement",
        BOOLEAN,
        default=True,
        no_effect="PostgreSQL always uses COPY, and MySQL uses multi-row INSERT statements",
        doc="SeaTunnel's option to write with COPY.",
    ),
    Option("xa_data_source_class_name", STRING, no_effect=_IN_A_TRANSACTION, doc="Java class."),
    Option("transaction_timeout_sec", STRING, no_effect=_IN_A_TRANSACTION, doc="Timeout of a transaction."),
    Option(
        "auto_commit",
        BOOLEAN,
        default=True,
        no_effect="rows are committed per work unit",
        doc="SeaTunnel's option to commit each row.",
    ),
    Option(
        "max_retries",
        STRING,
        no_effect="failed work units are retried, as set by job.retry.times",
        doc="SeaTunnel's number of retries of a batch.",
    ),
    Option(
        "batch_interval_ms",
        STRING,
        no_effect="a work unit is short, so rows are not buffered for long",
        doc="SeaTunnel's maximum delay of buffered rows.",
    ),
)
