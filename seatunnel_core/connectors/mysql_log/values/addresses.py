"""Formatting of MariaDB's types ``inet4``, ``inet6`` and ``uuid``, which are bytes in the log."""

import ipaddress
from uuid import UUID


def uuid_text(value: bytes) -> str:
    """Return a UUID as a string."""
    return str(UUID(bytes=value))


def inet4_text(value: bytes) -> str:
    """Return an IPv4 address as a string."""
    return str(ipaddress.IPv4Address(value))


def inet6_text(value: bytes) -> str:
    """Return an IPv6 address as a string in MariaDB's format.

    The longest run of zero groups is abbreviated, even if it is a single group. IPv4-mapped and IPv4-compatible
    addresses end with an IPv4 address.
    """
    groups = [int.from_bytes(value[at : at + 2], "big") for at in range(0, 16, 2)]
    start, length = _longest_zeros(groups)
    if start == 0 and (length == 6 or (length == 5 and groups[5] == 0xFFFF)):
        return f"::{'ffff:' if length == 5 else ''}{inet4_text(value[12:])}"
    if not length:
        return ":".join(f"{group:x}" for group in groups)
    before, after = groups[:start], groups[start + length :]
    return f"{':'.join(f'{group:x}' for group in before)}::{':'.join(f'{group:x}' for group in after)}"


def _longest_zeros(groups: list[int]) -> tuple[int, int]:
    """Return the start and length of the longest run of zero groups; the first one if there are several."""
    best, at = (0, 0), 0
    while at < len(groups):
        end = at
        while end < len(groups) and not groups[end]:
            end += 1
        if end - at > best[1]:
            best = (at, end - at)
        at = max(end, at + 1)
    return best
