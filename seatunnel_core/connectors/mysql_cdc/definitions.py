"""DDL statements in the log that concern captured tables."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules, path_of
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import Statement
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.events import QueryEvent

NAME = r"(?:`(?:[^`]|``)+`|\"(?:[^\"\\]|\"\"|\\.)*\"|[\w$]+)"
_PATH = rf"{NAME}(?:\s*\.\s*{NAME})?"
_GAP = r"(?:\s+|(?=[`\"]))"
"""Pattern for the end of a keyword before a name. A quoted name needs no space before it."""

_TOKEN = re.compile(
    r"(?P<comment>/\*(?![!M]).*?\*/|--(?=\s|$)[^\n]*|\#[^\n]*|/\*M?!\d*|\*/)"
    r"|(?P<string>'(?:[^'\\]|''|\\.)*')"
    r"|\"(?:[^\"\\]|\"\"|\\.)*\"|`(?:[^`]|``)*`",
    re.DOTALL,
)
"""Comments, strings and quoted names in a statement. With ANSI_QUOTES, names are in double quotes."""

_IDENTIFIER = re.compile(r"[\w$]+")
_FLAGS = re.IGNORECASE | re.DOTALL

_ALTER = re.compile(
    rf"\s*ALTER\s+(?:ONLINE\s+)?(IGNORE\s+)?(?:ONLINE\s+)?TABLE{_GAP}(?:IF\s+EXISTS{_GAP})?({_PATH})"
    r"(?:\s+(?:WAIT\s+\d+|NOWAIT)\b)?(.*)",
    _FLAGS,
)
_OTHER = re.compile(
    rf"\b(?:(?:WITH|CONVERT|TO)\s+TABLE\s*|RENAME\s+(?:(?:TO|AS)\b\s*)?|RENAME\s*=\s*)({_PATH})", _FLAGS
)
"""Clauses of ALTER TABLE that refer to a second table."""

_TRUNCATE = re.compile(rf"\s*TRUNCATE{_GAP}(?:TABLE{_GAP})?({_PATH})", _FLAGS)
_DROP = re.compile(rf"\s*DROP\s+TABLES?{_GAP}(?:IF\s+EXISTS{_GAP})?(.*)", _FLAGS)
_RENAME = re.compile(rf"\s*RENAME\s+TABLES?{_GAP}(?:IF\s+EXISTS{_GAP})?(.*)", _FLAGS)
_REPLACE = re.compile(rf"\s*CREATE\s+OR\s+REPLACE\s+TABLE{_GAP}({_PATH})", _FLAGS)
_DROP_KEY = re.compile(rf"\s*DROP\s+INDEX{_GAP}(?:IF\s+EXISTS{_GAP})?[`\"]?PRIMARY[`\"]?\s*ON{_GAP}({_PATH})", _FLAGS)
_DATABASE = re.compile(rf"\s*DROP\s+(?:DATABASE|SCHEMA){_GAP}(?:IF\s+EXISTS{_GAP})?({NAME})", _FLAGS)

_HARMLESS = re.compile(
    r"(ADD\s+(?:(?:UNIQUE|FULLTEXT|SPATIAL)\b|INDEX\b|KEY\b|FOREIGN\b|CHECK\b|CONSTRAINT\b)"
    r"|DROP\s+(?:INDEX|KEY|FOREIGN|CHECK|CONSTRAINT)\b|RENAME\s+(?:INDEX|KEY)\b|ALTER\s+(?:INDEX|CHECK|CONSTRAINT)\b"
    rf"|ALTER\s+(?:COLUMN\s+)?(?:IF\s+EXISTS\s+)?{NAME}\s+(?:SET|DROP)\s+DEFAULT\b"
    r"|(?:DEFAULT\s+)?(?:CHARACTER\s+SET|CHARSET|COLLATE)\b|REMOVE\s+PARTITIONING\b|PARTITION\s+BY\b"
    r"|(?:ENGINE|COMMENT|AUTO_INCREMENT|ROW_FORMAT|KEY_BLOCK_SIZE|ALGORITHM|LOCK|STATS_\w+|MAX_ROWS|MIN_ROWS"
    r"|AVG_ROW_LENGTH|CHECKSUM|COMPRESSION|FORCE|TABLESPACE|ENCRYPTION|ENCRYPTED|ENCRYPTION_KEY_ID|PAGE_COMPRESSED"
    r"|PAGE_COMPRESSION_LEVEL)\b|(?:ENABLE|DISABLE)\s+KEYS\b)",
    _FLAGS,
)
"""Clauses of ALTER TABLE that do not change columns, the primary key or rows, unless they also set another engine.

The default character set of a table only affects columns that are added later.
"""

_PRIMARY = re.compile(
    rf"(?:ADD\s+CONSTRAINT\b.*|DROP\s+(?:INDEX|KEY|CONSTRAINT){_GAP}(?:IF\s+EXISTS{_GAP})?[`\"]?)PRIMARY\b", _FLAGS
)
"""Clauses that ``_HARMLESS`` matches but that change the primary key."""

_PARTITIONS = re.compile(
    r"\s*(?:(?:ADD|COALESCE|OPTIMIZE|ANALYZE|CHECK)\s+PARTITION\b"
    r"|REORGANIZE\s+PARTITION\b(?!.*\b(?:VALUES\s+IN|DEFAULT)\b).*\bVALUES\s+LESS\s+THAN\b)",
    _FLAGS,
)
"""Partition operations that keep all rows. An ALTER TABLE statement with a partition operation has no other clause.

REORGANIZE of a list partition drops rows with values that no new partition lists. REBUILD drops rows that are in a
wrong partition.
"""

_COLUMN_NAME = rf"((?!(?:COLUMN|IF)\b){NAME})"
_COLUMN = re.compile(
    rf"(?:(?:ADD|DROP|MODIFY|ALTER)\s+(?:COLUMN\s+)?(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{_COLUMN_NAME}"
    rf"|CHANGE\s+(?:COLUMN\s+)?(?:IF\s+EXISTS\s+)?{_COLUMN_NAME}\s+{_COLUMN_NAME}"
    rf"|RENAME\s+COLUMN\s+(?:IF\s+EXISTS\s+)?{_COLUMN_NAME}\s+TO\s+{_COLUMN_NAME})",
    _FLAGS,
)
"""Clauses of ALTER TABLE that change one column, with its old and new name."""

_RENAMED = re.compile(
    rf"(?:CHANGE{_GAP}(?:COLUMN{_GAP})?|RENAME\s+COLUMN{_GAP})(?:IF\s+EXISTS{_GAP})?{_COLUMN_NAME}\s*(?:TO{_GAP})?"
    rf"{_COLUMN_NAME}",
    _FLAGS,
)
"""Clauses of ALTER TABLE that may rename a column, with its old and new name."""

_KEY = re.compile(r"\b(?:PRIMARY|KEY|PARTITION|PARTITIONING|SYSTEM|PERIOD|CONSTRAINT|ENGINE|TABLESPACE)\b", _FLAGS)
"""Keywords in a clause for one column that may change more than this column."""

_ONLY_COLUMNS = re.compile(
    rf"(ADD\s*\(|(?:ADD|DROP)\s+(?:COLUMN\b|(?!(?:PRIMARY|PARTITION|PERIOD|SYSTEM|CONSTRAINT|INDEX|KEY)\b){NAME})"
    rf"|(?:MODIFY|CHANGE)\b|RENAME\s+COLUMN\b|ALTER\s+(?:COLUMN\b|{NAME})"
    r"|CONVERT\s+TO\s+(?:CHARACTER\s+SET|CHARSET)\b)",
    _FLAGS,
)
"""Clauses of ALTER TABLE that change only columns."""

_OTHER_ENGINE = re.compile(r"\bENGINE\b(?!\s*=?\s*[`\"]?InnoDB\b)", _FLAGS)
_PARENTHESES = re.compile(r"\([^()]*\)")


class Definitions(CapturedTables):
    """The captured tables for the log decoder, and the effects of statements on them."""

    def __init__(self, tables: Sequence[Found], rules: ColumnRules = EVERY_COLUMN, *, logs_names: bool = False) -> None:
        """Create an instance from the captured tables.

        Args:
            tables: The tables with their selected columns.
            rules: Selection of columns.
            logs_names: True if the log contains column names. Otherwise the columns of tables with unselected columns
                are found by position, so no column of these tables may change.
        """
        self._rules = rules
        self._by_name = {path_of(each) for each in tables if logs_names and rules.restricts(path_of(each))}
        super().__init__({(base, name): self._declared(each) for each in tables for base, name in [path_of(each)]})
        names = {(base, name): each.reading.name for each in tables for base, name in [path_of(each)]}
        self._captured_names = {(database.lower(), name.lower()): path for (database, name), path in names.items()}
        self._paths = {name: path for path, name in names.items()}
        self._words = {word for path in self._captured_names for name in path for word in _IDENTIFIER.findall(name)}

    def _declared(self, found: Found) -> list[DeclaredColumn]:
        """Return the selected columns of a table, or all columns if they are found by position."""
        return declared_columns(found, found.columns if path_of(found) in self._by_name else logged_columns(found))

    def selects(self, database: str, table: str) -> Callable[[str], bool] | None:
        path = (database, table)
        return partial(self._rules.selects, path) if path in self._by_name else None

    def concerned_by(self, statement: QueryEvent) -> bool:
        """Return True if the statement may change a captured table, according to the names in its text.

        This includes changes of unselected columns, because logged rows before and after them have different layouts.
        """
        return any(True for _ in self._changed(statement.text, statement.database.lower()))

    def changes(self, statement: Statement) -> list[str]:
        """Return the captured tables that the statement may have changed in their rows or columns."""
        return sorted(set(self._changed(statement.text, statement.database.lower(), self._is_harmless)))

    def describes(self, table: str) -> bool:
        """Return True if logged rows of a table can be read although its columns have changed."""
        path = self._paths[table]
        return path in self._by_name or not self._rules.restricts(path)

    def _changed(
        self,
        text: str,
        database: str,
        has_no_effect: Callable[[str, str], bool] = lambda clause, _: is_harmless(clause),
    ) -> Iterator[str]:
        """Yield the captured tables that a statement may change.

        Args:
            text: The statement.
            database: Default database of the session, in lower case.
            has_no_effect: Function that returns True if a clause of ALTER TABLE does not affect a table; by default,
                any table.
        """
        if self._words.isdisjoint(word.lower() for word in _IDENTIFIER.findall(text)):
            return
        plain = _TOKEN.sub(_without_text, text)
        if (found := _ALTER.match(plain)) is not None:
            clauses = [] if _PARTITIONS.match(found[3]) else _clauses(found[3])
            for name in self._captured(found[2], database):
                if found[1] or not all(has_no_effect(clause, name) for clause in clauses):
                    yield name  # IGNORE deletes rows without logging them.
            for other in _OTHER.findall(found[3]):
                yield from self._captured(other, database)
        elif (found := _TRUNCATE.match(plain) or _REPLACE.match(plain) or _DROP_KEY.match(plain)) is not None:
            yield from self._captured(found[1], database)
        elif (found := _DROP.match(plain) or _RENAME.match(plain)) is not None:
            for path in re.findall(_PATH, re.sub(r"\s+(?:TO|AS)\s+", ",", found[1], flags=_FLAGS)):
                yield from self._captured(path, database)
        elif (found := _DATABASE.match(plain)) is not None:
            dropped = unquoted(found[1])
            yield from (path for (name, _), path in self._captured_names.items() if name == dropped)

    def _is_harmless(self, clause: str, table: str) -> bool:
        """Return True if a clause of ALTER TABLE changes neither rows nor selected columns of a captured table."""
        if is_harmless(clause):
            return True
        path = self._paths[table]
        if path not in self._by_name or _KEY.search(clause) or (found := _COLUMN.match(clause)) is None:
            return False
        selected = {each.name.lower() for each in self._tables[path]}
        names = [unquoted(each) for each in found.groups() if each is not None]
        return not any(each in selected or self._rules.selects(path, each) for each in names)

    def _captured(self, written: str, database: str) -> Iterator[str]:
        parts = [unquoted(each) for each in re.findall(NAME, written)]
        key = (parts[0], parts[1]) if len(parts) > 1 else (database, parts[0])
        if key in self._captured_names:
            yield self._captured_names[key]


def only_changes_columns(text: str) -> bool:
    """Return True if a statement on a captured table changes only columns, not rows or the table's name."""
    found = _ALTER.match(_TOKEN.sub(_without_text, text))
    if found is None or found[1]:
        return False
    return all(is_harmless(each) or _is_of_columns(each) for each in _clauses(found[3]))


def keeps_columns(text: str) -> bool:
    """Return True if a statement on a captured table removes rows or the primary key, but changes no columns."""
    plain = _TOKEN.sub(_without_text, text)
    return (_TRUNCATE.match(plain) or _DROP_KEY.match(plain)) is not None


def altering_clauses(text: str) -> list[str]:
    """Return an ALTER TABLE statement's clauses, without comments and string contents; empty for other statements."""
    found = _ALTER.match(_TOKEN.sub(_without_text, text))
    return [] if found is None else _clauses(found[3])


def renamed_columns(text: str) -> dict[str, str]:
    """Return the former names of the columns that an ALTER TABLE statement renames, by new name, in lower case."""
    found = {}
    for match in filter(None, map(_RENAMED.match, altering_clauses(text))):
        old, new = unquoted(match[1]), unquoted(match[2])
        if new != old:
            found[new] = old
    return found


def _is_of_columns(clause: str) -> bool:
    return _ONLY_COLUMNS.match(clause) is not None and not _OTHER_ENGINE.search(_PARENTHESES.sub("", clause))


def _without_text(token: re.Match[str]) -> str:
    """Return a space for a comment, an empty string literal for a string literal, and a quoted name unchanged."""
    if token["comment"] is not None:
        return " "
    return token[0] if token["string"] is None else "''"


def unquoted(name: str) -> str:
    """Return a name without quotes, in lower case."""
    quote = name[0]
    return (name[1:-1].replace(quote * 2, quote) if quote in '`"' else name).lower()


def _clauses(text: str) -> list[str]:
    """Split the body of an ALTER TABLE statement into clauses at commas outside of parentheses and quotes."""
    found, depth = [""], 0
    for each in re.findall(rf"{NAME}|.", text, re.DOTALL):
        depth += (each == "(") - (each == ")")
        if each == "," and depth == 0:
            found.append("")
        else:
            found[-1] += each
    return [clause.strip() for clause in found]


def is_harmless(clause: str) -> bool:
    """Return True if a clause of ALTER TABLE changes no columns, no primary key and no rows."""
    if _PRIMARY.match(clause) or _OTHER_ENGINE.search(_PARENTHESES.sub("", clause)):
        return False
    return not clause or _HARMLESS.match(clause) is not None


def logged_columns(found: Found) -> tuple[Column, ...]:
    """Return all columns of a captured table that are in the log, including unselected ones."""
    table = found.table
    return found.columns if table is None or len(table.columns) <= len(found.columns) else table.columns


def declared_columns(found: Found, columns: Sequence[Column]) -> list[DeclaredColumn]:
    """Return columns of a captured table for the log decoder. Columns that are not selected are hidden."""
    selected = {column.name: column for column in found.columns}
    return [
        DeclaredColumn(
            name=column.name,
            declared=column.declared,
            charset=column.collation.partition("_")[0],
            arrow=selected.get(column.name, column).arrow,
            hidden=column.name not in selected,
        )
        for column in columns
    ]
