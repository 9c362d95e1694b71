"""Tables with large values and one target, whose changes may be emitted again while the tables are copied."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.source import OrderGroup
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.postgres_cdc import large_values, source
from seatunnel_core.connectors.postgres_cdc.large_values import require_whole_rows
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from tests.connectors.mysql_cdc.driven import Reports
from tests.connectors.mysql_cdc.tables import table

TABLES = [Captured(path=("public", name), found=table(name)) for name in ("a", "b", "c")]


class Shared(Reports):
    """The tables ``a`` and ``b`` have one target."""

    def __init__(self, *, replaces_rows: bool) -> None:
        super().__init__()
        self._group = OrderGroup(name="shared", replaces_rows=replaces_rows)

    def order_group(self, table: str) -> OrderGroup:
        return OrderGroup(name=table) if table == "shop.c" else self._group


def require(monkeypatch: pytest.MonkeyPatch, large: set[str], *, replaces_rows: bool) -> list[str]:
    """Check the tables, some of which have large values; return the names of those that were queried."""
    queried: list[str] = []

    def partially_logged(connection: Any, path: tuple[str, str]) -> list[str]:
        queried.append(path[1])
        return [path[1]] if path[1] in large else []

    @contextmanager
    def connected() -> Iterator[None]:
        yield

    monkeypatch.setattr(large_values, "partially_logged", partially_logged)
    require_whole_rows(connected, TABLES, Shared(replaces_rows=replaces_rows))
    return queried


def test_a_job_that_emits_changes_again_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It failed when the target did not have the row of an update."""
    with pytest.raises(SourceError, match=r"^b can contain .*run ALTER TABLE b REPLICA IDENTITY FULL, and start a new"):
        require(monkeypatch, {"b", "c"}, replaces_rows=True)


def test_other_tables_may_have_large_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert require(monkeypatch, {"c"}, replaces_rows=True) == ["a", "b"]
    assert require(monkeypatch, {"a", "b", "c"}, replaces_rows=False) == []


@pytest.mark.parametrize(
    ("more", "startup", "checked"),
    [
        ({"number": 0}, "initial", True),
        ({"number": 1}, "initial", False),
        ({"number": 0}, "snapshot-only", False),
        ({"number": 0, "reread": 1}, "initial", False),
    ],
    ids=["first chunk", "next chunk", "without the log", "read again"],
)
def test_the_first_chunk_of_a_job_checks_all_tables(
    more: dict[str, Any], startup: str, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    options = {"url": "jdbc:postgresql://h:5432/d", "table-names": ["d.public.a"], "startup.mode": startup}
    made = PostgresCdcSource(options_of(PostgresCdcSource, {**options, "username": "u", "slot.name": "s"}))
    made._tables = tuple(TABLES)
    monkeypatch.setattr(source, "require_whole_rows", lambda _, tables, context: found.append(tables))
    body = {"table": TABLES[0].name, "shape": TABLES[0].shape, "snapshot": "", **more}
    made._chunk(body, Shared(replaces_rows=True), "chunk")
    assert found == ([made._tables] if checked else [])
