"""Statements of one commit that move rows of staged files into their tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import CommitError
from seatunnel_core.connectors.nested.child_tables import Family, is_child
from seatunnel_core.connectors.staging.lost_table import gone
from seatunnel_core.connectors.tables.absent_values import AbsentValues
from seatunnel_core.connectors.tables.kept_values import KeptValues
from seatunnel_core.connectors.tables.messages import repeated_by_query
from seatunnel_core.connectors.tables.rounds import Rounds
from seatunnel_core.connectors.tables.sql_database import KIND, StagedPart
from seatunnel_core.connectors.tables.staged_rows import (
    NUMBERED,
    added,
    clashing,
    converted,
    family,
    last,
    last_numbered,
    numbered,
    task_of,
    versioned,
)
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.tables.whole_rows import WholeRows, matched_columns
from seatunnel_core.rows.nesting import ROW_ID

if TYPE_CHECKING:
    from seatunnel_core.connectors.tables.file_publishing import FilePublishing


@frozen(kw_only=True)
class FileCommit:
    """One transaction that moves staged rows to their tables."""

    publishing: "FilePublishing"
    connection: Any
    at: str
    """SQL literal of the commit time."""

    sources: dict[tuple[str, ...], str] = field(factory=dict, init=False)
    """FROM items for the rows of staged files, keyed by file paths."""

    def move(self, parts: Sequence[StagedPart]) -> None:
        """Move the rows of files. Child rows of merged rows are deleted first and added last."""
        history = self.publishing.mode.history
        families = {part.path: self._family(part.path, part.key) for part in parts if part.key and not history}
        for path, of_path in families.items():
            if of_path is not None:
                staged = [f"{self._source(same)} AS" for same in _alike([part for part in parts if part.path == path])]
                self._run(of_path.replaced(staged))
        for together in _in_order([part for part in parts if not part.root]):
            if len({task_of(part) for part in together}) == 1:
                self._move_in_rounds(together)
            else:
                self._move(together, self._source(together))
        for root in dict.fromkeys(part.root for part in parts if part.root):
            self._add_children(root, [part for part in parts if root in (part.root, part.path)])

    def _add_children(self, root: TablePath, parts: Sequence[StagedPart]) -> None:
        held = self.publishing.database.children(self.connection, root)
        for path in dict.fromkeys(part.path for part in parts if part.root == root):
            if not is_child(held.get(path[-1].lower(), ())):
                raise CommitError(gone(self.publishing.context, self.publishing.who, ".".join(path)))
        of_root = [part for part in parts if part.path == root and ROW_ID in part.columns]
        found = self._family(root, of_root[0].key) if of_root else None
        if found is None:
            raise CommitError(
                f"{self.publishing.who}: rows of child tables of {'.'.join(root)} were staged, but {'.'.join(root)} "
                f"has no {ROW_ID}"
            )
        staged: dict[str, list[tuple[str, Sequence[str]]]] = {}
        for same in _alike([part for part in parts if part.root == root]):
            staged.setdefault(same[0].path[-1].lower(), []).append((f"{self._source(same)} AS", same[0].columns))
        self._run(found.added(staged, [f"{self._source(same)} AS" for same in _alike(of_root)]))

    def _move_in_rounds(self, parts: Sequence[StagedPart]) -> None:
        """Move the rows of files of one task, in several rounds if a key occurs in several files."""
        rounds = Rounds(
            database=self.publishing.database,
            run=lambda statement: self._run([statement]),
            first=self._first,
            who=self.publishing.who,
            named=".".join(parts[0].path),
            staged=[self._source([part]) for part in parts],
            incomplete=[part.has_absent is True for part in parts],
            key=parts[0].key,
        )
        for at, source in rounds.slices():
            self._move([parts[at]], source)

    def _move(self, parts: Sequence[StagedPart], source: str) -> None:
        publishing, database, first = self.publishing, self.publishing.database, parts[0]
        mode, named = publishing.mode, ".".join(first.path)
        if not mode.collects and not database.columns(self.connection, first.path):
            raise CommitError(gone(publishing.context, publishing.who, named))
        if first.whole and database.ask(self.connection, f"SELECT 1 FROM {source} WHERE {KIND} <> 0 LIMIT 1"):
            self._match(source, parts)
            return
        if not first.key:
            path = publishing.replacement.place(first.path) if mode.collects else first.path
            self._run([added(database, database.quoted(*path), source, first.columns)])
            return
        for unit in {part.unit for part in parts}:
            together = [part for part in parts if part.unit == unit]
            if len(together) > 1:
                for key in database.ask(self.connection, clashing(database, self._source(together), together)):
                    raise CommitError(f"{publishing.who}: {repeated_by_query(first.key, key, named)}")
        table = database.quoted(*first.path)
        for rows in self._last_rows(table, source, parts):
            if mode.history:
                kept = self._kept(first, [*first.columns, *mode.history])
                self._run(versioned(database, rows, parts, mode.history, self.at, kept))
            else:
                self._run(database.merge(table, rows, first.columns, first.key))

    def _kept(self, part: StagedPart, written: Sequence[str]) -> KeptValues:
        database = self.publishing.database
        return KeptValues(
            database=database,
            connection=self.connection,
            who=self.publishing.who,
            named=".".join(part.path),
            table=database.quoted(*part.path),
            columns=database.table_columns(self.connection, part.path),
            written=written,
        )

    def _match(self, source: str, parts: Sequence[StagedPart]) -> None:
        """Apply changes of rows without a key to rows that are equal in all columns."""
        database, first, who = self.publishing.database, parts[0], self.publishing.who
        named, table = ".".join(first.path), database.table_columns(self.connection, first.path)
        columns = matched_columns(table, first.columns, who, named)
        self._run(converted(database, source, parts, columns))
        WholeRows(
            database=database,
            connection=self.connection,
            who=who,
            named=named,
            table=database.quoted(*first.path),
            staged=NUMBERED,
            columns=columns,
        ).apply()
        self._run([database.drop_temporary(NUMBERED)])

    def _last_rows(self, table: str, source: str, parts: Sequence[StagedPart]) -> Iterator[str]:
        """Yield SELECTs of the last row of each key: several if later rows depend on rows of an earlier SELECT."""
        publishing, database, first = self.publishing, self.publishing.database, parts[0]
        if not any(part.has_absent for part in parts):
            yield last(database, source, parts)
            return
        self._run(numbered(database, source, parts))
        complete = AbsentValues(
            database=database,
            run=lambda statement: database.run(self.connection, statement),
            first=self._first,
            who=publishing.who,
            named=".".join(first.path),
            table=table,
            staged=NUMBERED,
            columns=first.columns,
            key=first.key,
            current=publishing.mode.history[2] if publishing.mode.history else "",
        )
        for rows in complete.slices():
            yield last_numbered(database, rows, first.key)
        self._run([database.drop_temporary(NUMBERED)])

    def _source(self, parts: Sequence[StagedPart]) -> str:
        files = tuple(part.file for part in parts)
        if files not in self.sources:
            self.sources[files] = self.publishing.database.staged(self.connection, parts)
        return self.sources[files]

    def _family(self, path: TablePath, key: Sequence[str]) -> Family | None:
        return family(self.publishing.database, self.connection, path, key)

    def _first(self, asked: str) -> Sequence[Any] | None:
        return next(iter(self.publishing.database.ask(self.connection, asked)), None)

    def _run(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self.publishing.database.run(self.connection, statement)


def _in_order(parts: Sequence[StagedPart]) -> list[list[StagedPart]]:
    """Group files that are moved together: files of one task that are merged into one table, or else alike files."""
    tables: dict[TablePath, dict[str, list[StagedPart]]] = {}
    for part in parts:
        tables.setdefault(part.path, {}).setdefault(task_of(part), []).append(part)
    runs: list[list[StagedPart]] = []
    for tasks in tables.values():
        alike: list[StagedPart] = []
        for files in tasks.values():
            if len(files) == 1 or not files[0].key:
                alike += files
            else:
                runs += [*_alike(alike), files]
                alike = []
        runs += _alike(alike)
    return runs


def _alike(parts: Sequence[StagedPart]) -> list[list[StagedPart]]:
    """Group files of one table with the same columns and key, in order, so that each group needs one statement."""
    runs: list[list[StagedPart]] = []
    last: Mapping[TablePath, list[StagedPart]] = {}
    for part in parts:
        run = last.get(part.path)
        if run is None or _form(run[0]) != _form(part):
            run = []
            runs.append(run)
            last = {**last, part.path: run}
        run.append(part)
    return runs


def _form(part: StagedPart) -> tuple[Any, ...]:
    return part.columns, part.key, part.whole, part.has_absent is None
