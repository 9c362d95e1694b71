"""The source ``Http`` against a service in this process."""

import base64
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from seatunnel_core.connectors.http.source import HttpSource
from seatunnel_core.connectors.source import Item, Planning, PollResult, Source
from seatunnel_core.connectors.testing import (
    EndlessSourceConformance,
    Skipped,
    SourceConformance,
    options_of,
    plan,
    read,
)
from seatunnel_core.errors import RowError, SourceError, UsageError
from tests.servers.http_service import Asked, HttpService, Said, certificate_in, http_service

PEOPLE = {"fields": {"id": "bigint", "name": "string"}}
ROWS = [{"id": number, "name": None if number % 5 == 0 else f"näme {number}"} for number in range(1, 26)]
SHOP = {
    "store": {
        "book": [
            {"category": "reference", "author": {"name": "Rees"}, "price": 8.95},
            {"category": "fiction", "author": {"name": "Waugh"}, "price": 12.990},
        ],
        "bicycle": {"color": "red"},
    },
    "total": 2,
}


@pytest.fixture(scope="module")
def running() -> Iterator[HttpService]:
    with http_service() as service:
        yield service


@pytest.fixture
def service(running: HttpService) -> HttpService:
    running.at.clear()
    running.asked.clear()
    return running


def source_of(**options: Any) -> HttpSource:
    return HttpSource(options_of(HttpSource, {"retry_backoff_multiplier_ms": 1, **options}))


def rows_of(parallelism: int = 1, **options: Any) -> list[dict[str, Any]]:
    source = source_of(**options)
    return read(source, plan(source, Planning(parallelism=parallelism)))


def paged(asked: Asked, rows: Sequence[Any] = ROWS, size: int = 4) -> list[Any]:
    first = (int(asked.query["page"]) - 1) * size
    return list(rows[first : first + size])


# -- the kit -------------------------------------------------------------------------------------------------------


class TestPages(SourceConformance):
    source_class = HttpSource

    @pytest.fixture(autouse=True)
    def people(self, service: HttpService) -> None:
        self.url = f"{service.url}/people"
        service.at["/people"] = lambda asked: {"data": paged(asked)}

    def options(self) -> Mapping[str, Any]:
        pageing = {"total_page_size": 7, "batch_size": 4}
        return {"url": self.url, "content_field": "$.data[*]", "schema": PEOPLE, "pageing": pageing}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class TestPolls(EndlessSourceConformance):
    """It is asked again for ever; three polls are looked at."""

    source_class = HttpSource
    polls: ClassVar[int] = 3

    @pytest.fixture(autouse=True)
    def people(self, service: HttpService) -> None:
        self.url = f"{service.url}/people"
        service.at["/people"] = lambda _: ROWS[:5]

    def options(self) -> Mapping[str, Any]:
        return {"url": self.url, "schema": PEOPLE, "poll_interval_millis": 20}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS[:5] * self.polls

    def looks(self, source: Source, memory: Item) -> list[PollResult]:
        found: list[PollResult] = []
        while not memory or memory["polls"] < self.polls:
            found.append(source.poll(memory, self.planning))
            memory = found[-1].memory
        return found

    def wait(self, pause_ms: int) -> None:
        assert pause_ms == 20


# -- what answers are ----------------------------------------------------------------------------------------------


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
    with pytest.raises(SourceError, match=r"json_field y = .* finds nothing; the answer is an object with rows"):
        rows_of(**options, json_field={"y": "$.rows[*].x.z"})
    for name in ("json_filed_missed_return_null", "json_field_missed_return_null"):
        assert rows_of(**options, json_field={"y": "$.rows[*].x.z"}, **{name: True}) == [{"y": None}] * 2


def test_a_content_field_that_finds_nothing_is_an_error_unless_what_holds_it_is_empty(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"data": [], "nil": None}
    options: dict[str, Any] = {"url": f"{service.url}/a", "schema": PEOPLE}
    for path in ("$.data[*]", "$.data", "$.data[?@.id > 3]", "$.nil[*]", "$.nil"):
        assert rows_of(**options, content_field=path) == []
    with pytest.raises(SourceError, match=r"content_field = '\$.dta\[\*\]' finds nothing"):
        rows_of(**options, content_field="$.dta[*]")
    assert rows_of(**options, content_field="$.dta[*]", json_filed_missed_return_null=True) == []


def test_an_answer_about_something_else_is_no_row_of_nulls(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"code": 7, "message": "no such shop"}
    with pytest.raises(
        SourceError, match="no row has any of the columns id, name; the first is an object with code, mess"
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
    with pytest.raises(SourceError, match=r"/a: the answer is not (UTF-8|gbk): .*0xff"):
        rows_of(url=f"{service.url}/a", **({"schema": schema} if schema else {}))


def test_an_encoding_that_is_not_known_is_told(service: HttpService) -> None:
    """It ended in an error of Python."""
    service.at["/a"] = lambda _: Said(body=b"[]", headers={"Content-Type": "text/plain; charset=no-such"})
    with pytest.raises(SourceError, match="/a: the answer is in 'no-such', an encoding that is not known"):
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
    with pytest.raises(RowError, match=r"/a, row 2, column 'id': 'x' is not of type bigint") as told:
        read(source, plan(source))
    assert "abcdefgh" not in str(told.value)
    skipped = Skipped(fail=False)
    assert read(source, plan(source), context=skipped) == [{"id": 1, "name": None}]
    assert len(skipped.errors) == 2


# -- what is asked -------------------------------------------------------------------------------------------------


def test_a_get_has_headers_and_params(service: HttpService) -> None:
    service.at["/a"] = lambda _: []
    options: dict[str, Any] = {"headers": {"X-Key": "k1"}, "params": {"from": "a b", "at": "1&2"}}
    rows_of(url=f"{service.url}/a?fixed=0", schema=PEOPLE, **options)
    (asked,) = service.asked
    assert (asked.method, asked.query) == ("GET", {"fixed": "0", "from": "a b", "at": "1&2"})
    assert (asked.headers["x-key"], "content-type" in asked.headers) == ("k1", False)


@pytest.mark.parametrize(
    ("more", "kind", "body"),
    [
        ({"body": '{"a": "é"}'}, "application/json", '{"a": "é"}'),
        ({"body": "<a/>", "headers": {"content-type": "text/xml"}}, "text/xml", "<a/>"),
        (
            {"body": '{"a": "b c", "n": 1}', "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
            "application/x-www-form-urlencoded",
            "a=b+c&n=1",
        ),
        (
            {"params": {"a": "b c"}, "keep_params_as_form": True},
            "application/x-www-form-urlencoded",
            "a=b+c",
        ),
    ],
)
def test_a_post_has_a_body_of_json_or_a_form(service: HttpService, more: Any, kind: str, body: str) -> None:
    service.at["/a"] = lambda _: []
    rows_of(url=f"{service.url}/a", method="post", schema=PEOPLE, **more)
    (asked,) = service.asked
    assert (asked.method, asked.headers["content-type"], asked.body, asked.query) == ("POST", kind, body, {})


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ({}, lambda asked: asked.query["page"]),
        ({"params": {"page": "0"}}, lambda asked: asked.query["page"]),
        ({"body": '{"page": 0, "a": 1}', "method": "POST"}, lambda asked: asked.json["page"]),
        ({"body": '{"page": "0"}', "method": "POST"}, lambda asked: asked.json["page"]),
        ({"headers": {"page": "0"}}, lambda asked: asked.headers["page"]),
        ({"body": '{"page": 0}', "method": "POST", "keep_page_param_as_http_param": True}, lambda a: a.query["page"]),
        ({"params": {"p": "x-${page}"}, "pageing": True}, lambda asked: asked.query["p"].removeprefix("x-")),
        ({"headers": {"p": "${page}"}, "pageing": True}, lambda asked: asked.headers["p"]),
        ({"body": '{"at": {"n": ${page}}}', "method": "POST", "pageing": True}, lambda a: a.json["at"]["n"]),
    ],
)
def test_the_number_of_the_page_stands_where_it_is_asked_for(service: HttpService, more: Any, seen: Any) -> None:
    service.at["/a"] = lambda _: []
    pageing = {"total_page_size": 3, "start_page_number": 2, "use_placeholder_replacement": "pageing" in more}
    rows_of(**{"url": f"{service.url}/a", "schema": PEOPLE, **more, "pageing": pageing})
    assert [int(seen(asked)) for asked in service.asked] == [2, 3]


@pytest.mark.parametrize("parallelism", [1, 2, 8])
@pytest.mark.parametrize("pageing", [{"total_page_size": 7}, {"batch_size": 4}, {}])
def test_pages_end_with_the_total_or_with_the_rows(service: HttpService, parallelism: int, pageing: Any) -> None:
    service.at["/a"] = paged
    assert rows_of(parallelism, url=f"{service.url}/a", schema=PEOPLE, pageing=pageing) == ROWS
    assert [int(asked.query["page"]) for asked in service.asked] == [*range(1, 8), *([8] if not pageing else [])]


def test_a_service_that_does_not_look_at_the_page_is_noticed(service: HttpService) -> None:
    service.at["/a"] = lambda _: ROWS[:3]
    with pytest.raises(SourceError, match="page 2 is the same as the page before"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing={"page_field": "p"})


@pytest.mark.parametrize("way", ["key", "param", "placeholder", "body"])
def test_a_walk_by_cursor_begins_without_one(service: HttpService, way: str) -> None:
    def people(asked: Asked) -> Any:
        given = asked.json.get("after") if asked.body else asked.query.get("after")
        start = int(given or 0)
        following = start + 10 if start + 10 < len(ROWS) else None
        return {"data": ROWS[start : start + 10], "meta": {"next": following}}

    service.at["/a"] = people
    pageing: dict[str, Any] = {"page_type": "Cursor", "cursor_field": "after", "cursor_response_field": "$.meta.next"}
    ways: dict[str, dict[str, Any]] = {
        "key": {},
        "param": {"keep_page_param_as_http_param": True},
        "placeholder": {"params": {"after": "${after}"}},
        "body": {"method": "POST", "body": '{"after": "${after}"}'},
    }
    more = ways[way]
    pageing["use_placeholder_replacement"] = way in ("placeholder", "body")
    options: dict[str, Any] = {"url": f"{service.url}/a", "schema": PEOPLE, "content_field": "$.data[*]"}
    assert rows_of(**options, **more, pageing=pageing) == ROWS
    assert "after" not in service.asked[0].query
    assert "after" not in (service.asked[0].body or "")


def test_a_cursor_may_be_the_url_of_the_next_page_on_the_same_host(service: HttpService) -> None:
    def people(asked: Asked) -> Any:
        start = int(asked.query.get("from", 0))
        following = f"{service.url}/a?from={start + 10}" if start + 10 < len(ROWS) else None
        return {"data": ROWS[start : start + 10], "links": {"next": following}}

    service.at["/a"] = people
    service.at["/b"] = lambda _: {"data": ROWS[:1], "links": {"next": "https://elsewhere.example/a?from=10"}}
    pageing = {"page_type": "Cursor", "cursor_response_field": "$.links.next"}
    options: dict[str, Any] = {
        "schema": PEOPLE,
        "content_field": "$.data[*]",
        "pageing": pageing,
        "headers": {"X-Key": "key-of-mine"},
    }
    assert rows_of(url=f"{service.url}/a", params={"size": "10"}, **options) == ROWS
    assert [asked.query for asked in service.asked] == [{"size": "10"}, {"from": "10"}, {"from": "20"}]
    assert service.asked[-1].headers["x-key"] == "key-of-mine"
    with pytest.raises(
        SourceError, match=r"/b: the next page is on another host, elsewhere\.example, which is not asked"
    ):
        rows_of(url=f"{service.url}/b", **options)


def test_a_cursor_that_does_not_move_is_an_error(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"id": 1, "next": "x"}
    pageing = {"page_type": "Cursor", "cursor_response_field": "$.next"}
    with pytest.raises(SourceError, match="page 2 gives the cursor with which it was asked for"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing=pageing)


def test_a_redirect_is_followed_on_the_same_host_only(service: HttpService) -> None:
    service.at["/old"] = lambda _: Said(status=301, headers={"Location": f"{service.url}/new"})
    service.at["/new"] = lambda _: [{"id": 1}]
    service.at["/away"] = lambda _: Said(status=302, headers={"Location": "https://elsewhere.example/x?k=v"})
    headers = {"X-Api-Key": "secret-of-mine"}
    assert len(rows_of(url=f"{service.url}/old", schema=PEOPLE, headers=headers)) == 1
    assert service.of("/new")[0].headers["x-api-key"] == "secret-of-mine"
    with pytest.raises(SourceError, match=r"answered 302 and leads to https://elsewhere\.example: requests"):
        rows_of(url=f"{service.url}/away", schema=PEOPLE, headers=headers)


def test_nothing_of_netrc_replaces_a_header(
    service: HttpService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine localhost login me password wrong")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    service.at["/a"] = lambda _: []
    rows_of(url=f"{service.url}/a", schema=PEOPLE, headers={"Authorization": "Bearer right"})
    rows_of(url=f"{service.url}/a".replace("//", "//me:p%40ss@"), schema=PEOPLE)
    first, second = service.asked
    assert first.headers["authorization"] == "Bearer right"
    assert base64.b64decode(second.headers["authorization"].removeprefix("Basic ")) == b"me:p@ss"


# -- failures ------------------------------------------------------------------------------------------------------


def test_a_service_that_is_busy_is_asked_again_after_the_pause_that_it_names(service: HttpService) -> None:
    service.answers("/a", Said(status=429, headers={"Retry-After": "1"}), Said(status=503), [{"id": 1}])
    begun = time.monotonic()
    assert len(rows_of(url=f"{service.url}/a", schema=PEOPLE)) == 1
    assert 0.9 < time.monotonic() - begun < 3
    assert len(service.asked) == 3


def test_a_quota_that_is_used_up_is_told_and_may_pass(service: HttpService) -> None:
    service.at["/a"] = lambda _: Said(status=429, body="too many")
    with pytest.raises(SourceError, match=r"answered 429 Too Many Requests: the quota is used up.*too many") as told:
        rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=2)
    assert (told.value.retryable, len(service.asked)) == (True, 3)


def test_an_answer_that_breaks_off_may_be_asked_for_again(service: HttpService) -> None:
    service.at["/a"] = lambda _: Said(body=[{"id": 1}], cut=True)
    with pytest.raises(SourceError, match="the connection broke") as told:
        rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=0)
    assert told.value.retryable


def test_an_error_of_a_file_that_is_being_handled_is_no_reason(service: HttpService, tmp_path: Path) -> None:
    """Python links what is raised to what was being handled: a broken connection was told as ``file exists``."""
    service.at["/a"] = lambda _: Said(body=[{"id": 1}], cut=True)
    try:
        tmp_path.mkdir()
    except FileExistsError:
        with pytest.raises(SourceError, match="the connection broke"):
            rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=0)


def test_an_answer_that_does_not_come_is_not_waited_for(service: HttpService) -> None:
    service.at["/a"] = lambda _: time.sleep(0.5)
    with pytest.raises(SourceError, match="no answer within socket_timeout_ms = 50") as told:
        rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=0, socket_timeout_ms=50)
    assert told.value.retryable


def test_certificates_are_verified_and_shown(tmp_path: Path) -> None:
    file = certificate_in(tmp_path)
    with http_service(file, client_ca=file) as service:
        service.at["/a"] = lambda _: [{"id": 1}]
        options: dict[str, Any] = {"url": f"{service.url}/a", "schema": PEOPLE, "retry": 0}
        with pytest.raises(SourceError, match=r"its certificate is not accepted .*tls_ca_file") as told:
            rows_of(**options)
        assert not told.value.retryable
        assert len(rows_of(**options, tls_ca_file=str(file), tls_certificate_file=str(file))) == 1
        with pytest.raises(SourceError):
            rows_of(**options, tls_ca_file=str(file))
        with pytest.raises(SourceError, match=r"gone\.pem"):
            rows_of(**options, tls_ca_file=str(tmp_path / "gone.pem"))


def test_the_proxy_of_the_environment_is_asked(service: HttpService, monkeypatch: pytest.MonkeyPatch) -> None:
    service.at["/a"] = lambda _: [{"id": 1}]
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", service.url)
    assert len(rows_of(url="http://shop.invalid/a", schema=PEOPLE)) == 1
    assert service.asked[0].headers["host"] == "shop.invalid"
    monkeypatch.setenv("HTTP_PROXY", "http://localhost:1")
    with pytest.raises(
        SourceError, match=r"http://shop\.invalid/a: the proxy that the environment names .* cannot be used"
    ):
        rows_of(url="http://shop.invalid/a", schema=PEOPLE, retry=0)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_job_asks_once(service: HttpService, method: str) -> None:
    """The first page was asked for when the job was planned, and again when it was read: a request may take something,
    or be paid."""
    service.at["/next"] = lambda _: [{"id": 1, "name": "a"}]
    source = source_of(url=f"{service.url}/next", method=method, schema=PEOPLE)
    source.require_input()
    assert len(read(source, plan(source))) == len(service.asked) == 1
    source.planned_schemas()
    assert len(service.asked) == (2 if method == "GET" else 1), (
        "--check looks at the first page, where that does no harm"
    )


@pytest.mark.parametrize(
    ("more", "query", "body", "remarks"),
    [
        ({}, {"a": "1"}, "a=1", 1),
        ({"keep_params_as_form": True}, {}, "a=1", 0),
        ({"keep_params_as_form": False}, {"a": "1"}, "", 0),
        ({"body": "{}"}, {"a": "1"}, "{}", 0),
        ({"headers": {"Content-Type": "application/json"}}, {"a": "1"}, "", 1),
    ],
)
def test_params_of_a_post(service: HttpService, more: Any, query: Any, body: str, remarks: int) -> None:
    """SeaTunnel 2.3.8 sends them as a form, later versions in the url: the former's jobs got no rows, or wrong ones."""
    service.at["/a"] = lambda _: []
    source = source_of(url=f"{service.url}/a", method="POST", params={"a": "1"}, schema=PEOPLE, **more)
    read(source, plan(source))
    (asked,) = service.asked
    assert (asked.query, asked.body, len(source.remarks)) == (query, body, remarks)


def test_paths_read_lax_json(service: HttpService) -> None:
    service.at["/a"] = lambda _: "{'data': [{id: 1, name: Joy}, {id: 2, 'name': 'Kin',},]}"
    rows = [{"id": 1, "name": "Joy"}, {"id": 2, "name": "Kin"}]
    fields = {"id": "$.data[*].id", "name": "$.data[*].name"}
    for more in ({"content_field": "$.data[*]"}, {"json_field": fields}):
        assert [
            {"id": row["id"], "name": row["name"]} for row in rows_of(url=f"{service.url}/a", schema=PEOPLE, **more)
        ] == rows
    with pytest.raises(SourceError, match="the answer is not JSON"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE)


def test_no_secret_is_in_a_message(service: HttpService) -> None:
    service.at["/a"] = lambda asked: Said(
        status=401, body=f"no user has {dict(asked.headers)} {asked.query} {asked.body}"
    )
    secrets = {
        "url": f"{service.url}/a?url-key=url-secret",
        "headers": {"Authorization": "Bearer header-secret", "X-Key": "other-secret"},
        "params": {"key": "param-secret"},
        "body": '{"auth": {"api_key": "body-secret"}}',
        "method": "POST",
    }
    source = source_of(**secrets, schema=PEOPLE)
    with pytest.raises(SourceError, match=r"answered 401 Unauthorized: look at headers and params") as told:
        read(source, plan(source))
    assert "secret" not in str(told.value) + repr(source.options) + repr(source._written())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"url": "ftp://host/x"}, "expected http://host:port/path"),
        ({"json_field": {"x": "$.x"}, "schema": PEOPLE}, "schema has no column 'x'; it has id, name"),
        ({"json_field": {"x": "$.x"}}, "it needs schema"),
        ({"content_field": "$.[", "schema": PEOPLE}, "'content_field': the path '\\$.\\[' cannot be understood"),
        ({"schema": PEOPLE, "format": "text"}, "format = text has columns of its own"),
        ({"keep_params_as_form": True}, "a form is sent with method = POST"),
        ({"pageing": {"page_type": "Cursor"}}, "cursor_response_field is missing"),
        ({"pageing": {"use_placeholder_replacement": True}}, r"\$\{page\} has to stand in url"),
        ({"pageing": {"total_page_size": 2, "start_page_number": 3}}, "total_page_size = 2 is before"),
        ({"format": "binary", "content_field": "$.a"}, "a file .format = binary. is taken as it is"),
        ({"tls_key_file": "x"}, "it belongs to tls_certificate_file"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        source_of(**{"url": "http://localhost/a", **options})


def test_only_who_knows_that_answers_stay_the_same_promises_exactly_once() -> None:
    assert not source_of(url="http://localhost/a").replayable
    assert source_of(url="http://localhost/a", replayable=True).replayable
