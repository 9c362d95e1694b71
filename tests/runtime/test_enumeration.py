"""The frozen form of an enumeration: read back as it was, and the same bytes for the same thing."""

import json
import os

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.checkpoint.state.enumeration import FORMAT_VERSION
from seatunnel_core.connector_api.source import Enumeration
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.rows.batch import ConstraintKey, TableSchema
from seatunnel_core.runtime.enumeration import freeze, thaw
from seatunnel_core.work.split import Split

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("when", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
        ("größe", pa.struct([("x", pa.int8())])),
    ]
)


def enumeration(splits: int = 3) -> Enumeration:
    return Enumeration(
        schemas=(TableSchema(table="shop.orders", columns=COLUMNS, primary_key=("id",)),),
        splits=tuple(
            Split(index=index, weight_bytes=100 + index, rows=7, body={"path": f"ü{index}.csv", "start": index})
            for index in range(splits)
        ),
    )


def test_comes_back_as_it_was() -> None:
    assert thaw(freeze(enumeration())) == enumeration()


def test_ordering_keys_come_back_and_leave_no_trace_where_there_are_none() -> None:
    """So that enumerations without them have the bytes that they had before."""
    plain = enumeration()
    keyed = evolve(plain, splits=tuple(evolve(split, ordering_key=f"t/{split.index % 2}") for split in plain.splits))
    assert thaw(freeze(keyed)) == keyed
    assert json.loads(freeze(keyed))["splits"] == json.loads(freeze(plain))["splits"]
    assert b"ordering_keys" not in freeze(plain)


def test_keys_and_comments_come_back_as_they_were() -> None:
    columns = pa.schema([pa.field("id", pa.int64(), metadata={"comment": "from the till"})])
    key = ConstraintKey(name="u", kind="UNIQUE_KEY", columns=("id",))
    sorted_key = ConstraintKey(name="s", kind="KEY", columns=("id",), sort_types=("DESC",))
    schema = TableSchema(
        table="t",
        columns=columns,
        primary_key=("id",),
        primary_key_name="pk",
        constraint_keys=(key, sorted_key),
        comment="what was ordered",
    )
    (found,) = thaw(freeze(Enumeration(schemas=(schema,), splits=()))).schemas
    assert found == schema
    assert found.columns.field(0).metadata == {b"comment": b"from the till"}
    document = json.loads(freeze(Enumeration(schemas=(schema,), splits=())))
    document["schemas"][0]["constraint_keys"] = [["u"]]
    with pytest.raises(SeaTunnelError, match="a key must be a list"):
        thaw(json.dumps(document).encode())


def test_a_file_name_that_is_no_text_comes_back_as_it_was() -> None:
    """POSIX names files in bytes; Python keeps those that are not UTF-8 in characters that UTF-8 does not have."""
    split = Split(index=0, weight_bytes=1, rows=1, body={"path": os.fsdecode(b"/data/caf\xe9.csv")})
    assert thaw(freeze(Enumeration(schemas=(), splits=(split,)))).splits == (split,)


def test_same_thing_has_the_same_bytes() -> None:
    assert freeze(enumeration()) == freeze(enumeration())
    assert freeze(enumeration()) != freeze(enumeration(splits=4))


def test_nothing_in_it_is_fine() -> None:
    empty = Enumeration(schemas=(), splits=())
    assert thaw(freeze(empty)) == empty


def test_newer_format_is_refused_with_what_to_do() -> None:
    document = json.loads(freeze(enumeration()))
    document["version"] = FORMAT_VERSION + 1
    with pytest.raises(SeaTunnelError, match="resume the job with the version of seatunnel-core that started it"):
        thaw(json.dumps(document).encode())
