"""The type that holds the values of two, and the contract of a sink."""

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.connectors.tables.growth import TargetContract, wider
from seatunnel_core.rows.types import arrow_type

KINDS = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "decimal(30,0)"]
KINDS += ["string", "date", "timestamp", "timestamp_tz", "bytes", "array<int>"]


@pytest.mark.parametrize(
    ("held", "come", "both"),
    [
        ("int", "bigint", "bigint"),
        ("bigint", "int", "bigint"),
        ("int", "float", "double"),
        ("smallint", "float", "float"),
        ("bigint", "double", "double"),
        ("double", "bigint", "double"),
        ("float", "double", "double"),
        ("bigint", "decimal(9,2)", "decimal(21,2)"),
        ("decimal(9,2)", "decimal(30,0)", "decimal(32,2)"),
        ("decimal(30,0)", "bigint", "decimal(30,0)"),
        ("decimal(38,0)", "decimal(38,10)", None),
        ("decimal(9,2)", "double", None),
        ("date", "timestamp", "timestamp"),
        ("timestamp", "date", "timestamp"),
        ("timestamp", "timestamp_tz", None),
        ("bigint", "string", "string"),
        ("boolean", "string", "string"),
        ("date", "string", "string"),
        ("double", "string", "string"),
        ("timestamp", "string", None),
        ("bytes", "string", None),
        ("array<int>", "string", None),
        ("boolean", "int", None),
        ("string", "bigint", "string"),
        ("string", "array<int>", None),
        ("int", "null", "int"),
    ],
)
def test_the_type_that_holds_both(held: str, come: str, both: str | None) -> None:
    assert wider(arrow_type(held), arrow_type(come)) == (None if both is None else arrow_type(both))


def test_a_wider_type_holds_what_was_there_and_what_comes_and_is_found_again() -> None:
    """Otherwise a table would change at each run."""
    for held, come in itertools.product(map(arrow_type, KINDS), repeat=2):
        found = wider(held, come)
        if found is not None:
            assert wider(found, held) == found
            assert wider(found, come) == found


@given(st.integers(-(2**64), 2**64), st.sampled_from(["int8", "int16", "int32", "uint8", "uint16", "uint32"]))
def test_a_wider_whole_number_keeps_each_value(value: int, name: str) -> None:
    held = pa.type_for_alias(name)
    for come in map(pa.type_for_alias, ("int8", "uint8", "int32", "uint32", "int64")):
        both = wider(held, come)
        assert both is not None
        for kind in (held, come):
            try:
                scalar = pa.scalar(value, kind)
            except (pa.ArrowInvalid, OverflowError):
                continue
            assert scalar.cast(both).as_py() == value


def test_a_contract_is_a_word_or_a_block() -> None:
    assert TargetContract.of("evolve") == TargetContract(columns="evolve", data_type="evolve")
    assert TargetContract.of({"columns": "Evolve"}) == TargetContract(columns="evolve", data_type="freeze")
    with pytest.raises(ValueError, match="expected one of evolve, freeze, found 'discard_row'"):
        TargetContract.of("discard_row")
    with pytest.raises(ValueError, match="expected columns, data_type, found 'tables'"):
        TargetContract.of({"tables": "evolve"})
