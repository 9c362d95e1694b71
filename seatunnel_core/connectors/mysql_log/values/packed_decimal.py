"""Formatting of a single packed decimal."""

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.errors import MalformedLogError


def decimal_text(data: bytes, precision: int, scale: int) -> str:
    """Format a packed decimal as a string, such as ``-12.50``.

    Raises:
        MalformedLogError: The bytes are not a decimal with this precision and scale.
    """
    if scale > precision or len(data) != ct.decimal_bytes(precision, scale):
        raise MalformedLogError(f"{len(data)} bytes are not a decimal({precision},{scale})")
    negative = not data[0] & 0x80
    flipped = bytes(byte ^ 0xFF for byte in data) if negative else data
    flipped = bytes([flipped[0] ^ 0x80]) + flipped[1:]
    digits, at = [], 0
    whole, part = precision - scale, scale
    for count in [whole % 9, *[9] * (whole // 9), *[9] * (part // 9), part % 9]:
        size = ct.DECIMAL_DIGIT_BYTES[count]
        shown = f"{int.from_bytes(flipped[at : at + size], 'big'):0{count}d}" if count else ""
        if len(shown) > count:
            raise MalformedLogError(f"the bytes {data!r} are not a decimal({precision},{scale})")
        digits.append(shown)
        at += size
    joined = "".join(digits)
    before, after = joined[:whole].lstrip("0") or "0", joined[whole:]
    return f"{'-' * negative}{before}{'.' * bool(after)}{after}"
