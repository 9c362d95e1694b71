"""How the source ``Http`` asks a service in this process: the kit's suites, requests, pages, cursors and options."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from seatunnel_core.connector_api.source import Fact, PollCursor, PollResult, Source
from seatunnel_core.connector_api.testing import (
    EndlessSourceConformance,
    SourceConformance,
    read,
)
from seatunnel_core.connectors.http.source import HttpSource
from seatunnel_core.errors import SourceError, UsageError
from tests.connectors.http.http_rows import PEOPLE, ROWS, paged, rows_of, source_of
from tests.servers.http_service import Asked, HttpService


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

    def looks(self, source: Source, memory: PollCursor, facts: Sequence[Fact] = ()) -> list[PollResult]:
        assert not facts
        found: list[PollResult] = []
        while not memory or memory["polls"] < self.polls:
            found.append(source.poll(memory, self.planning))
            memory = found[-1].cursor
        return found

    def wait(self, pause_ms: int) -> None:
        assert pause_ms == 20


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
    with pytest.raises(SourceError, match="page 2 is identical to the previous page"):
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
    with pytest.raises(SourceError, match=r"/b: the next page is on another host, elsewhere\.example;"):
        rows_of(url=f"{service.url}/b", **options)


def test_a_cursor_that_does_not_move_is_an_error(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"id": 1, "next": "x"}
    pageing = {"page_type": "Cursor", "cursor_response_field": "$.next"}
    with pytest.raises(SourceError, match="page 2 contains the same cursor as its request"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing=pageing)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_job_asks_once(service: HttpService, method: str) -> None:
    """The first page was asked for when the job was planned, and again when it was read: a request may take something,
    or be paid."""
    service.at["/next"] = lambda _: [{"id": 1, "name": "a"}]
    source = source_of(url=f"{service.url}/next", method=method, schema=PEOPLE)
    source.require_input()
    assert len(read(source)) == len(service.asked) == 1
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
    read(source)
    (asked,) = service.asked
    assert (asked.query, asked.body, len(source.remarks)) == (query, body, remarks)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "ftp://host/x"}, "expected http://host:port/path"),
        ({"json_field": {"x": "$.x"}, "schema": PEOPLE}, "schema has no column 'x'; it has id, name"),
        ({"json_field": {"x": "$.x"}}, "requires schema"),
        ({"content_field": "$.[", "schema": PEOPLE}, "'content_field': the path '\\$.\\[' cannot be parsed"),
        ({"schema": PEOPLE, "format": "text"}, "format = text has fixed columns"),
        ({"keep_params_as_form": True}, "'keep_params_as_form': requires method = POST"),
        ({"pageing": {"page_type": "Cursor"}}, "cursor_response_field is missing"),
        ({"pageing": {"use_placeholder_replacement": True}}, r"requires \$\{page\} in url"),
        ({"pageing": {"total_page_size": 2, "start_page_number": 3}}, "total_page_size = 2 is before"),
        ({"format": "binary", "content_field": "$.a"}, "not supported with format = binary"),
        ({"tls_key_file": "x"}, "requires tls_certificate_file"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        source_of(**{"url": "http://localhost/a", **options})


def test_only_who_knows_that_answers_stay_the_same_promises_exactly_once() -> None:
    assert not source_of(url="http://localhost/a").replayable
    assert source_of(url="http://localhost/a", replayable=True).replayable
