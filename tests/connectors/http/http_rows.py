"""Rows of a service, and a source ``Http`` that reads them."""

from collections.abc import Sequence
from typing import Any

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import Skipped, options_of, plan, read
from seatunnel_core.connectors.http.source import HttpSource
from tests.servers.http_service import Asked

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


class Noted(Skipped):
    """A context that counts the rows of each kind of note."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def note(self, what: str, example: str, rows: int = 1) -> None:
        self.notes[what] = self.notes.get(what, 0) + rows
        self.examples.setdefault(what, example)


def source_of(**options: Any) -> HttpSource:
    return HttpSource(options_of(HttpSource, {"retry_backoff_multiplier_ms": 1, **options}))


def rows_of(parallelism: int = 1, **options: Any) -> list[dict[str, Any]]:
    source = source_of(**options)
    return read(source, plan(source, PlanningContext(parallelism=parallelism)))


def paged(asked: Asked, rows: Sequence[Any] = ROWS, size: int = 4) -> list[Any]:
    first = (int(asked.query["page"]) - 1) * size
    return list(rows[first : first + size])
