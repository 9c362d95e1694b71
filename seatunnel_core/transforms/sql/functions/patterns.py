"""Functions with regular expressions, which RE2 evaluates if it supports the pattern, otherwise Python."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.transforms.regex import matches_nothing, rewritten
from seatunnel_core.transforms.sql.call import Call, function
from seatunnel_core.transforms.sql.engine_function import ArrowFunction, rows
from seatunnel_core.transforms.sql.value import BOOLEAN, INT, STRING, SqlError, Value, constant

function("REGEXP_LIKE", least=2, most=3)(lambda call: _matching(call, 2, _like, BOOLEAN, (call.text(0),)))


@function("REGEXP_REPLACE", least=3, most=4)
def regexp_replace(call: Call) -> Value:
    """Compile REGEXP_REPLACE, with a replacement in Java's syntax."""
    return _matching(call, 3, _replaced, STRING, (call.text(0), call.text(2)))


@function("REGEXP_SUBSTR", least=2, most=6)
def regexp_substr(call: Call) -> Value:
    """Compile REGEXP_SUBSTR, with a string, a pattern, a position, an occurrence, flags and a group."""
    numbers = [_number(call, at, default) for at, default in ((2, 1), (3, 1), (5, 0))]
    return _matching(call, 4, _part, STRING, (call.text(0), *numbers))


@function("SPLIT", least=2)
def split(call: Call) -> Value:
    """Compile SPLIT at a regular expression; trailing empty parts are dropped, as in Java."""
    return _matching(call, 2, _parts, _PARTS, (call.text(0),))


def _number(call: Call, at: int, default: int) -> Value:
    usual = constant(pa.scalar(default, INT))
    if at >= len(call.args):
        return usual
    number = call.whole(at)
    return usual if number.constant is not None and not number.constant.is_valid else number


def _matching(call: Call, flags_at: int, made: Any, kind: pa.DataType, args: tuple[Value, ...]) -> Value:
    """Compile a call with a pattern argument; a constant pattern is compiled once."""
    flags = _flags(call, flags_at)
    pattern = call.text(1)
    if pattern.constant is not None and pattern.constant.is_valid:
        text = pattern.constant.as_py()
        try:
            compiled = _compiled(text, flags)
        except ValueError as error:
            raise SqlError(f"Sql: {call.what}: {error}") from None
        return call.make(made(flags + text, compiled), kind, args)

    def run(texts: Any, *others: Any) -> Any:
        *columns, patterns = (texts, *others)
        found = [
            None if one is None else made(flags + one, _compiled(one, flags))(*(pa.array([each]) for each in row))[0]
            for one, *row in rows((patterns, *columns))
        ]
        return pa.array([None if each is None else each.as_py() for each in found], kind)

    return call.make(run, kind, (*args, pattern))


def _flags(call: Call, at: int) -> str:
    """Return Java's flags as a pattern prefix; if flags conflict, the last one applies."""
    if at >= len(call.args) or call.args[at].type == pa.null():
        return ""
    known: dict[str, bool] = {}
    for sign in call.known(at, "flags (i, c, n, m)"):
        if sign not in "icnm":
            raise SqlError(f"Sql: {call.what}: the flag {sign!r} is not one of i, c, n or m")
        known["i" if sign == "c" else "s" if sign == "n" else sign] = sign != "c"
    flags = "".join(sign for sign, on in known.items() if on)
    return f"(?{flags})" if flags else ""


def _compiled(pattern: str, flags: str) -> re.Pattern[str]:
    r"""Compile a pattern, or raise ``ValueError``; as in Java, ``\d``, ``\w`` and case folding cover ASCII only."""
    try:
        return re.compile(flags + re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern), re.ASCII)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


def _known_to_arrow(pattern: str) -> bool:
    try:
        pc.match_substring_regex(pa.array([""]), pattern=pattern)
    except pa.ArrowInvalid:
        return False
    return True


def _like(pattern: str, compiled: re.Pattern[str]) -> ArrowFunction:
    if _known_to_arrow(pattern):
        return lambda texts: pc.match_substring_regex(texts, pattern=pattern)
    return lambda texts: pa.array(
        (None if text is None else compiled.search(text) is not None for text in texts.to_pylist()), BOOLEAN
    )


def _replaced(pattern: str, compiled: re.Pattern[str]) -> ArrowFunction:
    def run(texts: Any, replacement: Any) -> Any:
        if isinstance(replacement, pa.Scalar):
            if not replacement.is_valid:
                return pa.nulls(len(texts), STRING)
            if _known_to_arrow(pattern):
                try:
                    written = rewritten("query", pattern, replacement.as_py())
                except UsageError as error:
                    raise ValueError(str(error).removeprefix("option 'query': ")) from None
                return pc.replace_substring_regex(texts, pattern=pattern, replacement=written)
        return pa.array(
            (
                None if None in row else compiled.sub(_python_replacement(row[1]), row[0])
                for row in rows((texts, replacement))
            ),
            STRING,
        )

    return run


def _python_replacement(text: str) -> str:
    r"""Convert a Java replacement string (``$1``, ``${name}``, ``\$``) to Python's syntax."""

    def piece(found: re.Match[str]) -> str:
        if found[1]:
            return found[1].replace("\\", r"\\")
        return rf"\g<{found[2] or found[3]}>" if found[2] or found[3] else r"\\"

    return re.sub(r"\\(.)|\$(\d)|\$\{(\w+)\}|\\", piece, text, flags=re.DOTALL)


def _part(pattern: str, compiled: re.Pattern[str]) -> ArrowFunction:
    def found(text: str, start: int, occurrence: int, group: int) -> str | None:
        if start < 1 or occurrence < 1 or not 0 <= group <= compiled.groups:
            raise ValueError("positions and occurrences start at 1, and the pattern must contain the group")
        for number, match in enumerate(compiled.finditer(text, start - 1), 1):
            if number == occurrence:
                return match[group]
        return None

    return lambda *columns: pa.array((None if None in row else found(*row) for row in rows(columns)), STRING)


_PARTS = pa.list_(STRING)


def _parts(pattern: str, compiled: re.Pattern[str]) -> ArrowFunction:
    quick = _known_to_arrow(pattern) and not matches_nothing(pattern)

    def run(texts: Any) -> Any:
        texts = pc.cast(texts, STRING)
        if quick and not pc.any(pc.match_substring_regex(texts, pattern=rf"\A\z|(?:{pattern})\z")).as_py():
            return pc.split_pattern_regex(texts, pattern)
        return pa.array((_cut(text, compiled) if text else None for text in texts.to_pylist()), _PARTS)

    return run


def _cut(text: str, separator: re.Pattern[str]) -> list[str]:
    """Return the parts of a string; an empty match also splits, except at the start."""
    parts, at = [], 0
    for match in separator.finditer(text):
        if match.end():
            parts.append(text[at : match.start()])
            at = match.end()
    parts.append(text[at:])
    while parts and not parts[-1]:
        parts.pop()
    return parts
