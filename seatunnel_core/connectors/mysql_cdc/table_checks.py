"""Checks and locks for tables with changes that may be missing from the log."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seatunnel_core.capture_errors import CaptureSetupError
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.change_data.column_rules import path_of
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.mysql import MySQL
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.server import Marking, Server, ServerState
from seatunnel_core.connectors.tables.table_path import TablePath

_WAIT_S = 3
"""Lock timeout, in seconds. Writers of the table wait while the lock waits for transactions that have changed it."""

_ATTEMPTS = 40
_PAUSE_S = 1.0
"""Pause between lock attempts, during which writers continue, in seconds."""

_TIMEOUT = 1205
_DENIED = (1044, 1142)

_CASCADE = re.compile(r"^\s*CONSTRAINT .* FOREIGN KEY .* ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)\b", re.M)


def require_transactions(dialect: MySQL, path: TablePath, table: DatabaseTable | None) -> None:
    """Check that a table is transactional. The rows of other tables cannot be assigned to a log position.

    Raises:
        SourceError: The table is not transactional.
    """
    if table is not None and not table.transactional:
        raise SourceError(
            f"the table {'.'.join(path)} uses a storage engine without transactions, so its rows cannot be read "
            f"consistently with the log; run ALTER TABLE {dialect.quoted(*path)} ENGINE = InnoDB"
        )


def cascades(server: Server, paths: Sequence[TablePath]) -> str | None:
    """Return a warning about tables with cascading foreign keys; ``None`` if there are none."""
    found = []
    for path in paths:
        ((_, definition, *_),) = server.ask(f"SHOW CREATE TABLE {server.dialect.quoted(*path)}")
        text = definition.decode() if isinstance(definition, bytes) else str(definition)
        if _CASCADE.search(text):
            found.append(".".join(path))
    if not found:
        return None
    return (
        f"{', '.join(found)}: the server does not log changes made by foreign keys (ON DELETE or ON UPDATE, with "
        "CASCADE or SET NULL), so the target misses these changes; use ON DELETE RESTRICT, and change the dependent "
        "rows with SQL statements"
    )


@contextmanager
def locked_table(server: Server, path: TablePath) -> Iterator[None]:
    """Hold a read lock on a table, after waiting for transactions that have changed it.

    Raises:
        CaptureSetupError: The user may not lock the table.
        SourceError: Transactions that have changed the table did not end in time. Retryable.
    """
    with server.connection(f"the table {'.'.join(path)} cannot be locked") as connection:
        cursor = server.dialect.cursor(connection)
        ((former,),) = server.dialect.ask(connection, "SELECT @@session.lock_wait_timeout")
        cursor.execute(f"SET SESSION lock_wait_timeout = {_WAIT_S}")
        _lock(server, cursor, path)
        try:
            yield
        finally:
            cursor.execute("UNLOCK TABLES")
            cursor.execute(f"SET SESSION lock_wait_timeout = {int(former)}")


def _lock(server: Server, cursor: Any, path: TablePath) -> None:
    name, address = ".".join(path), server.dialect.address
    for left in reversed(range(_ATTEMPTS)):
        try:
            cursor.execute(f"LOCK TABLES {server.dialect.quoted(*path)} READ")
        except Exception as error:
            code = error.args[0] if error.args else None
            if code in _DENIED:
                raise CaptureSetupError(
                    f"{address}: the user may not lock the table {name}, which has no key and must be locked for a "
                    f"moment when its snapshot begins; run GRANT LOCK TABLES ON {server.dialect.quoted(path[0])}.* "
                    "TO this user"
                ) from error
            if code != _TIMEOUT:
                raise
            if not left:
                late = SourceError(
                    f"{address}: the table {name} has no key, so the snapshot must lock it for a moment, but "
                    "transactions that have changed it are still open; end these transactions, or start the job "
                    "at another time"
                )
                late.retryable = True
                raise late from error
            time.sleep(_PAUSE_S)
        else:
            return


def require_lockable(server: Server, state: ServerState, tables: Sequence[Found]) -> None:
    """Check that tables without a key can be locked, if the server requires this for an exact snapshot.

    Raises:
        CaptureSetupError: The user may not lock a table.
    """
    if state.marking is not Marking.SNAPSHOT:
        for table in tables:
            if not table.schema().primary_key:
                with locked_table(server, path_of(table)):
                    pass
