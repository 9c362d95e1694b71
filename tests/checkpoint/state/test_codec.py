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
facts = st.lists(bodies, max_size=2).map(tuple)
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
            facts=draw(facts),
        )
        for number in drawn
    ]
    counters = ("units_done", "splits_done", "rows_read", "rows_written", "bytes_read", "rows_skipped")
    counted = {counter: draw(numbers) for counter in counters}
    return TaskState(next_unit=next_unit, units=tuple(held), facts=draw(facts), **counted)


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


def test_the_state_of_a_task_with_facts_has_a_version_that_older_programs_refuse() -> None:
    """They would lose the facts."""
    states = VertexStates(tasks={"a": TaskState(), "b": TaskState(facts=({"position": 7},))})
    vertices = json.loads(encode(states))["vertices"]
    assert [vertices[name]["version"] for name in ("task a", "task b")] == [1, 2]
    assert "facts" not in vertices["task a"]["state"]


def test_the_same_state_gives_the_same_bytes() -> None:
    """Storing a checkpoint again is recognised by its bytes, so the order of a mapping must not show."""
    one, two = SourceState(cursor=1), SourceState(cursor=2)
    there = VertexStates(sources={"a": one, "b": two})
    back = VertexStates(sources={"b": two, "a": one})
    assert encode(there) == encode(back)


def complete_states() -> VertexStates:
    """States that set every member, and all members that a record may omit."""
    one, two = (
        Split(index=number, weight_bytes=10 + number, rows=number, body={"file": f"{number}.csv"}) for number in (3, 4)
    )
    plain = Committable(id="0-2-5", epoch=2, unit=5, source="in", rows=7, bytes=70, body={"staged": "x"})
    counted = evolve(plain, id="0-2-6", unit=6, table_rows={"b": 3, "a": 4}, tables={"b": "2", "a": "1"})
    held = HeldUnit(unit=WorkUnit(number=6, splits=(one,)), committables={"out": counted})
    part = {"$attachment": "0" * 64}
    counters: dict[str, Any] = {"units_done": 4, "splits_done": 8, "rows_read": 9, "rows_written": 10, "bytes_read": 11}
    return VertexStates(
        sources={
            "bounded": SourceState(attachment="e", cursor=1, total=2),
            "new": SourceState(),
            "parts": SourceState(attachment="e", cursor=1, total=0, memory={"seen": part}),
            "unbounded": SourceState(attachment="e", cursor=3, total=2, waiting=(one, two), memory={"offset": 5}),
        },
        tasks={
            "in": TaskState(
                next_unit=8, units=(held, HeldUnit(unit=WorkUnit(number=7, splits=(two,)))), rows_skipped=12, **counters
            ),
        },
        sinks={
            "new": SinkState(),
            "out": SinkState(
                save_mode_pending=False,
                prepared_in=2,
                uncommitted=(plain, counted),
                rows_committed=13,
                bytes_committed=14,
                table_rows={"b": 6, "a": 7},
                published_to={"b": "2", "a": "1"},
            ),
        },
        retracting=CheckpointRef(1, 7),
    )


COMPLETE = (
    '{"format":1,"retracting":{"checkpoint_id":7,"epoch":1},"vertices":{"sink new":{"state":{"bytes_committed'
    '":0,"rows_committed":0,"save_mode_pending":true,"uncommitted":[]},"version":1},"sink out":{"state":{"byt'
    'es_committed":14,"prepared_in":2,"published_to":{"a":"1","b":"2"},"rows_committed":13,"save_mode_pending'
    '":false,"table_rows":{"a":7,"b":6},"uncommitted":[{"body":{"staged":"x"},"bytes":70,"epoch":2,"id":"0-2-'
    '5","rows":7,"source":"in","unit":5},{"body":{"staged":"x"},"bytes":70,"epoch":2,"id":"0-2-6","rows":7,"s'
    'ource":"in","table_rows":{"a":4,"b":3},"tables":{"a":"1","b":"2"},"unit":6}]},"version":1},"source bound'
    'ed":{"state":{"attachment":"e","cursor":1,"total":2},"version":1},"source new":{"state":{"attachment":nu'
    'll,"cursor":0,"total":null},"version":1},"source parts":{"state":{"attachment":"e","cursor":1,"memory":{'
    '"seen":{"$attachment":"0000000000000000000000000000000000000000000000000000000000000000"}},"total":0,"wa'
    'iting":[]},"version":2},"source unbounded":{"state":{"attachment":"e","cursor":3,"memory":{"offset":5},"'
    'total":2,"waiting":[{"body":{"file":"3.csv"},"index":3,"rows":3,"weight_bytes":13},{"body":{"file":"4.cs'
    'v"},"index":4,"rows":4,"weight_bytes":14}]},"version":1},"task in":{"state":{"bytes_read":11,"next_unit"'
    ':8,"rows_read":9,"rows_skipped":12,"rows_written":10,"splits_done":8,"units":[{"committables":{"out":{"b'
    'ody":{"staged":"x"},"bytes":70,"epoch":2,"id":"0-2-6","rows":7,"source":"in","table_rows":{"a":4,"b":3},'
    '"tables":{"a":"1","b":"2"},"unit":6}},"number":6,"splits":[{"body":{"file":"3.csv"},"index":3,"rows":3,"'
    'weight_bytes":13}]},{"committables":null,"number":7,"splits":[{"body":{"file":"4.csv"},"index":4,"rows":'
    '4,"weight_bytes":14}]}],"units_done":4},"version":1}}}'
)


def test_the_stored_bytes_are_those_of_the_first_version() -> None:
    """Older checkpoints must stay readable, and a checkpoint that is stored again must have equal bytes."""
    assert encode(complete_states()).decode() == COMPLETE
    assert decode(COMPLETE.encode()) == complete_states()


def test_an_ordering_key_is_a_member_that_earlier_versions_ignore() -> None:
    split = Split(index=0, weight_bytes=1, rows=1, body={}, ordering_key="t/0")
    states = VertexStates(
        tasks={"in": TaskState(next_unit=2, units=(HeldUnit(unit=WorkUnit(number=1, splits=(split,))),))}
    )
    stored = json.loads(encode(states))["vertices"]["task in"]
    assert stored["version"] == 1
    assert stored["state"]["units"][0]["splits"] == [
        {"index": 0, "weight_bytes": 1, "rows": 1, "body": {}, "ordering_key": "t/0"}
    ]
    assert decode(encode(states)) == states


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
    with pytest.raises(StateFormatError, match="only JSON values"):
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
        (b'{"format": NaN}', "NaN is not a JSON value"),
        (b'{"format": 1e999}', "1e999 is too large"),
        (b'{"format": 1.5}', "'format' must be a whole number"),
        (b'{"format": 1, "vertices": []}', "'vertices' must be a block, not a list"),
        (
            damaged("format", 2),
            "the state has version 2, but this engine supports versions up to 1: upgrade the engine",
        ),
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
            "'attachment' must be a string",
        ),
        (damaged("vertices/task in/state/rows_read", 2**63), "whole number"),
        (damaged("vertices/task in/state/rows_read", "x" * 99), "not 'x{59}…"),
        (damaged("vertices/sink out/state/save_mode_pending", 1), "true or false"),
        (damaged("vertices/sink out/state/uncommitted", {}), "'uncommitted' must be a list, not a block"),
        (damaged("vertices/sink out/state/uncommitted", [1]), "expected a block with 'id', found 1"),
        (damaged("vertices/sink out/state/uncommitted", [COMMITTABLE, COMMITTABLE]), "the same committable twice"),
        (damaged("vertices/task in/state/units", [{"number": 1, "splits": [{"body": 1}]}]), "'index' is missing"),
        (damaged("vertices/task in/state/units", [UNIT | {"number": 0}]), "'number' must be a whole number from 1"),
        (damaged("vertices/task in/state/next_unit", 0), "'next_unit' must be a whole number from 1"),
        (damaged("vertices/task in/state/units", [UNIT]), "must increase and be less than the next unit number, 1"),
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
