"""Tables that a resumed job does not capture, without a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from tests.connectors.mysql_cdc.tables import table

ACCESS = {"url": "jdbc:postgresql://h/d", "username": "u", "password": "p", "slot.name": "s"}


@contextmanager
def connected() -> Iterator[None]:
    yield None


def test_a_table_that_was_added_to_the_options_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was never captured, without a message."""
    one, two = (Captured(path=("shop", name), found=table(name)) for name in ("a", "b"))
    state = Capture(server="7", tables=((one.name, one.shape),), log="0/100", chunks=ChunkStart(table=1))
    module = "seatunnel_core.connectors.postgres_cdc.source"
    monkeypatch.setattr(f"{module}.require_same_server", lambda *_: 1)
    monkeypatch.setattr(f"{module}.captured_tables", lambda *_: (one, two))
    for name in ("chosen_tables", "publication", "logged_tables", "advance_idle_slot", "log_end", "require_retained"):
        monkeypatch.setattr(f"{module}.{name}", lambda *_, **__: None)
    made = PostgresCdcSource(options_of(PostgresCdcSource, {**ACCESS, "table-names": ["a", "b"]}))
    changed: Any = {
        "_connected": connected,
        "_preparation": SimpleNamespace(hold_slot=lambda *_, **__: None),
        "_dialect": SimpleNamespace(pool=SimpleNamespace(lend=connected)),
        "_observe": lambda *_, **__: None,
    }
    for name, value in changed.items():
        monkeypatch.setattr(made, name, value)
    planned = SimpleNamespace(state=state, items=(), again_ms=1, is_delayed=False)
    monkeypatch.setattr(f"{module}.Planner.next", lambda *_: planned)
    schemas = [one.found.schema()]
    assert made.restored_schemas(state.record(), schemas) == tuple(schemas)
    (warning,) = made.poll(state.record(), PlanningContext(parallelism=1)).warnings
    assert warning.startswith("the job does not capture shop.b, because these tables were not selected when it started")
    assert made.captured_tables() == ["shop.a"]
    assert made.poll(state.record(), PlanningContext(parallelism=1)).warnings == ()
