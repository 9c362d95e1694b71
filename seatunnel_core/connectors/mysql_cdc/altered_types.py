"""Column types and names in ALTER TABLE statements, to detect changes that affect how logged rows are read."""

import re
from collections.abc import Sequence

from attrs import define, field

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.mysql_cdc.definitions import (
    NAME,
    altering_clauses,
    is_harmless,
    renamed_columns,
    unquoted,
)

_FLAGS = re.IGNORECASE | re.DOTALL

_INTEGERS = ("smallint", "mediumint", "int", "bigint")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_OTHERS = (
    *("tinyint", "decimal", "float", "double", "bit", "year", "date", "time", "datetime", "timestamp", "json"),
    *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "uuid", "inet4", "inet6"),
)
_SYNONYMS = {"integer": "int", "numeric": "decimal", "bool": "tinyint(1)", "boolean": "tinyint(1)"}
_SIZELESS = (*_INTEGERS, "char", "varchar", "varbinary")
"""Types for which the size in a definition does not matter, because the log contains the size."""

_TYPE = re.compile(r"\s*([a-z]\w*)(?:\s*(\([\d\s,]*\)))?((?:\s+(?:UNSIGNED|SIGNED|ZEROFILL)\b)*)(.*)", _FLAGS)
_ATTRIBUTES = re.compile(
    r"(?:\s+(?:NOT\s+NULL|NULL|UNIQUE(?:\s+KEY)?|COMMENT\s+''|(?:DEFAULT|ON\s+UPDATE)\s+(?:''|[-+]?[\w.]+(?:\(\d*\))?)))*"
    rf"(\s+(?:FIRST|AFTER\s+{NAME}))?\s*",
    _FLAGS,
)
"""Column attributes that do not affect how a value is read, and an optional new position of the column."""

_DEFINED = re.compile(rf"(?:ADD|MODIFY|CHANGE)\s+(?:COLUMN\s+)?((?!(?:COLUMN|IF)\b){NAME})(.*)", _FLAGS)
"""Clauses that define a column. Clauses with IF [NOT] EXISTS are excluded, because they may have no effect."""

_CHARSET = re.compile(r"\b(?:CHARACTER\s+SET|CHARSET|COLLATE)\b", _FLAGS)


@define
class AlteredTypes:
    """Known column types and former column names of a table at a position of the log."""

    _known: dict[str, str] = field(repr=False)
    former_names: dict[str, str] = field(factory=dict, init=False)
    """Former names of renamed columns by current name, in lower case."""

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "AlteredTypes":
        """Return the column types of a table.

        Text columns are omitted, because a later statement may change their character set.
        """
        found = {column.name.lower(): _type_of(column.declared)[0] for column in columns}
        return cls({name: kind for name, kind in found.items() if kind is not None and not _is_text(kind)})

    def keeps(self, text: str) -> bool:
        """Return True if an ALTER TABLE statement leaves the type and the position of each column unchanged."""
        clauses = altering_clauses(text)
        return (
            bool(clauses)
            and not sets_charset(text)
            and all(is_harmless(each) or self._is_same(each) for each in clauses)
        )

    def _is_same(self, clause: str) -> bool:
        name, kind, is_placed = _defined(clause)
        return kind is not None and not is_placed and not _adds(clause) and self._known.get(name) == kind

    def alter(self, text: str) -> None:
        """Apply an ALTER TABLE statement. Any other statement makes all types unknown."""
        clauses, renamed = altering_clauses(text), renamed_columns(text)
        former = {new: self.former_names.get(old, old) for new, old in renamed.items()}
        kept = {name: old for name, old in self.former_names.items() if name not in renamed.values()}
        self.former_names = {**kept, **former}
        if not clauses:
            self._known.clear()
        for clause in clauses:
            name, kind, _ = _defined(clause)
            if kind is not None:
                self._known[name] = kind
            elif not is_harmless(clause):
                self._known.clear()
        if sets_charset(text):
            self.forget_texts()

    def renamed(self, columns: Sequence[Column], recorded: Sequence[str]) -> dict[str, str]:
        """Return the former names of renamed columns by current name, as written in the given columns."""
        written = {name.lower(): name for name in recorded}
        former = {column.name: self.former_names.get(column.name.lower(), "") for column in columns}
        return {name: written.get(old, old) for name, old in former.items() if old and old != name.lower()}

    def forget_texts(self) -> None:
        """Remove text columns, because columns that are defined later may have another character set."""
        self._known = {name: kind for name, kind in self._known.items() if not _is_text(kind)}


def sets_charset(text: str) -> bool:
    """Return True if a statement may set a character set, including the default character set of a table."""
    return _CHARSET.search(text) is not None


def _adds(clause: str) -> bool:
    return clause[:3].upper() == "ADD"


def _is_text(kind: str) -> bool:
    return kind.split("(")[0] in _TEXTS


def _defined(clause: str) -> tuple[str, str | None, bool]:
    """Return the name and type of the column that a clause defines, and True if the clause moves the column.

    The type is ``None`` if the clause defines no column, renames a column, or may affect how values are read.
    """
    found = _DEFINED.match(clause)
    if found is None:
        return "", None, False
    name, rest = unquoted(found[1]), found[2]
    if clause[:6].upper() == "CHANGE":
        new = re.match(rf"\s*({NAME})(.*)", rest, _FLAGS)
        if new is None or unquoted(new[1]) != name:
            return name, None, False
        rest = new[2]
    return name, *_type_of(rest)


def _type_of(definition: str) -> tuple[str | None, bool]:
    """Return the normalized type in a column definition, and True if the definition moves the column."""
    found = _TYPE.fullmatch(definition)
    attributes = None if found is None else _ATTRIBUTES.fullmatch(found[4])
    if found is None or attributes is None:
        return None, False
    kind, size = found[1].lower(), re.sub(r"\s", "", found[2] or "")
    kind = _SYNONYMS.get(kind, kind)
    if kind.split("(")[0] not in (*_INTEGERS, *_TEXTS, *_OTHERS):
        return None, False
    signs = sorted(word for word in set(found[3].upper().split()) if word != "SIGNED")
    shown = kind if kind in _SIZELESS else kind + size
    return " ".join([shown, *signs]), attributes[1] is not None
