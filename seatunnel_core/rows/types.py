"""SeaTunnel's type names and the corresponding Arrow types.

======================= ================================ ========================================================
SeaTunnel               Arrow                            remarks
======================= ================================ ========================================================
``string``              ``string``
``boolean``             ``bool``
``tinyint``             ``int8``
``smallint``            ``int16``
``int``                 ``int32``
``bigint``              ``int64``
``float``               ``float``                        32 bits
``double``              ``double``                       64 bits
``decimal(p, s)``       ``decimal128(p, s)``             up to 38 digits, ``decimal256`` up to 76
``null``                ``null``
``bytes``               ``binary``
``date``                ``date32``
``time``                ``time64[us]``
``timestamp``           ``timestamp[us]``                local time, without zone
``timestamp_tz``        ``timestamp[us, tz=UTC]``        a moment; shown in UTC
``array<T>``            ``list<T>``
``map<K, V>``           ``map<K, V>``
``{a = T, …}``          ``struct<a: T, …>``              a row, also ``row<a = T, …>``; a nested object, or a string
``float_vector``        ``fixed_size_list<float>[n]``    n is the dimension: ``float_vector(n)``, or ``columnScale``;
                                                         without one it is ``array<float>``
``float16_vector``      ``fixed_size_list<half>[n]``     16 bits, of IEEE 754
``bfloat16_vector``     ``fixed_size_list<uint16>[n]``   the upper 16 bits of each float, for which Arrow has no type
``binary_vector``       ``fixed_size_list<uint8>[n/8]``  n counts bits, eight to the byte
``sparse_float_vector`` ``map<uint32, float>``           the values that are not 0 by their index; no dimension
======================= ================================ ========================================================

Type names are case-insensitive; names of columns and fields keep their case. In a type as a string, quote a name with
spaces or other special characters: ``{"unit price" = int}``.
"""

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from seatunnel_core.work.names import repeated

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
    "sparse_float_vector": pa.map_(pa.uint32(), pa.float32()),
}

VECTORS: Mapping[str, pa.DataType] = {
    "float_vector": pa.float32(),
    "float16_vector": pa.float16(),
    "bfloat16_vector": pa.uint16(),
    "binary_vector": pa.uint8(),
}
"""Vector types that have a dimension, with the Arrow type of their elements."""

LARGEST_DIMENSION = 262_144

NO_DIMENSIONS: Mapping[str, int] = {}

_STRUCTURE = "<>(){}[],=: \t\r\n\"'"
"""Characters that end an unquoted name."""

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
"""Type names of other systems with their SeaTunnel equivalents, which error messages suggest."""


def arrow_type(declaration: str | Mapping[str, Any], dimensions: Mapping[str, int] = NO_DIMENSIONS) -> pa.DataType:
    """Return the Arrow type of a declaration: a string such as ``map<string, int>``, or a nested object for a row.

    ``dimensions`` are default dimensions of vectors, keyed by type name.

    Raises:
        ValueError: The declaration is invalid; the message contains the invalid part and a suggestion.
    """
    if isinstance(declaration, Mapping):
        return _row([(str(name), arrow_type(inner, dimensions)) for name, inner in declaration.items()])
    if declaration is None:
        raise ValueError('expected a type, found null; put the name of the type in quotes: "null"')
    if not isinstance(declaration, str):
        raise ValueError(f"expected the name of a type such as int or array<string>, found {declaration!r}")
    reader = _Reader(declaration, dimensions)
    parsed = reader.type()
    reader.end()
    return parsed


def type_name(arrow: pa.DataType) -> str:
    """Return SeaTunnel's name for an Arrow type, as in job files; Arrow's name if SeaTunnel has none."""
    for name, simple in SIMPLE.items():
        if simple == arrow:
            return name
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision}, {arrow.scale})"
    if pa.types.is_struct(arrow):
        return "{" + ", ".join(f"{_field_name(part.name)} = {type_name(part.type)}" for part in arrow) + "}"
    if vector := vector_name(arrow):
        return f"{vector}({arrow.list_size * (8 if vector == 'binary_vector' else 1)})"
    if pa.types.is_map(arrow):
        return f"map<{type_name(arrow.key_type)}, {type_name(arrow.item_type)}>"
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return f"array<{type_name(arrow.value_type)}>"
    return str(arrow)


def is_text(arrow: pa.DataType) -> bool:
    """Return True if the values are strings, in any of Arrow's encodings."""
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def own_types(columns: pa.Schema) -> pa.Schema:
    """Replace the types of columns with equivalent types of this module, where they exist.

    Few sinks and few of Arrow's functions accept string views, dictionaries and unsigned numbers.
    """
    return pa.schema([column.with_type(_own(column.type)) for column in columns], columns.metadata)


def _own(arrow: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(arrow):
        return pa.struct([part.with_type(_own(part.type)) for part in arrow])
    if pa.types.is_map(arrow):
        return arrow if arrow == SIMPLE["sparse_float_vector"] else pa.map_(_own(arrow.key_type), _own(arrow.item_type))
    if pa.types.is_nested(arrow):
        return arrow if vector_name(arrow) else pa.list_(arrow.value_field.with_type(_own(arrow.value_type)))
    if pa.types.is_dictionary(arrow):
        return _own(arrow.value_type)
    if pa.types.is_decimal32(arrow) or pa.types.is_decimal64(arrow):
        return pa.decimal128(arrow.precision, arrow.scale)
    if pa.types.is_fixed_size_binary(arrow):
        return pa.binary()
    if pa.types.is_time(arrow):
        return SIMPLE["time"]
    if isinstance(arrow, pa.BaseExtensionType):
        return pa.string() if arrow.extension_name == "arrow.uuid" else _own(arrow.storage_type)
    return _SAME.get(arrow, arrow)


_SAME: Mapping[pa.DataType, pa.DataType] = {
    pa.string_view(): pa.string(),
    pa.large_string(): pa.string(),
    pa.binary_view(): pa.binary(),
    pa.large_binary(): pa.binary(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
}


def vector_name(arrow: pa.DataType) -> str | None:
    """Return SeaTunnel's name for a vector type without the dimension; ``None`` for other types."""
    if not pa.types.is_fixed_size_list(arrow):
        return None
    return next((name for name, element in VECTORS.items() if element == arrow.value_type), None)


def _field_name(name: str) -> str:
    plain = name and not any(sign in _STRUCTURE or sign.isspace() for sign in name)
    return name if plain else json.dumps(name, ensure_ascii=False)


def _vector(name: str, dimension: int) -> pa.DataType:
    if not 1 <= dimension <= LARGEST_DIMENSION:
        raise ValueError(f"{name}({dimension}) is invalid: a vector has 1 to {LARGEST_DIMENSION} dimensions")
    if name != "binary_vector":
        return pa.list_(VECTORS[name], dimension)
    if dimension % 8:
        raise ValueError(
            f"binary_vector({dimension}) is invalid: its dimension counts bits and must be a multiple of 8"
        )
    return pa.list_(VECTORS[name], dimension // 8)


def _row(fields: list[tuple[str, pa.DataType]]) -> pa.DataType:
    names = [name for name, _ in fields]
    doubled = repeated(names)
    if not fields or doubled:
        problem = f"{doubled} more than once" if doubled else "no field"
        raise ValueError(f"the fields of a row must have unique names, found {problem}")
    return pa.struct([pa.field(name, kind) for name, kind in fields])


class _Reader:
    """Parser of one declared type from left to right."""

    def __init__(self, text: str, dimensions: Mapping[str, int]) -> None:
        self.text = text
        self.at = 0
        self.dimensions = dimensions

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
            if key == pa.null():
                raise ValueError(f"the keys of {self.text!r} would all be null, which a map does not allow")
            return pa.map_(key, value)
        if name == "row":
            self._expect("<", "row<a = int, b = string>")
            return self._fields(">")
        if name in VECTORS:
            dimension = self._dimension(name)
            return pa.list_(VECTORS[name]) if dimension is None else _vector(name, dimension)
        if name not in SIMPLE:
            raise self._unknown(word)
        return SIMPLE[name]

    def end(self) -> None:
        self._skip_space()
        if self.at < len(self.text):
            raise ValueError(f"unexpected {self.text[self.at :]!r} in the type {self.text!r}")

    def _fields(self, closing: str) -> pa.DataType:
        fields: list[tuple[str, pa.DataType]] = []
        while not self._accept(closing):
            if fields and not self._accept_line_end():
                self._expect(",", "{a = int, b = string}")
            if fields and self._accept(closing):
                break
            name = self._quoted_name() or self._word("the name of a field")
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
                f"decimal({precision}, {scale}) is invalid: the precision must be at most 76, and the scale must "
                "not be larger than the precision"
            )
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)

    def _dimension(self, name: str) -> int | None:
        """Parse the dimension of a vector; ``None`` for a float vector of any dimension, which is an array."""
        if self._accept("("):
            dimension = self._number(f"{name}(8)")
            self._expect(")", f"{name}(8)")
            return dimension
        if name not in self.dimensions and name == "float_vector":
            return None
        if name not in self.dimensions:
            raise ValueError(f"{name} needs its dimension: use {name}(8), or set columnScale = 8 next to the type")
        return self.dimensions[name]

    def _number(self, example: str = "decimal(10, 2)") -> int:
        word = self._word("a number")
        if not re.fullmatch("[0-9]{1,9}", word):
            raise ValueError(f"expected a whole number in {self.text!r}, found {word!r}; write it as {example}")
        return int(word)

    def _quoted_name(self) -> str:
        """Parse a name in double quotes with JSON escapes; empty if there is none."""
        self._skip_space()
        found = re.compile(r'"(?:[^"\\]|\\.)+"', re.DOTALL).match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        try:
            return str(json.loads(found[0], strict=False))
        except ValueError:
            raise ValueError(f"the name {found[0]} in {self.text!r} has an invalid JSON escape") from None

    def _word(self, wanted: str) -> str:
        self._skip_space()
        for quote in "\"'":
            if self.text.startswith(quote, self.at):
                end = self.text.find(quote, self.at + 1)
                if end < 0:
                    raise ValueError(f"{self.text!r} has an unclosed {quote}")
                word, self.at = self.text[self.at + 1 : end], end + 1
                return self._nested_in_quotes(word)
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _STRUCTURE:
            self.at += 1
        if start == self.at:
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            raise ValueError(f"expected {wanted} in {self.text!r}, found {found}")
        return self.text[start : self.at]

    def _nested_in_quotes(self, word: str) -> str:
        """Parse a structured type inside quotes, such as ``{"a": "decimal(3, 1)"}``."""
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

    def _accept_line_end(self) -> bool:
        """Return True if a line end separates two fields, as a comma does in HOCON."""
        self._skip_space()
        before = self.text[: self.at]
        return "\n" in before[len(before.rstrip()) :] and not self.text.startswith(",", self.at)

    def _expect(self, sign: str, example: str) -> None:
        if not self._accept(sign):
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            raise ValueError(f"expected {sign!r} in {self.text!r}, found {found}; write it as {example}")

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _unknown(self, word: str) -> ValueError:
        known = [*SIMPLE, *VECTORS, "decimal", "array", "map", "row"]
        meant = _OTHER_SPELLINGS.get(word.lower()) or next(iter(get_close_matches(word.lower(), known, n=1)), None)
        hint = f"; did you mean {meant}?" if meant else f"; types are {', '.join(known)}"
        return ValueError(f"{word!r} is not a type{hint}")
