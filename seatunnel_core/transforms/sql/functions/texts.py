"""Functions for strings and bytes; characters are Unicode code points."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.transforms.sql.call import MANY, Call, fixed, function
from seatunnel_core.transforms.sql.engine_function import ArrowFunction, by_row, rows
from seatunnel_core.transforms.sql.value import BIGINT, BYTES, INT, STRING, Value, constant

fixed("ASCII", by_row(lambda text: ord(text[0]) if text else None, INT), INT, STRING)
fixed("CHAR CHR", by_row(chr, STRING), STRING, INT, fails=True)
fixed("REPEAT", by_row(lambda text, count: text * count, STRING), STRING, STRING, INT, fails=True)
fixed("SPACE", by_row(lambda count: " " * count, STRING), STRING, INT, fails=True)


@function("CHAR_LENGTH", "LENGTH")
def char_length(call: Call) -> Value:
    """Compile CHAR_LENGTH: the number of characters in a string, or of bytes in binary data."""
    if call.args[0].type == BYTES:
        return call.make(pc.binary_length, BIGINT, fails=False)
    return call.make(pc.utf8_length, BIGINT, [call.text(0)], fails=False)


@function("OCTET_LENGTH")
def octet_length(call: Call) -> Value:
    """Compile OCTET_LENGTH: the number of bytes in binary data, or in a string in UTF-8."""
    return call.make(pc.binary_length, BIGINT, [_bytes(call)], fails=False)


@function("BIT_LENGTH")
def bit_length(call: Call) -> Value:
    """Compile BIT_LENGTH: eight times OCTET_LENGTH."""

    def bits(values: Any) -> Any:
        return pc.multiply(pc.cast(pc.binary_length(values), BIGINT), 8)

    return call.make(bits, BIGINT, [_bytes(call)], fails=False)


def _bytes(call: Call) -> Value:
    return call.args[0] if call.args[0].type == BYTES else call.text(0)


@function("CONCAT", most=MANY)
def concat(call: Call) -> Value:
    """Compile CONCAT; null is treated as an empty string."""
    parts = [f"coalesce({call.text(at).sql}, '')" for at in range(len(call.args))]
    if len(parts) == 1:
        return Value(sql=parts[0], type=STRING, fails=call.args[0].fails)
    return Value(sql=f"({' || '.join(parts)})", type=STRING, fails=any(each.fails for each in call.args))


@function("CONCAT_WS", least=2, most=MANY)
def concat_ws(call: Call) -> Value:
    """Compile CONCAT_WS; nulls are skipped, and a null separator is treated as an empty string."""

    def joined(*columns: Any) -> Any:
        separator, *parts = columns
        if not isinstance(separator, pa.Scalar):
            return every_row(_joined, STRING)(*columns)
        # An additional empty string, removed afterwards: Arrow drops rows in which all parts are null.
        sign = separator.as_py() or ""
        texts = pc.binary_join_element_wise(*parts, "", sign, null_handling="skip")
        return pc.utf8_slice_codeunits(texts, start=0, stop=-len(sign)) if sign else texts

    return call.make(joined, STRING, [call.text(at) for at in range(len(call.args))], fails=False)


def _joined(separator: str | None, *parts: str | None) -> str:
    return (separator or "").join(part for part in parts if part is not None)


def _from_hex(text: str) -> str:
    if len(text) % 4:
        raise ValueError("the number of hexadecimal digits must be a multiple of four")
    return bytes.fromhex(text).decode("utf-16-be")


fixed("HEXTORAW", by_row(_from_hex, STRING), STRING, STRING, fails=True)


@function("RAWTOHEX")
def rawtohex(call: Call) -> Value:
    """Compile RAWTOHEX: two digits per byte, four per character of a string."""
    if call.args[0].type == BYTES:
        return call.make(by_row(bytes.hex, STRING), STRING, fails=False)
    return call.make(by_row(lambda text: text.encode("utf-16-be").hex(), STRING), STRING, [call.text(0)], fails=False)


def every_row(made: Callable[..., Any], kind: pa.DataType) -> ArrowFunction:
    """Return an Arrow function like ``by_row``, but pass nulls to the Python function."""
    return lambda *columns: pa.array((made(*row) for row in rows(columns)), kind)


def _inserted(text: str | None, start: int | None, length: int | None, added: str | None) -> str | None:
    if text is None or added is None:
        return text if text is not None else added
    if start is None or length is None or not 1 <= start <= len(text) + 1 or length <= 0 or not added:
        return text
    return text[: start - 1] + added + text[start - 1 + length :]


fixed("INSERT", every_row(_inserted, STRING), STRING, STRING, INT, INT, STRING)


def _cased(of_ascii: ArrowFunction, of_any: Callable[[str], str]) -> ArrowFunction:
    """Return a case conversion that uses Python for non-ASCII strings, because Arrow does not convert ß to SS."""
    slow = by_row(of_any, STRING)
    return lambda texts: of_ascii(texts) if pc.all(pc.string_is_ascii(texts)).as_py() is not False else slow(texts)


fixed("LOWER LCASE", _cased(pc.ascii_lower, str.lower), STRING, STRING)
fixed("UPPER UCASE", _cased(pc.ascii_upper, str.upper), STRING, STRING)


def _cut(
    cut: Callable[..., str], bounds: Callable[[int], tuple[int, int | None]], least: int = -(2**31)
) -> ArrowFunction:
    """Return the function for LEFT or RIGHT, which uses Arrow if the number of characters is constant."""
    slow = by_row(cut, STRING)

    def run(texts: Any, count: Any) -> Any:
        if isinstance(count, pa.Scalar) and count.is_valid and count.as_py() >= least:
            start, stop = bounds(count.as_py())
            return pc.utf8_slice_codeunits(texts, start=start, stop=stop)
        return slow(texts, count)

    return run


_LEFT = _cut(lambda text, count: text[: max(count, 0)], lambda count: (0, max(count, 0)))
_RIGHT = _cut(lambda text, count: text[-count:] if count > 0 else "", lambda count: (-count, None), least=1)
fixed("LEFT", _LEFT, STRING, STRING, INT)
fixed("RIGHT", _RIGHT, STRING, STRING, INT)


@function("SUBSTRING", "SUBSTR", least=2, most=3)
def substring(call: Call) -> Value:
    """Compile SUBSTRING, which counts from 1; null if the result is empty."""
    slow = by_row(_substring, STRING)

    def run(texts: Any, start: Any, *length: Any) -> Any:
        known = [each.as_py() for each in (start, *length) if isinstance(each, pa.Scalar)]
        if len(known) <= len(length) or None in known or known[0] < 0 or (length and known[1] < 0):
            return slow(texts, start, *length)
        first = max(known[0], 1) - 1
        found = pc.utf8_slice_codeunits(texts, start=first, stop=first + known[1] if length else None)
        return pc.if_else(pc.equal(found, ""), pa.scalar(None, STRING), found)

    numbers = [call.whole(at) for at in range(1, len(call.args))]
    return call.make(run, STRING, [_shown(call), *numbers], fails=False)


def _shown(call: Call) -> Value:
    """Return the string for SUBSTRING: a timestamp as date, space and time, to the second."""
    value = call.args[0]
    if not pa.types.is_timestamp(value.type):
        return call.text(0)
    return call.make(lambda moments: pc.cast(pc.cast(moments, pa.timestamp("s"), safe=False), STRING), STRING, [value])


def _substring(text: str, start: int, length: int | None = None) -> str | None:
    """Return a part of a string; ``None`` if it is empty."""
    if start < 0:
        start += len(text) + 1
    elif start == 0:
        start = 1
    stop = len(text) + 1 if length is None else start + length
    return text[max(start, 1) - 1 : max(stop, 1) - 1] or None


def _found(wanted: int, text: int) -> Callable[[Call], Value]:
    """Return the compiler of a function that searches for a string in another string."""

    def compiled(call: Call) -> Value:
        start = call.whole(2) if len(call.args) > 2 else constant(pa.scalar(1, INT))
        return call.make(every_row(_position, INT), INT, [call.text(wanted), call.text(text), start], fails=False)

    return compiled


function("LOCATE", least=2, most=3)(_found(0, 1))
function("INSTR", least=2, most=3)(_found(1, 0))
function("POSITION", least=2)(_found(0, 1))


def _position(wanted: str | None, text: str | None, start: int | None) -> int | None:
    """Return a 1-based position, or 0 if not found; a negative start counts and searches from the end."""
    if text is None or wanted is None or start is None:
        return 0 if text is None else None
    if start < 0:
        return text.rfind(wanted, 0, max(len(text) + start + len(wanted), 0)) + 1
    return text.find(wanted, max(start - 1, 0)) + 1


def _padded(joined: Callable[[str, str], str]) -> Callable[[Call], Value]:
    """Return the compiler of a padding function. As in H2, it uses the first character of the third argument."""

    def padded(text: str, length: int, sign: str) -> str:
        missing = length - len(text)
        return joined(text, (sign[:1] or " ") * missing) if missing > 0 else text[: max(length, 0)]

    def compiled(call: Call) -> Value:
        args = [call.text(0), call.whole(1), _or_else(call, 2, " ")]
        return call.make(by_row(padded, STRING), STRING, args, fails=False)

    return compiled


function("LPAD", least=2, most=3)(_padded(lambda text, padding: padding + text))
function("RPAD", least=2, most=3)(_padded(lambda text, padding: text + padding))


def _trimmed(of_all: ArrowFunction, of_one: Callable[[str, str], str]) -> Callable[[Call], Value]:
    """Return the compiler of a function that removes a character, by default spaces, from one or both ends."""
    slow = by_row(lambda text, sign: of_one(text, sign[:1] or " "), STRING)

    def run(texts: Any, signs: Any) -> Any:
        known = isinstance(signs, pa.Scalar) and signs.is_valid
        return of_all(texts, characters=signs.as_py()[:1] or " ") if known else slow(texts, signs)

    return lambda call: call.make(run, STRING, [call.text(0), _or_else(call, 1, " ")], fails=False)


function("TRIM", most=2)(_trimmed(pc.utf8_trim, str.strip))
function("LTRIM", most=2)(_trimmed(pc.utf8_ltrim, str.lstrip))
function("RTRIM", most=2)(_trimmed(pc.utf8_rtrim, str.rstrip))


def _or_else(call: Call, at: int, default: str) -> Value:
    """Return an argument, or the default if it is missing or null."""
    if at >= len(call.args):
        return constant(pa.scalar(default))
    value = call.text(at)
    return (
        value
        if value.constant is not None and value.constant.is_valid
        else call.make(lambda texts: pc.fill_null(texts, default), STRING, [value], fails=False)
    )


@function("REPLACE", least=2, most=3)
def replace(call: Call) -> Value:
    """Compile REPLACE; an empty search string has no effect."""
    slow = by_row(lambda text, old, new: text.replace(old, new) if old else text, STRING)

    def run(texts: Any, old: Any, new: Any) -> Any:
        known = [each.as_py() for each in (old, new) if isinstance(each, pa.Scalar)]
        if len(known) == 2 and None not in known and known[0]:
            return pc.replace_substring(texts, pattern=known[0], replacement=known[1])
        return slow(texts, old, new)

    return call.make(run, STRING, [call.text(0), call.text(1), _or_else(call, 2, "")], fails=False)


@function("TRANSLATE", least=3)
def translate(call: Call) -> Value:
    """Compile TRANSLATE; a character without a counterpart is kept."""

    def translated(text: str, old: str, new: str) -> str:
        table: dict[int, str] = {}
        for sign, other in zip(old, new, strict=False):
            table.setdefault(ord(sign), other)
        return text.translate(table)

    args = [call.text(0), call.text(1), _or_else(call, 2, "")]
    return call.make(by_row(translated, STRING), STRING, args, fails=False)


_SOUNDS = {
    sign: str(number) for number, signs in enumerate(("BFPV", "CGJKQSXZ", "DT", "L", "MN", "R"), 1) for sign in signs
}


def _soundex(text: str) -> str:
    """Return the Soundex code of a string: vowels separate equal codes; H and W do not."""
    code, last = "", ""
    for sign in text.upper():
        if not ("A" <= sign <= "Z"):
            continue
        sound = _SOUNDS.get(sign, "")
        if not code:
            code = sign
        elif sound and sound != last:
            code += sound
        if sign not in "HW":
            last = sound
        if len(code) == 4:
            break
    return code.ljust(4, "0")


fixed("SOUNDEX", by_row(_soundex, STRING), STRING, STRING)
