"""Vectorized decoding of the rows of many events: Python finds the row images, and NumPy reads their values.

It supports only events with images that contain all columns of the table. This is much faster than ``row_program``,
because it does not create a Python object for each value.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from seatunnel_core.connectors.mysql_log.row_program import Stored
from seatunnel_core.connectors.mysql_log.values.converted import FixedValues, Mask, SizedValues, Values

_MOST_BITMAPS = 4_096
"""Number of cached null bitmaps above which the cache is cleared."""


@define
class ImageFinder:
    """Finds the row images of an event. Reads only null bitmaps and value lengths."""

    forms: Sequence[Stored]
    """Binary formats of all columns."""

    _null_bytes: int = field(init=False)
    _sizes: dict[bytes, tuple[tuple[tuple[int, int], ...], int]] = field(init=False, factory=dict)
    """Cache keyed by null bitmap: the offset and size of each length field in an image, and the size of the image if
    all variable-size values are empty.
    """

    def __attrs_post_init__(self) -> None:
        self._null_bytes = null_bytes_of(self.forms)

    def images(self, data: bytes, offsets: list[int]) -> tuple[int, int]:
        """Append the offset of each image to ``offsets``. Return their number, and the offset after the last one.

        Raises:
            IndexError: The last image is incomplete. If only its last value is incomplete, the returned end is too
                large.
        """
        before, sizes, null_bytes, at, end = len(offsets), self._sizes, self._null_bytes, 0, len(data)
        while at < end:
            offsets.append(at)
            try:
                lengths, size = sizes[data[at : at + null_bytes]]
            except KeyError:
                lengths, size = self._sized(data[at : at + null_bytes])
            for offset, width in lengths:
                if width == 1:
                    at += data[at + offset]
                elif width == 2:
                    at += data[at + offset] | data[at + offset + 1] << 8
                else:
                    at += int.from_bytes(data[at + offset : at + offset + width], "little")
            at += size
        return len(offsets) - before, at

    def _sized(self, nulls: bytes) -> tuple[tuple[tuple[int, int], ...], int]:
        if len(nulls) < self._null_bytes:
            raise IndexError("a row ends inside its null bitmap")
        lengths, at = [], len(nulls)
        for number, form in enumerate(self.forms):
            if nulls[number // 8] >> number % 8 & 1:
                continue
            if not form.code:
                lengths.append((at, form.size))
            at += form.size
        if len(self._sizes) >= _MOST_BITMAPS:
            self._sizes.clear()
        found = self._sizes[nulls] = tuple(lengths), at
        return found


def null_bytes_of(forms: Sequence[Stored]) -> int:
    """Return the size of the null bitmap of an image with these columns, in bytes."""
    return (len(forms) + 7) // 8


def columns_in(parts: Sequence[bytes], images: npt.NDArray[np.int64], forms: Sequence[Stored]) -> list[Values]:
    """Return the values of each column.

    Args:
        parts: Buffers with consecutive images.
        images: Offsets of the images in the joined buffers.
        forms: Binary formats of all columns.
    """
    # At a null, bytes of the following image are read, which does not exist after the last one.
    data = b"".join((*parts, bytes(sum(form.size for form in forms))))
    absent = _absent(data, images, len(forms))
    found: list[Values] = []
    run: list[Stored] = []  # adjacent columns of a fixed size without nulls
    at = images + null_bytes_of(forms)
    for form, mask in zip(forms, absent, strict=True):
        if form.code and mask is None:
            run.append(form)
            continue
        if run:
            found += _fixed(data, at, run)
            at = at + sum(each.size for each in run)
            run = []
        if form.code:
            assert mask is not None
            (values,) = _fixed(data, at, [form])
            found.append(FixedValues(np.where(mask, np.zeros(1, values.numbers.dtype), values.numbers), mask))
            at = np.where(mask, at, at + form.size)
        else:
            begin, at = _sized(data, at, form.size, mask)
            found.append(SizedValues(data, begin, at, mask))
    return found + _fixed(data, at, run)


def _absent(data: bytes, images: npt.NDArray[np.int64], count: int) -> list[Mask]:
    """Return the null mask of each column; ``None`` if the column contains no nulls."""
    size = (count + 7) // 8
    nulls = _gathered(data, images, f"V{size}").view(np.uint8).reshape(-1, size)
    some = np.bitwise_or.reduce(nulls, axis=0)
    return [
        (nulls[:, number // 8] >> number % 8 & 1).astype(bool) if some[number // 8] >> number % 8 & 1 else None
        for number in range(count)
    ]


def _fixed(data: bytes, at: npt.NDArray[np.int64], run: Sequence[Stored]) -> list[FixedValues]:
    """Return the values of adjacent fixed-size columns, which are copied together."""
    if not run:
        return []
    layout = np.dtype([(str(number), _dtype(form)) for number, form in enumerate(run)])
    records = _gathered(data, at, f"V{layout.itemsize}").view(layout)
    return [FixedValues(np.ascontiguousarray(records[name]), None) for name in layout.names or ()]


def _dtype(form: Stored) -> str:
    return f"V{form.size}" if form.code.endswith("s") else f"<{form.code}"


def _sized(
    data: bytes, at: npt.NDArray[np.int64], width: int, absent: Mask
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the start and end offsets of length-prefixed values."""
    lengths = np.zeros(len(at), np.int64)
    for byte in range(width):
        lengths |= _gathered(data, at + byte, "u1").astype(np.int64) << 8 * byte
    if absent is None:
        return at + width, at + width + lengths
    return np.where(absent, at, at + width), np.where(absent, at, at + width + lengths)


def _gathered(data: bytes, at: npt.NDArray[np.int64], dtype: str) -> npt.NDArray[Any]:
    """Return the items at offsets of a buffer. The offsets need not be aligned."""
    size = np.dtype(dtype).itemsize
    return np.ndarray((len(data) - size + 1,), dtype, data, strides=(1,))[at]
