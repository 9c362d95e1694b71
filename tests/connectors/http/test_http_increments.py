"""Increments of a service: what one job after the other asks for and delivers, while its rows come and change."""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from seatunnel_core.connector_api import increments
from seatunnel_core.connector_api.testing import read
from seatunnel_core.connectors.http.source import HttpSource
from seatunnel_core.errors import SourceError, UsageError
from seatunnel_core.work.window import Cursor, Window
from tests.connectors.http.http_rows import source_of
from tests.servers.http_service import Asked, HttpService

PAGE = 4
SCHEMA = {"fields": {"id": "bigint", "changed": "timestamp_tz"}}


def at(minutes: float) -> str:
    return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)).isoformat()


class Api:
    """A service with rows in the order of their changes, from ``since`` on and in pages; and the nightly job."""

    def __init__(self, service: HttpService, declared: str = "timestamp_tz") -> None:
        self.service = service
        self.declared = declared
        self.rows: dict[int, Any] = {}
        self.cursor: Cursor | None = None
        service.at["/orders"] = self.answer

    def answer(self, asked: Asked) -> list[dict[str, Any]]:
        since = asked.query.get("since")
        rows = sorted(({"id": number, "changed": value} for number, value in self.rows.items()), key=self.order)
        if since is not None:
            low = self.order({"id": -1, "changed": since})
            rows = [row for row in rows if self.order(row) >= low]
        first = (int(asked.query["page"]) - 1) * PAGE
        return rows[first : first + PAGE]

    def order(self, row: dict[str, Any]) -> Any:
        value = row["changed"]
        if self.declared == "timestamp_tz" and value is not None:
            return datetime.fromisoformat(value), row["id"]
        return float(value or 0), row["id"]

    def source(self, more: Any = None, **incremental: Any) -> HttpSource:
        asked = {"key": ["id"], "param": "since", **incremental}
        fields = {"id": "bigint", "changed": self.declared}
        block = {"column": "changed", **{name: value for name, value in asked.items() if value is not None}}
        return source_of(
            url=f"{self.service.url}/orders",
            **{"schema": {"fields": fields}, "pageing": {"batch_size": PAGE}, **(more or {})},
            incremental=block,
        )

    def night(self, between: Callable[[], None] = lambda: None, **incremental: Any) -> list[int]:
        """Return the ids that one job delivers; ``between`` happens when it is planned and has read nothing."""
        source = self.source(**incremental)
        window = Window.from_record(source.window(self.cursor).record())
        between()
        source.read_window(window)
        rows = read(source)
        self.delivered = rows
        self.cursor = window.end
        return sorted(row["id"] for row in rows)


@pytest.fixture
def api(service: HttpService) -> Api:
    return Api(service)


def test_each_night_asks_for_what_came_since_the_one_before(api: Api) -> None:
    api.rows = {number: at(number) for number in range(10)}
    assert api.night() == list(range(10))
    assert all("since" not in asked.query for asked in api.service.asked)
    api.service.asked.clear()
    assert api.night() == []
    api.rows |= {10: at(20), 3: at(21)}
    assert api.night() == [3, 10]
    assert {asked.query["since"] for asked in api.service.asked} == {"2026-01-01T00:09:00Z"}
    pages = [int(asked.query["page"]) for asked in api.service.asked]
    assert pages == [1, 2] * 4, "each time it is planned and read, also the page behind a short one"


def test_a_service_that_has_no_such_parameter_is_asked_for_everything(api: Api) -> None:
    api.rows = {number: at(number) for number in range(10)}
    assert api.night(param=None) == list(range(10))
    api.rows |= {10: at(20), 3: at(21)}
    assert api.night(param=None) == [3, 10]
    assert all("since" not in asked.query for asked in api.service.asked)


def test_a_service_without_rows_has_no_cursor_yet(api: Api) -> None:
    assert api.night() == []
    assert api.cursor is None
    api.rows = {1: at(0)}
    assert api.night() == [1]


def test_rows_of_the_value_at_the_border_come_once_whenever_they_arrive(api: Api) -> None:
    api.rows = {1: at(5)}
    assert api.night(partial(api.rows.update, {2: at(5)})) == [1], "2 came after the planning, and is the next job's"
    api.rows[3] = at(5)
    assert api.night() == [2, 3]
    assert api.night() == []


def test_late_rows_come_within_the_lag_and_none_twice(api: Api) -> None:
    api.rows = {number: at(number) for number in range(10)}
    assert api.night(partial(api.rows.update, {20: at(8.5)}), lag="5m") == list(range(10))
    api.rows |= {21: at(4.5), 22: at(3.5)}
    assert api.night(lag="5m") == [20, 21], "22 is later than the lag"
    assert api.night(lag="5m") == []


def test_a_night_with_late_rows_alone_repeats_none(api: Api) -> None:
    api.rows = {number: at(number) for number in range(10)}
    assert api.night(lag="5m") == list(range(10))
    api.rows[20] = at(5)
    assert api.night(lag="5m") == [20]
    assert api.night(lag="5m") == []


def test_a_larger_lag_repeats_nothing_that_is_not_asked_for(api: Api) -> None:
    api.rows = {number: at(number) for number in range(10)}
    assert api.night(lag="2m") == list(range(10))
    for _ in range(3):
        assert api.night(lag="1h") == []
    api.rows[20] = at(8)
    assert api.night(lag="1h") == [20]


def test_it_begins_at_start_and_earlier_rows_never_come(api: Api) -> None:
    api.rows = {number: at(number) for number in range(5)}
    assert api.night(start="2026-01-01T00:03:00+00:00", lag="1h") == [3, 4]
    assert api.service.asked[0].query["since"] == "2026-01-01T00:03:00+00:00", "as it stands"
    assert api.night(lag="1h") == []


def test_a_cursor_that_was_set_leaves_out_its_own_value(api: Api) -> None:
    api.rows = {number: at(number) for number in range(5)}
    api.cursor = Cursor(value=at(2))
    assert api.night(lag="1h") == [3, 4]
    assert api.night(lag="1h") == []


@pytest.mark.parametrize("declared", ["bigint", "decimal(10, 2)"])
def test_numbers_have_a_lag_that_is_one(service: HttpService, declared: str) -> None:
    api = Api(service, declared)
    api.rows = {number: number * 10 for number in range(1, 10)}
    assert api.night(lag=25) == list(range(1, 10))
    api.rows |= {20: 66, 21: 64}
    assert api.night(lag=25) == [20]
    assert float(service.asked[-1].query["since"]) == 65
    with pytest.raises(SourceError, match=r"lag must be a .*, not '5m'"):
        api.source(lag="5m")


def test_moments_are_compared_and_not_their_texts(service: HttpService) -> None:
    api = Api(service)
    api.rows = {1: "2026-01-01T10:00:00Z", 2: "2026-01-01T10:00:00.5Z", 3: "2026-01-01T12:30:00+02:00"}
    assert api.night() == [1, 2, 3]
    assert api.cursor is not None
    assert api.cursor.value == "2026-01-01T10:30:00Z"
    api.rows |= {4: "2026-01-01T11:00:00+01:00", 5: "2026-01-01T11:45:00+01:00"}
    assert api.night(param=None) == [5]


def test_rows_without_a_value_are_refused_or_left_out(api: Api) -> None:
    api.rows = {1: at(0)}
    answer = api.answer
    api.service.at["/orders"] = lambda asked: [*answer(asked), {"id": 2, "changed": None}][:PAGE]
    with pytest.raises(SourceError, match=r"1 row of http.*/orders, because 'changed' is null.*nulls = SKIP"):
        api.night()
    assert api.night(nulls="SKIP") == [1]


def test_bad_rows_are_told_before_the_job_begins_or_left_out(api: Api) -> None:
    api.rows = {1: at(0)}
    answer = api.answer
    api.service.at["/orders"] = lambda asked: [*answer(asked), {"id": 2, "changed": "yesterday"}]
    with pytest.raises(SourceError, match="'yesterday' is not of type timestamp_tz"):
        api.source().window(None)
    window = api.source({"row_error_handle_way": "SKIP"}).window(None)
    assert window.upto is not None
    assert window.upto.value == "2026-01-01T00:00:00Z"


def test_a_value_in_the_future_is_no_cursor(api: Api) -> None:
    api.rows = {1: at(0), 2: "9999-12-31T00:00:00+00:00"}
    with pytest.raises(SourceError, match="is 9999-12-31T00:00:00Z, which is in the future"):
        api.source().window(None)


def test_more_rows_at_the_border_than_the_state_can_have_are_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(increments, "MOST_DIGESTS", 3)
    api.rows = dict.fromkeys(range(4), at(0))
    with pytest.raises(SourceError, match=r"the limit of 3 in the state, which stores .*smaller lag"):
        api.source().window(None)
    api.rows = {number: at(number) for number in range(40)}
    assert api.night() == list(range(40)), "those below the border need not be remembered"


def test_a_row_that_moves_to_the_next_page_comes_once_and_is_told(api: Api) -> None:
    api.rows = {number: at(number) for number in range(8)}
    answer, turns = api.answer, itertools.count()

    def moving(asked: Asked) -> list[dict[str, Any]]:
        if next(turns) == 4:  # of the reading, when its first page was answered: another row comes in front of all
            api.rows[-1] = at(-1)
        return answer(asked)

    api.service.at["/orders"] = moving
    assert api.night() == list(range(8))


def test_the_parameter_may_stand_in_the_body(service: HttpService) -> None:
    service.at["/orders"] = lambda asked: [{"id": 1, "changed": 7}] if int(asked.json["from"]) < 8 else []
    options: dict[str, Any] = {"url": f"{service.url}/orders", "method": "POST", "body": '{"from": 0}'}
    incremental = {"column": "changed", "key": ["id"], "param": "from"}
    source = source_of(**options, schema={"fields": {"id": "int", "changed": "bigint"}}, incremental=incremental)
    window = source.window(None)
    assert window.end is not None
    source.window(window.end)
    assert [asked.json["from"] for asked in service.asked] == [0, 7]


@pytest.mark.parametrize(
    ("more", "incremental", "said"),
    [
        ({"schema": None}, {}, "declare schema, for example"),
        ({}, {"key": None}, r"Set key"),
        ({}, {"key": ["nr"]}, "schema has no column 'nr'; it has id, changed"),
        ({"schema": {"fields": {"id": "int", "changed": "double"}}}, {}, "cannot be compared"),
        ({"schema": {"fields": {"id": "int", "changed": "string"}}}, {"lag": "5m"}, "not supported for strings"),
        ({}, {"start": "yesterday"}, "'yesterday' is not a value of 'changed', which has the type timestamp_tz"),
        ({"pageing": {"total_page_size": 3}}, {}, "remove total_page_size"),
    ],
)
def test_what_does_not_go_together_is_refused(
    service: HttpService, more: dict[str, Any], incremental: dict[str, Any], said: str
) -> None:
    more = {name: value for name, value in {"schema": SCHEMA, **more}.items() if value is not None}
    block = {"column": "changed", "key": ["id"], **incremental}
    block = {name: value for name, value in block.items() if value is not None}
    with pytest.raises((UsageError, SourceError), match=said):
        source_of(url=f"{service.url}/orders", incremental=block, **more)


def test_a_streaming_job_has_no_increments(api: Api) -> None:
    with pytest.raises(UsageError, match=r"set job\.mode = BATCH"):
        api.source().run_in(streaming=True)


def test_an_increment_can_be_read_again_unless_the_job_denies_it(api: Api) -> None:
    assert api.source().replayable
    assert not api.source({"replayable": False}).replayable


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.torture) for each in range(1, 20))])
def test_whatever_comes_within_the_lag_is_delivered_once(service: HttpService, seed: int) -> None:
    """Rows arrive in no order, before and while jobs read, and change; each version comes once, and none is left."""
    draw, api, came, written = random.Random(seed), Api(service), Counter[tuple[int, str]](), set[tuple[int, str]]()

    def arrive(minute: int, count: int) -> None:
        for _ in range(draw.randrange(count)):
            number, moment = draw.randrange(60), at(minute - draw.randrange(10))
            if moment > api.rows.get(number, ""):
                api.rows[number] = moment
                written.add((number, moment))

    for night in range(9):
        arrive(night * 7, draw.choice([3, 12]))
        api.night(partial(arrive, night * 7 + 2, 5), lag=draw.choice(["20m", "25m", "1h"]))
        came.update((row["id"], row["changed"].isoformat()) for row in api.delivered)
    api.night(lag="20m")
    came.update((row["id"], row["changed"].isoformat()) for row in api.delivered)
    assert not [each for each, times in came.items() if times > 1], "twice"
    assert set(api.rows.items()) <= set(came), "left out"
    assert set(came) <= written
