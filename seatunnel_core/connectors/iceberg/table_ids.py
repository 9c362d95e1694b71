"""IDs of the tables to which a sink writes, from the options ``namespace`` and ``table``, which may have variables."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError, UsageError
from seatunnel_core.connectors.staging.table_names import VARIABLE, filled

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

TableId = tuple[str, ...]
"""Levels of the namespace, followed by the name of the table."""


class TableIds:
    """ID of a single table, or of one table per input table, for example ``shop.${table_name}``."""

    def __init__(self, namespace: str, table: str) -> None:
        """Create the IDs for the two options; raise ``UsageError`` if a variable is unknown."""
        self._namespace, self._table = namespace, table
        for key, text in (("namespace", namespace), ("table", table)):
            if "${" in VARIABLE.sub("", text):
                raise UsageError(f"option {key!r}: {text!r} has an unknown variable; use ${{table_name}}")

    def __str__(self) -> str:
        return f"{self._namespace}.{self._table}"

    @property
    def one(self) -> TableId | None:
        """The table for all rows; ``None`` if it depends on the rows."""
        return None if VARIABLE.search(str(self)) else (*_levels(self._namespace), self._table)

    def of(self, schema: TableSchema) -> TableId:
        """Return the ID of the target table of an input table."""
        found = (*_levels(filled(self._namespace, schema)), filled(self._table, schema))
        wrong = [part for part in found if part in ("", ".", "..") or "/" in part or "\0" in part]
        if wrong or len(found) < 2:
            raise SinkError(
                f"the table {schema.table} would be written to {'.'.join(found)!r}, which is not a table name "
                f"with a namespace ({self} in the job); give missing values a default, such as "
                f"${{database_name:default}}, or rename the table before this sink"
            )
        return found

    def existing(self, catalog: "Callable[[], Catalog]") -> Iterator[TableId]:
        """Yield the IDs of the catalog's tables with matching names. A table without variables need not exist."""
        if self.one is not None:
            yield self.one
            return
        wanted = _pattern(f"{self._namespace}.{self._table}")
        opened = catalog()
        for namespace in self._namespaces(opened):
            tables = _unless_gone(opened.list_tables, namespace)
            yield from (table for table in tables if wanted.fullmatch(".".join(table)))

    def _namespaces(self, catalog: "Catalog") -> Iterator[TableId]:
        variable = VARIABLE.search(self._namespace)
        if variable is None:
            yield _levels(self._namespace)
            return
        wanted = _pattern(self._namespace)
        left = [_levels(self._namespace[: variable.start()].rpartition(".")[0])]
        while left:
            namespace = left.pop()
            if namespace and wanted.fullmatch(".".join(namespace)):
                yield namespace
            left.extend(_unless_gone(catalog.list_namespaces, namespace))


def _unless_gone(listed: Callable[[TableId], Iterable[Sequence[str]]], namespace: TableId) -> list[TableId]:
    from pyiceberg.exceptions import NoSuchNamespaceError

    try:
        return [tuple(each) for each in listed(namespace)]
    except NoSuchNamespaceError:  # The namespace was not created yet, or has just been dropped.
        return []


def _levels(namespace: str) -> TableId:
    """Return the levels of a namespace. Empty levels, from variables that have no value, are omitted."""
    return tuple(level for level in namespace.split(".") if level)


def _pattern(template: str) -> re.Pattern[str]:
    """Return a pattern that matches all names of a template; a level that is only a variable may be missing."""
    texts = VARIABLE.sub("\0", template).split("\0")
    return re.compile(".*".join(re.escape(text).replace(r"\.", r"\.?") for text in texts))
