"""Connection for reading and writing rows through ADBC's low-level interface.

ADBC's DB-API interface imports pandas and polars if they are installed, which takes half a second per process.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa


class AdbcConnection:
    """A connection to PostgreSQL; its first statement begins a transaction.

    ADBC's own transactions are not used, because they cause a warning in the server's log after each ``COPY``.
    """

    def __init__(self, address: str) -> None:
        """Open a connection; ``address`` is a libpq connection string."""
        import adbc_driver_manager as adbc
        import adbc_driver_postgresql

        self._adbc = adbc
        self._database = adbc_driver_postgresql.connect(address)
        try:
            self._connection = adbc.AdbcConnection(self._database)
        except BaseException:
            self._database.close()
            raise
        self._has_begun = False

    def execute(self, statement: str) -> None:
        """Run a statement and discard its result."""
        with self._statement() as made:
            made.set_sql_query(statement)
            made.execute_update()

    def read(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a statement as the server sends them."""
        from adbc_driver_manager._reader import AdbcRecordBatchReader  # pyarrow's reader loses the server's message

        with self._statement() as made:
            made.set_sql_query(statement)
            handle, _ = made.execute_query()
            with closing(AdbcRecordBatchReader._import_from_c(handle.address)) as reader:
                yield from reader

    def add(self, rows: pa.RecordBatch, table: str, *, schema: str | None, temporary: bool) -> None:
        """Insert rows into a table with ``COPY``, matching columns by name."""
        of = self._adbc.StatementOptions
        options = {
            self._adbc.INGEST_OPTION_TARGET_TABLE: table,
            self._adbc.INGEST_OPTION_MODE: self._adbc.INGEST_OPTION_MODE_APPEND,
            of.INGEST_TEMPORARY.value: "true" if temporary else "false",
        }
        if schema is not None:
            options[of.INGEST_TARGET_DB_SCHEMA.value] = schema
        with self._statement() as made:
            made.set_options(**options)
            made.bind(rows)
            made.execute_update()

    def commit(self) -> None:
        """Commit the transaction."""
        self._end("COMMIT")

    def rollback(self) -> None:
        """Roll back the transaction."""
        self._end("ROLLBACK")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._database.close()

    def _end(self, how: str) -> None:
        if self._has_begun:
            self._has_begun = False
            self._run(how)

    def _run(self, statement: str) -> None:
        with closing(self._adbc.AdbcStatement(self._connection)) as made:
            made.set_sql_query(statement)
            made.execute_update()

    @contextmanager
    def _statement(self) -> Iterator[Any]:
        if not self._has_begun:
            self._run("BEGIN")
            self._has_begun = True
        with closing(self._adbc.AdbcStatement(self._connection)) as made:
            yield made
