"""Services whose pages are shorter than ``batch_size``: only their first page was read, without a word."""

import json
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.errors import SourceError
from tests.connectors.http.http_rows import PEOPLE, ROWS, Noted, paged, rows_of, source_of
from tests.servers.http_service import Asked, HttpService, Said

LIMITED = (
    "are in pages with fewer rows than batch_size = 1,000, although more pages follow, so the service limits the page "
    "size. Set batch_size to that limit"
)


def pages_of(service: HttpService) -> list[int]:
    return [int(asked.query["page"]) for asked in service.asked]


def noted(service: HttpService, **options: Any) -> tuple[list[dict[str, Any]], Noted]:
    context = Noted()
    return read(source_of(url=f"{service.url}/a", schema=PEOPLE, **options), context=context), context


@pytest.mark.parametrize("size", [1, 4, 5, 24, 25])
def test_a_service_that_limits_its_pages_is_read_to_the_end(service: HttpService, size: int) -> None:
    service.at["/a"] = lambda asked: paged(asked, size=size)
    rows, context = noted(service, pageing={"batch_size": 1000})
    assert rows == ROWS
    full = len(ROWS) // size
    assert pages_of(service) == [*range(1, full + 2)]
    limited = full * size if size < len(ROWS) else 0
    assert context.notes == ({LIMITED: limited} if limited else {})
    if limited:
        assert context.examples[LIMITED].endswith(f"/a, page 1, with {size}")


@pytest.mark.parametrize(
    "options",
    [
        {"content_field": "$.data[*]"},
        {"json_field": {"id": "$.data[*].id", "name": "$.data[*].name"}},
    ],
)
def test_pages_in_an_envelope_that_changes(service: HttpService, options: dict[str, Any]) -> None:
    service.at["/a"] = lambda asked: {"asked": len(service.asked), "data": paged(asked, ROWS[:10])}
    rows, context = noted(service, pageing={"batch_size": 1000}, **options)
    assert (rows, context.notes) == (ROWS[:10], {LIMITED: 8})


def test_texts_are_read_to_the_end(service: HttpService) -> None:
    service.at["/a"] = lambda asked: {"data": paged(asked)}
    rows = rows_of(url=f"{service.url}/a", content_field="$.data[*]", pageing={"batch_size": 100})
    assert [row["id"] for text in rows for row in json.loads(text["content"])] == [row["id"] for row in ROWS]


BEHIND = {
    "no rows": [],
    "no page": Said(status=404),
    "a bad request": Said(status=400),
    "the same rows": ROWS[:3],
    "some of the rows in another order": [ROWS[2], ROWS[0]],
    "an object": {"message": "no such page"},
    "no JSON": Said(body="the end"),
}


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
def test_a_short_page_alone_is_the_last_one(service: HttpService, behind: Any) -> None:
    service.at["/a"] = lambda asked: ROWS[:3] if asked.query["page"] == "1" else behind
    rows, context = noted(service, pageing={"batch_size": 1000})
    assert (rows, context.notes, pages_of(service)) == (ROWS[:3], {}, [1, 2])


def test_a_service_without_rows_is_requested_once(service: HttpService) -> None:
    service.at["/a"] = lambda _: []
    assert noted(service, pageing={"batch_size": 1000})[0] == []
    assert pages_of(service) == [1]


def test_a_later_short_page_is_the_last_one_without_a_further_request(service: HttpService) -> None:
    service.at["/a"] = paged
    assert noted(service, pageing={"batch_size": 4})[0] == ROWS
    assert pages_of(service) == list(range(1, 8))


def test_a_failure_behind_a_short_page_is_no_end(service: HttpService) -> None:
    service.at["/a"] = lambda asked: ROWS[:3] if asked.query["page"] == "1" else Said(status=503)
    with pytest.raises(SourceError, match=r"503.*page 1 has fewer rows than batch_size = 1,000; .*total_page_size"):
        noted(service, pageing={"batch_size": 1000}, retry=0)


def test_a_known_number_of_pages_is_noted_where_they_are_short(service: HttpService) -> None:
    service.at["/a"] = paged
    rows, context = noted(service, pageing={"batch_size": 1000, "total_page_size": 3})
    assert rows == ROWS[:12]
    assert context.notes == {f"{LIMITED}, and check total_page_size": 8}
    assert pages_of(service) == [1, 2, 3]


def test_a_flag_that_says_more_needs_no_further_request(service: HttpService) -> None:
    def people(asked: Asked) -> Any:
        return {"data": paged(asked), "more": int(asked.query["page"]) < 3}

    service.at["/a"] = people
    options = {"content_field": "$.data[*]", "pageing": {"batch_size": 1000, "has_more_response_field": "$.more"}}
    rows, context = noted(service, **options)
    assert (rows, context.notes, pages_of(service)) == (ROWS[:12], {}, [1, 2, 3])
