"""Publication of staged rows in one transaction per commit.

A commit locks the row of its pipeline, compares the epoch, moves the rows and records the committables. An engine that
was replaced finds a newer epoch and fails, so it never commits after a newer engine has started.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from attrs import Factory, field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.collations import report_merged
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.families import Families
from seatunnel_core.connectors.jdbc.databases.windows import require_windows
from seatunnel_core.connectors.jdbc.modes import kept_values, moved_together, refuse_clash
from seatunnel_core.connectors.jdbc.replacing import TABLE as REPLACING_TABLE
from seatunnel_core.connectors.jdbc.replacing import JdbcReplacement
from seatunnel_core.connectors.jdbc.staging import COMMITS, PIPELINES, TABLES, owner, prefix_of
from seatunnel_core.connectors.jdbc.statement import Statement
from seatunnel_core.connectors.jdbc.target import Target
from seatunnel_core.connectors.staging.lost_table import gone, require_same_table
from seatunnel_core.connectors.tables.column_growth import WAIT_S
from seatunnel_core.connectors.tables.history import Versions
from seatunnel_core.connectors.tables.kept_values import KeptValues
from seatunnel_core.connectors.tables.ledger import CommitLedger
from seatunnel_core.connectors.tables.messages import not_own
from seatunnel_core.connectors.tables.rounds import Rounds, together
from seatunnel_core.connectors.tables.sql_database import ABSENT, KIND, NUMBER
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.tables.whole_rows import WholeRows, matched_columns

_CLAIM_S = 60
"""Lock timeout of a starting engine, in seconds; another engine of the same job may be committing."""


@frozen(kw_only=True)
class Publishing:
    """Database operations in the driver for a sink of one pipeline."""

    dialect: Dialect
    context: SinkContext
    upserts: bool
    statement: Statement | None
    ordered: bool = False
    """True if the order of rows matters. A key may then occur in only one part of a unit, because parts are
    unordered."""

    history: tuple[str, ...] = ()
    """History columns; empty if a row replaces the row with the same key."""

    at: str = field(init=False, default=Factory(lambda self: self.dialect.now(), takes_self=True))
    """SQL literal of the time of the commit."""

    replacing: JdbcReplacement | None = None
    """Tables that collect rows until these replace the existing rows; ``None`` if rows go directly to their target."""

    @property
    def who(self) -> str:
        """Pipeline and sink, for messages."""
        return f"pipeline {self.context.pipeline_id}, sink Jdbc"

    @property
    def ledger(self) -> CommitLedger:
        """Record of the pipeline's current engine and its commits."""
        return CommitLedger(
            database=self.dialect,
            context=self.context,
            who=self.who,
            where=str(self.dialect.address),
            pipelines=PIPELINES,
            commits=COMMITS,
        )

    # -- ownership of the pipeline --------------------------------------------------------------------------------

    def claim(self) -> None:
        """Create the two tables and record this engine's epoch; raise ``SinkError`` if this engine was replaced."""
        if self.context.prepared_in:
            with self.dialect.transaction() as connection:
                if COMMITS not in self.dialect.tables(connection, None, COMMITS):
                    raise SinkError(self.ledger.lost(f"it has no table {COMMITS}"))
        for statement in (*TABLES, *([REPLACING_TABLE] if self.replacing else [])):
            self._make(statement + self.dialect.table_options + self.dialect.text_order)
        with self.dialect.transaction() as connection:
            self.dialect.wait_for_locks(connection, _CLAIM_S)
            self.ledger.claim(connection)
            connection.commit()

    def _make(self, statement: str) -> None:
        """Run CREATE TABLE IF NOT EXISTS; retry once, because it may fail if another process creates the same table."""
        for last in (False, True):
            try:
                with self.dialect.transaction() as connection:
                    self.dialect.run(connection, statement)
                    connection.commit()
            except Exception:
                if last:
                    raise
            else:
                return

    def found(self, connection: Any, path: TablePath) -> DatabaseTable | None:
        """Return a table; raise ``SinkError`` if rows were published to it but it no longer exists."""
        table = self.dialect.table(connection, path)
        require_same_table(self.context, self.who, self.dialect.table_name(path), None if table is None else "")
        return table

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], *, may_be_committed: bool) -> None:
        """Publish, in one transaction, the committables that are not recorded as committed.

        Raises:
            CommitError: Another engine owns the pipeline, a staging table no longer exists, a committable is not from
                this sink, or it is recorded as committed although ``may_be_committed`` is false.
        """
        with self.dialect.transaction() as connection, ExitStack() as locks:
            self.ledger.hold(connection)
            if self.history:
                locks.enter_context(self._alone(connection, committables))
            done = self.ledger.done(connection, [each.id for each in committables], may_be_committed=may_be_committed)
            held: dict[TablePath, DatabaseTable | None] = {}
            for committable in committables:
                if committable.id not in done:
                    parts = self._parts(committable)
                    if self.ordered:
                        refuse_clash(self.dialect, connection, self.who, parts)
                    families = Families(dialect=self.dialect, connection=connection)
                    for statement in families.replaced(parts) if self.ordered and not self.history else ():
                        self.dialect.run(connection, statement)
                    for same in moved_together(part for part in parts if "root" not in part):
                        with self._existing(tuple(same[0]["target"])):
                            if same[0].get("whole") is True and same[0]["changes"]:
                                self._match(connection, committable, same[0], held)
                            else:
                                self._move(connection, committable, same, held)
                    self._add_children(families, committable, parts)
                    self.ledger.record(connection, committable.id)
            connection.commit()
        if self.dialect.ddl_commits:
            self._drop((part["staging"],) for committable in committables for part in self._parts(committable))

    def _add_children(self, families: Families, committable: Committable, parts: Sequence[Mapping[str, Any]]) -> None:
        """Add the rows of child tables, and drop all staging tables of a unit."""
        connection = families.connection
        statements = families.added(
            parts,
            lambda part: self._staged_columns(connection, committable, part),
            lambda path: gone(self.context, self.who, self.dialect.table_name(path)),
        )
        for statement in statements:
            self.dialect.run(connection, statement)
        for part in parts if not self.dialect.ddl_commits else ():
            self.dialect.run(connection, f"DROP TABLE {self.dialect.quoted(part['staging'])}")

    @contextmanager
    def _alone(self, connection: Any, committables: Sequence[Committable]) -> Iterator[None]:
        """Exclude other jobs that keep history in the same tables: they might add a second current version of a row."""
        paths = {tuple(part["target"]) for committable in committables for part in self._parts(committable)}
        with ExitStack() as locks:
            for path in sorted(paths):
                digest = hashlib.sha256("\0".join(path).encode()).hexdigest()[:24]
                locks.enter_context(self.dialect.exclusively(connection, f"seatunnel_versions_{digest}", WAIT_S))
                self.dialect.lock_table(connection, path, reads=True)
            yield

    def replace(self) -> None:
        """Replace the rows of tables with the collected ones in one transaction, unless this is already done."""
        assert self.replacing is not None
        with self.dialect.transaction() as connection:
            self.ledger.hold(connection)
            done = self.replacing.finish(connection)
            if not self.dialect.ddl_commits:
                self.replacing.drop(connection, done)
            connection.commit()
        if self.dialect.ddl_commits:
            self._drop(done)

    def _drop(self, paths: Iterable[TablePath]) -> None:
        """Drop staging tables whose rows were moved; the sweep later drops any that cannot be dropped now."""
        with suppress(Exception), self.dialect.transaction() as connection:
            for path in paths:
                self.dialect.run(connection, f"DROP TABLE IF EXISTS {self.dialect.quoted(*path)}")
            connection.commit()

    def _parts(self, committable: Committable) -> list[Mapping[str, Any]]:
        try:
            parts = stored.items(committable.body, "tables")
            for part in parts:
                name = stored.text(part, "staging")
                if owner(name, prefix_of(self.context)) != (committable.id, committable.epoch):
                    raise StoredValueError(f"{ascii(name)[:100]} is not a staged table of this sink")
                stored.texts(part, "target"), stored.texts(part, "keys"), stored.flag(part, "changes")
                stored.texts(part, "root") if "root" in part else ()
        except StoredValueError as error:
            raise CommitError(not_own(self.who, committable, error)) from error
        return parts

    def _move(
        self,
        connection: Any,
        committable: Committable,
        parts: Sequence[Mapping[str, Any]],
        held: dict[TablePath, DatabaseTable | None],
    ) -> None:
        """Move the rows of the staging tables of one task and target."""
        targets = [self._target(connection, committable, part, held) for part in parts]
        target, staged = targets[0], [self.dialect.quoted(part["staging"]) for part in parts]
        if not target.unique:
            rows = staged[0] if len(staged) == 1 else together(self.dialect, staged, target.keys)
            self._refuse_repeated(connection, target, rows)
        table = held.get(target.path) if target.keys else None
        if table is not None:
            for staging in staged:
                report_merged(self.dialect, connection, table, target.path, staging, target.keys)
        rounds = Rounds(
            database=self.dialect,
            run=lambda statement: self.dialect.run(connection, statement),
            first=lambda asked: next(iter(self.dialect.ask(connection, asked)), None),
            who=self.who,
            named=target.named,
            staged=staged,
            incomplete=["absent" in part for part in parts],
            key=target.keys,
            require=lambda: require_windows(self.dialect.address, "use MySQL 8, or a target for each table"),
        )
        for at, staging in rounds.slices():
            of, part = targets[at], parts[at]
            kept = kept_values(self.dialect, connection, self.who, of, table, self.history)
            for rows in self._complete(connection, of, staging) if "absent" in part else [staging]:
                for statement in self._moves(of, rows, kept, changes=part["changes"]):
                    self.dialect.run(connection, statement)

    def _target(
        self,
        connection: Any,
        committable: Committable,
        part: Mapping[str, Any],
        held: dict[TablePath, DatabaseTable | None],
    ) -> Target:
        path, keys = self._place(part), tuple(part["keys"])
        names = self._staged_columns(connection, committable, part)
        if keys and path not in held:
            held[path] = self.dialect.table(connection, path)
        table = held.get(path) if keys else None
        return Target(
            named=".".join(path),
            path=path,
            columns=tuple(Column(name=name, declared="", arrow=None, read="{}") for name in names),
            keys=keys,
            upserts=self.upserts,
            unique=table is not None and table.is_unique(keys),
            others_unique=table is not None and table.others_unique,
            statement=self.statement,
            places=self._places(connection),
        )

    def _match(
        self,
        connection: Any,
        committable: Committable,
        part: Mapping[str, Any],
        held: dict[TablePath, DatabaseTable | None],
    ) -> None:
        """Apply changes that have no key to the rows that are equal in all columns."""
        path, names = tuple(part["target"]), self._staged_columns(connection, committable, part)
        named = ".".join(path)
        if path not in held:
            self.dialect.lock_table(connection, path, reads=True)
            held[path] = self.dialect.table(connection, path)
        table = held[path]
        if table is None:
            raise CommitError(gone(self.context, self.who, self.dialect.table_name(path)))
        WholeRows(
            database=self.dialect,
            connection=connection,
            who=self.who,
            named=named,
            table=self.dialect.quoted(*path),
            staged=self.dialect.quoted(part["staging"]),
            columns=matched_columns(table.columns, names, self.who, named),
        ).apply()

    def _complete(self, connection: Any, target: Target, staging: str) -> Iterator[str]:
        """Yield table expressions that together contain all rows of a staging table; fill in absent values."""
        return target.complete(
            self.dialect,
            staging,
            run=lambda statement: self.dialect.run(connection, statement),
            first=lambda asked: next(iter(self.dialect.ask(connection, asked)), None),
            who=self.who,
            current=self.history[2] if self.history else "",
        )

    @contextmanager
    def _existing(self, path: TablePath) -> Iterator[None]:
        """Convert a database error about a missing table to a ``CommitError`` with a remedy."""
        try:
            yield
        except Exception as error:
            if isinstance(error, CommitError) or not self.dialect.is_missing_table(error):
                raise
            raise CommitError(gone(self.context, self.who, self.dialect.table_name(path))) from error

    def _staged_columns(self, connection: Any, committable: Committable, part: Mapping[str, Any]) -> list[str]:
        """Return the columns of a staging table; raise ``CommitError`` if the table no longer exists."""
        try:
            names = self.dialect.column_names(connection, self.dialect.quoted(part["staging"]))
            return [name for name in names if name not in (KIND, NUMBER, ABSENT)]
        except Exception as error:
            if self.dialect.is_missing_table(error):
                raise CommitError(
                    f"{self.who}: the staged table {part['staging']} no longer exists, and {COMMITS} does not "
                    f"record {committable.id} as committed. The staged table was probably dropped"
                ) from error
            raise

    def _moves(self, target: Target, staging: str, kept: KeptValues, *, changes: bool) -> Iterator[str]:
        if not self.history:
            if self.ordered and not target.unique:
                kept.require(target.replaced(self.dialect, staging))
            return target.moves(self.dialect, staging, changes=changes)
        return Versions(
            database=self.dialect,
            table=kept.table,
            rows=target.ranked(self.dialect, staging),
            alias="seatunnel_ranked",
            last="seatunnel_last = 1 AND ",
            columns=target.names,
            key=target.keys,
            history=self.history,
            at=self.at,
            require_kept=kept.require,
        ).statements()

    def _place(self, part: Mapping[str, Any]) -> TablePath:
        """Return the table to which rows are moved: the target, or the table that collects rows for the target."""
        path = tuple(part["target"])
        return path if self.replacing is None else self.replacing.place(path)

    def _places(self, connection: Any) -> Sequence[str]:
        if self.statement is None or not self.statement.repeats:
            return ()
        return self.dialect.place_types(connection, self.statement.asked())

    def _refuse_repeated(self, connection: Any, target: Target, staging: str) -> None:
        """Raise ``CommitError`` for a repeated key if the target has no unique index that detects it."""
        asked = target.repeated(self.dialect, staging, also_there=True)
        for key in self.dialect.ask(connection, asked) if asked else ():
            raise CommitError(f"{self.who}: {target.repetition(key)}")

    # -- sweeping -------------------------------------------------------------------------------------------------

    def sweep(self, keep: frozenset[str], *, final: bool) -> int:
        """Drop the staging tables that are not in ``keep``, including this epoch's if ``final``; return their number.

        Commit records that no checkpoint needs are deleted; if ``final`` is true, all records are kept for the final
        checkpoint.
        """
        removed = 0
        with self.dialect.transaction() as connection:
            names = self.dialect.tables(connection, None, prefix_of(self.context))
        for name in names:
            found = owner(name, prefix_of(self.context))
            if found is not None and found[1] < self.context.epoch + final and found[0] not in keep:
                with self.dialect.transaction() as connection:
                    self.dialect.run(connection, f"DROP TABLE IF EXISTS {self.dialect.quoted(name)}")
                    connection.commit()
                removed += 1
        if not final:
            with self.dialect.transaction() as connection:
                self.ledger.expire(connection, keep)
                connection.commit()
        return removed

    def committed(self) -> list[str]:
        """Return the IDs of the committables recorded as committed; empty if the table of commits does not exist."""
        with self.dialect.transaction() as connection:
            if COMMITS not in self.dialect.tables(connection, None, COMMITS):
                return []
            return self.ledger.recorded(connection)

    def clear(self) -> None:
        """Delete all records of the pipeline, after its job was recorded as ended."""
        with self.dialect.transaction() as connection:
            self.ledger.clear(connection)
            if self.replacing is not None:
                self.replacing.clear(connection)
            connection.commit()
