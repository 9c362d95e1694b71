"""Classification of logged statements."""

import enum
import re

from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.events import XaId

_COMMENT = re.compile(r"\s+|/\*(?![!M]).*?\*/|--[ \t\r\n].*?(?:\n|$)|#.*?(?:\n|$)|/\*M?!\d*|\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]+")
_VALUE = re.compile(r"""['"=(]|(?<![\w$`])\.?\d|\b(?:TRUE|FALSE)\b|/\*|--\s|#""", re.IGNORECASE)
"""Possible beginning of a value, or of a comment, which may contain values."""

_XA_ID = re.compile(r"X'([0-9a-fA-F]*)'\s*,\s*X'([0-9a-fA-F]*)'\s*,\s*(\d+)")

_STRING = re.compile(
    r"(?P<name>`(?:[^`]|``)*`)|(?P<comment>/\*(?![!M]).*?\*/|--(?=\s|$)[^\n]*|\#[^\n]*)"
    r"|'(?:[^'\\]|'')*'|\"(?:[^\"\\]|\"\")*\"|\b0[xb][0-9a-f]+\b|(?P<unclear>['\"].*)",
    re.DOTALL | re.IGNORECASE,
)
"""String literals, hexadecimal ones, names and comments. The end of a string with a backslash depends on ``sql_mode``.
"""

_SHOWN = 120
"""Maximum length of a statement without values in messages."""

_DEFINITION_SHOWN = 200
"""Maximum length of a DDL statement in messages."""


class StatementKind(enum.Enum):
    """Effect of a statement on rows."""

    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    ROLLBACK_TO = "rollback to savepoint"
    XA_START = "xa start"
    XA_END = "xa end"
    XA_COMMIT = "xa commit"
    XA_ROLLBACK = "xa rollback"
    ROWS = "rows"
    """Statement that changes rows without logging them."""

    DEFINITION = "definition"
    """DDL statement, which changes tables, databases, users or other objects. It may also add or remove rows: TRUNCATE,
    DROP, partition changes, and CREATE TABLE … SELECT on a server without ``binlog_format = ROW``.
    """


_WORDS = {
    "BEGIN": StatementKind.BEGIN,
    "COMMIT": StatementKind.COMMIT,
    "SAVEPOINT": StatementKind.SAVEPOINT,
    "RELEASE": StatementKind.SAVEPOINT,
    **dict.fromkeys(
        ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "WITH", "SELECT", "DO"),
        StatementKind.ROWS,
    ),
}


def kind_of_statement(text: str) -> StatementKind:
    """Return the kind of a statement. Unknown statements are assumed not to change rows of existing tables."""
    first, second, third = _words(text)
    if first == "ROLLBACK":
        return StatementKind.ROLLBACK_TO if "TO" in (second, third) else StatementKind.ROLLBACK
    if first == "START":
        return StatementKind.BEGIN if second == "TRANSACTION" else StatementKind.DEFINITION
    if first == "SET":  # MariaDB: SET STATEMENT … FOR INSERT …
        return StatementKind.ROWS if second == "STATEMENT" else StatementKind.DEFINITION
    if first == "XA":
        found = {"START": StatementKind.XA_START, "BEGIN": StatementKind.XA_START, "END": StatementKind.XA_END}
        found |= {"COMMIT": StatementKind.XA_COMMIT, "ROLLBACK": StatementKind.XA_ROLLBACK}
        return found.get(second, StatementKind.DEFINITION)
    return _WORDS.get(first, StatementKind.DEFINITION)


def without_values(text: str) -> str:
    """Return the beginning of a statement up to its first value, for messages, because columns may be masked.

    The rest is omitted, because ``sql_mode`` determines where a string ends.
    """
    start = _start(text, 0)
    value = _VALUE.search(text, start)
    shown = " ".join(text[start : None if value is None else value.start()].split())
    return shown if value is None and len(shown) <= _SHOWN else f"{shown[:_SHOWN]} …"


def without_strings(text: str) -> str:
    """Return a DDL statement without its string literals, for messages, because defaults and enums may contain data.

    Everything after a string with a backslash is omitted, because ``sql_mode`` determines where the string ends.
    """
    shown = " ".join(_STRING.sub(_without_string, text).split())
    return shown if len(shown) <= _DEFINITION_SHOWN else f"{shown[:_DEFINITION_SHOWN]} …"


def _without_string(found: re.Match[str]) -> str:
    if found["name"] is not None:
        return found["name"]
    if found["comment"] is not None:
        return " "
    return "…" if found["unclear"] is not None else "'…'"


def _words(text: str) -> tuple[str, str, str]:
    """Return the first three words of a statement in upper case, without comments."""
    found: list[str] = []
    at = 0
    while len(found) < 3:
        at = _start(text, at)
        word = _WORD.match(text, at)
        if word is None:
            break
        found.append(word[0].upper())
        at = word.end()
    first, second, third, *_ = [*found, "", "", ""]
    return first, second, third


def _start(text: str, at: int) -> int:
    """Return the position after comments and opening parentheses."""
    while match := _COMMENT.match(text, at):
        at = match.end()
    while text[at : at + 1] == "(":
        at += 1
    return at


def xa_id_of(text: str) -> XaId:
    """Return the XA identifier in a statement such as ``XA COMMIT X'6131',X'',1``.

    Raises:
        UnsupportedLogError: The statement contains no XA identifier.
    """
    found = _XA_ID.search(text)
    if found is None:
        raise UnsupportedLogError(f"the identifier of a distributed transaction cannot be parsed: {text[:200]}")
    return XaId(format=int(found[3]), global_part=bytes.fromhex(found[1]), branch=bytes.fromhex(found[2]))
