"""One transaction for each commit: it holds the pipeline's row, moves the staged rows, and says which they were.

Whoever commits locks the row of its pipeline first and compares the epoch. An engine that was replaced finds a newer
one there, or waits until the newer one has written it, and stops. So nobody commits behind a newer engine's back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect, TablePath
from seatunnel_core.connectors.jdbc.save_mode import key_of_job
from seatunnel_core.connectors.jdbc.staging import COMMITS, PIPELINES, TABLES, key_of, owner, prefix_of
from seatunnel_core.connectors.jdbc.statement import Statement
from seatunnel_core.connectors.jdbc.target import KIND, NUMBER, Target
from seatunnel_core.connectors.sink import SinkContext
from seatunnel_core.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.work.committable import Committable

_CLAIM_S = 60
"""How long an engine waits that starts while another one of the same job commits, or sleeps in the midst of that."""

_IDS = 500
"""So many committables are asked for in one statement."""


@frozen(kw_only=True)
class Publishing:
    """A sink of one pipeline, in the driver."""

    dialect: Dialect
    context: SinkContext
    upserts: bool
    statement: Statement | None

    @property
    def who(self) -> str:
        return f"pipeline {self.context.pipeline_id}, sink Jdbc"

    @property
    def _key(self) -> str:
        return self.dialect.literal(key_of(self.context))

    # -- whose the pipeline is ------------------------------------------------------------------------------------

    def claim(self) -> None:
        """Make the two tables, and raise the pipeline's epoch to this one.

        Raises:
            SinkError: a newer engine has the pipeline.
        """
        for statement in TABLES:
            self._make(statement + self.dialect.table_options + self.dialect.text_order)
        with self.transaction() as connection:
            self.dialect.wait_for_locks(connection, _CLAIM_S)
            epoch = self._locked(connection)
            if epoch is None:
                values = f"({self._key}, {self.context.epoch})"
                self._run(connection, f"INSERT INTO {PIPELINES} (pipeline, epoch) VALUES {values}")
            elif epoch > self.context.epoch:
                raise SinkError(self._replaced(epoch))
            else:
                change = f"UPDATE {PIPELINES} SET epoch = {self.context.epoch} WHERE pipeline = {self._key}"
                self._run(connection, change)
            connection.commit()

    def _make(self, statement: str) -> None:
        """Two that make a table at the same time may both be told that the other one does: the second try finds it."""
        for last in (False, True):
            try:
                with self.transaction() as connection:
                    self._run(connection, statement)
                    connection.commit()
            except Exception:
                if last:
                    raise
            else:
                return

    def hold(self, connection: Any) -> None:
        """Lock the pipeline's row until the transaction ends.

        Raises:
            CommitError: another engine has the pipeline, or its job has ended.
        """
        epoch = self._locked(connection)
        if epoch is None:
            raise CommitError(
                f"{self.who}: {PIPELINES} has no row of this pipeline any more: its job has ended, or "
                "somebody removed it"
            )
        if epoch != self.context.epoch:
            raise CommitError(self._replaced(epoch))

    def _locked(self, connection: Any) -> int | None:
        asked = self.dialect.lock_row(f"SELECT epoch FROM {PIPELINES} WHERE pipeline = {self._key}")
        rows = self.dialect.ask(connection, asked)
        return int(rows[0][0]) if rows else None

    def _replaced(self, epoch: int) -> str:
        return (
            f"{self.who}: another engine goes on with this job: its epoch is {epoch}, and this one has "
            f"{self.context.epoch}"
        )

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], *, again: bool) -> None:
        """Move in one transaction what has not been moved yet.

        Raises:
            CommitError: what stands in the way.
        """
        with self.transaction() as connection:
            self.hold(connection)
            done = self._done(connection, [each.id for each in committables])
            if done and not again:
                raise CommitError(
                    f"{self.who}: {COMMITS} has {min(done)} already, which nobody has committed yet: does another job "
                    "use the same id?"
                )
            unique: dict[tuple[TablePath, tuple[str, ...]], tuple[bool, bool]] = {}
            for committable in committables:
                if committable.id not in done:
                    for part in self._parts(committable):
                        self._move(connection, committable, part, unique)
                    values = f"({self._key}, {self.dialect.literal(committable.id)}, {self.context.epoch})"
                    self._run(connection, f"INSERT INTO {COMMITS} (pipeline, committable, epoch) VALUES {values}")
            connection.commit()
        if self.dialect.ddl_commits:
            self._drop(part["staging"] for committable in committables for part in self._parts(committable))

    def _drop(self, names: Iterable[str]) -> None:
        """Tables of which no row is needed any more; one that cannot be dropped now is swept."""
        with suppress(Exception), self.transaction() as connection:
            for name in names:
                self._run(connection, f"DROP TABLE IF EXISTS {self.dialect.quoted(name)}")
            connection.commit()

    def _done(self, connection: Any, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(ids), _IDS):
            named = ", ".join(self.dialect.literal(each) for each in ids[start : start + _IDS])
            asked = f"SELECT committable FROM {COMMITS} WHERE pipeline = {self._key} AND committable IN ({named})"
            found.update(name for (name,) in self.dialect.ask(connection, asked))
        return found

    def _parts(self, committable: Committable) -> list[Mapping[str, Any]]:
        try:
            parts = stored.items(committable.body, "tables")
            for part in parts:
                name = stored.text(part, "staging")
                if owner(name, prefix_of(self.context)) != (committable.id, committable.epoch):
                    raise StoredValueError(f"{ascii(name)[:100]} is no table that it staged")
                stored.texts(part, "target"), stored.texts(part, "keys"), stored.flag(part, "changes")
        except StoredValueError as error:
            raise CommitError(
                f"{self.who}: the committable {ascii(committable.id)[:60]} is not one that this sink made: {error}. "
                "Nothing of it was published; restore an older checkpoint"
            ) from error
        return parts

    def _move(
        self,
        connection: Any,
        committable: Committable,
        part: Mapping[str, Any],
        unique: dict[tuple[TablePath, tuple[str, ...]], tuple[bool, bool]],
    ) -> None:
        staging = self.dialect.quoted(part["staging"])
        path, keys = tuple(part["target"]), tuple(part["keys"])
        try:
            names = self._columns(connection, staging)
        except Exception as error:
            if self.dialect.is_missing_table(error):
                raise CommitError(
                    f"{self.who}: the table {part['staging']} was staged and is gone, and {COMMITS} does not say that "
                    f"{committable.id} was committed: did somebody drop it?"
                ) from error
            raise
        if keys and (path, keys) not in unique:
            table = self.dialect.table(connection, path)
            unique[path, keys] = (table.is_unique(keys), table.others_unique) if table is not None else (False, False)
        is_unique, others_unique = unique.get((path, keys), (False, False))
        target = Target(
            named=".".join(path),
            path=path,
            columns=tuple(Column(name=name, declared="", arrow=None, read="{}") for name in names),
            keys=keys,
            upserts=self.upserts,
            unique=is_unique,
            others_unique=others_unique,
            statement=self.statement,
            places=self._places(connection),
        )
        if not is_unique:
            self._refuse_repeated(connection, target, staging)
        for statement in target.moves(self.dialect, staging, changes=part["changes"]):
            self._run(connection, statement)
        if not self.dialect.ddl_commits:
            self._run(connection, f"DROP TABLE {staging}")

    def _places(self, connection: Any) -> Sequence[str]:
        if self.statement is None or not self.statement.repeats:
            return ()
        return self.dialect.place_types(connection, self.statement.asked())

    def _refuse_repeated(self, connection: Any, target: Target, staging: str) -> None:
        """Where the database does not know the key; otherwise it refuses them itself."""
        asked = target.repeated(self.dialect, staging, also_there=True)
        for key in self.dialect.ask(connection, asked) if asked else ():
            raise CommitError(f"{self.who}: {target.repetition(key)}")

    def _columns(self, connection: Any, staging: str) -> list[str]:
        cursor = self.dialect.cursor(connection)
        cursor.execute(f"SELECT * FROM {staging} WHERE 1 = 0")
        return [column[0] for column in cursor.description if column[0] not in (KIND, NUMBER)]

    # -- sweeping -------------------------------------------------------------------------------------------------

    def sweep(self, keep: frozenset[str], *, final: bool) -> int:
        """Drop what was staged in older epochs, in this one too when ``final``, unless it is kept. What is recorded as
        committed is forgotten once no checkpoint names it: after the last commit of a pipeline all of it stays, because
        a checkpoint names it until the job has ended."""
        removed = 0
        with self.transaction() as connection:
            names = self.dialect.tables(connection, None, prefix_of(self.context))
        for name in names:
            found = owner(name, prefix_of(self.context))
            if found is not None and found[1] < self.context.epoch + final and found[0] not in keep:
                with self.transaction() as connection:
                    self._run(connection, f"DROP TABLE IF EXISTS {self.dialect.quoted(name)}")
                    connection.commit()
                removed += 1
        if not final:
            self._forget(keep)
        return removed

    def _forget(self, keep: frozenset[str]) -> None:
        with self.transaction() as connection:
            asked = f"SELECT committable FROM {COMMITS} WHERE pipeline = {self._key} AND epoch < {self.context.epoch}"
            old = [name for (name,) in self.dialect.ask(connection, asked) if name not in keep]
            for start in range(0, len(old), _IDS):
                named = ", ".join(self.dialect.literal(each) for each in old[start : start + _IDS])
                gone = f"DELETE FROM {COMMITS} WHERE pipeline = {self._key} AND committable IN ({named})"
                self._run(connection, gone)
            connection.commit()

    def committed(self) -> list[str]:
        """The ids that are recorded as committed; none where nothing was ever recorded."""
        with self.transaction() as connection:
            if COMMITS not in self.dialect.tables(connection, None, COMMITS):
                return []
            asked = f"SELECT committable FROM {COMMITS} WHERE pipeline = {self._key}"
            return [name for (name,) in self.dialect.ask(connection, asked)]

    def clear(self) -> None:
        """Forget the pipeline: its job is recorded as ended."""
        with self.transaction() as connection:
            for table in (COMMITS, PIPELINES):
                self._run(connection, f"DELETE FROM {table} WHERE pipeline = {self._key}")
            job = self.dialect.literal(key_of_job(self.context.job_id))
            self._run(connection, f"DELETE FROM {COMMITS} WHERE pipeline = {job}")
            connection.commit()

    # -- statements -----------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A connection in a transaction, which ends with ``commit`` or is rolled back."""
        with self.dialect.pool.lend() as connection:
            self.dialect.begin(connection)
            yield connection

    def _run(self, connection: Any, statement: str) -> None:
        self.dialect.cursor(connection).execute(statement)
