"""States to bytes and back."""

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state.codec import decode, encode
from seatunnel_core.checkpoint.state.vertex_state import HeldUnit, SinkState, SourceState, TaskState, VertexStates
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.state import CheckpointRef
from tests.checkpoint.played import ONE_TO_ONE, splits

numbers = st.integers(0, 2**63 - 1)
names = st.text(max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
bodies = st.dictionaries(names, json_values, max_size=3)
split_values = st.builds(Split, index=numbers, weight_bytes=numbers, rows=numbers, body=bodies)
counts = st.dictionaries(names, numbers, max_size=2)
committables = st.builds(
    Committable,
    id=names,
    epoch=numbers,
    unit=numbers,
    source=names,
    rows=numbers,
    bytes=numbers,
    body=bodies,
    table_rows=counts,
)


@st.composite
def sources(draw: st.DrawFn) -> SourceState:
    """Not begun, or at one of its splits."""
    if draw(st.booleans()):
        return SourceState()
    total = draw(numbers)
    if draw(st.booleans()):
        return SourceState(attachment=draw(names), cursor=draw(st.integers(0, total)), total=total)
    cursor = draw(numbers)
    first = min(max(cursor, total), 2**63 - 4)
    waiting = tuple(
        evolve(split, index=first + at) for at, split in enumerate(draw(st.lists(split_values, max_size=3)))
    )
    return SourceState(
        attachment=draw(names), cursor=min(cursor, first), total=min(total, first), waiting=waiting, memory=draw(bodies)
    )


@st.composite
def tasks(draw: st.DrawFn) -> TaskState:
    """Units in the order of their numbers, and the next one behind them."""
    *drawn, next_unit = sorted(draw(st.sets(st.integers(1, 2**63 - 1), min_size=1, max_size=3)))
    held = [
        HeldUnit(
            unit=WorkUnit(number=number, splits=tuple(draw(st.lists(split_values, max_size=3)))),
            committables=draw(st.none() | st.dictionaries(names, committables, max_size=2)),
        )
        for number in drawn
    ]
    counters = ("units_done", "splits_done", "rows_read", "rows_written", "bytes_read", "rows_skipped")
    return TaskState(next_unit=next_unit, units=tuple(held), **{counter: draw(numbers) for counter in counters})


states = st.builds(
    VertexStates,
    sources=st.dictionaries(names, sources(), max_size=2),
    tasks=st.dictionaries(names, tasks(), max_size=2),
    sinks=st.dictionaries(
        names,
        st.builds(
            SinkState,
            save_mode_pending=st.booleans(),
            uncommitted=st.lists(committables, max_size=2, unique_by=lambda each: each.id).map(tuple),
            rows_committed=numbers,
            bytes_committed=numbers,
            table_rows=counts,
        ),
        max_size=2,
    ),
    retracting=st.none() | st.builds(CheckpointRef, numbers, numbers),
)


@pytest.mark.fuzz
@given(states)
def test_what_was_encoded_is_decoded(given_states: VertexStates) -> None:
    encoded = encode(given_states)
    assert decode(encoded) == given_states
    assert encode(decode(encoded)) == encoded


def test_the_same_state_gives_the_same_bytes() -> None:
    """Storing a checkpoint again is recognised by its bytes, so the order of a mapping must not show."""
    one, two = SourceState(cursor=1), SourceState(cursor=2)
    there = VertexStates(sources={"a": one, "b": two})
    back = VertexStates(sources={"b": two, "a": one})
    assert encode(there) == encode(back)


def test_the_format_is_readable() -> None:
    document = json.loads(encode(VertexStates.at_start(ONE_TO_ONE)))
    assert document["format"] == 1
    assert document["vertices"]["source in"] == {
        "version": 1,
        "state": {"attachment": None, "cursor": 0, "total": None},
    }
    assert sorted(document["vertices"]) == ["sink out", "source in", "task in"]


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), b"bytes"])
def test_a_body_that_is_not_json_is_refused(value: Any) -> None:
    split = Split(index=0, weight_bytes=1, rows=1, body={"value": value})
    state = TaskState(units=(HeldUnit(unit=WorkUnit(number=1, splits=(split,))),))
    with pytest.raises(StateFormatError, match="JSON values only"):
        encode(VertexStates(tasks={"in": state}))


def test_splits_that_wait_without_following_on_are_refused() -> None:
    """Reading them would leave a gap, or read something twice."""
    state = SourceState(attachment="a", cursor=4, total=2, memory={}, waiting=splits(1))
    with pytest.raises(StateFormatError, match="not numbered from 4 without gaps"):
        decode(encode(VertexStates(sources={"in": state})))


def damaged(path: str, value: Any) -> bytes:
    """The start state of a pipeline with one value replaced; the path's first part is the vertex."""
    document = json.loads(encode(VertexStates.at_start(ONE_TO_ONE)))
    *way, last = path.split("/")
    place = document
    for step in way:
        place = place[step]
    place[last] = value
    return json.dumps(document).encode()


COMMITTABLE = {"id": "0-1-1", "epoch": 1, "unit": 1, "source": "in", "rows": 1, "bytes": 1, "body": {}}
UNIT = {"number": 1, "splits": [], "committables": None}


@pytest.mark.parametrize(
    ("encoded", "said"),
    [
        (b"", "the stored state is invalid"),
        (b"\xff\xfe", "the stored state is invalid"),
        (b"[]", "the stored state is invalid"),
        (b"[" * 100_000, "the stored state is invalid"),
        (b"{}", "'format' is missing"),
        (b'{"format": NaN}', "NaN is not a value of JSON"),
        (b'{"format": 1e999}', "1e999 is too large"),
        (b'{"format": 1.5}', "'format' must be a whole number"),
        (b'{"format": 1, "vertices": []}', "'vertices' must be a block, not a list"),
        (damaged("format", 2), "the state has version 2; this version of the engine reads 1: upgrade it"),
        (damaged("vertices/task in/version", 9), "the state of 'task in' has version 9"),
        (damaged("vertices/oven in", {"version": 1, "state": {}}), "a vertex of an unknown kind: 'oven in'"),
        (damaged("vertices/source in/state/cursor", -1), "whole number"),
        (damaged("vertices/source in/state/cursor", True), "whole number"),
        (damaged("vertices/source in/state/cursor", "1"), "whole number"),
        (damaged("vertices/source in/state/cursor", 1), "has a position, but no enumeration"),
        (damaged("vertices/source in/state/total", 1), "has a position, but no enumeration"),
        (damaged("vertices/source in/state", {"attachment": "a", "cursor": 3, "total": 2}), "'cursor' .* from 0 to 2"),
        (
            damaged("vertices/source in/state", {"attachment": 7, "cursor": 0, "total": 2}),
            "'attachment' must be a text",
        ),
        (damaged("vertices/task in/state/rows_read", 2**63), "whole number"),
        (damaged("vertices/task in/state/rows_read", "x" * 99), "not 'x{59}…"),
        (damaged("vertices/sink out/state/save_mode_pending", 1), "true or false"),
        (damaged("vertices/sink out/state/uncommitted", {}), "'uncommitted' must be a list, not a block"),
        (damaged("vertices/sink out/state/uncommitted", [1]), "expected a block with 'id', found 1"),
        (damaged("vertices/sink out/state/uncommitted", [COMMITTABLE, COMMITTABLE]), "one committable twice"),
        (damaged("vertices/task in/state/units", [{"number": 1, "splits": [{"body": 1}]}]), "'index' is missing"),
        (damaged("vertices/task in/state/units", [UNIT]), "not numbered in order below 1, the next one"),
    ],
)
def test_what_is_not_a_state_is_refused(encoded: bytes, said: str) -> None:
    with pytest.raises(StateFormatError, match=said):
        decode(encoded)


@pytest.mark.fuzz
@given(json_values)
def test_no_json_makes_the_reader_fail_in_another_way(document: Any) -> None:
    assume(document)  # an empty mapping of vertices is a state
    whole = {"format": 1, "vertices": {"task in": {"version": 1, "state": document}}}
    for candidate in (document, whole, {"format": 1, "vertices": document}):
        with pytest.raises(StateFormatError):
            decode(json.dumps(candidate).encode())
