"""Changes of a database as Debezium's messages in Kafka, and from there in another database: both are equal."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.reporting.report import JobOutcome
from tests.cdc.captured import COPY, DATABASES, Captured
from tests.cdc.comparison import difference
from tests.cdc.storm import Storm, wait_until
from tests.runtime.command import Command, job
from tests.runtime.ground import ground_in, run_through
from tests.servers.kafka import Kafka
from tests.torture.process import Engine

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(600), pytest.mark.xdist_group("kafka")]
SOURCE = "cdc_messages"
WAIT_S = 120
TIMES = {"postgres": "timestamp_tz", "mariadb": "timestamp"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with Kafka(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(params=["postgres", pytest.param("mariadb", marks=pytest.mark.twin)])
def storm(request: pytest.FixtureRequest) -> Iterator[Storm]:
    captured = DATABASES[request.param]()
    captured.release(SOURCE)
    made = Storm(captured=captured, database=SOURCE, rows=200, per_second=200)
    made.make_tables()
    captured.recreate(COPY)
    yield made
    made.over.set()
    captured.release(SOURCE)


def topic_of(captured: Captured, table: str) -> str:
    return f"{captured.name}.{'public' if captured.name == 'postgres' else SOURCE}.{table}"


def to_kafka(storm: Storm, broker: Kafka, folder: Path) -> str:
    options = f"""format = COMPATIBLE_DEBEZIUM_JSON
    debezium {{ topic.prefix = "{storm.captured.name}" }}"""
    source = storm.captured.source_block(SOURCE, storm.tables, SOURCE, options)
    sink = f"""
  Kafka {{ bootstrap.servers = "{broker.servers}", topic = "${{topic}}", format = compatible_debezium_json,
    semantics = EXACTLY_ONCE, staging_path = "{folder}/staging", transaction_prefix = "st-{storm.captured.name}" }}"""
    return job("job.mode = STREAMING, parallelism = 2, checkpoint.interval = 200", [source], [sink])


def from_kafka(storm: Storm, broker: Kafka) -> str:
    columns = {
        "id": "bigint",
        "amount": "bigint",
        "note": "string",
        "price": '"decimal(18, 4)"',
        "changed": TIMES[storm.captured.name],
        "raw": "bytes",
    }
    sources = []
    for table in storm.tables:
        chosen = {"id": "int"} if table == "beacon" else columns
        fields = ", ".join(f"{name} = {kind}" for name, kind in chosen.items())
        sources.append(f"""
  Kafka {{ bootstrap.servers = "{broker.servers}", topic = "{topic_of(storm.captured, table)}", start_mode = earliest,
    format = debezium_json, debezium_record_include_schema = true, plugin_output = {table},
    schema {{ table = "{SOURCE}.{table}", fields {{ {fields} }}, primaryKey {{ name = k, columnNames = [id] }} }} }}""")
    sink = storm.captured.sink_block(COPY).replace("Jdbc {", f"Jdbc {{ plugin_input = [{', '.join(storm.tables)}],")
    return job("job.mode = BATCH, parallelism = 2", sources, [sink])


def test_a_database_is_copied_through_kafka(storm: Storm, broker: Kafka, tmp_path: Path) -> None:
    """The job that captures is killed twice while writers storm; each change is in Kafka exactly once, in order."""
    for table in storm.tables:
        broker.topic(topic_of(storm.captured, table), partitions=2)
    beacon = topic_of(storm.captured, "beacon")
    command = Command.of(tmp_path, to_kafka(storm, broker, tmp_path))
    engine = command.begin()
    storm.begin()
    for number in (1, 2, 3):
        storm.light_beacon(number)
        await_beacon(number, broker, beacon, engine)
        if number < 3:
            engine.kill()
            engine.end()
            engine = command.resume()
    storm.end()
    storm.light_beacon(4)
    await_beacon(4, broker, beacon, engine)
    engine.kill()
    engine.end()
    assert sorted(lit(broker, beacon)) == [0, 1, 2, 3, 4]
    with ground_in(tmp_path / "back") as ground:
        ground.work.mkdir(parents=True)
        report, _ = run_through(ground.run(from_kafka(storm, broker)))
        assert report.outcome is JobOutcome.FINISHED, report
    assert [difference(storm.captured, SOURCE, COPY, table) for table in storm.tables] == ["", "", ""]


def await_beacon(number: int, broker: Kafka, topic: str, engine: Engine) -> None:
    """Wait until a beacon is in the topic, and so is each earlier change in its own."""
    wait_until(lambda: number in lit(broker, topic) or engine.exit_code is not None, WAIT_S, f"beacon {number}")
    assert engine.exit_code is None, engine.output


def lit(broker: Kafka, topic: str) -> list[int]:
    """Return the beacons in the topic."""
    return [json.loads(value)["payload"]["after"]["id"] for value in broker.values(topic) if value is not None]
