"""Increments of a service whose columns are inferred, with child tables."""

from typing import Any

import pytest

from seatunnel_core.connector_api.testing import plan
from seatunnel_core.connector_api.testing.drive import Skipped, shipped
from seatunnel_core.connectors.http.inferred_increments import kind_of
from seatunnel_core.connectors.http.source import HttpSource
from seatunnel_core.errors import SourceError, UsageError
from seatunnel_core.work.window import Cursor, Window
from tests.connectors.http.http_rows import source_of
from tests.servers.http_service import Asked, HttpService

PAGE = 3


class Api:
    """A service with rows in the order of their changes, and the nightly job."""

    def __init__(self, service: HttpService, column: str = "at", **more: Any) -> None:
        self.service, self.column = service, column
        self.more = {
            "schema_sample": 1,
            "nesting": "tables",
            "schema": {"table": "orders", "primaryKey": {"name": "pk", "columnNames": ["id"]}},
            **more,
        }
        self.rows: list[dict[str, Any]] = []
        self.cursor: Cursor | None = None
        service.at["/orders"] = self.answer

    def answer(self, asked: Asked) -> list[dict[str, Any]]:
        first = (int(asked.query["page"]) - 1) * PAGE
        return self.rows[first : first + PAGE]

    def source(self, **more: Any) -> HttpSource:
        block = {"column": self.column, "param": "since"}
        return source_of(
            url=f"{self.service.url}/orders", pageing={"batch_size": PAGE}, incremental=block, **{**self.more, **more}
        )

    def night(self, *, resumed: bool = False) -> dict[str, list[dict[str, Any]]]:
        """Return the rows that one job delivers, by table; ``resumed``: by another process than the one that began."""
        source = self.source()
        window = Window.from_record(source.window(self.cursor).record())
        if resumed:
            source = self.source()
        source.read_window(window)
        found = plan(source)
        self.schemas = found.schemas
        rows: dict[str, list[dict[str, Any]]] = {}
        for split in found.splits:
            for batch in shipped(source).read(split, Skipped()):
                rows.setdefault(batch.table, []).extend(batch.rows.to_pylist())
        self.cursor = window.end
        return rows


def ids(rows: dict[str, list[dict[str, Any]]]) -> list[int]:
    return sorted(row["id"] for row in rows.get("orders", []))


@pytest.mark.parametrize("resumed", [False, True])
def test_columns_are_those_of_all_rows_and_rows_come_once(service: HttpService, resumed: bool) -> None:
    api = Api(service)
    api.rows = [{"id": number, "at": f"2026-01-01T00:0{number}:00Z", "lines": []} for number in range(4)]
    api.rows.append({"id": 4, "at": "2026-01-01T00:04:00Z", "lines": [{"sku": "a"}], "note": "late"})
    rows = api.night(resumed=resumed)
    assert ids(rows) == [0, 1, 2, 3, 4]
    assert [row["sku"] for row in rows["orders__lines"]] == ["a"]
    assert [(each.table, each.root, each.primary_key) for each in api.schemas] == [
        ("orders", None, ("id",)),
        ("orders__lines", "orders", ()),
    ]
    before = {row["id"]: row["_row_id"] for row in rows["orders"]}
    assert not api.night(resumed=resumed)
    api.rows.append({"id": 1, "at": "2026-01-01T00:05:00Z", "lines": [{"sku": "b", "n": 1.5}]})
    rows = api.night(resumed=resumed)
    assert ids(rows) == [1]
    assert rows["orders"][0]["_row_id"] != before[1], "a new version is another row, wherever it stands"
    assert service.asked[-1].query["since"] == "2026-01-01T00:04:00Z"


def test_a_page_may_lose_rows_and_the_others_keep_their_numbers(service: HttpService) -> None:
    api = Api(service)
    api.rows = [{"id": 1, "at": 1}, {"id": 2, "at": 2}]
    assert ids(api.night()) == [1, 2]
    api.rows = [{"id": 1, "at": 1}, {"id": 2, "at": 2}, {"id": 3, "at": 3}]
    assert ids(api.night()) == [3]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, 30], [7, 31]),
        (["9", "10"], ["10", "11"]),
        ([1.5, 2], [2.25]),
        (["2026-01-01", "2026-01-02"], ["2026-01-03"]),
        (["2026-01-01", "2026-01-02T10:00:00"], ["2026-01-02T10:00:01"]),
        (["2026-01-01T10:00:00+02:00", "2026-01-01T09:00:00Z"], ["2026-01-01T09:30:00Z"]),
        (["a", "b"], ["c"]),
    ],
)
def test_values_are_compared_as_what_they_are(service: HttpService, first: list[Any], second: list[Any]) -> None:
    api = Api(service)
    api.rows = [{"id": number, "at": value} for number, value in enumerate(first)]
    assert ids(api.night()) == list(range(len(first)))
    api.rows += [{"id": 10 + number, "at": value} for number, value in enumerate(second)]
    assert ids(api.night())[-1] == 10 + len(second) - 1
    assert ids(api.night()) == []


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([1], ["x"], "now has values of type string, but the cursor is '1'"),
        (["2026-01-01"], ["2026-01-01T00:00:00Z"], "now has values of type timestamp_tz"),
        ([1, "x"], [], "has values of several types"),
        ([True], [], "of the kind|cannot be compared|is no value"),
        (["a", None], [], "because 'at' is null"),
    ],
)
def test_values_of_other_kinds_are_refused(
    service: HttpService, first: list[Any], second: list[Any], said: str
) -> None:
    api = Api(service)
    api.rows = [{"id": number, "at": value} for number, value in enumerate(first)]
    if second:
        api.night()
        api.rows = [{"id": 9, "at": value} for value in second]
    with pytest.raises(SourceError, match=said):
        api.night()


def test_a_service_without_rows_has_no_columns_yet(service: HttpService) -> None:
    api = Api(service)
    assert api.night() == {}
    assert (api.cursor, api.schemas) == (None, ())
    api.rows = [{"id": 1, "at": 1}]
    assert ids(api.night()) == [1]
    api.rows = []
    assert api.night() == {}
    api.rows = [{"id": 2, "at": 2}]
    assert ids(api.night()) == [2]


def test_a_key_that_no_row_has_is_refused(service: HttpService) -> None:
    api = Api(service, schema={"table": "orders", "primaryKey": {"name": "pk", "columnNames": ["nr"]}})
    api.rows = [{"id": 1, "at": 1}]
    with pytest.raises(
        UsageError, match=r"primaryKey contains 'nr', but the .* rows do not contain this field; they contain id, at"
    ):
        api.night()
    with pytest.raises(UsageError, match="Set key, for example"):
        Api(service, schema={"table": "orders"}).source()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, "number"),
        ("-1.5", "number"),
        ("2026-01-31", "date"),
        ("2026-02-31", "string"),
        ("2026-01-31 10:00", "timestamp"),
        ("2026-01-31T10:00:00.123+0200", "timestamp_tz"),
        ("x", "string"),
        (True, "bool"),
        ([], "list"),
    ],
)
def test_kinds(value: Any, kind: str) -> None:
    assert kind_of(value) == kind
