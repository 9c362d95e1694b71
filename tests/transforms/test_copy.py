"""``Copy``: columns under a second name."""

from typing import Any

import pytest

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.transforms.copy import Copy
from tests.transforms.tables import PEOPLE, changed, made


@pytest.mark.parametrize(
    ("options", "names", "first"),
    [
        ({"fields": {"n1": "name", "n2": "name"}}, "id name age n1 n2", (1, "Joy Ding", 20, "Joy Ding", "Joy Ding")),
        ({"fields": {"a.b": "age"}}, "id name age a.b", (1, "Joy Ding", 20, 20)),
        ({"fields": {"age": "id", "id": "age"}}, "id name age", (20, "Joy Ding", 1)),
        ({"src_field": "id", "dest_field": "ID"}, "id name age ID", (1, "Joy Ding", 20, 1)),
    ],
)
def test_copies_stand_at_the_end_or_where_their_name_was(
    options: dict[str, Any], names: str, first: tuple[Any, ...]
) -> None:
    copy = made(Copy, **options)
    assert copy.output_schema(PEOPLE).columns.names == names.split()
    rows = changed(copy)
    assert rows[0] == ("INSERT", first)
    assert [kind for kind, _ in rows] == ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"]


def test_a_copy_has_the_type_of_its_column_and_the_key_stays() -> None:
    schema = made(Copy, fields={"years": "age"}).output_schema(PEOPLE)
    assert schema.columns.field("years").type == PEOPLE.columns.field("age").type
    assert (schema.table, schema.primary_key) == ("shop.people", ("id",))


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(TransformError, match=r"Copy: the table shop\.people has no column nam; it has id, name, age"):
        made(Copy, fields={"n": "nam"}).output_schema(PEOPLE)


@pytest.mark.parametrize(
    "options", [{}, {"src_field": "id"}, {"fields": {"a": "id"}, "src_field": "id", "dest_field": "b"}, {"fields": {}}]
)
def test_copies_are_said_in_one_way(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"set fields \{ new_name = name \}, or src_field and dest_field"):
        made(Copy, **options)
