"""Writer of MySQL's binary form of JSON documents, from its documentation."""

import struct
from typing import Any


def document(value: Any, *, large: bool = False) -> bytes:
    kind, data = _value(value, large)
    return bytes([kind]) + data


def _value(value: Any, large: bool) -> tuple[int, bytes]:
    if value is None or isinstance(value, bool):
        return 4, bytes([{None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int):
        for kind, code, low, high in (
            (5, "<h", -(1 << 15), (1 << 15) - 1),
            (6, "<H", 0, (1 << 16) - 1),
            (7, "<i", -(1 << 31), (1 << 31) - 1),
            (8, "<I", 0, (1 << 32) - 1),
            (9, "<q", -(1 << 63), (1 << 63) - 1),
        ):
            if low <= value <= high:
                return kind, struct.pack(code, value)
        return 10, struct.pack("<Q", value)
    if isinstance(value, float):
        return 11, struct.pack("<d", value)
    if isinstance(value, str):
        return 12, _length(len(value.encode())) + value.encode()
    if isinstance(value, bytes):  # An opaque value: its type, and its bytes.
        return 15, value[:1] + _length(len(value) - 1) + value[1:]
    return _container(value, large)


def _length(number: int) -> bytes:
    found = []
    while True:
        number, low = number >> 7, number & 127
        found.append(low | (128 if number else 0))
        if not number:
            return bytes(found)


def _container(value: dict[str, Any] | list[Any], large: bool) -> tuple[int, bytes]:
    is_object, width = isinstance(value, dict), 4 if large else 2
    code = "I" if large else "H"
    keys = sorted((key.encode() for key in value), key=lambda each: (len(each), each)) if is_object else []
    parts: list[Any] = [value[key.decode()] for key in keys] if isinstance(value, dict) else value
    values = [_value(each, large) for each in parts]
    at = 2 * width + len(values) * (width + 1) + len(keys) * (width + 2)
    key_entries, value_entries, tail = b"", b"", b""
    for key in keys:
        key_entries += struct.pack(f"<{code}H", at + len(tail), len(key))
        tail += key
    for kind, data in values:
        if kind in (4, 5, 6) or (large and kind in (7, 8)):
            value_entries += bytes([kind]) + data.ljust(width, b"\0")
        else:
            value_entries += bytes([kind]) + struct.pack(f"<{code}", at + len(tail))
            tail += data
    body = key_entries + value_entries + tail
    head = struct.pack(f"<{code}{code}", len(values), 2 * width + len(body))
    return (0 if is_object else 2) + large, head + body
