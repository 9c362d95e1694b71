"""Definitions of tables in the log that concern captured tables."""

import re
from collections.abc import Iterator, Sequence

from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import Statement
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.events import QueryEvent

_NAME = r"(?:`(?:[^`]|``)+`|[\w$]+)"
_PATH = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
_COMMENT = re.compile(r"/\*(?![!M]).*?\*/|--[ \t\r\n].*?(?:\n|$)|#.*?(?:\n|$)|/\*M?!\d*|\*/", re.DOTALL)
_IDENTIFIER = re.compile(r"[\w$]+")
_QUOTED = re.compile(r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"", re.DOTALL)
_FLAGS = re.IGNORECASE | re.DOTALL

_ALTER = re.compile(rf"\s*ALTER\s+(?:ONLINE\s+|IGNORE\s+)*TABLE\s+(?:IF\s+EXISTS\s+)?({_PATH})(.*)", _FLAGS)
_TRUNCATE = re.compile(rf"\s*TRUNCATE\s+(?:TABLE\s+)?({_PATH})", _FLAGS)
_DROP = re.compile(r"\s*DROP\s+TABLES?\s+(?:IF\s+EXISTS\s+)?(.*)", _FLAGS)
_RENAME = re.compile(r"\s*RENAME\s+TABLES?\s+(?:IF\s+EXISTS\s+)?(.*)", _FLAGS)
_REPLACE = re.compile(rf"\s*CREATE\s+OR\s+REPLACE\s+TABLE\s+({_PATH})", _FLAGS)
_DATABASE = re.compile(rf"\s*(?:DROP|ALTER)\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?({_NAME})", _FLAGS)

_HARMLESS = re.compile(
    r"(ADD\s+(?:(?:UNIQUE|FULLTEXT|SPATIAL)\b|INDEX\b|KEY\b|FOREIGN\b|CHECK\b|CONSTRAINT\b)"
    r"|DROP\s+(?:INDEX|KEY|FOREIGN|CHECK)\b|RENAME\s+(?:INDEX|KEY)\b|ALTER\s+INDEX\b"
    r"|(?:ENGINE|COMMENT|AUTO_INCREMENT|ROW_FORMAT|KEY_BLOCK_SIZE|ALGORITHM|LOCK|STATS_\w+|MAX_ROWS|MIN_ROWS"
    r"|AVG_ROW_LENGTH|CHECKSUM|COMPRESSION|FORCE|NOWAIT|WAIT\s+\d+)\b|(?:ENABLE|DISABLE)\s+KEYS\b)",
    _FLAGS,
)
"""Clauses of ALTER TABLE that change neither columns, nor the primary key, nor rows."""


class Definitions(CapturedTables):
    """The captured tables, for the decoder, and the effect of statements on them."""

    def __init__(self, tables: Sequence[Found]) -> None:
        super().__init__({path_of(each): declared_columns(each) for each in tables})
        names = {path_of(each): each.reading.name for each in tables}
        self._captured_names = {(database.lower(), name.lower()): path for (database, name), path in names.items()}
        self._words = {word for path in self._captured_names for name in path for word in _IDENTIFIER.findall(name)}

    def concerned_by(self, statement: QueryEvent) -> bool:
        """Return True if the statement may change a captured table, according to the names in its text."""
        return any(True for _ in self._changed(statement.text, statement.database.lower()))

    def changes(self, statement: Statement) -> list[str]:
        """Return the captured tables whose rows or columns the statement may have changed."""
        return sorted(set(self._changed(statement.text, statement.database.lower())))

    def _changed(self, text: str, database: str) -> Iterator[str]:
        if self._words.isdisjoint(word.lower() for word in _IDENTIFIER.findall(text)):
            return
        plain = _QUOTED.sub("''", _COMMENT.sub(" ", text))
        if (found := _ALTER.match(plain)) is not None:
            if not all(map(_is_harmless, _clauses(found[2]))):
                yield from self._captured(found[1], database)
        elif (found := _TRUNCATE.match(plain) or _REPLACE.match(plain)) is not None:
            yield from self._captured(found[1], database)
        elif (found := _DROP.match(plain) or _RENAME.match(plain)) is not None:
            for path in re.findall(_PATH, re.sub(r"\s+(?:TO|AS)\s+", ",", found[1], flags=_FLAGS)):
                yield from self._captured(path, database)
        elif (found := _DATABASE.match(plain)) is not None:
            dropped = _plain(found[1])
            yield from (path for (name, _), path in self._captured_names.items() if name == dropped)

    def _captured(self, written: str, database: str) -> Iterator[str]:
        parts = [_plain(each) for each in re.findall(_NAME, written)]
        key = (parts[0], parts[1]) if len(parts) > 1 else (database, parts[0])
        if key in self._captured_names:
            yield self._captured_names[key]


def _plain(name: str) -> str:
    return (name[1:-1].replace("``", "`") if name.startswith("`") else name).lower()


def _clauses(text: str) -> list[str]:
    """Return the clauses of ALTER TABLE: the parts between commas outside of parentheses."""
    found, depth = [""], 0
    for each in text:
        depth += (each == "(") - (each == ")")
        if each == "," and depth == 0:
            found.append("")
        else:
            found[-1] += each
    return [clause.strip() for clause in found]


def _is_harmless(clause: str) -> bool:
    if re.match(r"ADD\s+CONSTRAINT\b.*\bPRIMARY\b", clause, _FLAGS):
        return False
    return not clause or _HARMLESS.match(clause) is not None


def path_of(found: Found) -> tuple[str, str]:
    """Return the database and the name of a captured table."""
    assert found.reading.path is not None
    database, name = found.reading.path
    return database, name


def declared_columns(found: Found) -> list[DeclaredColumn]:
    """Return the columns of a captured table as the decoder of the log needs them."""
    return [
        DeclaredColumn(
            name=column.name,
            declared=column.declared,
            charset=column.collation.partition("_")[0],
            arrow=column.arrow,
        )
        for column in found.columns
    ]
