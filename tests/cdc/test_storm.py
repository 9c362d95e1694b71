"""The storm, the comparison and the watcher themselves, on each database, without a job."""

import pytest

from tests.cdc.captured import COPY, DATABASES, EACH_KIND, Captured
from tests.cdc.comparison import difference
from tests.cdc.keys import KEYS
from tests.cdc.storm import RANGE, TABLES, Storm, wait_until
from tests.cdc.watcher import Watcher, snapshot_arrived

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]
SOURCE = "storm_itself"


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


@pytest.mark.parametrize("keys", sorted(KEYS))
def test_keys_differ(keys: str) -> None:
    numbers = [*range(2000), *range(RANGE - 2000, RANGE)]
    assert len({KEYS[keys].of(number) for number in numbers}) == len(numbers)


def test_a_storm_keeps_its_sum_and_a_difference_is_found(captured: Captured) -> None:
    """The watcher looks at the source, whose sum is zero, until somebody breaks it."""
    storm = Storm(captured=captured, database=SOURCE, rows=200, per_second=2000)
    storm.make_tables()
    watcher = Watcher(storm=storm, target=SOURCE)
    watcher.begin()
    storm.begin()
    wait_until(lambda: storm.committed > 300 or storm.errors, 60, "300 transactions")
    storm.end()
    assert snapshot_arrived(storm, SOURCE)
    wait_until(lambda: watcher.looks > 0, 60, "a look of the watcher")
    assert not watcher.broken
    captured.recreate(COPY)
    for table in TABLES:
        schema = "" if captured.name != "postgres" else "public."
        assert difference(captured, SOURCE, SOURCE, table) == ""
        assert "columns none" in difference(captured, SOURCE, COPY, table), schema
    captured.run(SOURCE, f"UPDATE {TABLES[0]} SET amount = amount + 1 WHERE id = 3")
    wait_until(lambda: bool(watcher.broken), 30, "the broken sum")
    watcher.end()


def test_a_difference_of_one_value_is_shown(captured: Captured) -> None:
    for database in (SOURCE, COPY):
        captured.recreate(database)
        captured.run(
            database,
            f"CREATE TABLE t (id int PRIMARY KEY, raw {captured.types['bytes']}, note {captured.types['text']})",
            "INSERT INTO t VALUES (1, NULL, 'a'), (2, NULL, ' b')",
        )
    assert difference(captured, SOURCE, COPY, "t") == ""
    captured.run(COPY, "UPDATE t SET note = 'b' WHERE id = 2")
    told = difference(captured, SOURCE, COPY, "t")
    assert "1 missing, 1 extra" in told
    captured.run(COPY, "DELETE FROM t WHERE id = 2")
    assert "1 missing, 0 extra" in difference(captured, SOURCE, COPY, "t")
