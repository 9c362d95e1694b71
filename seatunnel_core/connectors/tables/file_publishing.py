"""Publication of staged files in one transaction per commit, which also records the committables.

The database itself holds the records of the engine until the job has ended::

    pipelines (pipeline, epoch)                the commit ledger
    commits (pipeline, committable, epoch)
    replacing (pipeline, rows, target)         tables that collect the rows, or keys, for a target

Each transaction first compares the epoch, while the database excludes other writers. An engine that was replaced
therefore cannot change anything.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.filesystems.staged_name import committable_id, owner
from seatunnel_core.connectors.nested.child_tables import Family
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.connectors.tables.file_commit import FileCommit
from seatunnel_core.connectors.tables.ledger import CommitLedger, key_of
from seatunnel_core.connectors.tables.messages import not_own
from seatunnel_core.connectors.tables.replacement import Replacement
from seatunnel_core.connectors.tables.sql_database import SqlDatabase, StagedPart
from seatunnel_core.connectors.tables.staged_rows import family
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.tables.target import create
from seatunnel_core.connectors.write_mode import WriteMode

_PIPELINES, _COMMITS, _REPLACING = "pipelines", "commits", "replacing"


@frozen(kw_only=True)
class FilePublishing:
    """Database operations in the driver for a sink of one pipeline."""

    database: SqlDatabase
    staging: Target
    context: SinkContext
    mode: WriteMode

    @property
    def who(self) -> str:
        """Pipeline and sink, for messages."""
        return self.staging.who

    @property
    def ledger(self) -> CommitLedger:
        """Record of the pipeline's current engine and its commits."""
        return CommitLedger(
            database=self.database,
            context=self.context,
            who=self.who,
            where=self.database.where,
            pipelines=self._own(_PIPELINES),
            commits=self._own(_COMMITS),
        )

    @property
    def replacement(self) -> "FileReplacement":
        """Tables that collect rows or keys until the end of the run."""
        return FileReplacement(
            database=self.database,
            context=self.context,
            sink=self.staging.sink,
            records=self._own(_REPLACING),
            column="rows",
            partitions=self.mode.partitions,
            deletes=self.mode.prunes,
        )

    def _own(self, name: str) -> str:
        return self.database.quoted(*self.database.own(name))

    # -- ownership of the pipeline --------------------------------------------------------------------------------

    def claim(self) -> None:
        """Create the engine's tables and claim the pipeline, with the same errors as ``CommitLedger.claim``."""
        resumes = bool(self.context.prepared_in)
        if resumes and not self.database.exists:
            raise SinkError(self.ledger.lost("it does not exist"))
        with self.database.transaction() as connection:
            if resumes and not self._has_records(connection):
                raise SinkError(self.ledger.lost("it has no record of the job"))
            self._create_records(connection)
            self.ledger.claim(connection)
            connection.commit()
        self.staging.files.sync_folder(self.staging.root)

    def _create_records(self, connection: Any) -> None:
        text, number = map(self.database.declared_type, (pa.string(), pa.int64()))
        self.database.create_schema(connection, self.database.own(_PIPELINES))
        for table, columns in (
            (_PIPELINES, f"pipeline {text} PRIMARY KEY, epoch {number} NOT NULL"),
            (
                _COMMITS,
                f"pipeline {text}, committable {text}, epoch {number} NOT NULL, PRIMARY KEY (pipeline, committable)",
            ),
            (_REPLACING, f"pipeline {text}, rows {text}, target {text} NOT NULL, PRIMARY KEY (pipeline, rows)"),
        ):
            self.database.run(connection, f"CREATE TABLE IF NOT EXISTS {self._own(table)} ({columns})")

    @contextmanager
    def held(self) -> Iterator[Any]:
        """Yield a connection in a transaction; raise ``CommitError`` if this engine does not own the pipeline."""
        if not self.database.exists:
            raise CommitError(self.ledger.lost("it does not exist"))
        with self.database.transaction() as connection:
            if not self._has_records(connection):
                raise CommitError(self.ledger.ended())
            self.ledger.hold(connection)
            yield connection

    def _has_records(self, connection: Any) -> bool:
        return bool(self.database.columns(connection, self.database.own(_REPLACING)))

    # -- before the first row -------------------------------------------------------------------------------------

    def saved_now(self, connection: Any, path: TablePath) -> bool:
        """Record that a save mode is applied to a table; return False if this job has already recorded it."""
        name = json.dumps(path)
        if name in self.ledger.recorded_for_job(connection, name):
            return False
        self.ledger.record(connection, name, job=True)
        return True

    def collect_for(self, connection: Any, path: TablePath, keys: TableSchema | None = None) -> TablePath:
        """Return the table that collects rows for a target; create it if it does not exist.

        ``keys`` is the schema of the keys to collect; ``None`` to collect rows.

        Raises:
            SinkError: Another sink collects rows for the same target, or the collecting table had rows and no longer
                exists.
        """
        place = self.replacement.place(path)

        def make() -> None:
            if keys is None:
                made, of = self.database.quoted(*place), self.database.quoted(*path)
                self.database.run(connection, f"CREATE TABLE {made} AS SELECT * FROM {of} LIMIT 0")
            else:
                create(self.database, connection, place, keys, ())

        self.replacement.collect_for(connection, path, make)
        return place

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], *, may_be_committed: bool) -> None:
        """Publish, in one transaction, the committables that are not recorded as committed.

        Raises:
            CommitError: Another engine owns the pipeline, a staged file no longer exists, a committable is not from
                this sink, or it is recorded as committed although ``may_be_committed`` is false.
        """
        parts = {committable.id: self._parts(committable) for committable in committables}
        with self.held() as connection:
            done = self.ledger.done(connection, list(parts), may_be_committed=may_be_committed)
            left = [committable for committable in committables if committable.id not in done]
            moving = [part for each in left for part in parts[each.id]]
            for part in moving:
                if self.staging.waiting(part.epoch, part.name, may_be_committed=False) is None:  # it raises the reason
                    raise AssertionError(part.name)
            FileCommit(publishing=self, connection=connection, at=self.database.now()).move(moving)
            for each in left:
                self.ledger.record(connection, each.id)
            connection.commit()
        for part in (part for each in parts.values() for part in each):
            self.staging.discard(part.epoch, part.name)

    def _parts(self, committable: Committable) -> list[StagedPart]:
        """Return the staged files of a committable; raise ``CommitError`` if this sink did not stage them."""
        found, depth = [], len(self.database.own(_COMMITS))
        try:
            for part in stored.items(committable.body, "tables"):
                name, path = stored.text(part, "file"), tuple(stored.texts(part, "target"))
                unit = owner(name, self.context.job_id)
                if unit is None or committable_id(unit) != committable.id or "/" in name or len(path) != depth:
                    raise StoredValueError(f"{ascii(name)[:100]} is not a staged file of this sink")
                found.append(
                    StagedPart(
                        epoch=committable.epoch,
                        unit=committable.id,
                        name=name,
                        file=f"{self.staging.staging(committable.epoch)}/{name}",
                        path=path,
                        columns=tuple(stored.texts(part, "columns")),
                        key=tuple(stored.texts(part, "key")),
                        root=tuple(stored.texts(part, "root")) if "root" in part else (),
                        whole=stored.flag(part, "whole") if "whole" in part else False,
                        has_absent=stored.flag(part, "absent") if "absent" in part else None,
                    )
                )
        except StoredValueError as error:
            raise CommitError(not_own(self.who, committable, error)) from error
        return found

    def replace(self) -> None:
        """Replace the rows of the targets with the collected ones in one transaction, unless this is already done.

        If keys were collected, delete the rows with other keys instead; raise ``SinkError`` if this would delete all
        rows.
        """
        with self.held() as connection:
            self.replacement.drop(connection, self.replacement.finish(connection))
            connection.commit()

    # -- sweeping -------------------------------------------------------------------------------------------------

    def expire(self, keep: frozenset[str]) -> None:
        """Delete commit records of older epochs to which no checkpoint refers."""
        with self.held() as connection:
            self.ledger.expire(connection, keep)
            connection.commit()

    def committed(self) -> list[str]:
        """Return the IDs that are recorded as committed; empty if there is no database file or no record."""
        if not self.database.exists:
            return []
        with self.database.transaction() as connection:
            if not self._has_records(connection):
                return []
            return self.ledger.recorded(connection)

    def clear(self) -> None:
        """Delete the records of the pipeline after its job has ended; the last pipeline drops the tables of records."""
        if not self.database.exists:
            return
        with self.database.transaction() as connection:
            if not self._has_records(connection):
                return
            self.replacement.clear(connection)
            self.ledger.clear(connection)
            tables = map(self._own, (_PIPELINES, _COMMITS))
            if not any(self.database.ask(connection, f"SELECT 1 FROM {table} LIMIT 1") for table in tables):
                self.database.drop_own(connection)
            connection.commit()


@frozen(kw_only=True)
class FileReplacement(Replacement):
    """Replacement with collecting tables in the engine's schema."""

    database: SqlDatabase

    def collected(self, path: TablePath) -> str:
        return self.place(path)[-1]

    def place(self, path: TablePath) -> TablePath:
        return self.database.own(self._name(path))

    def _name(self, path: TablePath) -> str:
        parts = "\0".join((key_of(self.context), *path))
        return f"rows_{hashlib.sha256(parts.encode()).hexdigest()[:24]}"

    def exists(self, connection: Any, path: TablePath) -> bool:
        return bool(self.database.columns(connection, path))

    def collects(self, connection: Any, path: TablePath) -> bool:
        return self.exists(connection, self.place(path))

    def family(self, connection: Any, path: TablePath, key: Sequence[str]) -> Family | None:
        return family(self.database, connection, path, key)
