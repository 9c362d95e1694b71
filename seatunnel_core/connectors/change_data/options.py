"""Options of all sources for change data capture, with SeaTunnel's names."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import (
    BOOLEAN,
    ENTRIES,
    ENUM,
    LIST,
    MAP,
    NUMBER,
    STRING,
    Option,
    Options,
    within,
)
from seatunnel_core.connectors.jdbc import options as jdbc

URL = Option(
    "url",
    STRING,
    required=True,
    secret=True,
    aliases=("base-url",),
    doc="URL of the database, as in the Jdbc source. Connection properties follow a question mark.",
)
USERNAME = Option("username", STRING, required=True, aliases=("user",), doc="User name.")
PASSWORD = Option("password", STRING, secret=True, doc="Password of the user.")
PROPERTIES = Option(
    "properties", MAP, secret=True, doc="Further connection properties, named as in JDBC or in the database's client."
)
DATABASE_NAMES: Option[tuple[str, ...]] = Option(
    "database-names", LIST(), doc="Databases from which tables are captured. By default, the database in url."
)
TABLE_NAMES: Option[tuple[str, ...]] = Option(
    "table-names",
    LIST(),
    required=True,
    unless=("table-pattern",),
    doc="Tables to capture, in the form database.schema.table. Leading parts can be omitted if the rest is unique.",
)
TABLE_PATTERN = Option(
    "table-pattern",
    STRING,
    doc="Regular expression that matches the whole path of each table to capture. Cannot be combined with table-names.",
)
CONFIGURED_TABLE = Option("table", STRING, required=True, doc="The table, written as in table-names.")
CONFIGURED_KEY: Option[tuple[str, ...]] = Option(
    "primaryKeys", LIST(), doc="Columns that identify a row, for a table without a primary key."
)
CONFIGURED_SPLIT_COLUMN = Option(
    "snapshotSplitColumn", STRING, doc="Column of the key by which the table is divided into chunks."
)
CONFIGURED_COLUMNS: Option[tuple[str, ...]] = Option(
    "columns", LIST(), doc="Columns to capture, including the key columns. By default all columns."
)
CONFIGURED_FILTER = Option(
    "filter",
    STRING,
    doc=(
        "Condition for the rows to capture: comparisons of columns with integers, IN, IS NULL and IS NOT NULL, joined "
        "by AND. If an update changes whether a row meets the condition, it becomes an insert or a delete."
    ),
)
TABLE_CONFIG: Option[tuple[Options, ...]] = Option(
    "table-names-config",
    ENTRIES(CONFIGURED_TABLE, CONFIGURED_KEY, CONFIGURED_SPLIT_COLUMN, CONFIGURED_COLUMNS, CONFIGURED_FILTER),
    doc="Settings of individual tables.",
)
WITHOUT_KEY = Option(
    "tables-without-key",
    ENUM("reject", "capture"),
    default="reject",
    doc="Handling of a table without a primary key: reject it, or capture its rows, which only a sink with "
    "match_whole_rows can apply. Its snapshot is read as one chunk, and its updates need whole rows in the log.",
)
SPLIT_SIZE = Option(
    "snapshot.split.size",
    within(1, 2**31 - 1),
    default=8096,
    unit="rows",
    doc="Approximate number of rows in a chunk of a table.",
)
FETCH_SIZE = Option(
    "snapshot.fetch.size", within(1, 2**31 - 1), default=1024, no_effect="the engine chooses the batch size",
    unit="rows", doc="Number of rows per fetch in SeaTunnel.",
)  # fmt: skip
EVEN_UPPER = Option(
    "chunk-key.even-distribution.factor.upper-bound", NUMBER, default=100.0, doc=jdbc.EVEN_UPPER.doc
)  # fmt: skip
EVEN_LOWER = Option(
    "chunk-key.even-distribution.factor.lower-bound", NUMBER, default=0.05, doc=jdbc.EVEN_LOWER.doc
)  # fmt: skip
THRESHOLD = Option(
    "sample-sharding.threshold",
    within(1, 2**31 - 1),
    default=1000,
    doc="Minimum number of chunks for which uneven chunk bounds are computed from a sample of the rows.",
)
SAMPLING_RATE = Option(
    "inverse-sampling.rate",
    within(1, 2**31 - 1),
    default=1000,
    doc="Sampling rate: with the value N, one row in N is sampled.",
)
ALLOW_SAMPLING = Option("split.allow-sampling", BOOLEAN, default=True, doc=jdbc.ALLOW_SAMPLING.doc)
CONNECT_TIMEOUT = Option(
    "connect.timeout.ms", within(1, 86_400_000), default=30_000, unit="ms", doc="Timeout for connecting."
)
POOL_SIZE = Option("connection.pool.size", within(2, 1000), default=20, doc=jdbc.POOL.doc)
FORMAT = Option(
    "format",
    ENUM("DEFAULT", "COMPATIBLE_DEBEZIUM_JSON"),
    default="DEFAULT",
    doc="Format of the rows: the columns of the tables, or with COMPATIBLE_DEBEZIUM_JSON one table with the string "
    "columns topic, key and value, which contain Debezium's messages.",
    decides_columns=True,
)
SCHEMA_CHANGES = Option(
    "schema-changes.enabled",
    BOOLEAN,
    default=False,
    doc=(
        "Must be false. If the columns of a captured table change, the job stops before it reads a row with the new "
        "columns."
    ),
)
DEBEZIUM = Option(
    "debezium",
    MAP,
    secret=True,
    doc=(
        "Properties of Debezium. Supported: column.include.list or column.exclude.list, column.mask.with.N.chars, "
        "column.truncate.to.N.chars and column.mask.hash.v2.SHA-256.with.salt.SALT. With format = "
        "COMPATIBLE_DEBEZIUM_JSON also topic.prefix or database.server.name, key.converter.schemas.enable, "
        "value.converter.schemas.enable (both true by default) and tombstones.on.delete (false by default). Other "
        "column properties are rejected; all other properties are ignored with a warning."
    ),
)
_EXACT = "snapshots are always exact"
WITHOUT_EFFECT: tuple[Option[Any], ...] = (
    Option(
        "connect.max-retries", within(0, 1000), default=3, no_effect="the engine retries",
        doc="SeaTunnel's maximum number of attempts to connect.",
    ),
    Option(
        "incremental.parallelism", within(1, 1000), default=1, no_effect="the engine sets the parallelism",
        doc="SeaTunnel's number of log readers.",
    ),
    Option("exactly_once", BOOLEAN, default=False, no_effect=_EXACT, doc="SeaTunnel's switch for exact snapshots."),
    Option(
        "enable_concurrent_read", BOOLEAN, default=True, no_effect="the engine sets the parallelism",
        doc="SeaTunnel's switch for parallel snapshots.",
    ),
)  # fmt: skip

CONNECTION: tuple[Option[Any], ...] = (URL, USERNAME, PASSWORD, PROPERTIES, CONNECT_TIMEOUT, POOL_SIZE)
TABLES: tuple[Option[Any], ...] = (DATABASE_NAMES, TABLE_NAMES, TABLE_PATTERN, TABLE_CONFIG, WITHOUT_KEY)
CHUNKS: tuple[Option[Any], ...] = (
    SPLIT_SIZE,
    FETCH_SIZE,
    EVEN_UPPER,
    EVEN_LOWER,
    THRESHOLD,
    SAMPLING_RATE,
    ALLOW_SAMPLING,
)
ROWS: tuple[Option[Any], ...] = (FORMAT, DEBEZIUM, SCHEMA_CHANGES)

_OF_JDBC: Mapping[Option[Any], Option[Any]] = {
    URL: jdbc.URL,
    USERNAME: jdbc.USER,
    PASSWORD: jdbc.PASSWORD,
    PROPERTIES: jdbc.PROPERTIES,
    POOL_SIZE: jdbc.POOL,
    SPLIT_SIZE: jdbc.SPLIT_SIZE,
    EVEN_UPPER: jdbc.EVEN_UPPER,
    EVEN_LOWER: jdbc.EVEN_LOWER,
    THRESHOLD: jdbc.THRESHOLD,
    SAMPLING_RATE: jdbc.SAMPLING_RATE,
    ALLOW_SAMPLING: jdbc.ALLOW_SAMPLING,
}


def jdbc_options(options: Options, *, int_narrowing: bool = False) -> Options:
    """Return options for reading the same database with the ``Jdbc`` source, without a table."""
    found = {theirs.key: options[ours] for ours, theirs in _OF_JDBC.items() if options[ours] is not None}
    found[jdbc.TIMEOUT.key] = max(1, options[CONNECT_TIMEOUT] // 1000)
    found[jdbc.INT_NARROWING.key] = int_narrowing
    return Options(found, jdbc.SOURCE_OPTIONS)


def captures_without_key(options: Options) -> bool:
    """Return True if tables without a key are captured."""
    return bool(options[WITHOUT_KEY] == "capture")


def require_supported(options: Options) -> None:
    """Raise UsageError for unsupported option values."""
    if options[SCHEMA_CHANGES]:
        raise UsageError(
            "option 'schema-changes.enabled': changes of columns are not supported; set it to false. A change of a "
            "captured table then stops the job before it reads a row with the new columns"
        )
