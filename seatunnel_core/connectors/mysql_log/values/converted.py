"""Result of converting a column, and functions that several conversions use."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError

Misfits = Mapping[int, str]
"""Messages by row index for values that the Arrow type cannot represent; such a value is null in the array."""

Converted = tuple[pa.Array, Misfits]
Convert = Callable[[list[Any]], Converted]


def fixed_size(values: list[Any], size: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_] | None]:
    """Return fixed-size values as rows of a byte matrix, and a mask of nulls (``None`` if there are none)."""
    absent = None
    if None in values:
        absent = np.array([value is None for value in values], bool)
        empty = bytes(size)
        values = [empty if value is None else value for value in values]
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), size), absent


def big_endian(found: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the unsigned big-endian integer in each row of a matrix: up to 7 bytes, or 8 bytes below 2**63."""
    total = np.zeros(len(found), np.int64)
    for number in range(found.shape[1]):
        total = (total << 8) | found[:, number]
    return total


def little_endian(found: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the unsigned little-endian integer in each row of a matrix."""
    return big_endian(found[:, ::-1])


def refused(values: list[Any], wrong: npt.NDArray[np.bool_], what: str) -> Converted:
    """Raise ``MalformedLogError`` for the first invalid value."""
    value = values[int(np.argmax(wrong))]
    raise MalformedLogError(f"the bytes {value!r} are not a valid {what} of the log")
