"""The splits of a frozen enumeration are read without the source that made it."""

import json

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state.enumeration import FORMAT_VERSION, document_of, ordering_keys_of, splits_of


def test_splits_are_numbered_in_order() -> None:
    stored = json.dumps({"version": FORMAT_VERSION, "schemas": [], "splits": [[10, 2, {"a": 1}], [20, 4, {"a": 2}]]})
    splits = splits_of(document_of(stored.encode()))
    assert [(split.index, split.weight_bytes, split.rows, split.body["a"]) for split in splits] == [
        (0, 10, 2, 1),
        (1, 20, 4, 2),
    ]


def test_ordering_keys_are_a_member_of_their_own_that_earlier_versions_do_not_read() -> None:
    document = {"version": FORMAT_VERSION, "splits": [[1, 1, {}], [1, 1, {}]], "ordering_keys": ["t/0", None]}
    splits = splits_of(document)
    assert [split.ordering_key for split in splits] == ["t/0", None]
    assert ordering_keys_of(splits) == {"ordering_keys": ["t/0", None]}
    assert ordering_keys_of([evolve(split, ordering_key=None) for split in splits]) == {}


@pytest.mark.parametrize(
    ("keys", "says"),
    [(["a"], "2 splits have 1 ordering keys"), (["a", 7], "'ordering_key' must be a string"), ("ab", "must be a list")],
)
def test_ordering_keys_that_are_none_are_refused(keys: object, says: str) -> None:
    with pytest.raises(StateFormatError, match=says):
        splits_of({"version": FORMAT_VERSION, "splits": [[1, 1, {}], [1, 1, {}]], "ordering_keys": keys})


@pytest.mark.parametrize(
    ("stored", "says"),
    [(b'{"version": 2}', "format version 2"), (b"[]", "invalid"), (b"{}", "invalid"), (b"\xff", "not JSON")],
)
def test_what_is_no_enumeration_is_refused(stored: bytes, says: str) -> None:
    with pytest.raises(StateFormatError, match=says):
        document_of(stored)


@pytest.mark.parametrize(
    ("splits", "says"),
    [
        ({}, "'splits' must be a list, not a block"),
        ([7], "split 0 is not a list of weight_bytes, rows, body"),
        ([[1, 1, {}], [1, 1]], "split 1 is not a list"),
        ([[1, -1, {}]], "'rows' must be a whole number"),
        ([[1, 1, None]], "'body' must be a block, not None"),
    ],
)
def test_what_stands_in_the_place_of_splits_is_refused(splits: object, says: str) -> None:
    with pytest.raises(StateFormatError, match=says):
        splits_of({"version": FORMAT_VERSION, "splits": splits})
