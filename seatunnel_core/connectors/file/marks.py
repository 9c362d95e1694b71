"""State of each file of a watched folder, and its compact form in checkpoints.

A mark is the hash of a file's path and state. A small set of marks is part of each checkpoint, as a string. A large set
is stored like a log-structured merge tree, as immutable *runs* that the engine stores once, and a remainder in each
checkpoint. A run contains the differences from the runs before it; the remainder contains the differences from all
runs. A remainder that grows too large becomes a run and is merged with the last runs, unless these are much larger.
This keeps the number of runs small and rewrites a run only after about as many changes as it has marks. Sets are never
changed in place.
"""

import binascii
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import StoredValueError

NAME_BYTES = 12
"""Length of the hash of a path: 96 bits. With a million files, the probability of a collision is about 10^-17."""

STATE_BYTES = 4
_RECORD = NAME_BYTES + STATE_BYTES

MOST_IN_CHECKPOINT = 1_024
"""Maximum number of marks of a set that are stored in each checkpoint, at 22 characters each."""

_MOST_BYTES = MOST_IN_CHECKPOINT * _RECORD
_COUNT_BYTES = 8

Marks = Mapping[bytes, bytes]
"""Mapping from the hash of a file's path to the hash of its size and modification time."""

Runs = tuple[bytes, ...]


def written(marks: Marks, runs: Runs) -> str | dict[str, Any]:
    """Encode marks for a checkpoint as JSON values, and runs as bytes. ``runs`` are the runs of the previous state."""
    # Half of the limit if there are runs, so that a set of about the limit does not become a new run each time.
    if len(marks) <= (MOST_IN_CHECKPOINT // 2 if runs else MOST_IN_CHECKPOINT):
        return _packed(marks)
    rest = _difference(marks, _applied(runs))
    if len(rest) > _MOST_BYTES:
        runs, rest = _with_new_run(marks, runs, len(rest)), _difference({}, {})
    return {"runs": list(runs), "rest": b64encode(rest).decode()}


def read(body: Any, key: str) -> tuple[Marks, Runs]:
    """Return the marks in a checkpoint, and their runs; raise ``StoredValueError`` if the values are invalid."""
    if isinstance(stored.member(body, key), str):
        return _unpacked(stored.text(body, key)), ()
    block = stored.below(body, key)
    runs = stored.items(block, "runs")
    if not all(isinstance(run, bytes) for run in runs):
        raise StoredValueError("the state of the watched folder contains a run that is not a byte string")
    return _applied((*runs, _bytes_of(stored.text(block, "rest")))), tuple(runs)


def _with_new_run(marks: Marks, runs: Runs, size: int) -> Runs:
    """Add a run, and merge it with the runs before it while each is at most twice as long as the runs after it."""
    kept = len(runs)
    while kept and len(runs[kept - 1]) <= 2 * size:
        kept -= 1
        size += len(runs[kept])
    return (*runs[:kept], _difference(marks, _applied(runs[:kept])))


def _difference(marks: Marks, base: Marks) -> bytes:
    """Encode the difference from ``base`` to ``marks``: number of new marks, new marks, removed names."""
    more = sorted(name for name, state in marks.items() if base.get(name) != state)
    less = sorted(name for name in base if name not in marks)
    return b"".join((len(more).to_bytes(_COUNT_BYTES), *(name + marks[name] for name in more), *less))


def _applied(differences: Iterable[bytes]) -> dict[bytes, bytes]:
    marks: dict[bytes, bytes] = {}
    for each in differences:
        end = _COUNT_BYTES + int.from_bytes(each[:_COUNT_BYTES]) * _RECORD
        if len(each) < max(end, _COUNT_BYTES) or (len(each) - end) % NAME_BYTES:
            raise StoredValueError(
                f"the state of the watched folder contains a run of {len(each)} bytes, which is inconsistent"
            )
        marks.update(_records(each, _COUNT_BYTES, end))
        for start in range(end, len(each), NAME_BYTES):
            marks.pop(each[start : start + NAME_BYTES], None)
    return marks


def _records(packed: bytes, start: int, end: int) -> Iterable[tuple[bytes, bytes]]:
    return ((packed[at : at + NAME_BYTES], packed[at + NAME_BYTES : at + _RECORD]) for at in range(start, end, _RECORD))


def _packed(marks: Marks) -> str:
    """Encode marks as base64, sorted by name, so that equal sets have equal bytes."""
    return b64encode(b"".join(name + marks[name] for name in sorted(marks))).decode()


def _unpacked(text: str) -> Marks:
    packed = _bytes_of(text)
    if len(packed) % _RECORD:
        raise StoredValueError(
            f"the state of the watched folder has {len(packed)} bytes, which is not a multiple of {_RECORD}"
        )
    return dict(_records(packed, 0, len(packed)))


def _bytes_of(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeEncodeError) as error:
        raise StoredValueError(f"the state of the watched folder is not base64: {error}") from error
