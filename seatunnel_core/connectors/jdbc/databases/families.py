"""Child tables, for sinks that merge each parent row together with its child rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import CommitError
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.nested.child_tables import BETWEEN, OF_CHILDREN, Family, in_order, is_child
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.rows.nesting import PARENT_ID, ROW_ID

Part = Mapping[str, Any]
"""Description of a staging table in a committable. Its entry ``root`` contains the path of the parent table."""

_ID_CHARACTERS = 24


@frozen(kw_only=True)
class Families:
    """Child tables in a database. Their rows are replaced in the transaction of ``connection``."""

    dialect: Dialect
    connection: Any
    _found: dict[TablePath, Family | None] = field(factory=dict, init=False)

    def of(self, path: TablePath, key: Sequence[str]) -> Family | None:
        """Return a table together with its child tables; ``None`` if it has no child tables."""
        if path not in self._found:
            self._found[path] = self._looked_up(path, key)
        return self._found[path]

    def _looked_up(self, path: TablePath, key: Sequence[str]) -> Family | None:
        schema = path[-2] if len(path) > 1 else None
        children = {}
        for name in self.dialect.tables(self.connection, schema, f"{path[-1]}{BETWEEN}"):
            table = self.dialect.table(self.connection, (*path[:-1], name))
            if table is not None and is_child(column.name.lower() for column in table.columns):
                children[name] = self.dialect.quoted(*path[:-1], name)
        root = self.dialect.table(self.connection, path) if children else None
        names = set() if root is None else {column.name for column in root.columns}
        if not names & {ROW_ID, ROW_ID.upper()}:
            return None
        upper = ROW_ID not in names

        def quoted(name: str) -> str:
            return self.dialect.quoted(name.upper() if upper and name in OF_CHILDREN else name)

        paths = tuple((name, children[name]) for name in in_order(children))
        return Family(root=self.dialect.quoted(*path), children=paths, key=tuple(key), quoted=quoted)

    def replaced(self, parts: Sequence[Part]) -> Iterator[str]:
        """Yield the statements that delete the children of existing rows that staged rows replace."""
        for part in parts:
            family = self.of(tuple(part["target"]), part["keys"]) if part["keys"] else None
            if family is not None:
                yield from family.replaced([self.dialect.quoted(part["staging"])])

    def added(
        self, parts: Sequence[Part], columns_of: Callable[[Part], Sequence[str]], gone: Callable[[TablePath], str]
    ) -> Iterator[str]:
        """Yield the statements that add staged children.

        Args:
            parts: All staging tables of one unit.
            columns_of: Function that returns the columns of a staging table.
            gone: Function that returns the message about a missing table.

        Raises:
            CommitError: A child table no longer exists.
        """
        for root in dict.fromkeys(tuple(part["root"]) for part in parts if "root" in part):
            own = [part for part in parts if tuple(part["target"]) == root]
            if not own:
                continue  # a transform removed the parent rows
            family = self.of(root, own[0]["keys"])
            staged: dict[str, list[tuple[str, Sequence[str]]]] = {}
            for part in (part for part in parts if tuple(part.get("root", ())) == root):
                name = self._child(family, tuple(part["target"]), gone)
                staged.setdefault(name, []).append((self.dialect.quoted(part["staging"]), columns_of(part)))
            assert family is not None
            yield from family.added(staged, [self.dialect.quoted(part["staging"]) for part in own])

    def _child(self, family: Family | None, path: TablePath, gone: Callable[[TablePath], str]) -> str:
        """Return the name of a child table in its family; raise ``CommitError`` if the table no longer exists."""
        names = [] if family is None else [name for name, _ in family.children]
        if path[-1] in names:
            return path[-1]
        alike = [name for name in names if name.lower() == path[-1].lower()] if self.dialect.ignores_case else []
        if not alike or not self._exists(path):  # on some servers, case distinguishes tables but not columns
            raise CommitError(gone(path))
        return alike[0]

    def _exists(self, path: TablePath) -> bool:
        try:
            self.dialect.column_names(self.connection, self.dialect.quoted(*path))
        except Exception as error:
            if not self.dialect.is_missing_table(error):
                raise
            return False
        return True


def index_of(dialect: Dialect, path: TablePath, columns: Sequence[str]) -> str:
    """Return the statement that creates an index on the parent ID of a child table."""
    parent = next(name for name in columns if name.lower() == PARENT_ID)
    name = dialect.quoted(f"{path[-1][:40]}_parent")
    is_mysql = dialect.address.kind == "mysql"
    part, once = (f"({_ID_CHARACTERS})", "") if is_mysql else ("", "IF NOT EXISTS ")
    return f"CREATE INDEX {once}{name} ON {dialect.quoted(*path)} ({dialect.quoted(parent)}{part})"
