"""``Http`` without a schema: columns of the first rows, and a contract for those behind them."""

from typing import Any

import pytest

from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.errors import RowError, SourceError, UsageError
from seatunnel_core.rows.types import type_name
from tests.connectors.http.http_rows import source_of
from tests.servers.http_service import Asked, HttpService

PAGES: list[list[dict[str, Any]]] = [
    [{"id": 1, "price": 1, "at": "2024-01-31"}],
    [{"id": 9007199254740993, "price": 1.5, "at": "2024-02-01"}],
    [{"id": 3, "price": 2.5, "at": "yesterday", "more": {"a": 1}}],
    [],
]


@pytest.fixture
def options(service: HttpService) -> dict[str, Any]:
    def page(asked: Asked) -> Any:
        return {"data": PAGES[int(asked.query["page"]) - 1]}

    service.at["/orders"] = page
    return {"url": f"{service.url}/orders", "content_field": "$.data[*]", "pageing": {"page_field": "page"}}


def types(options: dict[str, Any], **more: Any) -> dict[str, str]:
    (schema,) = plan(source_of(**options, **more)).schemas
    return {column.name: type_name(column.type) for column in schema.columns}


def test_columns_are_those_of_the_first_rows_over_as_many_pages_as_it_takes(
    options: dict[str, Any], service: HttpService
) -> None:
    assert types(options, schema_sample=1) == {"id": "bigint", "price": "bigint", "at": "date"}
    assert len(service.asked) == 1
    assert types(options, schema_sample=2) == {"id": "bigint", "price": "double", "at": "date"}
    assert types(options, schema_sample=100) == {
        "id": "bigint",
        "price": "double",
        "at": "string",
        "more": "{a = bigint}",
    }
    assert [row["id"] for row in read(source_of(**options, schema_sample=100))] == [1, 9007199254740993, 3]


def test_rows_behind_the_sample_follow_the_contract(options: dict[str, Any]) -> None:
    made = source_of(**options, schema_sample=1)
    with pytest.raises(
        RowError, match=r"page 2, row 1, column 'price': '1.5' is not a bigint, the type inferred from the first 1 rows"
    ):
        read(made)
    made = source_of(**options, schema_sample=2, schema_contract="discard_value")
    assert [row["at"] is None for row in read(made)] == [False, False, True]
    made = source_of(**options, schema_sample=2, schema_contract={"columns": "discard_row"})
    assert len(read(made)) == 2


def test_a_check_looks_at_the_first_page_and_says_so(options: dict[str, Any], service: HttpService) -> None:
    made = source_of(**options, schema_sample=100)
    (schema,) = made.planned_schemas() or ()
    assert schema.columns.names == ["id", "price", "at"]
    assert len(service.asked) == 1
    assert made.planned_reading() == (
        "the columns are inferred from the first 100 rows; --check inspected only the first page",
    )


def test_numbers_with_more_digits_than_a_double_has_are_texts(options: dict[str, Any], service: HttpService) -> None:
    service.at["/orders"] = lambda asked: b'{"data": [{"x": 0.1234567890123456789}, {"x": 0.12345678901234568}]}'
    del options["pageing"]
    made = source_of(**options, schema_sample=10)
    assert [row["x"] for row in read(made)] == ["0.1234567890123456789", "0.12345678901234568"]


def test_no_rows_are_no_table(options: dict[str, Any], service: HttpService) -> None:
    service.at["/orders"] = lambda asked: {"data": []}
    made = source_of(**options, schema_sample=10)
    assert (made.planned_schemas(), plan(made).schemas, plan(made).splits) == (None, (), ())


def test_columns_by_paths_are_inferred(options: dict[str, Any], service: HttpService) -> None:
    service.at["/orders"] = lambda asked: {"all": [{"a": {"b": 1}}, {"a": {"b": 2.5}}]}
    made = source_of(url=options["url"], json_field={"x": "$.all[*].a.b"}, schema_sample=10)
    assert read(made) == [{"x": 1.0}, {"x": 2.5}]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"schema_sample": 1, "schema": {"fields": {"id": "int"}}}, "schema already declares the columns"),
        ({"schema_sample": 1, "format": "text"}, "columns are inferred only for format = json"),
        ({"schema_contract": "freeze"}, "set schema_sample"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        source_of(**options, **more)


def test_a_streaming_job_declares_its_columns(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="a streaming job repeats its requests, and requires declared columns"):
        source_of(**options, schema_sample=1).run_in(streaming=True)


def test_without_a_sample_there_is_one_column(options: dict[str, Any]) -> None:
    assert types(options) == {"content": "string"}
    with pytest.raises(SourceError, match="content_field"):
        plan(source_of(url=options["url"] + "?page=1", content_field="$.nope[*]", schema_sample=1))


def test_lists_become_child_tables(options: dict[str, Any], service: HttpService) -> None:
    pages = [[{"id": 1, "o": {"a": 1}, "l": [{"x": 1}, {"x": 2}]}], [{"id": 2, "l": [{"x": 3}]}], []]
    service.at["/orders"] = lambda asked: {"data": pages[int(asked.query["page"]) - 1]}
    for more in (
        {"schema_sample": 9},
        {"schema": {"fields": {"id": "int", "o": "{a = int}", "l": "array<{x = int}>"}}},
    ):
        made = source_of(**options, **more, nesting="tables")
        found = plan(made)
        assert [(each.table, each.columns.names) for each in found.schemas] == [
            ("default", ["_row_id", "id", "o__a"]),
            ("default__l", ["_row_id", "_parent_id", "_list_index", "x"]),
        ]
        rows = read(made, found)
        assert rows == read(made, found)
        ids = {row["_row_id"]: row["id"] for row in rows if "id" in row}
        assert [(ids[row["_parent_id"]], row["x"]) for row in rows if "x" in row] == [(1, 1), (1, 2), (2, 3)]
    with pytest.raises(UsageError, match="option 'nesting': a streaming job reads the same rows repeatedly"):
        source_of(**options, nesting="tables", schema={"fields": {"id": "int"}}).run_in(streaming=True)
    with pytest.raises(UsageError, match="option 'nesting': requires columns"):
        source_of(**options, nesting="tables")
