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
from functools import partial
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.duckdb.columns import literal, quoted
from seatunnel_core.connectors.duckdb.database import Database, ask
from seatunnel_core.connectors.duckdb.statements import (
    Part,
    added,
    clashing,
    family,
    merged,
    replaced,
    staged_rows,
    versioned,
)
from seatunnel_core.connectors.duckdb.table import columns_of, create, shown_key
from seatunnel_core.connectors.filesystems.staged_name import committable_id, owner
from seatunnel_core.connectors.jdbc.databases.table_path import TablePath
from seatunnel_core.connectors.jdbc.save_mode import key_of_job
from seatunnel_core.connectors.jdbc.staging import key_of
from seatunnel_core.connectors.pruning import no_key_matches, removal, tell_removed
from seatunnel_core.connectors.staging.lost_table import gone, lost
from seatunnel_core.connectors.staging.target import Target
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
    def _key(self) -> str:
        return literal(key_of(self.context))

    # -- ownership of the pipeline --------------------------------------------------------------------------------

    def claim(self) -> None:
        """Create the tables of the engine, and raise the pipeline's epoch to this one.

        Raises:
            SinkError: A newer engine has the pipeline.
        """
        if self.context.prepared_in and not self.database.exists:  # to open it would create it
            raise SinkError(self._lost())
        with self.database.transaction() as connection:
            if self.context.prepared_in and not self._remembers(connection):
                raise SinkError(self._lost())
            for statement in _TABLES:
                connection.execute(statement)
            epoch = self._epoch(connection)
            if (epoch or 0) < self.context.prepared_in:
                raise SinkError(self._lost())
            if epoch is not None and epoch > self.context.epoch:
                raise SinkError(self._replaced_by(epoch))
            connection.execute(f"INSERT OR REPLACE INTO {OWN}.pipelines VALUES ({self._key}, {self.context.epoch})")
            connection.commit()
        self.staging.files.sync_folder(self.staging.root)

    @contextmanager
    def held(self) -> Iterator[Any]:
        """Lend a connection in a transaction of the engine that has the pipeline.

        Raises:
            CommitError: Another engine has it, or its job has ended.
        """
        if not self.database.exists:  # to open it would create it
            raise CommitError(self._lost())
        with self.database.transaction() as connection:
            epoch = self._epoch(connection) if self._remembers(connection) else None
            if epoch is None:
                raise CommitError(
                    f"{self.who}: {self.database.path} has no record of this pipeline any more: its job has ended, or "
                    f"somebody removed the schema {OWN}, or the file"
                )
            if epoch != self.context.epoch:
                raise CommitError(self._replaced_by(epoch))
            yield connection

    def _epoch(self, connection: Any) -> int | None:
        found = ask(connection, f"SELECT epoch FROM {OWN}.pipelines WHERE pipeline = {self._key}")
        return int(found[0][0]) if found else None

    def _remembers(self, connection: Any) -> bool:
        asked = f"database_name = current_database() AND schema_name = '{OWN}' AND table_name = 'replacing'"
        return bool(ask(connection, f"SELECT 1 FROM duckdb_tables() WHERE {asked}"))

    def _lost(self) -> str:
        return (
            f"{self.who}: {self.database.path} is not the file that this job has written to: it was moved, removed or "
            "replaced by an older one. Put it back, and resume the job; or begin a new job"
        )

    def _replaced_by(self, epoch: int) -> str:
        return (
            f"{self.who}: another engine goes on with this job: its epoch is {epoch}, and this one has "
            f"{self.context.epoch}"
        )

    # -- before the first row -------------------------------------------------------------------------------------

    def saved_now(self, connection: Any, path: TablePath) -> bool:
        """Record that a save mode acts on a table, and return whether no other sink of the job has done so."""
        job, name = literal(key_of_job(self.context.job_id)), literal(json.dumps(path))
        if ask(connection, f"SELECT 1 FROM {OWN}.commits WHERE pipeline = {job} AND committable = {name}"):
            return False
        connection.execute(f"INSERT INTO {OWN}.commits VALUES ({job}, {name}, {self.context.epoch})")
        return True

    def collect_for(self, connection: Any, path: TablePath, keys: TableSchema | None = None) -> TablePath:
        """Return the table that collects rows for a target, which is created if it is not there.

        Args:
            connection: That of a transaction.
            path: The target.
            keys: The rows if they are the keys of those that stay; without it they have the columns of the target, and
                are to replace what it has.

        Raises:
            SinkError: Another sink of the job collects rows for the same target, or the table had rows and is gone.
        """
        name, target = self._collected(path), literal(json.dumps(path))
        asked = f"SELECT pipeline FROM {OWN}.replacing WHERE target = {target} AND starts_with(pipeline, "
        for (other,) in ask(connection, f"{asked}{literal(self.context.job_id + '/')})"):
            if other != key_of(self.context):
                raise SinkError(
                    f"another sink of this job replaces the table {'.'.join(path)}, or removes rows of it, too, and "
                    "the last one would win; give the rows to one sink"
                )
        rows, source = quoted(OWN, name), quoted(*path)
        if ".".join(path) in self.context.published_to and not columns_of(connection, (OWN, name)):
            raise SinkError(lost(self.who, f"{OWN}.{name}, which collects the rows for {path[-1]},", exists=False))
        if keys is None:
            connection.execute(f"CREATE TABLE IF NOT EXISTS {rows} AS SELECT * FROM {source} LIMIT 0")
        elif not columns_of(connection, (OWN, name)):
            create(connection, (OWN, name), keys, ())
        values = f"({self._key}, {literal(name)}, {target})"
        connection.execute(f"INSERT OR REPLACE INTO {OWN}.replacing VALUES {values}")
        return OWN, name

    def _collected(self, path: TablePath) -> str:
        said = "\0".join((key_of(self.context), *path))
        return f"rows_{hashlib.sha256(said.encode()).hexdigest()[:24]}"

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], *, again: bool) -> None:
        """Publish in one transaction the committables that are not recorded as committed.

        Args:
            committables: The committables of one checkpoint, in order.
            again: Whether they may have been committed before.

        Raises:
            CommitError: Another engine has the pipeline, a staged file is gone, a committable is not of this sink, or
                it is recorded as committed although ``again`` is false.
        """
        parts = {committable.id: self._parts(committable) for committable in committables}
        with self.held() as connection:
            asked = f"SELECT committable FROM {OWN}.commits WHERE pipeline = {self._key}"
            done = {name for (name,) in ask(connection, asked)}.intersection(parts)
            if done and not again:
                raise CommitError(
                    f"{self.who}: {self.database.path} has {min(done)} already, which nobody has committed yet: does "
                    "another job use the same id?"
                )
            left = [committable for committable in committables if committable.id not in done]
            self._take_all_in(connection, [part for each in left for part in parts[each.id]])
            for each in left:
                values = f"({self._key}, {literal(each.id)}, {self.context.epoch})"
                connection.execute(f"INSERT INTO {OWN}.commits VALUES {values}")
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
            if self.staging.waiting(part.epoch, part.name, again=False) is None:  # it raises what is wrong
                raise AssertionError(part.name)

    def _take_in(self, connection: Any, parts: Sequence[Part]) -> None:
        self._require_waiting(parts)
        first = parts[0]
        if not self.mode.collects and not columns_of(connection, first.path):
            raise CommitError(gone(self.context, self.who, ".".join(first.path)))
        if not first.key:
            table = quoted(OWN, self._collected(first.path)) if self.mode.collects else quoted(*first.path)
            connection.execute(added(table, parts))
            return
        for unit in {part.unit for part in parts}:
            together = [part for part in parts if part.unit == unit]
            found = ask(connection, clashing(together)) if len(together) > 1 else ()
            if found:
                raise CommitError(
                    f"{self.who}: the key {shown_key(first.key, found[0])} comes twice from a query, whose rows have "
                    f"no order, so that it is not known which one {'.'.join(first.path)} should keep; let the query "
                    "give each key once, and begin the job anew"
                )
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
            raise CommitError(
                f"{self.who}: the committable {ascii(committable.id)[:60]} is not one that this sink made: {error}. "
                "Nothing of it was published; restore an older checkpoint"
            ) from error
        return found

    def replace(self) -> None:
        """Put the collected rows in the place of those of their targets, in one transaction; do nothing when done.

        Where keys were collected, the rows of the targets with other keys are removed instead.

        Raises:
            SinkError: All rows of a target would be removed.
        """
        with self.held() as connection:
            asked = f"SELECT rows, target FROM {OWN}.replacing WHERE pipeline = {self._key} ORDER BY target"
            for name, target in ask(connection, asked):
                path = tuple(json.loads(target))
                if self.mode.prunes:
                    self._prune(connection, path, (OWN, name))
                    continue
                for statement in replaced(quoted(*path), quoted(OWN, name), self.mode.partitions):
                    connection.execute(statement)
            connection.execute(f"DELETE FROM {OWN}.replacing WHERE pipeline = {self._key}")
            connection.commit()

    def _prune(self, connection: Any, path: TablePath, keys: TablePath) -> None:
        if columns_of(connection, path):
            names = [column.name for column in columns_of(connection, keys)]
            statement = removal(partial(ask, connection), quoted(*path), quoted(*keys), list(map(quoted, names)))
            if statement is None:
                raise no_key_matches(self.who, ".".join(path), names)
            self._remove_children(connection, path, statement)
            ((removed,),) = ask(connection, statement)
            tell_removed("DuckDB", ".".join(path), removed)
        connection.execute(f"DROP TABLE {quoted(*keys)}")

    def _remove_children(self, connection: Any, path: TablePath, removal: str) -> None:
        """Remove the children of rows that a statement will remove."""
        found = family(connection, path, ())
        for statement in found.removed_with(removal) if found is not None else ():
            connection.execute(statement)

    # -- sweeping -------------------------------------------------------------------------------------------------

    def forget(self, keep: frozenset[str]) -> None:
        """Delete records of commits of older epochs that no checkpoint names."""
        with self.held() as connection:
            asked = f"SELECT committable FROM {OWN}.commits WHERE pipeline = {self._key}"
            old = ask(connection, f"{asked} AND epoch < {self.context.epoch}")
            for name in (name for (name,) in old if name not in keep):
                gone = f"pipeline = {self._key} AND committable = {literal(name)}"
                connection.execute(f"DELETE FROM {OWN}.commits WHERE {gone}")
            connection.commit()

    def committed(self) -> list[str]:
        """Return the ids that are recorded as committed; none when there is no file or no record."""
        if not self.database.exists:
            return []
        with self.database.transaction() as connection:
            if not self._remembers(connection):
                return []
            asked = f"SELECT committable FROM {OWN}.commits WHERE pipeline = {self._key}"
            return [name for (name,) in ask(connection, asked)]

    def clear(self) -> None:
        """Delete what is remembered of the pipeline once its job has ended; the last one drops the schema."""
        if not self.database.exists:
            return
        with self.database.transaction() as connection:
            if not self._remembers(connection):
                return
            asked = f"SELECT rows FROM {OWN}.replacing WHERE pipeline = {self._key}"
            for (name,) in ask(connection, asked):
                connection.execute(f"DROP TABLE IF EXISTS {quoted(OWN, name)}")
            job = literal(key_of_job(self.context.job_id))
            for table in ("pipelines", "commits", "replacing"):
                connection.execute(f"DELETE FROM {OWN}.{table} WHERE pipeline IN ({self._key}, {job})")
            if not any(ask(connection, f"SELECT 1 FROM {OWN}.{table} LIMIT 1") for table in ("pipelines", "commits")):
                connection.execute(f"DROP SCHEMA {OWN} CASCADE")
            connection.commit()


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
