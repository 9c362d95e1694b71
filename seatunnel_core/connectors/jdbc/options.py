"""The options of the source and of the sink ``Jdbc``, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.increments import INCREMENTAL
from seatunnel_core.connector_api.option import BOOLEAN, ENTRIES, ENUM, LIST, MAP, NUMBER, STRING, Option, within
from seatunnel_core.connectors.tables import options as tables
from seatunnel_core.connectors.tables.growth import TARGET_CONTRACT
from seatunnel_core.connectors.write_mode import (
    HISTORY_COLUMNS,
    KEEP_HISTORY,
    MERGE_KEY,
    PARTITIONS_COMPLETE,
    PRUNING_MODE,
    REPLACE_PARTITIONS,
)

_NO_JARS = "no jar is needed: the driver follows from url"

URL = Option(
    "url",
    STRING,
    required=True,
    secret=True,
    doc="The database: jdbc:postgresql://host:5432/database, jdbc:mysql://…, jdbc:sqlite:/path or jdbc:duckdb:/path. "
    "What stands behind ? is taken as properties.",
)
DRIVER = Option("driver", STRING, no_effect=_NO_JARS, doc="The class of a driver in Java.")
USER = Option("user", STRING, aliases=("username",), doc="As whom to open the database.")
PASSWORD = Option("password", STRING, secret=True, doc="The password of that user.")
PROPERTIES = Option(
    "properties",
    MAP,
    secret=True,
    doc="More of the connection, such as sslmode, currentSchema or ApplicationName. The names of JDBC and those of the "
    "database's own client are understood.",
)
TIMEOUT = Option(
    "connection_check_timeout_sec", within(0, 86_400), default=30, unit="s", doc="How long to wait for a connection."
)
POOL = Option(
    "connection_pool_size",
    within(2, 1000),
    default=8,
    doc="How many readers and writers of a process use this database at a time, for all tables, sources and sinks "
    "together; one that has a connection waits for no other.",
)
QUERY = Option(
    "query", STRING, unless=("table_path", "table_list"), required=True, doc="A statement that gives the rows."
)
TABLE_PATH = Option(
    "table_path", STRING, doc="The table, database.schema.table or less of it. With query it only names the rows."
)
WHERE = Option("where_condition", STRING, doc="Which rows of each table or query, beginning with where.")
PARTITION_COLUMN = Option(
    "partition_column",
    STRING,
    doc="By which column the rows are divided into splits. Without it, that of the primary key of table_path, else "
    "nothing is divided.",
)
PARTITION_NUM = Option(
    "partition_num",
    within(1, 100_000),
    doc="Into how many splits. Without it a table has splits of split.size rows, and a query as many as "
    "parallel readers.",
)
LOWER = Option("partition_lower_bound", STRING, doc="The smallest value of partition_column that is read.")
UPPER = Option("partition_upper_bound", STRING, doc="The largest value of partition_column that is read.")
SPLIT_SIZE = Option(
    "split.size", within(1, 2**31 - 1), default=100_000, unit="rows", doc="About how many rows a split has."
)
EVEN_LOWER = Option(
    "split.even-distribution.factor.lower-bound",
    NUMBER,
    default=0.05,
    doc="Numbers are taken for evenly distributed where their range has at least so many values per row.",
)
EVEN_UPPER = Option(
    "split.even-distribution.factor.upper-bound", NUMBER, default=100.0, doc="And at most so many values per row."
)
THRESHOLD = Option(
    "split.sample-sharding.threshold",
    within(1, 2**31 - 1),
    default=1000,
    doc="From so many splits on the borders of uneven ones come from a sample of the rows.",
)
ALLOW_SAMPLING = Option(
    "split.allow-sampling", BOOLEAN, default=True, doc="Whether borders of uneven splits may come from a sample."
)
SAMPLING_RATE = Option(
    "split.inverse-sampling.rate", within(1, 2**31 - 1), default=1000, doc="One row of so many is in the sample."
)
_BY_ORDER = "texts are divided by their order in the database"
STRING_MODE = Option(
    "split.string_split_mode",
    ENUM("sample", "charset_based"),
    default="sample",
    no_effect=_BY_ORDER,
    doc="How texts are divided.",
)
STRING_COLLATE = Option(
    "split.string_split_mode_collate", STRING, no_effect=_BY_ORDER, doc="The order of texts that are divided."
)
ROW_ERRORS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP", "NULL"),
    default="FAIL",
    doc="What a row does that has a value which rows cannot hold, such as infinity as a date: end the pipeline, or be "
    "left out and counted; or, with NULL, have null in its place. A warning counts such rows, and names one.",
)
SELECT_COUNT = Option(
    "use_select_count",
    BOOLEAN,
    default=False,
    doc="Count the rows of a table instead of taking the database's estimate.",
)
FETCH_SIZE = Option(
    "fetch_size",
    within(0, 2**31 - 1),
    default=0,
    unit="rows",
    doc="How many rows a batch has at most; 0 leaves it to the engine.",
)

INT_NARROWING = Option(
    "int_type_narrowing",
    BOOLEAN,
    default=True,
    doc="Whether tinyint(1) of MySQL is a boolean; a value that is neither 0 nor 1 is an error then.",
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
"""The options that decide how a table or a query is divided into splits."""

_OF_A_TABLE: tuple[Option[Any], ...] = (
    evolve(QUERY, required=False, unless=()),
    TABLE_PATH,
    *_SPLITTING,
)
TABLE_LIST = Option(
    "table_list",
    ENTRIES(*_OF_A_TABLE),
    doc="Several tables: a block with table_path, and query or options of splits of its own, for each. What an entry "
    "does not say is taken from beside table_list.",
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
        "decimal_type_narrowing", BOOLEAN, default=True, no_effect="a type stays what it is", doc="Of Oracle's numbers."
    ),
)

GENERATE = Option(
    "generate_sink_sql", BOOLEAN, default=False, doc="Write rows into database and table; without it query is needed."
)
DATABASE = Option(
    "database",
    STRING,
    doc="The database of the table, that of url without it. On PostgreSQL it has to be that, because no other is open.",
)
TABLE = Option(
    "table",
    STRING,
    doc="The table, with its schema before it where the database has schemas. May have variables of the rows' table, "
    "such as ${table_name}.",
)
SINK_QUERY = Option(
    "query",
    STRING,
    required=True,
    unless=("generate_sink_sql", "write_mode"),
    doc="A statement INSERT … VALUES (…) with ? for the columns of the rows in their order, or :name for those of "
    "a name.",
)
PRIMARY_KEYS: Option[tuple[str, ...]] = Option(
    "primary_keys",
    LIST(),
    doc="The columns by which updates, deletes and upserts find their row. Without it, the key that the rows bring.",
)
UPSERT = Option(
    "enable_upsert",
    BOOLEAN,
    default=True,
    doc="With primary keys: whether an inserted row replaces the one with its key. Otherwise that is an error.",
)
QUERY_KEY = Option(
    "support_upsert_by_query_primary_key_exist",
    BOOLEAN,
    default=False,
    no_effect="a table without a unique index on primary_keys is always asked for them",
    doc="Find out by a query which keys are there.",
)
FIELD_IDE = Option(
    "field_ide",
    ENUM("ORIGINAL", "UPPERCASE", "LOWERCASE"),
    default="ORIGINAL",
    doc="How the names of the columns of a table are written that this sink creates or writes.",
)
BATCH_SIZE = Option(
    "batch_size",
    within(1, 2**31 - 1),
    default=100_000,
    unit="rows",
    doc="How many rows are sent to the database at a time, at most.",
)
EXACTLY_ONCE = Option(
    "is_exactly_once",
    BOOLEAN,
    default=False,
    doc="Stage rows in tables beside the target, and move them in one transaction with the checkpoint that holds them. "
    "Without it tasks write at once, and a row may come again after a failure.",
)
COMMIT_ATTEMPTS = Option(
    "max_commit_attempts",
    within(1, 1000),
    default=3,
    doc="How often a commit is tried in a row before the pipeline restarts, when the database says that it may help.",
)
DATA_SAVE_MODE = evolve(
    tables.DATA_SAVE_MODE, type=ENUM("APPEND_DATA", "DROP_DATA", "CUSTOM_PROCESSING", "ERROR_WHEN_DATA_EXISTS")
)
CUSTOM_SQL = Option("custom_sql", STRING, doc="The statement of data_save_mode = CUSTOM_PROCESSING.")
_IN_A_TRANSACTION = "rows are staged in tables and moved in one transaction; nothing of XA is needed"

SINK_OPTIONS: tuple[Option[Any], ...] = (
    *CONNECTION,
    GENERATE,
    DATABASE,
    TABLE,
    SINK_QUERY,
    PRUNING_MODE,
    MERGE_KEY,
    KEEP_HISTORY,
    HISTORY_COLUMNS,
    REPLACE_PARTITIONS,
    PARTITIONS_COMPLETE,
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
        no_effect="PostgreSQL always gets COPY, and MySQL INSERT with many rows",
        doc="Write with COPY.",
    ),
    Option("xa_data_source_class_name", STRING, no_effect=_IN_A_TRANSACTION, doc="A class in Java."),
    Option("transaction_timeout_sec", STRING, no_effect=_IN_A_TRANSACTION, doc="How long a transaction may take."),
    Option("auto_commit", BOOLEAN, default=True, no_effect="rows are committed by work unit", doc="Commit each row."),
    Option("max_retries", STRING, no_effect="a work unit is run again as the job says", doc="Retries of a batch."),
    Option("batch_interval_ms", STRING, no_effect="a work unit ends in time", doc="How long rows may wait."),
)
