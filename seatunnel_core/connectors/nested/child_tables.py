"""Replacement of child rows, in the transaction that merges their parent rows.

Rows of a table with lists have an ID, ``_row_id``, which differs between versions of a row. Child rows contain the ID
of their parent, ``_parent_id``. A commit of staged rows

1. deletes all descendants of existing rows with staged keys, because new versions are staged with all their children;
2. merges the rows;
3. adds the staged children of the current versions of rows.

Only the last of several staged versions of a row gets its children. Deleted rows, and null, empty or missing lists,
have no children. Child tables are looked up in the database, so a run whose rows contain no lists also deletes existing
children.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import field, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.rows.nesting import LIST_INDEX, PARENT_ID, ROW_ID

OF_CHILDREN = (ROW_ID, PARENT_ID, LIST_INDEX)
"""Columns that identify a child table."""

BETWEEN = "__"
"""Separator between the table name and the list name in the name of a child table."""


@frozen(kw_only=True)
class Rows:
    """A table, or a subquery of staged rows, in statements."""

    table: str
    """Quoted name of the table. The name of a child table starts with the name of its parent table."""

    source: str
    """FROM item for the rows."""


@frozen(kw_only=True)
class Family:
    """A table into which rows are merged, with its child tables."""

    root: str
    """Quoted path of the table."""

    children: tuple[tuple[str, str], ...]
    """Name and quoted path of each child table, parents first."""

    key: tuple[str, ...]
    """Key columns by which rows are merged."""

    quoted: Callable[[str], str] = field(repr=False)

    def replaced(self, staged: Iterable[str]) -> Iterator[str]:
        """Yield the statements that delete the children of rows with keys in ``staged``, a list of FROM items."""
        same = " AND ".join(f"seatunnel_staged.{name} = seatunnel_root.{name}" for name in map(self.quoted, self.key))
        known = " OR ".join(f"EXISTS (SELECT 1 FROM {each} seatunnel_staged WHERE {same})" for each in staged)
        yield from self.removed(known)

    def removed(self, condition: str) -> Iterator[str]:
        """Yield the statements that delete the children of rows that satisfy a condition on ``seatunnel_root``."""
        yield from self._deleted(f"SELECT {self.quoted(ROW_ID)} FROM {self.root} seatunnel_root WHERE {condition}")

    def _deleted(self, root: str) -> Iterator[str]:
        rows = {name: Rows(table=name, source=path) for name, path in self.children}
        for name, path in reversed(self.children):
            yield f"DELETE FROM {path} WHERE {self._descends(name, rows, root)}"

    def removed_with(self, removal: str) -> Iterator[str]:
        """Yield the statements that delete the children of rows that the statement ``removal`` deletes."""
        _, _, condition = removal.partition(" WHERE ")
        root = f"SELECT {self.quoted(ROW_ID)} FROM {self.root} WHERE {condition}"
        yield from self._deleted(root)

    def added(self, staged: Mapping[str, Sequence[tuple[str, Sequence[str]]]], roots: Iterable[str]) -> Iterator[str]:
        """Yield the statements that add the staged children of the current versions of rows.

        Args:
            staged: FROM items of staged rows and their columns, keyed by child table.
            roots: FROM items of the table's staged rows that have an ID.
        """
        same = " AND ".join(
            f"seatunnel_staged.{name} = seatunnel_root.{name}" for name in map(self.quoted, (*self.key, ROW_ID))
        )
        kept = " OR ".join(f"EXISTS (SELECT 1 FROM {each} seatunnel_staged WHERE {same})" for each in roots)
        root = f"SELECT {self.quoted(ROW_ID)} FROM {self.root} seatunnel_root WHERE {kept or '1 = 0'}"
        sources = {name: " UNION ALL ".join(self._ids(source) for source, _ in some) for name, some in staged.items()}
        rows = {name: Rows(table=name, source=f"({each}) seatunnel_parents") for name, each in sources.items()}
        for name, path in self.children:
            for source, columns in staged.get(name, ()):
                listed = ", ".join(map(self.quoted, columns))
                where = self._descends(name, rows, root)
                yield f"INSERT INTO {path} ({listed}) SELECT {listed} FROM {source} seatunnel_children WHERE {where}"

    def _ids(self, source: str) -> str:
        return f"SELECT {self.quoted(ROW_ID)}, {self.quoted(PARENT_ID)} FROM {source} seatunnel_ids"

    def _descends(self, name: str, rows: Mapping[str, Rows], root: str) -> str:
        """Return the condition that a child row descends from a row that ``root`` selects."""
        parent = self.quoted(PARENT_ID)
        parts = [f"{parent} IN ({root})"]
        for other in (other for other in rows if name.lower().startswith(f"{other.lower()}{BETWEEN}")):
            within = f"SELECT {self.quoted(ROW_ID)} FROM {rows[other].source} WHERE {self._descends(other, rows, root)}"
            parts.append(f"{parent} IN ({within})")
        return f"({' OR '.join(parts)})"


def is_child(columns: Iterable[str]) -> bool:
    """Return True if a table has the columns of a child table."""
    return set(OF_CHILDREN) <= set(columns)


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names of child tables, parents first."""
    return sorted(names, key=lambda name: (len(name), name))


def require_place(schema: TableSchema, root: Sequence[str], child: Sequence[str]) -> None:
    """Raise SinkError unless a child table is in its root table's schema, and its name starts with the root's name."""
    if tuple(root[:-1]) != tuple(child[:-1]) or not child[-1].startswith(f"{root[-1]}{BETWEEN}"):
        raise SinkError(
            f"the rows of {schema.table} are child rows of {schema.root} and are replaced together with their parents: "
            f"their table must be in the same schema as {'.'.join(root)}, with a name that begins with "
            f'{root[-1]}{BETWEEN}; found {".".join(child)}. End the option table with "${{table_name}}"'
        )
