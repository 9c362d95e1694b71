"""Changes of the log, applied one after another, give the table; also over crashes and pauses."""

import random
import time
from typing import Any

import pytest

from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch
from seatunnel_core.connectors.postgres_log.errors import LogConnectionError
from seatunnel_core.connectors.postgres_log.session import log_parameters
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader
from tests.connectors.postgres_log.log_shop import LogShop, changes, rows

pytestmark = pytest.mark.servers


def applied(state: dict[int, tuple[Any, ...]], batches: list[ChangeBatch]) -> None:
    """Apply changes; absent values stay as they were."""
    old: int | None = None
    for kind, *values in rows(batches):
        key = values[0]
        if kind == "+I":
            state[key] = tuple(values)
        elif kind == "-D":
            del state[key]
        elif kind == "-U":
            old = key
        else:
            before = state.pop(key if old is None else old)
            state[key] = tuple(was if new == "absent" else new for was, new in zip(before, values, strict=True))
            old = None


def statement(draw: random.Random) -> str:
    large = f"repeat('{draw.choice('abc')}', {draw.choice((10, 3_000, 9_000))})"
    key = draw.randrange(30)
    free = "AND NOT EXISTS (SELECT 1 FROM t WHERE id = {})"
    return draw.choice(
        (
            f"INSERT INTO t VALUES ({key}, 1, {large}, 'new') ON CONFLICT DO NOTHING",
            f"INSERT INTO t VALUES ({key}, 2, {large}, NULL) ON CONFLICT (id) DO UPDATE SET small = t.small + 1",
            f"UPDATE t SET small = small + 1 WHERE id % 5 = {key % 5}",
            f"UPDATE t SET big = {large} WHERE id = {key}",
            f"UPDATE t SET other = NULL, id = id + 100 WHERE id = {key} {free.format(key + 100)}",
            f"UPDATE t SET id = id - 100 WHERE id = {key + 100} {free.format(key)}",
            f"DELETE FROM t WHERE id = {key}",
        )
    )


def table(shop: LogShop) -> dict[int, tuple[Any, ...]]:
    return {row[0]: tuple(row) for row in shop.run("SELECT id, small, big, other FROM t")}


@pytest.mark.parametrize(("identity", "seed"), [("DEFAULT", 1), ("FULL", 2), ("USING INDEX by_id", 3)])
def test_random_changes_give_the_table(shop: LogShop, identity: str, seed: int) -> None:
    shop.run(
        "CREATE TABLE t (id int PRIMARY KEY, small int, big text, other text)",
        "ALTER TABLE t ALTER big SET STORAGE EXTERNAL",
        "CREATE UNIQUE INDEX by_id ON t (id)",
        f"ALTER TABLE t REPLICA IDENTITY {identity}",
    )
    draw, state = random.Random(seed), dict[int, tuple[Any, ...]]()
    slot, position = shop.slot()
    for _ in range(6):
        for _ in range(20):
            with shop.sql.transaction():
                shop.run(*(statement(draw) for _ in range(draw.randrange(1, 4))))
        end = shop.end()
        found = shop.read(slot, position, end, batch_rows=draw.choice((3, 50, 1_000)))
        applied(state, found)
        assert state == table(shop)
        assert all(each.complete for each in changes(found)) or identity != "FULL"
        position = end


def test_reading_continues_after_a_crash_of_the_server(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    slot, start = shop.slot()
    shop.run("INSERT INTO t VALUES (1)")
    middle = shop.end()
    reader = shop.reader(slot, start)
    assert rows(list(reader.batches(middle))) == [("+I", 1)]
    reader.confirm(middle)
    shop.server.restart()
    with pytest.raises(LogConnectionError):
        list(reader.batches())
    reader.close()
    shop.reconnect()
    shop.run("INSERT INTO t VALUES (2)")
    assert rows(shop.read(slot, middle, shop.end())) == [("+I", 2)]


def test_a_pause_of_the_consumer_needs_a_sign_of_life(shop: LogShop) -> None:
    """The server closes a connection that does not respond, by default after a minute."""
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    slot, start = shop.slot()
    parameters = log_parameters(shop.address, server_timeout_s=3)
    with SlotReader(parameters, shop.sql, slot, ["shop"], start) as reader:
        until = time.monotonic() + 4.5
        while time.monotonic() < until:
            time.sleep(0.2)
            reader.keep_alive()
        shop.run("INSERT INTO t VALUES (1)")
        assert rows(list(reader.batches(shop.end()))) == [("+I", 1)]
        idle = iter(reader.batches(idle_s=4.5))
        assert next(idle).rows == 0, "while batches are read, the reader responds by itself"
    parameters = log_parameters(shop.address, server_timeout_s=1)
    with SlotReader(parameters, shop.sql, slot, ["shop"], start) as reader:
        time.sleep(2.5)
        with pytest.raises(LogConnectionError):
            list(reader.batches(shop.end()))
