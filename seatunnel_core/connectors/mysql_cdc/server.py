"""Captured server: version, log settings, privileges, and the end of its log."""

import enum
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from attrs import evolve, field, frozen

from seatunnel_core.capture_errors import CaptureSetupError, LogRemovedError
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.databases.mysql import MySQL
from seatunnel_core.connectors.jdbc.databases.mysql_session import ZONES
from seatunnel_core.connectors.mysql_cdc import retention
from seatunnel_core.connectors.mysql_log.position import LogPosition

_LOGS_REPLICATED = ("log_slave_updates", "log_replica_updates")
"""Names of the setting that makes a replica log the changes that it receives."""

_SETTINGS = (
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_row_metadata",
    "gtid_mode",
    "server_id",
    "server_uuid",
    *retention.SETTINGS,
    *_LOGS_REPLICATED,
)
_ON = ("1", "ON")
_GRANT = re.compile(r"GRANT (.*) ON (\S+) TO ", re.IGNORECASE)

_PRIVILEGES: Mapping[str, Sequence[str]] = {
    "REPLICATION SLAVE": ("REPLICATION SLAVE", "ALL PRIVILEGES"),
    "REPLICATION CLIENT": ("REPLICATION CLIENT", "BINLOG MONITOR", "ALL PRIVILEGES", "SUPER"),
}
"""Required privileges, each with the privileges that imply it, such as MariaDB's BINLOG MONITOR."""


FULL_IMAGES = "run SET GLOBAL binlog_row_image = 'FULL' on the server, and reconnect all writers"


_identities: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Identity of the server to which a connection leads."""


class ServerReplacedError(SourceError):
    """Error for a connection that now leads to another server, where log positions of the former server are invalid.

    Tasks use the former server until the pipeline is restarted.
    """

    retryable = True
    needs_restart = True


class Marking(enum.Enum):
    """Method of determining the exact log position that the rows of a chunk reflect."""

    SNAPSHOT = "snapshot"
    """MariaDB reports the position of a consistent snapshot."""

    GTIDS = "gtids"
    """The log is read from the transactions executed before the snapshot to a position after it."""

    LOCKS = "locks"
    """A locking read waits for transactions that are logged but not committed yet."""


@frozen(kw_only=True)
class ServerState:
    """Version and settings of a server."""

    version: str
    settings: Mapping[str, str] = field(repr=False)

    @property
    def is_maria(self) -> bool:
        """True for MariaDB."""
        return "mariadb" in self.version.lower()

    @property
    def marking(self) -> Marking:
        """Method of determining the marks of chunks."""
        if self.is_maria:
            return Marking.SNAPSHOT
        return Marking.GTIDS if self.settings.get("gtid_mode", "").upper() == "ON" else Marking.LOCKS

    @property
    def has_gtids(self) -> bool:
        """True if each transaction has a GTID."""
        return self.marking is not Marking.LOCKS

    @property
    def identity_variable(self) -> str:
        """Name of the variable that identifies the server."""
        return "server_uuid" if "server_uuid" in self.settings and not self.is_maria else "server_id"

    @property
    def identity(self) -> str:
        """Value of the variable ``identity_variable``. Log positions are only valid on one server."""
        return self.settings.get(self.identity_variable, "")

    @property
    def position_statement(self) -> str:
        """Statement that returns the end of the log."""
        return "SHOW BINARY LOG STATUS" if self._has_new_words else "SHOW MASTER STATUS"

    @property
    def replica(self) -> str:
        """Keyword for a replica in MySQL statements."""
        return "REPLICA" if self._has_new_words else "SLAVE"

    @property
    def _has_new_words(self) -> bool:
        """True for MySQL 8.2 and later, where statements use the words ``source`` and ``replica``."""
        numbers = tuple(int(number) for number in re.findall(r"\d+", self.version)[:2])
        return not self.is_maria and numbers >= (8, 2)

    @property
    def omits_replicated(self) -> bool:
        """True if a replica does not log the changes that it receives."""
        return any(self.settings.get(name, "ON").upper() in ("OFF", "0") for name in _LOGS_REPLICATED)

    @property
    def logs_names(self) -> bool:
        """True if the log contains column names."""
        return self.settings.get("binlog_row_metadata", "").upper() == "FULL"

    @property
    def is_5_7(self) -> bool:
        """True for MySQL 5.7."""
        return not self.is_maria and self.version.startswith("5.7")

    def problem(self) -> str | None:
        """Return a message about a setting that prevents capturing, with a remedy; ``None`` if there is none."""
        found = {name: value.upper() for name, value in self.settings.items()}
        if found.get("log_bin") not in _ON:
            return "its binary log is disabled; set log_bin in the configuration of the server, and restart it"
        if found.get("binlog_format") != "ROW":
            return (
                f"binlog_format is {found.get('binlog_format')}, so the log does not contain all changed rows; run SET "
                "GLOBAL binlog_format = 'ROW', and reconnect all writers"
            )
        if found.get("binlog_row_image", "FULL") != "FULL":
            return (
                f"binlog_row_image is {found['binlog_row_image']}, so changed rows are incomplete in the log; "
                f"{FULL_IMAGES}"
            )
        if found.get("binlog_row_value_options"):
            return (
                "binlog_row_value_options is set, so JSON documents are incomplete in the log; run SET GLOBAL "
                "binlog_row_value_options = '', and reconnect all writers"
            )
        return None


@frozen(kw_only=True)
class Server:
    """Client that runs statements on the captured server."""

    dialect: MySQL
    known: ServerState | None = field(default=None, repr=False)
    """State of the server to which connections must lead; ``None`` before it is known."""

    def ask(self, statement: str) -> Sequence[Sequence[Any]]:
        """Run a statement and return its rows.

        Raises:
            SourceError: The statement failed.
        """
        with self.connection(f"{statement[:60]} failed") as connection:
            return self.dialect.ask(connection, statement)

    @contextmanager
    def connection(self, what: str) -> Iterator[Any]:
        """Yield a connection, and convert driver errors to SourceError with the description ``what``."""
        try:
            with self.dialect.pool.lend() as connection:
                self.require_known(connection, lambda statement: self.dialect.ask(connection, statement))
                yield connection
        except SourceError:
            raise
        except Exception as error:
            raise self.failed(what, error) from error

    def require_known(self, connection: Any, ask: Callable[[str], Sequence[Sequence[Any]]]) -> None:
        """Check that a connection leads to the known server. A new connection is queried once.

        Raises:
            ServerReplacedError: The address now leads to another server.
        """
        if self.known is None:
            return
        variable, identity = self.known.identity_variable, self.known.identity
        if connection not in _identities:
            ((value,),) = ask(f"SELECT @@global.{variable}")
            _identities[connection] = _text(value)
        if _identities[connection] != identity:
            raise self.replaced(_identities[connection])

    def replaced(self, identity: str) -> ServerReplacedError:
        """Return the error for an address that leads to a server other than the known one."""
        assert self.known is not None, "a server was known before"
        return ServerReplacedError(
            f"{self.dialect.address} now points to the server with {self.known.identity_variable} = {identity} "
            f"instead of {self.known.identity}; reading starts again if the job can continue there"
        )

    def variable(self, name: str) -> str:
        """Return the value of a global variable; empty if it is null."""
        ((value,),) = self.ask(f"SELECT @@global.{name}")
        return "" if value is None else _text(value)

    def failed(self, what: str, error: BaseException) -> SourceError:
        """Return a SourceError for a failed operation, without the password in its message."""
        return self.dialect.failed(SourceError, f"{self.dialect.address}: {what}", error)

    def state(self) -> ServerState:
        """Query the version and settings of the server to which the address leads now."""
        here = self if self.known is None else evolve(self, known=None)
        settings = here.settings(_SETTINGS)
        ((version,),) = here.ask("SELECT VERSION()")
        return ServerState(version=_text(version), settings=settings)

    def settings(self, names: Sequence[str]) -> dict[str, str]:
        """Return the values of global variables. Names that the server does not have are omitted."""
        listed = ", ".join(f"'{name}'" for name in names)
        found = self.ask(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({listed})")
        return {_text(name): _text(value) for name, value in found}

    def require_capturable(self) -> ServerState:
        """Return the state of the server if it allows capturing.

        Raises:
            CaptureSetupError: A setting or privilege is missing. The message contains the statement that fixes it.
        """
        state = self.state()
        problem = state.problem()
        if problem is not None:
            raise CaptureSetupError(f"{self.dialect.address} cannot be captured: {problem}")
        if state.omits_replicated and self.is_replica(state):
            raise CaptureSetupError(
                f"{self.dialect.address} cannot be captured: it is a replica that does not log the changes that it "
                "receives; set log_slave_updates (log_replica_updates) = ON in its configuration, and restart it, or "
                "capture its source"
            )
        missing = self.missing_privileges()
        if missing:
            ((user,),) = self.ask("SELECT CURRENT_USER()")
            name, _, host = _text(user).rpartition("@")
            raise CaptureSetupError(
                f"{self.dialect.address}: the user {name} lacks the privilege {' and '.join(missing)}; run GRANT "
                f"{', '.join(missing)} ON *.* TO '{name}'@'{host}'"
            )
        return state

    def is_replica(self, state: ServerState) -> bool:
        """Return True if the server is a replica; False if the user lacks the privilege to query this."""
        try:
            return bool(self.replica_status(state))
        except SourceError:
            return any(_text(count) not in ("0", "OFF") for _, count in self.ask("SHOW STATUS LIKE 'Slave%_running'"))

    def replica_status(self, state: ServerState) -> Sequence[Sequence[Any]]:
        """Return the status of each replication channel; empty if the server is not a replica."""
        return self.ask("SHOW ALL SLAVES STATUS" if state.is_maria else f"SHOW {state.replica} STATUS")

    def require_logged(self, state: ServerState, databases: Collection[str]) -> None:
        """Check that the server logs changes of databases.

        Raises:
            CaptureSetupError: ``binlog-do-db`` or ``binlog-ignore-db`` excludes a database.
        """
        _, _, only, ignored, *_ = [*map(_text, self._end(state)), "", ""]
        included, excluded = ({each for each in text.lower().split(",") if each} for text in (only, ignored))
        for name in sorted(databases):
            if name.lower() in excluded or (included and name.lower() not in included):
                raise CaptureSetupError(
                    f"{self.dialect.address} does not log changes of the database {name}: its configuration "
                    f"contains {'binlog-do-db' if included else 'binlog-ignore-db'} = "
                    f"{only if included else ignored}; change this setting, and restart the server"
                )

    def missing_privileges(self) -> list[str]:
        """Return the global privileges that the user lacks; empty if roles may provide them."""
        granted: set[str] = set()
        for (line,) in self.ask("SHOW GRANTS"):
            found = _GRANT.match(_text(line))
            if found is None:
                return []
            if found[2].replace("`", "") == "*.*":
                granted.update(each.strip().upper() for each in found[1].split(","))
        return [name for name, sources in _PRIVILEGES.items() if granted.isdisjoint(sources)]

    def position(self, state: ServerState) -> LogPosition:
        """Return the end of the log.

        Raises:
            SourceError: The server does not write a log, or rejects the statement.
        """
        file, offset, *_ = self._end(state)
        return LogPosition(_text(file), int(offset))

    def _end(self, state: ServerState) -> Sequence[Any]:
        found = self.ask(state.position_statement)
        if not found:
            raise SourceError(f"{self.dialect.address} does not write a binary log")
        return found[0]

    def files(self) -> list[str]:
        """Return the names of the log files, oldest first."""
        return [*self.file_sizes()]

    def file_sizes(self) -> dict[str, int]:
        """Return the sizes of the log files in bytes, by name, oldest first."""
        return {_text(row[0]): int(row[1]) for row in self.ask("SHOW BINARY LOGS")}

    def clock_ms(self) -> int:
        """Return the time on the server, in milliseconds since 1970, with a resolution of one second."""
        ((seconds,),) = self.ask("SELECT UNIX_TIMESTAMP()")
        return int(seconds) * 1000

    def require_retained(self, position: LogPosition) -> None:
        """Check that the log still contains the events after a position.

        Raises:
            LogRemovedError: The server has removed them.
        """
        files = self.files()
        if position.file not in files:
            oldest = f"the oldest one is {files[0]}" if files else "it has none"
            raise LogRemovedError(
                f"{self.dialect.address} no longer has the log file {position.file}, from which the job continues at "
                f"{position.offset} ({oldest}): changes are lost. Start a new job, and let the server keep its log for "
                "longer (binlog_expire_logs_seconds or expire_logs_days)"
            )


def server_of(options: Options, zone: str) -> Server:
    """Return the server for options of ``Jdbc``. All of its sessions have a time zone.

    Raises:
        UsageError: The URL is invalid.
    """
    address = address_of(options)
    if address.kind != "mysql":
        raise UsageError("option 'url': expected jdbc:mysql://host:3306/database, or jdbc:mariadb://…")
    zoned = {name: value for name, value in address.properties if name not in ZONES} | {"serverTimezone": zone}
    return Server(dialect=MySQL(evolve(address, properties=tuple(sorted(zoned.items()))), options[jdbc.POOL]))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
