"""What the source ``Http`` makes of answers: JSON, lines, texts and files."""

from typing import Any

import pytest

from seatunnel_core.connector_api.testing import (
    Skipped,
    read,
)
from seatunnel_core.errors import RowError, SourceError
from tests.connectors.http.http_rows import PEOPLE, SHOP, rows_of, source_of
from tests.servers.http_service import HttpService, Said


@pytest.mark.parametrize(
    ("answer", "more"),
    [
        ([{"id": 1, "name": "a"}, {"id": "2", "more": 3}], {}),
        ('{"id": 1, "name": "a"}\n\n{"id": 2}\n', {"enable_multi_lines": True}),
        ('[{"id": 1, "name": "a"}]\n[{"id": 2}]\n', {"enable_multi_lines": True}),
        ({"data": [{"id": 1, "name": "a"}, {"id": 2}]}, {"content_field": "$.data"}),
        ({"data": [{"id": 1, "name": "a"}, {"id": 2}]}, {"content_field": "$.data.*"}),
    ],
)
def test_arrays_lines_and_paths_give_a_row_for_each_object(service: HttpService, answer: Any, more: Any) -> None:
    service.at["/a"] = lambda _: answer
    expected = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    assert rows_of(url=f"{service.url}/a", schema=PEOPLE, **more) == expected


def test_an_object_is_a_row_and_an_empty_answer_is_none(service: HttpService) -> None:
    service.answers("/a", {"id": 1, "name": {"first": "Joy", "at": 1.50}}, Said(status=204), [])
    url = f"{service.url}/a"
    assert rows_of(url=url, schema=PEOPLE) == [{"id": 1, "name": '{"first":"Joy","at":1.5}'}]
    assert (rows_of(url=url, schema=PEOPLE), rows_of(url=url, schema=PEOPLE)) == ([], [])


def test_values_by_json_field_in_rows_of_the_last_wildcard(service: HttpService) -> None:
    service.at["/shop"] = lambda _: SHOP
    fields = {"category": "string", "author": "string", "price": "decimal(10, 3)", "total": "int"}
    paths = {
        "category": "$.store.book[*].category",
        "author": "$.store.book[*].author.name",
        "price": "$['store'].book[*].price",
        "total": "$.total",
    }
    rows = rows_of(url=f"{service.url}/shop", format="json", schema={"fields": fields}, json_field=paths)
    assert [(r["category"], r["author"], str(r["price"]), r["total"]) for r in rows] == [
        ("reference", "Rees", "8.950", 2),
        ("fiction", "Waugh", "12.990", 2),
    ]


def test_json_field_looks_into_what_content_field_found(service: HttpService) -> None:
    service.at["/shop"] = lambda _: SHOP
    options: dict[str, Any] = {"content_field": "$.store.book[*]", "json_field": {"who": "$[*].author.name"}}
    rows = rows_of(url=f"{service.url}/shop", schema={"fields": {"who": "string"}}, **options)
    assert rows == [{"who": "Rees"}, {"who": "Waugh"}]


def test_a_value_that_some_rows_lack_is_null_and_one_that_all_lack_is_an_error(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"rows": [{"x": {"y": 1}}, {}]}
    options: dict[str, Any] = {"url": f"{service.url}/a", "schema": {"fields": {"y": "int"}}}
    assert rows_of(**options, json_field={"y": "$.rows[*].x.y"}) == [{"y": 1}, {"y": None}]
    with pytest.raises(SourceError, match=r"json_field y = .* matches nothing; the response is an object with rows"):
        rows_of(**options, json_field={"y": "$.rows[*].x.z"})
    for name in ("json_filed_missed_return_null", "json_field_missed_return_null"):
        assert rows_of(**options, json_field={"y": "$.rows[*].x.z"}, **{name: True}) == [{"y": None}] * 2


def test_a_content_field_that_finds_nothing_is_an_error_unless_what_holds_it_is_empty(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"data": [], "nil": None}
    options: dict[str, Any] = {"url": f"{service.url}/a", "schema": PEOPLE}
    for path in ("$.data[*]", "$.data", "$.data[?@.id > 3]", "$.nil[*]", "$.nil"):
        assert rows_of(**options, content_field=path) == []
    with pytest.raises(SourceError, match=r"content_field = '\$.dta\[\*\]' matches nothing"):
        rows_of(**options, content_field="$.dta[*]")
    assert rows_of(**options, content_field="$.dta[*]", json_filed_missed_return_null=True) == []


def test_an_answer_about_something_else_is_no_row_of_nulls(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"code": 7, "message": "no such shop"}
    with pytest.raises(
        SourceError, match="no row has any of the columns id, name; the first row is an object with code, mess"
    ):
        rows_of(url=f"{service.url}/a", schema=PEOPLE)


def test_without_a_schema_there_is_one_column_content(service: HttpService) -> None:
    service.at["/a"] = lambda _: '{"id": 1}\n{"id": 2}\n'
    service.at["/shop"] = lambda _: SHOP
    url = f"{service.url}/a"
    assert rows_of(url=url) == [{"content": '{"id": 1}\n{"id": 2}\n'}]
    assert rows_of(url=url, enable_multi_lines=True) == [{"content": '{"id": 1}'}, {"content": '{"id": 2}'}]
    found = rows_of(url=f"{service.url}/shop", format="json", content_field="$.store.book[*].category")
    assert found == [{"content": '["reference","fiction"]'}]


def test_a_text_has_the_encoding_that_the_answer_names(service: HttpService) -> None:
    service.at["/a"] = lambda _: Said(
        body="naïve".encode("latin-1"), headers={"Content-Type": "text/plain; charset=ISO-8859-1"}
    )
    assert rows_of(url=f"{service.url}/a") == [{"content": "naïve"}]


@pytest.mark.parametrize(("schema", "kind"), [(PEOPLE, "application/json"), (None, "text/plain; charset=gbk")])
def test_bytes_that_are_no_text_are_refused(service: HttpService, schema: Any, kind: str) -> None:
    """Each became U+FFFD without a word."""
    service.at["/a"] = lambda _: Said(body=b'[{"id": 1, "name": "a\xff"}]', headers={"Content-Type": kind})
    with pytest.raises(SourceError, match=r"/a: the response is not (UTF-8|gbk): .*0xff"):
        rows_of(url=f"{service.url}/a", **({"schema": schema} if schema else {}))


def test_an_encoding_that_is_not_known_is_reported(service: HttpService) -> None:
    """It ended in an error of Python."""
    service.at["/a"] = lambda _: Said(body=b"[]", headers={"Content-Type": "text/plain; charset=no-such"})
    with pytest.raises(SourceError, match="/a: the response has the unknown encoding 'no-such'"):
        rows_of(url=f"{service.url}/a")


def test_a_line_ends_at_a_line_end(service: HttpService) -> None:
    """A line separator of Unicode inside a text cut its line, and one row became two."""
    service.at["/a"] = lambda _: '{"id": 1, "name": "a\u2028b"}\r\n{"id": 2, "name": "c\x85\x0bd"}\n'
    found = [{"id": 1, "name": "a\u2028b"}, {"id": 2, "name": "c\x85d"}]
    lines = rows_of(url=f"{service.url}/a", enable_multi_lines=True)
    assert [row["content"].partition(",")[0] for row in lines] == ['{"id": 1', '{"id": 2']
    service.at["/a"] = lambda _: '{"id": 1, "name": "a\u2028b"}\r\n{"id": 2, "name": "c\x85d"}\n'
    assert rows_of(url=f"{service.url}/a", enable_multi_lines=True, schema=PEOPLE) == found


def test_a_file_comes_in_pieces_with_its_name(service: HttpService) -> None:
    headers = {"Content-Disposition": 'attachment; filename="../../a b.bin"'}
    service.at["/files/x.bin"] = lambda _: Said(body=bytes(range(10)))
    service.at["/get"] = lambda _: Said(body=b"", headers=headers)
    rows = rows_of(url=f"{service.url}/files/x.bin", format="binary", binary_chunk_size=4)
    assert [row["data"] for row in rows] == [bytes(range(4)), bytes(range(4, 8)), bytes(range(8, 10))]
    assert [(row["relativePath"], row["partIndex"]) for row in rows] == [("x.bin", number) for number in range(3)]
    assert rows_of(url=f"{service.url}/get", format="binary") == [
        {"data": b"", "relativePath": "a b.bin", "partIndex": 0}
    ]


def test_a_bad_row_is_named_or_left_out(service: HttpService) -> None:
    service.at["/a"] = lambda _: [{"id": 1}, {"id": "x"}, 7]
    source = source_of(url=f"{service.url}/a?token=abcdefgh", schema=PEOPLE)
    with pytest.raises(RowError, match=r"/a, row 2, column 'id': 'x' is not of type bigint") as said:
        read(source)
    assert "abcdefgh" not in str(said.value)
    skipped = Skipped(fail=False)
    assert read(source, context=skipped) == [{"id": 1, "name": None}]
    assert len(skipped.errors) == 2


def test_paths_read_lax_json(service: HttpService) -> None:
    service.at["/a"] = lambda _: "{'data': [{id: 1, name: Joy}, {id: 2, 'name': 'Kin',},]}"
    rows = [{"id": 1, "name": "Joy"}, {"id": 2, "name": "Kin"}]
    fields = {"id": "$.data[*].id", "name": "$.data[*].name"}
    for more in ({"content_field": "$.data[*]"}, {"json_field": fields}):
        assert [
            {"id": row["id"], "name": row["name"]} for row in rows_of(url=f"{service.url}/a", schema=PEOPLE, **more)
        ] == rows
    with pytest.raises(SourceError, match="the response is not JSON"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE)
