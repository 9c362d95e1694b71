"""Character sets: each collation has one, and differences to Python's codecs are those of the servers."""

import pytest

from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.values.charsets import charset_of, decoder_of
from seatunnel_core.connectors.mysql_log.values.single_byte import TABLES

NAMES = ("big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis")


@pytest.mark.parametrize(
    ("collation", "charset"),
    [
        *(
            (8, "latin1"),
            (33, "utf8mb3"),
            (45, "utf8mb4"),
            (255, "utf8mb4"),
            (63, "binary"),
            (28, "gbk"),
            (54, "utf16"),
        ),
        *(
            (248, "gb18030"),
            (309, "utf8mb4"),
            (1_069, "utf8mb4"),
            (1_125, "utf16"),
            (2_304, "utf8mb4"),
            (608, "utf8mb4"),
        ),
        *((2_048, "utf8mb3"), (3_072, "utf32"), (2_560, "ucs2"), (2_816, "utf16"), (1_032, "latin1"), (97, "eucjpms")),
    ],
)
def test_collations(collation: int, charset: str) -> None:
    assert charset_of(collation, "c") == charset
    decoder_of(charset if charset != "binary" else "latin1")


def test_unknown_ids_and_names_are_refused() -> None:
    for collation in (0, 17, 400, 9_999):
        with pytest.raises(
            UnsupportedLogError, match=(rf"c has the collation {collation}, which this version does not support")
        ):
            charset_of(collation, "c")
    with pytest.raises(UnsupportedLogError, match="does not support the character set 'klingon'"):
        decoder_of("klingon")


@pytest.mark.parametrize("charset", TABLES)
def test_every_byte_of_a_set_of_one_byte_is_a_character(charset: str) -> None:
    decode = decoder_of(charset)
    found = decode(bytes(range(256)))
    assert len(found) == 256
    if charset != "swe7":
        assert found[:127] == bytes(range(127)).decode()


@pytest.mark.parametrize("charset", NAMES)
def test_sets_of_several_bytes_agree_with_python_where_nothing_is_different(charset: str) -> None:
    codec = {"euckr": "cp949", "sjis": "shift_jis", "ujis": "euc_jp", "eucjpms": "euc_jp"}.get(charset, charset)
    text = {"euckr": "한국 a", "gb18030": "中国𠀀ä", "big5": "中國"}.get(charset, "一中 a")
    assert decoder_of(charset)(text.encode(codec)) == text


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("latin1", "80e4819d", "€ä\x81\x9d"),
        ("swe7", "40607d", "Éåå".replace("å", "é", 1)),
        ("dec8", "a8d7a4", "¤Œ?"),
        ("greek", "a1a4e1", "ʽ?α"),
        ("koi8u", "95", "•"),
        ("cp866", "fcfd", "ⁿ²"),
        ("tis620", "a1a0", "ก�"),
        ("armscii8", "b2a2", "Ա§"),
        ("geostd8", "c0fd", "ა№"),
        ("keybcs2", "80ff", "Č\xa0"),
        ("sjis", "815f815cb1", "\\―ｱ"),
        ("sjis", "81ad41", "?A"),
        ("cp932", "8740b181ad", "①ｱ?"),
        ("ujis", "a1c0f5a1fefe8ff5a1", "\\\ue000\ue3ab\ue3ac"),
        ("eucjpms", "ada1a1c1a2cc8ff3f38ff4feadbf", "①～￢ⅰ黑?"),
        ("eucjpms", "8ff4b8", "\ufa10"),
        ("ujis", "8eb1b0a1", "ｱ亜"),
        ("euckr", "c653b0a1", "?가"),
        ("gbk", "a140d6d0", "?中"),
        ("gb2312", "a1a4a1aa", "・―"),
        ("gb18030", "a8bc81308130d6d0", "ḿ\x80中"),
        ("big5", "a1fef9d6a45a", "�碁"),
        ("ucs2", "00e44e2d", "ä中"),
        ("utf16", "d83ddeb2", "🚲"),
        ("utf16le", "3dd8b2de", "🚲"),
        ("utf32", "0001f6b2", "🚲"),
        ("utf8mb4", "f09f9ab2", "🚲"),
    ],
)
def test_characters(charset: str, data: str, text: str) -> None:
    if charset == "big5":
        assert decoder_of(charset)(bytes.fromhex(data)).startswith(text)
        return
    assert decoder_of(charset)(bytes.fromhex(data)) == text


@pytest.mark.parametrize(
    ("charset", "data"), [("gbk", "d6d0d6"), ("utf16", "d83d"), ("utf8mb4", "f09f"), ("ucs2", "00")]
)
def test_incomplete_characters_are_no_text(charset: str, data: str) -> None:
    with pytest.raises(UnicodeDecodeError):
        decoder_of(charset)(bytes.fromhex(data))
