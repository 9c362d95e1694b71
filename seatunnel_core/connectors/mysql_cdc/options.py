"""Options of the ``MySQL-CDC`` and ``MariaDB-CDC`` sources, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BOOLEAN, ENUM, STRING, Option, Options, within
from seatunnel_core.connectors.change_data import options as shared

DATABASE_NAMES = evolve(shared.DATABASE_NAMES, doc="Databases from which tables are captured.")
DATABASE_PATTERN = Option(
    "database-pattern",
    STRING,
    default=".*",
    doc=(
        "Regular expression that matches the whole name of each database from which tables are captured. Ignored if "
        "database-names is set."
    ),
)
STARTUP_MODE = Option(
    "startup.mode",
    ENUM("initial", "earliest", "latest", "specific", "timestamp"),
    default="initial",
    doc=(
        "Start of the job: initial reads the tables and then the log. The other values read only the log: earliest "
        "from its oldest event, latest from its end, specific from startup.specific-offset.file and .pos, timestamp "
        "from startup.timestamp."
    ),
)
STARTUP_FILE = Option("startup.specific-offset.file", STRING, doc="Binary log file, for startup.mode = specific.")
STARTUP_POS = Option(
    "startup.specific-offset.pos",
    within(4, 2**63 - 1),
    unit="bytes",
    doc="Offset in the file, for startup.mode = specific. It must be the start of a transaction.",
)
STARTUP_GTIDS = Option(
    "startup.specific-offset.gtid-set",
    STRING,
    doc="Not supported: set a file and an offset.",
)
STARTUP_SKIP_EVENTS = Option(
    "startup.specific-offset.skip-events",
    within(0, 2**31 - 1),
    default=0,
    doc=("Must be 0: the job cannot start inside a transaction."),
)
STARTUP_SKIP_ROWS = Option(
    "startup.specific-offset.skip-rows",
    within(0, 2**31 - 1),
    default=0,
    doc=("Must be 0: the job cannot start inside a transaction."),
)
STARTUP_TIMESTAMP = Option(
    "startup.timestamp",
    within(0, 2**53),
    unit="ms",
    doc="Unix timestamp, for startup.mode = timestamp: earlier transactions of the log are not emitted.",
)
STOP_MODE = Option(
    "stop.mode",
    ENUM("never", "latest", "specific", "timestamp"),
    default="never",
    doc=(
        "End of the job: never means no end, latest the end of the log when all rows of the tables have been read, "
        "specific the position in stop.specific-offset.file and .pos, and timestamp the time in stop.timestamp."
    ),
)
STOP_FILE = Option("stop.specific-offset.file", STRING, doc="Binary log file, for stop.mode = specific.")
STOP_POS = Option(
    "stop.specific-offset.pos",
    within(4, 2**63 - 1),
    unit="bytes",
    doc="Offset in the file, for stop.mode = specific.",
)
STOP_TIMESTAMP = Option(
    "stop.timestamp",
    within(0, 2**53),
    unit="ms",
    doc="Unix timestamp, for stop.mode = timestamp: the job ends before the first transaction of the log that was "
    "committed at that time or later, or at the end of the log if the server's clock has passed that time.",
)
SERVER_ID = Option(
    "server-id",
    STRING,
    no_effect="readers of bounded ranges of the log need no id",
    doc="Server IDs of SeaTunnel's log readers.",
)
SERVER_ZONE = Option(
    "server-time-zone",
    STRING,
    default="UTC",
    doc="Time zone in which TIMESTAMP values are shown: an offset such as +05:30, or a name defined on the server.",
)
INT_NARROWING = Option("int_type_narrowing", BOOLEAN, default=True, doc="True to read tinyint(1) as boolean.")

OPTIONS: tuple[Option[Any], ...] = (
    *shared.CONNECTION,
    DATABASE_NAMES,
    *(option for option in shared.TABLES if option is not shared.DATABASE_NAMES),
    DATABASE_PATTERN,
    STARTUP_MODE,
    STARTUP_FILE,
    STARTUP_POS,
    STARTUP_GTIDS,
    STARTUP_SKIP_EVENTS,
    STARTUP_SKIP_ROWS,
    STARTUP_TIMESTAMP,
    STOP_MODE,
    STOP_FILE,
    STOP_POS,
    STOP_TIMESTAMP,
    *shared.CHUNKS,
    SERVER_ID,
    SERVER_ZONE,
    INT_NARROWING,
    *shared.ROWS,
    *shared.WITHOUT_EFFECT,
)


def require_supported(options: Options) -> None:
    """Raise UsageError for unsupported or missing option values."""
    shared.require_supported(options)
    if options[STARTUP_GTIDS] is not None:
        raise UsageError(f"option {STARTUP_GTIDS.key!r}: not supported; write {STARTUP_FILE.key} and .pos instead")
    for skipped in (STARTUP_SKIP_EVENTS, STARTUP_SKIP_ROWS):
        if options[skipped]:
            raise UsageError(
                f"option {skipped.key!r}: a start inside a transaction is not supported; remove this option"
            )
    for mode, value, needed in (
        (STARTUP_MODE, "specific", (STARTUP_FILE, STARTUP_POS)),
        (STARTUP_MODE, "timestamp", (STARTUP_TIMESTAMP,)),
        (STOP_MODE, "specific", (STOP_FILE, STOP_POS)),
        (STOP_MODE, "timestamp", (STOP_TIMESTAMP,)),
    ):
        for option in needed:
            if options[mode] == value and options[option] is None:
                raise UsageError(f"option {option.key!r}: required for {mode.key} = {value}")
            if options[mode] != value and options.is_set(option):
                raise UsageError(f"option {option.key!r}: allowed only with {mode.key} = {value}")
