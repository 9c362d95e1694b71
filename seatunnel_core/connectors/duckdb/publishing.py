"""Take staged rows into the database, in one transaction per commit with the record of what was committed.

The schema ``seatunnel`` of the file holds what the engine remembers until the job has ended::

    pipelines (pipeline, epoch)                which engine may commit for a sink of a pipeline
    commits (pipeline, committable, epoch)     what is committed; with the key <job>/save-mode, the tables of save modes
    replacing (pipeline, rows, target)         tables of this schema whose rows are to replace those of a target, or
                                               are the keys of those that stay

Each transaction compares the epoch first, and DuckDB lets one process at a time have the file. So an engine that was
replaced changes nothing any more.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.duckdb.columns import quoted
from seatunnel_core.connectors.duckdb.database import Database, ask
from seatunnel_core.connectors.duckdb.statements import (
    Part,
    added,
    clashing,
    family,
    merged,
    staged_rows,
    versioned,
)
from seatunnel_core.connectors.duckdb.table import columns_of, create
from seatunnel_core.connectors.filesystems.staged_name import committable_id, owner
from seatunnel_core.connectors.nested.child_tables import Family
from seatunnel_core.connectors.staging.lost_table import gone
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.connectors.tables.ledger import CommitLedger, key_of
from seatunnel_core.connectors.tables.messages import not_own, repeated_by_query
from seatunnel_core.connectors.tables.replacement import Replacement
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.write_mode import WriteMode
from seatunnel_core.rows.nesting import ROW_ID

OWN = "seatunnel"
"""The schema of what the engine remembers, and of rows that are to replace others."""

_TABLES = (
    f"CREATE SCHEMA IF NOT EXISTS {OWN}",
    f"CREATE TABLE IF NOT EXISTS {OWN}.pipelines (pipeline VARCHAR PRIMARY KEY, epoch BIGINT NOT NULL)",
    f"CREATE TABLE IF NOT EXISTS {OWN}.commits (pipeline VARCHAR, committable VARCHAR, epoch BIGINT NOT NULL, "
    "PRIMARY KEY (pipeline, committable))",
    f"CREATE TABLE IF NOT EXISTS {OWN}.replacing (pipeline VARCHAR, rows VARCHAR, target VARCHAR NOT NULL, "
    "PRIMARY KEY (pipeline, rows))",
)


@frozen(kw_only=True)
class Publishing:
    """The operations of a sink of one pipeline on its database, in the driver."""

    database: Database
    staging: Target
    context: SinkContext
    mode: WriteMode

    @property
    def who(self) -> str:
        """The pipeline and sink, for messages."""
        return self.staging.who

    @property
    def ledger(self) -> CommitLedger:
        """The record of which engine has the pipeline and of what is committed."""
        return CommitLedger(
            database=self.database,
            context=self.context,
            who=self.who,
            where=self.database.path,
            pipelines=f"{OWN}.pipelines",
            commits=f"{OWN}.commits",
        )

    @property
    def replacement(self) -> "DuckDBReplacement":
        """The tables that collect rows or keys until the last one has arrived."""
        return DuckDBReplacement(
            database=self.database,
            context=self.context,
            sink="DuckDB",
            records=f"{OWN}.replacing",
            column="rows",
            partitions=self.mode.partitions,
            deletes=self.mode.prunes,
        )

    # -- ownership of the pipeline --------------------------------------------------------------------------------

    def claim(self) -> None:
        """Create the tables of the engine, and raise the pipeline's epoch to this one.

        Raises:
            SinkError: A newer engine has the pipeline.
        """
        resumes = bool(self.context.prepared_in)
        if resumes and not self.database.exists:  # to open it would create it
            raise SinkError(self.ledger.lost("it does not exist"))
        with self.database.transaction() as connection:
            if resumes and not self._remembers(connection):
                raise SinkError(self.ledger.lost(f"it has no schema {OWN}"))
            for statement in _TABLES:
                connection.execute(statement)
            self.ledger.claim(connection)
            connection.commit()
        self.staging.files.sync_folder(self.staging.root)

    @contextmanager
    def held(self) -> Iterator[Any]:
        """Lend a connection in a transaction of the engine that has the pipeline.

        Raises:
            CommitError: Another engine has it, or its job has ended.
        """
        if not self.database.exists:  # to open it would create it
            raise CommitError(self.ledger.lost("it does not exist"))
        with self.database.transaction() as connection:
            if not self._remembers(connection):
                raise CommitError(self.ledger.ended())
            self.ledger.hold(connection)
            yield connection

    def _remembers(self, connection: Any) -> bool:
        asked = f"database_name = current_database() AND schema_name = '{OWN}' AND table_name = 'replacing'"
        return bool(ask(connection, f"SELECT 1 FROM duckdb_tables() WHERE {asked}"))

    # -- before the first row -------------------------------------------------------------------------------------

    def saved_now(self, connection: Any, path: TablePath) -> bool:
        """Record that a save mode acts on a table, and return whether no other sink of the job has done so."""
        name = json.dumps(path)
        if name in self.ledger.recorded_for_job(connection, name):
            return False
        self.ledger.record(connection, name, job=True)
        return True

    def collect_for(self, connection: Any, path: TablePath, keys: TableSchema | None = None) -> TablePath:
        """Return the table that collects rows for a target; create it unless it exists.

        Args:
            connection: That of a transaction.
            path: The target.
            keys: The schema of keys that are collected; without it rows are, with the columns of the target.

        Raises:
            SinkError: Another sink of the job collects rows for the same target, or the table had rows and is gone.
        """
        place = self.replacement.place(path)

        def made() -> None:
            if keys is None:
                connection.execute(f"CREATE TABLE {quoted(*place)} AS SELECT * FROM {quoted(*path)} LIMIT 0")
            else:
                create(connection, place, keys, ())

        self.replacement.collect_for(connection, path, made)
        return place

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], *, may_be_committed: bool) -> None:
        """Publish in one transaction the committables that are not recorded as committed.

        Args:
            committables: The committables of one checkpoint, in order.
            may_be_committed: Whether they may have been committed before.

        Raises:
            CommitError: Another engine has the pipeline, a staged file is gone, a committable is not of this sink, or
                it is recorded as committed although ``may_be_committed`` is false.
        """
        parts = {committable.id: self._parts(committable) for committable in committables}
        with self.held() as connection:
            done = self.ledger.done(connection, list(parts), may_be_committed=may_be_committed)
            left = [committable for committable in committables if committable.id not in done]
            self._take_all_in(connection, [part for each in left for part in parts[each.id]])
            for each in left:
                self.ledger.record(connection, each.id)
            connection.commit()
        for part in (part for each in parts.values() for part in each):
            self.staging.discard(part.epoch, part.name)

    def _take_all_in(self, connection: Any, parts: Sequence[Part]) -> None:
        """Take files in; the children of merged rows are deleted before, and added behind these."""
        families = {
            part.path: family(connection, part.path, part.key) for part in parts if part.key and not self.mode.history
        }
        for path, of_path in families.items():
            if of_path is not None:
                staged = [staged_rows(same) for same in _alike([part for part in parts if part.path == path])]
                for statement in of_path.replaced(staged):
                    connection.execute(statement)
        for same in _alike([part for part in parts if not part.root]):
            self._take_in(connection, same)
        for root in dict.fromkeys(part.root for part in parts if part.root):
            self._add_children(connection, root, [part for part in parts if root in (part.root, part.path)])

    def _add_children(self, connection: Any, root: TablePath, parts: Sequence[Part]) -> None:
        of_root = [part for part in parts if part.path == root and ROW_ID in part.columns]
        found = family(connection, root, of_root[0].key) if of_root else None
        if found is None:
            raise CommitError(
                f"{self.who}: the children of rows of {'.'.join(root)} were staged, and it has no {ROW_ID}"
            )
        staged: dict[str, list[tuple[str, Sequence[str]]]] = {}
        for same in _alike([part for part in parts if part.root == root]):
            self._require_waiting(same)
            staged.setdefault(same[0].path[-1].lower(), []).append((staged_rows(same), same[0].columns))
        for statement in found.added(staged, [staged_rows(same) for same in _alike(of_root)]):
            connection.execute(statement)

    def _require_waiting(self, parts: Sequence[Part]) -> None:
        """Raise an error if a staged file is gone."""
        for part in parts:
            if self.staging.waiting(part.epoch, part.name, may_be_committed=False) is None:  # it raises what is wrong
                raise AssertionError(part.name)

    def _take_in(self, connection: Any, parts: Sequence[Part]) -> None:
        self._require_waiting(parts)
        first = parts[0]
        if not self.mode.collects and not columns_of(connection, first.path):
            raise CommitError(gone(self.context, self.who, ".".join(first.path)))
        if not first.key:
            path = self.replacement.place(first.path) if self.mode.collects else first.path
            connection.execute(added(quoted(*path), parts))
            return
        for unit in {part.unit for part in parts}:
            together = [part for part in parts if part.unit == unit]
            found = ask(connection, clashing(together)) if len(together) > 1 else ()
            if found:
                raise CommitError(f"{self.who}: {repeated_by_query(first.key, found[0], '.'.join(first.path))}")
        table, history = quoted(*first.path), self.mode.history
        for statement in versioned(table, parts, history) if history else (merged(table, parts),):
            connection.execute(statement)

    def _parts(self, committable: Committable) -> list[Part]:
        """Return the staged files of a committable; raise ``CommitError`` when this sink did not stage them."""
        found = []
        try:
            for part in stored.items(committable.body, "tables"):
                name, path = stored.text(part, "file"), tuple(stored.texts(part, "target"))
                unit = owner(name, self.context.job_id)
                if unit is None or committable_id(unit) != committable.id or "/" in name or len(path) != 2:
                    raise StoredValueError(f"{ascii(name)[:100]} is no file that it staged")
                found.append(
                    Part(
                        epoch=committable.epoch,
                        unit=committable.id,
                        name=name,
                        file=f"{self.staging.staging(committable.epoch)}/{name}",
                        path=path,
                        columns=tuple(stored.texts(part, "columns")),
                        key=tuple(stored.texts(part, "key")),
                        root=tuple(stored.texts(part, "root")) if "root" in part else (),
                    )
                )
        except StoredValueError as error:
            raise CommitError(not_own(self.who, committable, error)) from error
        return found

    def replace(self) -> None:
        """Put the collected rows in the place of those of their targets, in one transaction; do nothing when done.

        Where keys were collected, the rows of the targets with other keys are removed instead.

        Raises:
            SinkError: All rows of a target would be removed.
        """
        with self.held() as connection:
            self.replacement.drop(connection, self.replacement.finish(connection))
            connection.commit()

    # -- sweeping -------------------------------------------------------------------------------------------------

    def forget(self, keep: frozenset[str]) -> None:
        """Delete records of commits of older epochs that no checkpoint names."""
        with self.held() as connection:
            self.ledger.expire(connection, keep)
            connection.commit()

    def committed(self) -> list[str]:
        """Return the ids that are recorded as committed; none when there is no file or no record."""
        if not self.database.exists:
            return []
        with self.database.transaction() as connection:
            if not self._remembers(connection):
                return []
            return self.ledger.recorded(connection)

    def clear(self) -> None:
        """Delete what is remembered of the pipeline once its job has ended; the last one drops the schema."""
        if not self.database.exists:
            return
        with self.database.transaction() as connection:
            if not self._remembers(connection):
                return
            self.replacement.clear(connection)
            self.ledger.clear(connection)
            if not any(ask(connection, f"SELECT 1 FROM {OWN}.{table} LIMIT 1") for table in ("pipelines", "commits")):
                connection.execute(f"DROP SCHEMA {OWN} CASCADE")
            connection.commit()


@frozen(kw_only=True)
class DuckDBReplacement(Replacement):
    """Collecting tables in the engine's own schema."""

    def collected(self, path: TablePath) -> str:
        parts = "\0".join((key_of(self.context), *path))
        return f"rows_{hashlib.sha256(parts.encode()).hexdigest()[:24]}"

    def place(self, path: TablePath) -> TablePath:
        return OWN, self.collected(path)

    def exists(self, connection: Any, path: TablePath) -> bool:
        return bool(columns_of(connection, path))

    def collects(self, connection: Any, path: TablePath) -> bool:
        return self.exists(connection, self.place(path))

    def family(self, connection: Any, path: TablePath, key: Sequence[str]) -> Family | None:
        return family(connection, path, key)


def _alike(parts: Sequence[Part]) -> list[list[Part]]:
    """Return runs of files for one table with the same columns and key, in order: each goes in with one statement.

    Files for other tables may stand in between; the order of those for one table stays.
    """
    runs: list[list[Part]] = []
    last: Mapping[TablePath, list[Part]] = {}
    for part in parts:
        run = last.get(part.path)
        if run is None or (run[0].columns, run[0].key) != (part.columns, part.key):
            run = []
            runs.append(run)
            last = {**last, part.path: run}
        run.append(part)
    return runs
