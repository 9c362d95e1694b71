"""Transforms and absent values: they stay marked under the names of their columns."""

import re
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.transforms.copy import Copy
from seatunnel_core.transforms.field_mapper import FieldMapper
from seatunnel_core.transforms.field_rename import FieldRename
from seatunnel_core.transforms.filter import Filter
from seatunnel_core.transforms.filter_row_kind import FilterRowKind
from seatunnel_core.transforms.metadata import Metadata
from seatunnel_core.transforms.replace import Replace
from seatunnel_core.transforms.row_kind_extractor import RowKindExtractor
from seatunnel_core.transforms.table_rename import TableRename
from seatunnel_core.transforms.tables import PerTable
from tests.transforms.tables import CHANGES, PEOPLE, ROWS, batch_of, made

MASK = [False, False, True, True]


def incomplete() -> Batch:
    rows = [(*row[:1], None if absent else row[1], *row[2:]) for row, absent in zip(ROWS, MASK, strict=True)]
    return evolve(batch_of(rows, PEOPLE, CHANGES), absent={"name": pa.array(MASK)})


@pytest.mark.parametrize(
    ("kind", "options", "kept"),
    [
        (Filter, {"include_fields": ["id", "name"]}, {"name": MASK}),
        (Filter, {"exclude_fields": ["name"]}, {}),
        (FieldMapper, {"field_mapper": {"name": "full_name", "id": "id"}}, {"full_name": MASK}),
        (FieldMapper, {"field_mapper": {"id": "name"}}, {}),
        (FieldRename, {"prefix": "f_"}, {"f_name": MASK}),
        (TableRename, {"prefix": "f_"}, {"name": MASK}),
        (FilterRowKind, {"exclude_kinds": ["INSERT"]}, {"name": [False, True, True]}),
        (FilterRowKind, {"include_kinds": ["UPDATE_BEFORE", "DELETE"]}, {"name": [False, True]}),
        (FilterRowKind, {"include_kinds": ["INSERT"]}, {}),
        (Copy, {"fields": {"same": "name"}}, {"name": MASK, "same": MASK}),
        (Copy, {"fields": {"name": "age"}}, {}),
        (Metadata, {"metadata_fields": {"Table": "of"}}, {"name": MASK}),
        (Replace, {"replace_field": "name", "pattern": " ", "replacement": "_"}, {"name": MASK}),
    ],
)
def test_they_stay_marked(kind: type[Transform], options: dict[str, Any], kept: dict[str, list[bool]]) -> None:
    transform = made(kind, **options)
    assert transform.keeps_absent
    (after,) = transform.apply(incomplete())
    assert {name: mask.to_pylist() for name, mask in after.absent.items()} == kept
    for name, mask in after.absent.items():
        assert after.rows[name].filter(mask).null_count == mask.true_count


@pytest.mark.parametrize("options", [{"exclude_kinds": ["UPDATE_BEFORE"]}, {"include_kinds": ["UPDATE_AFTER"]}])
def test_an_update_without_its_old_row_must_be_whole(options: dict[str, Any]) -> None:
    """A sink took the values of a row that moved to another key from another row, or from the old row of its key."""
    transform = made(FilterRowKind, **options)
    with pytest.raises(RowError, match=r"column 'name', row \d of a batch of shop\.people.*keep both UPDATE_BEFORE"):
        list(transform.apply(incomplete()))
    (found,) = transform.apply(evolve(incomplete(), absent={}))
    assert found.kinds is not None


def test_an_entry_for_some_tables_keeps_them_or_names_the_transform() -> None:
    keeps = PerTable(Copy, made(Copy, fields={"same": "name"}), re.compile(".*"), {})
    assert keeps.keeps_absent
    assert set(next(keeps.apply(incomplete())).absent) == {"name", "same"}
    rejects = PerTable(RowKindExtractor, made(RowKindExtractor), re.compile("shop.people"), {})
    with pytest.raises(RowError, match=r"RowKindExtractor: column 'name', row 3 of a batch of shop\.people"):
        list(rejects.apply(incomplete()))
    assert next(rejects.apply(evolve(incomplete(), table="other"))).absent
