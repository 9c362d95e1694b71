"""Selection of the tables to capture on a server."""

import re
from collections.abc import Sequence

from attrs import frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.options import TABLE_NAMES, TABLE_PATTERN
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of


@frozen(kw_only=True)
class TableChoice:
    """Names of the tables to capture, or a pattern for them, from the options of a job."""

    names: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, options: Options) -> "TableChoice":
        """Return the names or the pattern in the options.

        Raises:
            UsageError: The options are ambiguous or invalid.
        """
        if options.is_set(TABLE_NAMES) and options.is_set(TABLE_PATTERN):
            raise UsageError("option 'table-pattern': cannot be combined with table-names; remove one of them")
        names: tuple[str, ...] = options[TABLE_NAMES] or ()
        for name in names:
            _parts(name)
        written = options[TABLE_PATTERN]
        if written is None and not names:
            raise UsageError("option 'table-names': the list is empty")
        try:
            return cls(names=names, pattern=None if written is None else re.compile(written))
        except re.error as error:
            raise UsageError(f"option 'table-pattern': {written!r} is not a regular expression: {error}") from None

    def chosen(self, listed: Sequence[TablePath]) -> list[TablePath]:
        """Return the selected tables, in the order of the list.

        ``listed`` contains the full paths of all tables that can be captured.

        Raises:
            SourceError: A name matches no table or several tables, or the pattern matches no table.
        """
        if self.pattern is not None:
            found = [path for path in listed if self.pattern.fullmatch(".".join(path))]
            if not found:
                raise SourceError(
                    f"option 'table-pattern': no table matches {self.pattern.pattern!r}, which must match the whole "
                    f"path; {_some(listed)}"
                )
            return found
        wanted = {named(name, listed) for name in self.names}
        return [path for path in listed if path in wanted]


def named(name: str, listed: Sequence[TablePath]) -> TablePath:
    """Return the path that a full or partial table name identifies.

    Raises:
        SourceError: No table or several tables match the name.
    """
    parts = _parts(name)
    found = [path for path in listed if path[-len(parts) :] == parts]
    if not found:
        meant = nearest(".".join(parts), [".".join(path[-len(parts) :]) for path in listed])
        hint = f"did you mean {meant}?" if meant else _some(listed)
        raise SourceError(f"option 'table-names': there is no table {name!r}; {hint}")
    if len(found) > 1:
        raise SourceError(
            f"option 'table-names': {name!r} matches several tables; write the whole path, such as {'.'.join(found[0])}"
        )
    return found[0]


def _parts(name: str) -> TablePath:
    try:
        return parts_of(name)
    except ValueError as error:
        raise UsageError(f"option 'table-names': {error}") from None


def _some(listed: Sequence[TablePath]) -> str:
    if not listed:
        return "the user cannot access any table; check the user's permissions"
    shown = ", ".join(".".join(path) for path in listed[:3])
    return f"tables are {shown}" + (" …" if len(listed) > 3 else "")
