"""Values of columns that another program adds to a table while a job runs.

The rows of the job lack such a column, so a statement that replaces a whole row would reset its value. Columns that the
job itself adds (``schema_contract = evolve``) have no values in these rows, so rows without them may still be written.
"""

from collections.abc import Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import CommitError
from seatunnel_core.connectors.tables.database import TableColumn, TableDatabase
from seatunnel_core.connectors.tables.messages import would_reset


@frozen(kw_only=True)
class KeptValues:
    """Check that replaced rows lose no values, in the transaction of ``connection``."""

    database: TableDatabase
    connection: Any = field(repr=False)
    who: str
    named: str
    """Pipeline and sink (``who``) and the name of the table, for messages."""

    table: str
    """The quoted table."""

    columns: Sequence[TableColumn] = field(repr=False)
    """Current columns of the table."""

    written: Sequence[str] = field(repr=False)
    """Columns that the sink writes."""

    def require(self, replaced: str) -> None:
        """Raise ``CommitError`` if a row that is replaced has a value in a column that the new rows lack.

        ``replaced`` is the table with a condition: the part of a SELECT after FROM.
        """
        fold = str.lower if self.database.ignores_case else str
        written = set(map(fold, self.written))
        for column in self.columns:
            if column.generated or fold(column.name) in written:
                continue
            has_value = f"{self.table}.{self.database.quoted(column.name)} IS NOT NULL"
            if self.database.ask(self.connection, f"SELECT 1 FROM {replaced} AND {has_value} LIMIT 1"):
                raise CommitError(would_reset(self.who, self.named, column.name))
