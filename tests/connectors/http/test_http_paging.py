"""Where the next page is, and how its source notices pages that never end."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_core.connectors.http.links import addressed, is_address, next_link
from seatunnel_core.connectors.http.request import Request
from seatunnel_core.connectors.http.retry_after import seconds_of
from seatunnel_core.errors import SourceError, UsageError
from tests.connectors.http.http_rows import PEOPLE, ROWS, paged, rows_of
from tests.servers.http_service import Asked, HttpService, Said

CURSOR = {"page_type": "Cursor", "cursor_response_field": "$.next"}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("2", 2.0),
        ("2.0", 2.0),
        ("0.25", 0.25),
        (" 0 ", 0.0),
        ("9" * 30, 1e30),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 100.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 100.0),
        ("Sun Nov  6 08:49:37 1994", 100.0),
        ("Sun, 06 Nov 1994 08:47:37 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("1e3", None),
        ("Sun, 06 Nov 999999999999 08:49:37 GMT", None),
        ("", None),
    ],
)
def test_the_seconds_to_wait_for(header: str, expected: float | None) -> None:
    """Seconds with decimals, as shops and others send them, ended the job."""
    found = seconds_of(header, 784_111_777 - 100)
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_pause_with_decimals_is_waited_for_and_a_long_one_is_bounded(
    service: HttpService, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    # Other threads of this process sleep, too: the module itself stays as it is.
    monkeypatch.setattr("urllib3.util.retry.time", SimpleNamespace(sleep=waits.append, time=time.time))
    busy = [Said(status=429, headers={"Retry-After": each}) for each in ("0.5", "99999999999", "never")]
    service.answers("/a", *busy, [{"id": 1}])
    assert len(rows_of(url=f"{service.url}/a", schema=PEOPLE)) == 1
    assert waits[:2] == [0.5, 300]
    assert all(each < 1 for each in waits[2:])


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("/x?after=2", "http://u:p@h:1/x?after=2"),
        ("?after=2", "http://u:p@h:1/v/people?after=2"),
        ("//h:1/z?p=2", "http://u:p@h:1/z?p=2"),
        ("./x", "http://u:p@h:1/v/x"),
        ("../x#there", "http://u:p@h:1/x"),
        ("people?p=2", "http://u:p@h:1/v/people?p=2"),
        ("/v/people/2", "http://u:p@h:1/v/people/2"),
        ("http://h:1/x", "http://u:p@h:1/x"),
    ],
)
def test_references_are_relative_to_the_page_that_contains_them(reference: str, expected: str) -> None:
    request = Request(method="GET", url="http://u:p@h:1/v/people?p=1", params={"size": "10"})
    assert is_address(reference, request.url)
    found = addressed(request, reference)
    assert (found.url, found.params) == (expected, {})


@pytest.mark.parametrize("reference", ["//evil/x", "http://h:1@evil/", "https://evil/x", "ftp://h:1/x", "http://[::1"])
def test_no_other_host_gets_the_headers_of_the_job(reference: str) -> None:
    request = Request(method="GET", url="http://h:1/people", headers={"Authorization": "Bearer x"})
    assert is_address(reference, request.url)
    with pytest.raises(SourceError, match=r"on another host, evil;|does not start with http:// or https://"):
        addressed(request, reference)


@pytest.mark.parametrize("cursor", ["abc", "MTIz", "a+b/c==", "/9j/4AAQSkZJRg", "42", "a:b"])
def test_a_cursor_is_no_address(cursor: str) -> None:
    assert not is_address(cursor, "http://h:1/v/people?p=1")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('<https://a/b?p=2>; rel="next", <https://a/b?p=9>; rel="last"', "https://a/b?p=2"),
        ('<https://a/b?p=9>; rel="last",<https://a/b?p=2>;rel=next', "https://a/b?p=2"),
        (r'</x?ids=1,2;3>; title="a, <b>; rel=\"no\""; rel=next', "/x?ids=1,2;3"),
        ('<?p=2>; REL="prev NEXT"', "?p=2"),
        ("<?p=2>; rel='next'", "?p=2"),
        ("<a>; rel=nextish", None),
        ('<a>; rel="next"; anchor="#x"', None),
        ("<a>; rel=prev; rel=next", None),
        ("", None),
    ],
)
def test_link_headers(header: str, expected: str | None) -> None:
    assert next_link(header) == expected


@pytest.mark.parametrize("form", ["/a?after={}", "?after={}", "./a?after={}", "//localhost:{port}/a?after={}"])
def test_pages_follow_relative_addresses(service: HttpService, form: str) -> None:
    """An address without a host was sent as the value of a parameter."""

    def people(asked: Asked) -> Any:
        start = int(asked.query.get("after", 0))
        following = form.format(start + 10, port=service.port) if start + 10 < len(ROWS) else None
        return {"data": ROWS[start : start + 10], "next": following}

    service.at["/a"] = people
    headers = {"Authorization": "Bearer x"}
    options: dict[str, Any] = {"schema": PEOPLE, "content_field": "$.data[*]", "headers": headers}
    assert rows_of(url=f"{service.url}/a", pageing=CURSOR, **options) == ROWS
    assert [asked.query.get("after") for asked in service.asked] == [None, "10", "20"]
    assert all(asked.headers["authorization"] == "Bearer x" for asked in service.asked)


@pytest.mark.parametrize(
    ("more", "end"),
    [("Y", "N"), ("t", "F"), ("on", "off"), ("more", "None"), ("x", "null"), ({"a": 1}, {}), ([1], []), (0.5, 0.0)],
)
def test_forms_of_the_flag_that_pages_follow(service: HttpService, more: Any, end: Any) -> None:
    """A flag ``N`` was one that pages follow, and the job never ended."""

    def people(asked: Asked) -> Any:
        number = int(asked.query["page"])
        assert number < 4
        return {"data": ROWS[number : number + 1], "more": more if number < 3 else end}

    service.at["/a"] = people
    pageing = {"page_field": "page", "has_more_response_field": "$.more"}
    assert rows_of(url=f"{service.url}/a", schema=PEOPLE, content_field="$.data[*]", pageing=pageing) == ROWS[1:4]


@pytest.mark.parametrize("end", [[], {}, 0, "", False])
def test_what_ends_pages_by_cursor(service: HttpService, end: Any) -> None:
    service.at["/a"] = lambda asked: {"data": ROWS[:1], "next": end if "cursor" in asked.query else "x"}
    options: dict[str, Any] = {"schema": PEOPLE, "content_field": "$.data[*]"}
    assert len(rows_of(url=f"{service.url}/a", pageing=CURSOR, **options)) == 2


def test_a_cursor_is_one_value(service: HttpService) -> None:
    """The text ``['x', 'y']`` was sent."""
    service.at["/a"] = lambda _: {"data": ROWS[:1], "next": ["x", "y"]}
    with pytest.raises(
        SourceError, match=r"cursor_response_field = '\$\.next' matches an array of 2, .*a single value is expected"
    ):
        rows_of(url=f"{service.url}/a", schema=PEOPLE, content_field="$.data[*]", pageing=CURSOR)


def test_pages_follow_link_headers(service: HttpService) -> None:
    def people(asked: Asked) -> Said:
        number = int(asked.query.get("p", 1))
        link = {"Link": f'<?p={number + 1}>; rel="next", <?p=1>; rel=first'} if number < 3 else {}
        return Said(body=ROWS[number * 5 - 5 : number * 5], headers=link)

    service.at["/a"] = people
    assert rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing={"page_type": "Link"}) == ROWS[:15]
    assert len(service.asked) == 3


@pytest.mark.parametrize("cycle", ["ab", "abc", "xyab"])
def test_cursors_that_come_again_are_an_error(service: HttpService, cycle: str) -> None:
    """A service whose cursors went a, b, a, b was asked without end."""
    after = dict(zip(cycle, cycle[1:] + cycle[-2:-1], strict=True))
    service.at["/a"] = lambda asked: {"id": 1, "next": after.get(asked.query.get("cursor", ""), cycle[0])}
    with pytest.raises(SourceError, match="contains an earlier cursor, so paging would never end"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing=CURSOR)
    assert len(service.asked) <= len(cycle) + 1


def test_an_address_that_leads_back_is_an_error(service: HttpService) -> None:
    service.at["/a"] = lambda _: {"id": 1, "next": "/b?p=2"}
    service.at["/b"] = lambda _: {"id": 2, "next": "/a"}
    with pytest.raises(SourceError, match="contains an earlier cursor"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing=CURSOR)
    assert len(service.asked) == 2


@pytest.mark.parametrize("pages", [2, 3])
def test_page_numbers_that_wrap_around_are_an_error(service: HttpService, pages: int) -> None:
    """A service that answered page 1 again behind its last page was asked without end."""
    service.at["/a"] = lambda asked: ROWS[(int(asked.query["page"]) - 1) % pages :][:1]
    with pytest.raises(SourceError, match=rf"page {pages + 2} is identical to page 2, and the previous page was also"):
        rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing={})
    twice = [ROWS[0], ROWS[1], ROWS[0], ROWS[2]]
    service.at["/b"] = lambda asked: twice[int(asked.query["page"]) - 1 :][:1]
    assert rows_of(url=f"{service.url}/b", schema=PEOPLE, pageing={}) == twice, "equal pages alone are none"


@pytest.mark.parametrize("flag", [True, "true", 1])
def test_a_flag_says_where_the_pages_end(service: HttpService, flag: Any) -> None:
    def people(asked: Asked) -> Any:
        number = int(asked.query["page"])
        rows = [] if number == 2 else paged(asked)
        return {"data": rows, "more": flag if number < 4 else not flag if flag is True else None, "next": "x"}

    service.at["/a"] = people
    options: dict[str, Any] = {"url": f"{service.url}/a", "schema": PEOPLE, "content_field": "$.data[*]"}
    pageing = {"has_more_response_field": "$.more"}
    assert rows_of(**options, pageing=pageing) == [*ROWS[:4], *ROWS[8:16]], "an empty page is not the last one"
    assert len(service.asked) == 4
    with pytest.raises(SourceError, match=r"has_more_response_field = '\$\.mor' matches nothing"):
        rows_of(**options, pageing={"has_more_response_field": "$.mor"})
    with pytest.raises(UsageError, match="both define the last page"):
        rows_of(**options, pageing={**pageing, "total_page_size": 3})


def test_a_flag_ends_pages_by_cursor(service: HttpService) -> None:
    service.at["/a"] = lambda asked: {"id": 1, "next": "x", "more": "cursor" not in asked.query}
    pageing = {**CURSOR, "has_more_response_field": "$.more"}
    assert len(rows_of(url=f"{service.url}/a", schema=PEOPLE, pageing=pageing)) == 2
