"""``FilterRowKind`` and ``RowKindExtractor``: what kinds of rows are kept, and kinds that become a column."""

from collections.abc import Sequence
from typing import Any

import pytest

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.transforms.filter_row_kind import FilterRowKind
from seatunnel_core.transforms.row_kind_extractor import RowKindExtractor
from tests.transforms.tables import CHANGES, PEOPLE, ROWS, changed, made


@pytest.mark.parametrize(
    ("options", "kinds", "kept"),
    [
        ({"include_kinds": ["INSERT"]}, CHANGES, [0]),
        ({"include_kinds": "update_after, DELETE"}, CHANGES, [2, 3]),
        ({"exclude_kinds": ["INSERT"]}, CHANGES, [1, 2, 3]),
        ({"exclude_kinds": ["UPDATE_BEFORE", "DELETE"]}, CHANGES, [0, 2]),
        ({"include_kinds": ["DELETE"]}, None, []),
        ({"exclude_kinds": ["DELETE"]}, None, [0, 1, 2, 3]),
        ({"exclude_kinds": ["INSERT"]}, None, []),
    ],
)
def test_rows_of_some_kinds_are_kept(options: dict[str, Any], kinds: Sequence[RowKind] | None, kept: list[int]) -> None:
    names = [kind.name for kind in kinds or [RowKind.INSERT] * 4]
    assert changed(made(FilterRowKind, **options), kinds=kinds) == [(names[at], ROWS[at]) for at in kept]
    assert made(FilterRowKind, **options).output_schema(PEOPLE) == PEOPLE


@pytest.mark.parametrize("options", [{}, {"include_kinds": ["INSERT"], "exclude_kinds": ["DELETE"]}])
def test_kinds_are_either_kept_or_left_out(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="set either include_kinds or exclude_kinds, but not both"):
        made(FilterRowKind, **options)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="one of INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE, found 'UPSERT'"):
        made(FilterRowKind, include_kinds=["UPSERT"])


@pytest.mark.parametrize(
    ("options", "column", "texts"),
    [
        ({}, "row_kind", ["+I", "-U", "+U", "-D"]),
        (
            {"custom_field_name": "op", "transform_type": "full"},
            "op",
            ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"],
        ),
    ],
)
def test_the_kind_becomes_a_column(options: dict[str, Any], column: str, texts: list[str]) -> None:
    extractor = made(RowKindExtractor, **options)
    schema = extractor.output_schema(PEOPLE)
    assert schema.columns.names == ["id", "name", "age", column]
    assert not schema.columns.field(column).nullable
    assert schema.primary_key == ("id",)
    rows = list(zip(ROWS, texts, strict=True))
    assert changed(extractor) == [("INSERT", (*row, text)) for row, text in rows]
    assert changed(extractor, kinds=None) == [("INSERT", (*row, texts[0])) for row in ROWS]


def test_the_column_must_be_new() -> None:
    with pytest.raises(TransformError, match="already has a column name; set another name in option 'custom_field_n"):
        made(RowKindExtractor, custom_field_name="name").output_schema(PEOPLE)
