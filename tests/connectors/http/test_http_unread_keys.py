"""Fields of a service that no declared column reads were left out without a word."""

from typing import Any

from seatunnel_core.connector_api.testing import read
from tests.connectors.http.http_rows import Noted, source_of
from tests.servers.http_service import HttpService

SCHEMA = {"fields": {"id": "bigint", "userName": "string", "at": "{City = string}"}}
CASE = (
    "have the key {!r} but no {!r}: the names differ in case, so the column is null. Write the name in schema as in "
    "the data"
)


def noted(service: HttpService, **options: Any) -> tuple[list[dict[str, Any]], Noted]:
    context = Noted()
    source = source_of(url=f"{service.url}/a", **({} if "schema_sample" in options else {"schema": SCHEMA}), **options)
    return read(source, context=context), context


def test_keys_that_differ_in_case_are_noted_with_the_number_of_rows(service: HttpService) -> None:
    rows = [
        {"id": 1, "username": "a", "at": {"City": "x"}},
        {"ID": 2, "username": "b", "at": {"city": "y"}},
        {"id": 3, "userName": "c", "username": "d", "at": None},
    ]
    service.at["/a"] = lambda _: rows
    found, context = noted(service)
    assert [row["userName"] for row in found] == [None, None, "c"]
    assert context.notes == {
        CASE.format("username", "userName"): 2,
        CASE.format("ID", "id"): 1,
        CASE.format("city", "at.City"): 1,
        "have fields that schema does not declare; they are ignored: username": 1,
    }
    assert context.examples[CASE.format("ID", "id")].endswith("/a, row 2")


def test_fields_that_the_schema_does_not_declare_are_noted_once(service: HttpService) -> None:
    pages: list[list[dict[str, Any]]] = [
        [{"id": 1, "email": "x", **{f"f{n:02}": n for n in range(12)}}, {"id": 2, "email": "y"}, {"id": 3}],
        [{"id": 4, "email": "z"}],
        [{"id": 5, "email": "z"}],
    ]
    service.at["/a"] = lambda asked: pages[int(asked.query["page"]) - 1]
    found, context = noted(service, pageing={"total_page_size": 3})
    assert len(found) == 5
    said = "have fields that schema does not declare; they are ignored: email"
    many = f"{said}, {', '.join(f'f{n:02}' for n in range(9))}, and 3 more"
    assert context.notes == {many: 2, said: 2}
    assert context.examples[many].endswith("page 1, row 1")


def test_nothing_is_noted_where_every_field_is_read_or_asked_for(service: HttpService) -> None:
    service.at["/a"] = lambda _: [{"id": 1, "userName": "a", "at": None}, {"id": 2}]
    assert noted(service)[1].notes == {}
    service.at["/a"] = lambda _: {"data": [{"ID": 1, "more": "2", "at": None}]}
    picked = {"json_field": {"id": "$.data[*].ID", "userName": "$.data[*].more", "at": "$.data[*].at"}}
    found, context = noted(service, **picked)
    assert (found, context.notes) == ([{"id": 1, "userName": "2", "at": None}], {})
    assert noted(service, schema_sample=10, content_field="$.data[*]")[1].notes == {}
