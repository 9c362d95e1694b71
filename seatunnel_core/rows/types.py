"""SeaTunnel's names of types, and the Arrow types that carry them.

====================  ==============================  =======================================================
SeaTunnel             Arrow                           remarks
====================  ==============================  =======================================================
``string``            ``string``
``boolean``           ``bool``
``tinyint``           ``int8``
``smallint``          ``int16``
``int``               ``int32``
``bigint``            ``int64``
``float``             ``float``                       32 bits
``double``            ``double``                      64 bits
``decimal(p, s)``     ``decimal128(p, s)``            up to 38 digits, ``decimal256`` up to 76
``null``              ``null``
``bytes``             ``binary``
``date``              ``date32``
``time``              ``time64[us]``
``timestamp``         ``timestamp[us]``               local time, without zone
``timestamp_tz``      ``timestamp[us, tz=UTC]``       a moment; shown in UTC
``array<T>``          ``list<T>``
``map<K, V>``         ``map<K, V>``
``{a = T, …}``        ``struct<a: T, …>``             a row; a nested object, or written inside a type's text
====================  ==============================  =======================================================

Names are compared without regard to case.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

SIMPLE: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "null": pa.null(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamp_tz": pa.timestamp("us", tz="UTC"),
}

_OTHER_SPELLINGS = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "bool": "boolean",
    "text": "string",
    "varchar": "string",
    "real": "float",
    "binary": "bytes",
    "datetime": "timestamp",
    "timestamptz": "timestamp_tz",
}
"""What people write, with what to write instead: an error names it."""


def arrow_type(declaration: str | Mapping[str, Any]) -> pa.DataType:
    """The Arrow type of a declared type: a text such as ``map<string, array<int>>``, or a nested object for a row.

    Raises:
        ValueError: says which part is not a type, and what was probably meant.
    """
    if isinstance(declaration, Mapping):
        return _row([(str(name), arrow_type(inner)) for name, inner in declaration.items()])
    if not isinstance(declaration, str):
        raise ValueError(f"expected the name of a type such as int or array<string>, found {declaration!r}")
    reader = _Reader(declaration)
    parsed = reader.type()
    reader.end()
    return parsed


def type_name(arrow: pa.DataType) -> str:
    """SeaTunnel's name of an Arrow type, as a person would write it; Arrow's own name where SeaTunnel has none."""
    for name, simple in SIMPLE.items():
        if simple == arrow:
            return name
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision}, {arrow.scale})"
    if pa.types.is_struct(arrow):
        return "{" + ", ".join(f"{part.name} = {type_name(part.type)}" for part in arrow) + "}"
    if pa.types.is_map(arrow):
        return f"map<{type_name(arrow.key_type)}, {type_name(arrow.item_type)}>"
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return f"array<{type_name(arrow.value_type)}>"
    return str(arrow)


def _row(fields: list[tuple[str, pa.DataType]]) -> pa.DataType:
    names = [name for name, _ in fields]
    doubled = {name for name in names if names.count(name) > 1}
    if not fields or doubled:
        problem = f"{sorted(doubled)} more than once" if doubled else "no field"
        raise ValueError(f"a row needs fields of different names, found {problem}")
    return pa.struct([pa.field(name, kind) for name, kind in fields])


class _Reader:
    """Reads one declared type from left to right."""

    _STRUCTURE = "<>(){}[],=: \t\r\n\"'"

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def type(self) -> pa.DataType:
        if self._accept("{"):
            return self._fields("}")
        word = self._word("a type")
        name = word.lower()
        if name == "decimal":
            return self._decimal()
        if name == "array":
            self._expect("<", "array<int>")
            element = self.type()
            self._expect(">", "array<int>")
            return pa.list_(element)
        if name == "map":
            self._expect("<", "map<string, int>")
            key = self.type()
            self._expect(",", "map<string, int>")
            value = self.type()
            self._expect(">", "map<string, int>")
            return pa.map_(key, value)
        if name == "row":
            self._expect("<", "row<a = int, b = string>")
            return self._fields(">")
        if name not in SIMPLE:
            raise self._unknown(word)
        return SIMPLE[name]

    def end(self) -> None:
        self._skip_space()
        if self.at < len(self.text):
            raise ValueError(f"{self.text[self.at :]!r} does not belong to the type {self.text!r}")

    def _fields(self, closing: str) -> pa.DataType:
        fields: list[tuple[str, pa.DataType]] = []
        while not self._accept(closing):
            if fields:
                self._expect(",", "{a = int, b = string}")
                if self._accept(closing):
                    break
            name = self._word("the name of a field")
            if not self._accept("="):
                self._accept(":")
            fields.append((name, self.type()))
        return _row(fields)

    def _decimal(self) -> pa.DataType:
        self._expect("(", "decimal(10, 2)")
        precision = self._number()
        scale = 0
        if self._accept(","):
            scale = self._number()
        self._expect(")", "decimal(10, 2)")
        if not 1 <= precision <= 76 or scale > precision:
            raise ValueError(
                f"decimal({precision}, {scale}) cannot be: at most 76 digits, and the second number, "
                "the digits after the point, no larger than the first"
            )
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)

    def _number(self) -> int:
        word = self._word("a number")
        if not word.isdigit():
            raise ValueError(f"expected digits in {self.text!r}, found {word!r}; write it as decimal(10, 2)")
        return int(word)

    def _word(self, wanted: str) -> str:
        self._skip_space()
        for quote in "\"'":
            if self.text.startswith(quote, self.at):
                end = self.text.find(quote, self.at + 1)
                if end < 0:
                    raise ValueError(f"{self.text!r} has an opening {quote} without a closing one")
                word, self.at = self.text[self.at + 1 : end], end + 1
                return self._nested_in_quotes(word)
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in self._STRUCTURE:
            self.at += 1
        if start == self.at:
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            raise ValueError(f"expected {wanted} in {self.text!r}, found {found}")
        return self.text[start : self.at]

    def _nested_in_quotes(self, word: str) -> str:
        """A quoted type may have structure of its own, ``{"a": "decimal(3, 1)"}``: read on inside the quotes."""
        if any(sign in word for sign in "<({"):
            self.text = word + self.text[self.at :]
            self.at = 0
            return self._word("a type")
        return word

    def _accept(self, sign: str) -> bool:
        self._skip_space()
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def _expect(self, sign: str, example: str) -> None:
        if not self._accept(sign):
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            raise ValueError(f"expected {sign!r} in {self.text!r}, found {found}; write it as {example}")

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _unknown(self, word: str) -> ValueError:
        known = [*SIMPLE, "decimal", "array", "map", "row"]
        meant = _OTHER_SPELLINGS.get(word.lower()) or next(iter(get_close_matches(word.lower(), known, n=1)), None)
        hint = f"; did you mean {meant}?" if meant else f"; types are {', '.join(known)}"
        return ValueError(f"{word!r} is not a type{hint}")
