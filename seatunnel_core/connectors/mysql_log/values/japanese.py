"""Characters of MySQL's ``ujis`` and ``eucjpms`` that Python's EUC-JP codec lacks or decodes differently."""

from collections.abc import Iterator

_EXTENSIONS = (
    "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤\ufa0e咊坙\ufa0f\ufa10增寬峵嵓\ufa11德悅愠敎昻晥\ufa12\uf929栁"
    "\ufa13\ufa14橫櫢淸淲瀨\ufa15\ufa16甁皂皞\ufa17礰\ufa18\ufa19\ufa1a\ufa1b竧\ufa1c\ufa1d綠緖"
    "\ufa1e荢\ufa1f薰\ufa20\ufa21蠇\ufa22譿賴赶\ufa23\ufa24\ufa25郞\ufa26鄕\ufa27\ufa28閒"
    "\uf9dc\ufa29霻靍靑\ufa2a\ufa2b\ufa2c馞髙魲\ufa2d黑"
)
"""IBM and NEC extension characters, starting at 8FF3F3."""

_ROWS = range(0xA1, 0xFF)


def user_defined() -> dict[bytes, str]:
    """Return the user-defined characters, which are mapped to Unicode's private use area."""
    codes = [prefix + bytes([row, cell]) for prefix in (b"", b"\x8f") for row in range(0xF5, 0xFF) for cell in _ROWS]
    return {code: chr(0xE000 + number) for number, code in enumerate(codes)}


def microsoft() -> dict[bytes, str]:
    """Return the characters in which ``eucjpms`` differs from EUC-JP."""
    single = {0xC1: "～", 0xC2: "∥", 0xDD: "－", 0xF1: "￠", 0xF2: "￡"}
    found = {bytes([0xA1, cell]): character for cell, character in single.items()}
    found |= {b"\xa2\xcc": "￢", b"\x8f\xa2\xb7": "～", b"\x8f\xa2\xc3": "￤"}
    found |= dict(zip(_extension_codes(), _EXTENSIONS, strict=False))
    for cell in _ROWS:  # row 13 of NEC, which is also in cp932
        trail = cell - 0x80 + (0x1F if cell < 0xE0 else 0x20)
        character = bytes([0x87, trail]).decode("cp932", "ignore")
        if character > "\x7f":  # "ignore" may leave the second byte
            found[bytes([0xAD, cell])] = character
    return found


def _extension_codes() -> Iterator[bytes]:
    for row in (0xF3, 0xF4):
        for cell in _ROWS:
            if (row, cell) >= (0xF3, 0xF3):
                yield bytes([0x8F, row, cell])
