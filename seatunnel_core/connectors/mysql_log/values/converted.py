"""Column values before and after conversion, and functions shared by several conversions."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError

Misfits = Mapping[int, str]
"""Messages for values that the Arrow type cannot represent, keyed by row index. These values are null in the array."""

Converted = tuple[pa.Array, Misfits]
Mask = npt.NDArray[np.bool_] | None
"""Null mask; ``None`` if no value is null."""


@frozen(eq=False)
class FixedValues:
    """Fixed-size values of a column."""

    numbers: npt.NDArray[Any]
    """Numbers, or bytes (dtype ``V``); zero for nulls."""

    absent: Mask

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.numbers)

    def array(self) -> pa.Array:
        """Convert the numbers to Arrow data."""
        return pa.array(self.numbers, mask=self.absent, from_pandas=False)

    def listed(self) -> list[Any]:
        """Convert the values to Python numbers or bytes."""
        found: list[Any] = self.numbers.tolist()
        if self.absent is None:
            return found
        return [None if absent else value for value, absent in zip(found, self.absent.tolist(), strict=True)]


@frozen(eq=False)
class SizedValues:
    """Variable-size values of a column: byte strings in a buffer, in offset order."""

    data: bytes
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    absent: Mask

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.begin)

    def array(self) -> pa.Array:
        """Convert the values to Arrow data of the type ``binary``."""
        count = len(self)
        offsets = np.empty(2 * count, np.int32)
        offsets[::2], offsets[1::2] = self.begin, self.end
        # Every second element is a value; the elements between them are the bytes between the values.
        whole = pa.Array.from_buffers(
            pa.binary(), 2 * count - 1, [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        )
        return whole.take(pa.array(np.arange(0, 2 * count, 2), mask=self.absent))

    def listed(self) -> list[Any]:
        """Convert the values to Python bytes."""
        found: list[Any] = self.array().to_pylist()
        return found


Values = list[Any] | FixedValues | SizedValues
"""Values of a column: a list of Python objects, with ``None`` for null, or vectorized values."""

Convert = Callable[[Values], Converted]


def listed(values: Values) -> list[Any]:
    """Convert values to a list of Python objects."""
    return values if isinstance(values, list) else values.listed()


def array_of(values: Values, arrow: pa.DataType) -> pa.Array:
    """Convert numbers or bytes to Arrow data of a type."""
    return pa.array(values, arrow) if isinstance(values, list) else values.array().cast(arrow)


def fixed_size(values: Values, size: int) -> tuple[npt.NDArray[np.uint8], Mask]:
    """Return fixed-size values as a byte matrix with one row per value and a null mask (``None`` if all are valid)."""
    if isinstance(values, FixedValues):
        return values.numbers.view(np.uint8).reshape(len(values), size), values.absent
    values, absent = listed(values), None
    if None in values:
        absent = np.array([value is None for value in values], bool)
        empty = bytes(size)
        values = [empty if value is None else value for value in values]
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), size), absent


def big_endian(found: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the unsigned big-endian integer in each row of a byte matrix: up to 7 bytes, or 8 bytes below 2**63."""
    total = np.zeros(len(found), np.int64)
    for number in range(found.shape[1]):
        total = (total << 8) | found[:, number]
    return total


def little_endian(found: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the unsigned little-endian integer in each row of a byte matrix."""
    return big_endian(found[:, ::-1])


def refused(values: Values, wrong: npt.NDArray[np.bool_], what: str) -> Converted:
    """Raise ``MalformedLogError`` for the first invalid value."""
    value = listed(values)[int(np.argmax(wrong))]
    raise MalformedLogError(f"the bytes {value!r} in the log are not a valid {what}")
