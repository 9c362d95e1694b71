"""Checks for tables with changes that may be missing in the log."""

import re
from collections.abc import Sequence

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.mysql import MySQL
from seatunnel_core.connectors.mysql_cdc.server import Server
from seatunnel_core.connectors.tables.table_path import TablePath

_CASCADE = re.compile(r"^\s*CONSTRAINT .* FOREIGN KEY .* ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)\b", re.M)


def require_transactions(dialect: MySQL, path: TablePath, table: DatabaseTable | None) -> None:
    """Check that a table is transactional. The rows of other tables cannot be assigned to a log position.

    Raises:
        SourceError: The table is not transactional.
    """
    if table is not None and not table.transactional:
        raise SourceError(
            f"the table {'.'.join(path)} has an engine without transactions, so its rows cannot be read consistently "
            f"with the log; run ALTER TABLE {dialect.quoted(*path)} ENGINE = InnoDB"
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
        f"{', '.join(found)}: the server does not log changes that a foreign key makes (ON DELETE or ON UPDATE, with "
        "CASCADE or SET NULL), so they are missing in the target; use ON DELETE RESTRICT, and change those rows by "
        "statements"
    )
