"""Conversion of a column's strings to an Arrow array."""

import numpy as np
import pyarrow as pa

from seatunnel_core.connectors.postgres_log.errors import MalformedLogError, UnsupportedLogError
from seatunnel_core.connectors.postgres_log.row_images import Bytes, Numbers, Values

_LONG = 64
"""Mean value size in bytes above which values are copied one by one instead of gathered byte by byte."""

_MOST_BYTES = (1 << 31) - 1


def gathered(data: Bytes, begins: Numbers, sizes: Numbers) -> tuple[Bytes, Numbers]:
    """Concatenate ranges of a buffer. Return the bytes, the offset of each range, and the end offset."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    total = int(offsets[-1])
    if total > _LONG * len(sizes):
        raw = memoryview(data)  # type: ignore[arg-type]
        pairs = zip(begins.tolist(), (begins + sizes).tolist(), strict=True)
        return np.frombuffer(b"".join([raw[start:end] for start, end in pairs]), np.uint8), offsets
    return data[np.repeat(begins - offsets[:-1], sizes) + np.arange(total)], offsets


def binary(values: Values) -> pa.Array:
    """Return the values as bytes; null and absent values become null."""
    data, offsets = gathered(values.buffer.data, values.begins, _present(values))
    return _array(pa.binary(), values, data, offsets)


def ascii_strings(values: Values) -> pa.Array:
    """Return ASCII values as strings."""
    data, offsets = gathered(values.buffer.data, values.begins, _present(values))
    if len(data) and data.max() > 127:
        raise MalformedLogError("a value contains characters that its type does not allow")
    return _array(pa.string(), values, data, offsets)


def strings(values: Values) -> pa.Array:
    """Return the values as strings.

    Raises:
        UnsupportedLogError: A value is not UTF-8, which is possible in an SQL_ASCII database.
    """
    found = binary(values)
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid:
        wrong = next(each for each in found.to_pylist() if each is not None and not _is_utf8(each))
        raise UnsupportedLogError(f"the value {wrong[:60]!r} is not UTF-8") from None


def array_of(kind: pa.DataType, valid: pa.Array | None, data: Bytes, offsets: Numbers) -> pa.Array:
    """Return an array of strings or bytes; ``valid`` is ``None`` if there are no nulls."""
    buffers = [
        None if valid is None else valid.buffers()[1],
        pa.py_buffer(offsets.astype(np.int32)),
        pa.py_buffer(data),
    ]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)


def _array(kind: pa.DataType, values: Values, data: Bytes, offsets: Numbers) -> pa.Array:
    return array_of(kind, validity(values), data, offsets)


def validity(values: Values) -> pa.Array | None:
    """Return a validity mask of the values; ``None`` if there are no nulls."""
    return None if values.valid.all() else pa.array(values.valid)


def _present(values: Values) -> Numbers:
    sizes = np.where(values.valid, values.sizes, 0)
    if sizes.sum() > _MOST_BYTES:
        raise UnsupportedLogError("the values of a column in one batch exceed 2 GiB")
    return sizes


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
