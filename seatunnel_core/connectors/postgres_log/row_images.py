"""Vectorized splitting of the tuples in row messages into column values.

NumPy processes whole columns, so no Python code runs for a single value.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from seatunnel_core.connectors.postgres_log.errors import MalformedLogError, UnsupportedLogError
from seatunnel_core.connectors.postgres_log.messages import DELETE, INSERT, UPDATE
from seatunnel_core.rows.kind import RowKind

HEADER_BYTES = 25
"""Size of the replication header before each ``pgoutput`` message, in bytes."""

_POSITION_AT = 1
_PADDING = bytes(8)
_NEW, _OLD, _KEY = b"NOK"
_NULL, _UNCHANGED, _TEXT, _BINARY = b"nutb"
_KIND_AT, _RELATION_AT, _MARKER_AT = HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + 5
LEAST_BYTES = _MARKER_AT + 3
"""Minimum size of a row message, in bytes: kind, relation, marker and number of columns."""

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
_Item = TypeVar("_Item", np.int64, np.bool_)


@frozen(eq=False)
class RowBuffer:
    """Row messages in a single buffer."""

    raw: bytes
    data: Bytes
    longs: npt.NDArray[np.uint32]
    """32-bit integer at each offset of the buffer."""

    starts: Numbers
    ends: Numbers
    relations: Numbers
    """Relation OID of each message."""

    @property
    def positions(self) -> npt.NDArray[np.uint64]:
        """Log position of each message, from the header of the stream."""
        high = self.longs[self.starts + _POSITION_AT].astype(np.uint64)
        return high << np.uint64(32) | self.longs[self.starts + _POSITION_AT + 4]

    @classmethod
    def of(cls, messages: Sequence[bytes]) -> "RowBuffer":
        """Join messages, each with the replication header and at least ``LEAST_BYTES`` bytes."""
        sizes = np.fromiter(map(len, messages), np.int64, len(messages))
        raw = b"".join([*messages, _PADDING])
        ends = np.cumsum(sizes)
        starts = ends - sizes
        longs: npt.NDArray[np.uint32] = np.ndarray((len(raw) - 3,), ">u4", raw, strides=(1,))
        relations = longs[starts + _RELATION_AT].astype(np.int64)
        return cls(raw, np.frombuffer(raw, np.uint8), longs, starts, ends, relations)


@frozen(eq=False)
class Values:
    """Strings of a column as ranges of a buffer."""

    buffer: RowBuffer
    begins: Numbers
    sizes: Numbers
    valid: Flags
    """Mask that is False for null and absent values."""

    arrived: Flags
    """Mask that is False for values that the log does not contain."""


@frozen(eq=False)
class RowImages:
    """Row images of a relation, in log order."""

    messages: Numbers
    """Index of each image's message."""

    kinds: npt.NDArray[np.int8]
    columns: tuple[Values, ...]


@frozen(eq=False)
class _Tuples:
    """One tuple of each message, split into columns."""

    states: list[Bytes]
    begins: list[Numbers]
    sizes: list[Numbers]
    ends: Numbers


def images_of(buffer: RowBuffer, messages: Numbers, in_identity: Sequence[bool]) -> RowImages:
    """Split the messages of a relation into column values.

    Args:
        buffer: All messages.
        messages: Indexes of the messages of the relation.
        in_identity: For each column, True if it belongs to the replica identity.

    Raises:
        MalformedLogError: The bytes do not match the format.
        UnsupportedLogError: A value is in binary format.
    """
    starts, ends = buffer.starts[messages], buffer.ends[messages]
    kinds, markers = buffer.data[starts + _KIND_AT], buffer.data[starts + _MARKER_AT]
    _require_markers(kinds, markers)
    first = _divided(buffer, starts + _MARKER_AT + 1, ends, len(in_identity))
    with_old = np.flatnonzero((kinds == UPDATE) & (markers != _NEW))
    if len(with_old):
        at = first.ends[with_old]
        if (at >= ends[with_old]).any() or (buffer.data[at] != _NEW).any():
            raise MalformedLogError("an update message contains no new row")
        second = _divided(buffer, at + 1, ends[with_old], len(in_identity))
        last = first.ends.copy()
        last[with_old] = second.ends
    else:
        second, last = None, first.ends
    if (last != ends).any():
        raise MalformedLogError("a message has extra bytes after its row")
    return _images(buffer, messages, kinds, markers, with_old, first, second, in_identity)


def _require_markers(kinds: Bytes, markers: Bytes) -> None:
    """Raise MalformedLogError unless the marker of each message's first tuple is valid for the kind of message."""
    new, old = markers == _NEW, (markers == _OLD) | (markers == _KEY)
    fitting = ((kinds == INSERT) & new) | ((kinds == UPDATE) & (new | old)) | ((kinds == DELETE) & old)
    if not fitting.all():
        wrong = int(np.argmin(fitting))
        raise MalformedLogError(
            f"a row message of the kind {chr(kinds[wrong])!r} starts with the unexpected byte {chr(markers[wrong])!r}"
        )


def _divided(buffer: RowBuffer, at: Numbers, ends: Numbers, count: int) -> _Tuples:
    """Split one tuple of each message; ``at`` is the offset of the tuple's column count."""
    data, longs = buffer.data, buffer.longs
    if (at + 2 > ends).any():
        raise MalformedLogError("a row ends early")
    counts = data[at].astype(np.int64) << 8 | data[at + 1]
    if (counts != count).any():
        raise MalformedLogError(f"a row has {counts[counts != count][0]} columns instead of {count}")
    at = at + 2
    states, begins, sizes = list[Bytes](), list[Numbers](), list[Numbers]()
    for _ in range(count):
        if (at >= ends).any():
            raise MalformedLogError("a row ends early")
        state = data[at]
        text = state == _TEXT
        size = np.where(text, longs[at + 1].astype(np.int64), 0)
        states.append(state)
        begins.append(at + 5)
        sizes.append(size)
        if text.all():
            at = at + 5 + size
        else:
            _require_states(state)
            at = at + 1 + np.where(text, size + 4, 0)
        if (at > ends).any():
            raise MalformedLogError("a value is longer than its message")
    return _Tuples(states, begins, sizes, at)


def _require_states(state: Bytes) -> None:
    if (state == _BINARY).any():
        raise UnsupportedLogError("a value is in binary form; read the slot without the option binary")
    known = (state == _TEXT) | (state == _NULL) | (state == _UNCHANGED)
    if not known.all():
        raise MalformedLogError(f"a value has the unknown state {chr(state[int(np.argmin(known))])!r}")


def _images(
    buffer: RowBuffer,
    messages: Numbers,
    kinds: Bytes,
    markers: Bytes,
    with_old: Numbers,
    first: _Tuples,
    second: _Tuples | None,
    in_identity: Sequence[bool],
) -> RowImages:
    """Return the images in log order, with absent values marked."""
    count = np.ones(len(messages), np.int64)
    count[with_old] = 2
    firsts = np.cumsum(count) - count
    seconds = firsts[with_old] + 1
    made = np.zeros(int(count.sum()), np.int8)
    made[firsts] = np.select(
        [kinds == INSERT, kinds == DELETE, markers == _NEW],
        [RowKind.INSERT, RowKind.DELETE, RowKind.UPDATE_AFTER],
        RowKind.UPDATE_BEFORE,
    )
    made[seconds] = RowKind.UPDATE_AFTER
    key_only = markers == _KEY
    columns = []
    for number, identity in enumerate(in_identity):
        values = _values(buffer, first, number)
        if not identity and key_only.any():
            values = evolve(values, arrived=values.arrived & ~key_only, valid=values.valid & ~key_only)
        if second is not None:
            values = _joined(values, _values(buffer, second, number), with_old, firsts, seconds)
        columns.append(values)
    return RowImages(np.repeat(messages, count), made, tuple(columns))


def _values(buffer: RowBuffer, tuples: _Tuples, number: int) -> Values:
    state = tuples.states[number]
    return Values(buffer, tuples.begins[number], tuples.sizes[number], state == _TEXT, state != _UNCHANGED)


def _joined(old: Values, new: Values, with_old: Numbers, firsts: Numbers, seconds: Numbers) -> Values:
    """Combine the first and second images. Unchanged values are copied from the old row if it contains them."""
    kept = ~new.arrived & old.arrived[with_old]

    def both(first: npt.NDArray[_Item], second: npt.NDArray[_Item]) -> npt.NDArray[_Item]:
        found = np.empty(len(firsts) + len(seconds), first.dtype)
        found[firsts] = first
        found[seconds] = np.where(kept, first[with_old], second)
        return found

    return Values(
        old.buffer,
        both(old.begins, new.begins),
        both(old.sizes, new.sizes),
        both(old.valid, new.valid),
        both(old.arrived, new.arrived),
    )
