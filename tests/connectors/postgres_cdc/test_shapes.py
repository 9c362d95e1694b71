"""Shapes of tables in cursors, also in those of earlier versions."""

from attrs import evolve

from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from tests.connectors.mysql_cdc.tables import table

WRITTEN = {"column.mask.with.3.chars": ".*secret.*"}
BY_COLUMN = {"secret": "column.mask.with.3.chars"}


def captured(masks: dict[str, str], former: dict[str, str]) -> Captured:
    return Captured(path=("public", "a"), found=table("a"), masks=masks, former_masks=former)


def test_a_shape_of_an_earlier_version_is_recognized() -> None:
    now, earlier = captured(WRITTEN, BY_COLUMN), captured(BY_COLUMN, {})
    assert now.shape != earlier.shape
    assert now.has_shape(now.shape)
    assert now.has_shape(earlier.shape)
    assert captured(WRITTEN, {}).has_shape(captured({}, {}).shape)


def test_another_mask_and_other_columns_are_recognized() -> None:
    now, found = captured(WRITTEN, BY_COLUMN), table("a")
    assert not now.has_shape(captured({}, {}).shape)
    assert not captured({}, {}).has_shape(now.shape)
    assert not now.has_masks(captured({"column.mask.with.4.chars": ".*secret.*"}, {}).shape)
    more = evolve(found, columns=(*found.columns, column_of("more", "int")))
    assert not evolve(now, found=more).has_shape(now.shape)
    assert evolve(now, found=more).has_masks(now.shape)
