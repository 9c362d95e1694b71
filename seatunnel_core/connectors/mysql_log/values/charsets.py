"""Character sets of MySQL and MariaDB: the character set of each collation, and decoders to strings.

A decoder returns the same string as the server's conversion to utf8mb4; characters without a Unicode counterpart become
``?``. The differences from Python's codecs were determined with MySQL 5.7, MySQL 8.0 and MariaDB 10.11, which agree.
"""

import codecs
from collections.abc import Callable, Mapping
from functools import cache, partial

from attrs import define, field

from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.values import japanese
from seatunnel_core.connectors.mysql_log.values.single_byte import TABLES

Decode = Callable[[bytes], str]

BINARY = 63
"""Collation ID of binary strings."""

_NO_PAD = 1_024
"""Offset between the IDs of MariaDB collations with padding and their variants without padding."""

_COLLATIONS: Mapping[str, tuple[int | tuple[int, int], ...]] = {
    "armscii8": (32, 64),
    "ascii": (11, 65),
    "big5": (1, 84),
    "binary": (63,),
    "cp1250": (26, 34, 44, 66, 99),
    "cp1251": (14, 23, (50, 52)),
    "cp1256": (57, 67),
    "cp1257": (29, 58, 59),
    "cp850": (4, 80),
    "cp852": (40, 81),
    "cp866": (36, 68),
    "cp932": (95, 96),
    "dec8": (3, 69),
    "eucjpms": (97, 98),
    "euckr": (19, 85),
    "gb18030": ((248, 250),),
    "gb2312": (24, 86),
    "gbk": (28, 87),
    "geostd8": (92, 93),
    "greek": (25, 70),
    "hebrew": (16, 71),
    "hp8": (6, 72),
    "keybcs2": (37, 73),
    "koi8r": (7, 74),
    "koi8u": (22, 75),
    "latin1": (5, 8, 15, 31, (47, 49), 94),
    "latin2": (2, 9, 21, 27, 77),
    "latin5": (30, 78),
    "latin7": (20, 41, 42, 79),
    "macce": (38, 43),
    "macroman": (39, 53),
    "sjis": (13, 88),
    "swe7": (10, 82),
    "tis620": (18, 89),
    "ucs2": (35, 90, (128, 151), 159, (640, 642), (2560, 2815)),
    "ujis": (12, 91),
    "utf16": (54, 55, (101, 124), (672, 674), (2816, 3071)),
    "utf16le": (56, 62),
    "utf32": (60, 61, (160, 183), (736, 738), (3072, 3327)),
    "utf8mb3": (33, 76, 83, (192, 215), 223, (576, 578), (2048, 2303)),
    "utf8mb4": (45, 46, (224, 247), (255, 323), (608, 610), (2304, 2559)),
}
"""Collation IDs and ranges of IDs, keyed by character set."""

_WIDE = {"ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}
_UTF8 = ("utf8", "utf8mb3", "utf8mb4")

_BIG5 = {"a15a": "�", "a1c3": "�", "a1c5": "�", "a1fe": "�", "a240": "�", "a2cc": "�", "a2ce": "�"} | {
    f"f9{0xD6 + number:02x}": character for number, character in enumerate("碁銹裏墻恒粧嫺")
}


@define
class MultiByte:
    """A multi-byte character set, with characters of one to four bytes."""

    codec: str
    """Most similar Python codec."""

    different: Mapping[bytes, str]
    """Characters that the codec rejects or decodes differently."""

    single: tuple[int, int] = (0, 0)
    """Range of bytes above 127 that are single-byte characters."""

    _wrong: frozenset[str] = field(init=False)
    """Characters that the codec returns for bytes with another meaning in MySQL."""

    def __attrs_post_init__(self) -> None:
        self._wrong = frozenset("".join(each.decode(self.codec, "ignore") for each in self.different))

    def decode(self, value: bytes) -> str:
        """Decode a value."""
        try:
            found = value.decode(self.codec)
        except UnicodeDecodeError:
            return self._each(value)
        return found if self._wrong.isdisjoint(found) else self._each(value)

    def _each(self, value: bytes) -> str:
        """Decode a value character by character."""
        found, at = [], 0
        while at < len(value):
            size = self._size(value, at)
            character = value[at : at + size]
            if len(character) < size:
                raise UnicodeDecodeError(self.codec, value, at, len(value), "the last character is incomplete")
            found.append(self.different.get(character) or _plain(character, self.codec))
            at += size
        return "".join(found)

    def _size(self, value: bytes, at: int) -> int:
        first = value[at]
        if first < 0x80 or self.single[0] <= first <= self.single[1]:
            return 1
        if self.codec == "gb18030" and value[at + 1 : at + 2].isdigit():
            return 4
        return 3 if self.codec == "euc_jp" and first == 0x8F else 2


def _plain(character: bytes, codec: str) -> str:
    try:
        return character.decode(codec)
    except UnicodeDecodeError:
        return "?"


def _codes(written: Mapping[str, str]) -> dict[bytes, str]:
    return {bytes.fromhex(code): character for code, character in written.items()}


_MULTI_BYTE: Mapping[str, Callable[[], MultiByte]] = {
    "sjis": lambda: MultiByte("shift_jis", _codes({"815f": "\\"}), (0xA1, 0xDF)),
    "cp932": lambda: MultiByte("cp932", {}, (0xA1, 0xDF)),
    "ujis": lambda: MultiByte("euc_jp", _codes({"a1c0": "\\"}) | japanese.user_defined()),
    "eucjpms": lambda: MultiByte("euc_jp", japanese.microsoft() | japanese.user_defined()),
    "euckr": lambda: MultiByte("cp949", {}),
    "gb2312": lambda: MultiByte("gb2312", {}),
    "gbk": lambda: MultiByte("gbk", {}),
    "gb18030": lambda: MultiByte("gb18030", _codes({"a8bc": "ḿ"})),
    "big5": lambda: MultiByte("big5", _codes(_BIG5)),
}


def charset_of(collation: int, where: str) -> str:
    """Return the character set of a collation.

    Raises:
        UnsupportedLogError: The ID is unknown.
    """
    plain = collation - _NO_PAD if _NO_PAD <= collation < 2 * _NO_PAD else collation
    found = _by_collation().get(plain)
    if found is None:
        raise UnsupportedLogError(f"{where} has the collation {collation}, which this version does not support")
    return found


@cache
def _by_collation() -> Mapping[int, str]:
    found = {}
    for charset, ids in _COLLATIONS.items():
        for each in ids:
            first, last = each if isinstance(each, tuple) else (each, each)
            found.update(dict.fromkeys(range(first, last + 1), charset))
    return found


@cache
def decoder_of(charset: str) -> Decode:
    """Return the decoder of a character set.

    Raises:
        UnsupportedLogError: The character set is unknown.
    """
    if charset in _UTF8:
        return bytes.decode
    if charset in _WIDE:
        return partial(_decoded, _WIDE[charset])
    if charset in TABLES:
        return partial(_by_table, _table(charset))
    if charset in _MULTI_BYTE:
        return _MULTI_BYTE[charset]().decode
    raise UnsupportedLogError(f"this version does not support the character set {charset!r}")


def _decoded(codec: str, value: bytes) -> str:
    return value.decode(codec)


def _by_table(table: str, value: bytes) -> str:
    return codecs.charmap_decode(value, "strict", table)[0]


def _table(charset: str) -> str:
    """Return a string of the 256 characters of a charset, indexed by byte value."""
    codec, changes = TABLES[charset]
    unknown = "�" if charset == "tis620" else "?"
    found = [bytes([number]).decode(codec, "ignore") or unknown for number in range(256)]
    for first, characters in changes.items():
        found[first : first + len(characters)] = characters
    return "".join(found)
