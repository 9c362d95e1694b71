"""Maximum lengths of table and column names. PostgreSQL silently truncates longer names; MySQL rejects them late."""

from collections.abc import Callable, Iterable, Mapping

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect

_LONGEST: Mapping[str, tuple[int, str, Callable[[str], int]]] = {
    "postgresql": (63, "bytes in UTF-8", lambda name: len(name.encode())),
    "mysql": (64, "characters", len),
}
"""Maximum length of a name, its unit, and the function that measures a name, keyed by kind of database."""


def require_short(dialect: Dialect, table: str, columns: Iterable[str]) -> None:
    """Raise ``SinkError`` if the name of the table or of a column is too long for the database."""
    most, unit, measure = _LONGEST.get(dialect.address.kind, (0, "", len))
    for what, name in [("table", table), *(("column", name) for name in columns)] if most else ():
        if measure(name) > most:
            raise SinkError(
                f"the name of the {what} {name!r} has {measure(name)} {unit}, but {dialect.address.kind} allows at "
                f"most {most}; shorten it, for example with "
                f"{'FieldRename' if what == 'column' else 'the option table'}"
            )
