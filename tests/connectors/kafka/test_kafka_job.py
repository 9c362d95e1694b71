"""Whole jobs from Kafka to Kafka: processes that are killed with ``kill -9``, and a broker that is."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from tests.live_folder import files_below
from tests.runtime.command import Command, column, job
from tests.runtime.ground import committed, ground_in, run_through
from tests.servers.kafka import Kafka

pytestmark = [
    pytest.mark.servers,
    pytest.mark.spark,
    pytest.mark.timeout(1500),
    pytest.mark.xdist_group("kafka"),
]

EXAMPLES = Path(__file__).parents[3] / "examples" / "kafka"
ROWS = 12_000
KILLS = 3
MANY_KILLS = 20
BROKER_KILLS = 10
PATIENCE_S = 400


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with Kafka(tmp_path_factory.mktemp("kafka")) as running:
        running.topic("in", partitions=3)
        running.send("in", [row(number) for number in range(ROWS)])
        yield running


def row(number: int) -> bytes:
    return json.dumps({"id": number, "name": f"näme {number}"}, ensure_ascii=False, separators=(",", ":")).encode()


def text(broker: Kafka, folder: Path, out: str, rows_per_second: int | None, *, mode: str = "BATCH",
         retries: int = 0, topic: str = "in") -> str:  # fmt: skip
    limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
    env = f"job.mode = {mode}, parallelism = 2, checkpoint.interval = 200, job.retry.times = {retries}{limit}"
    source = f"""
  Kafka {{ plugin_output = a, bootstrap.servers = "{broker.servers}", topic = "{topic}", start_mode = earliest,
    poll.timeout = 30000, schema {{ fields {{ id = bigint, name = string }} }} }}"""
    sink = f"""
  Kafka {{ plugin_input = [a], bootstrap.servers = "{broker.servers}", topic = "{out}", semantics = EXACTLY_ONCE,
    staging_path = "{folder}/staging", partition_key_fields = [id], transaction_prefix = "st-{out}" }}"""
    return job(env, [source], [sink])


def found(broker: Kafka, topic: str) -> Counter[bytes | None]:
    return Counter(broker.values(topic))


def left(broker: Kafka, folder: Path, out: str) -> list[str]:
    """What the job leaves beside its rows."""
    topics = [name for name in broker.topics() if name.startswith(f"st-{out}")]
    return [*topics, *map(str, files_below(folder / "staging"))]


def test_the_next_job_of_a_group_goes_on_where_the_last_one_ended(broker: Kafka, tmp_path: Path) -> None:
    """As a job that runs every night: its group is told how far the rows came that are published."""
    read_from, out = broker.topic("nights", partitions=3), broker.topic("nights-out")
    sent = 0
    for night, count in enumerate((500, 0, 300)):
        broker.send(read_from, [row(number) for number in range(sent, sent + count)])
        sent += count
        with ground_in(tmp_path / str(night)) as ground:
            ground.work.mkdir(parents=True)
            of_group = 'start_mode = group_offsets, consumer.group = "nightly"'
            made = text(broker, tmp_path, out, None, topic=read_from).replace("start_mode = earliest", of_group)
            report, _ = run_through(ground.run(made, job_id=f"night-{night}"))
            assert report.outcome is JobOutcome.FINISHED, report
        assert found(broker, out) == Counter(row(number) for number in range(sent))


def test_the_examples_run(broker: Kafka, tmp_path: Path) -> None:
    broker.topic("people", partitions=2)
    given = {"servers": broker.servers, "staging": f"{tmp_path}/staging", "target": f"{tmp_path}/out"}

    def play(name: str, number: int) -> None:
        command = Command.of(tmp_path / f"{name}-{number}", (EXAMPLES / f"{name}.conf").read_text("utf-8"))
        engine = command.begin(*(part for key, value in given.items() for part in ("-i", f"{key}={value}")))
        assert engine.wait(PATIENCE_S) == 0, engine.output

    play("fill", 0)
    for number in range(2):
        play("nightly", number)
        assert column(tmp_path / "out", "id") == list(range(1, 1001))


@pytest.mark.parametrize(
    "parallelism", [pytest.param(1, marks=pytest.mark.twin), 2, pytest.param(8, marks=pytest.mark.twin)]
)
def test_the_same_messages_at_every_parallelism(broker: Kafka, tmp_path: Path, parallelism: int) -> None:
    out = broker.topic(f"parallel-{parallelism}", partitions=2)
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        made = text(broker, tmp_path, out, None).replace("parallelism = 2", f"parallelism = {parallelism}")
        report, _ = run_through(ground.run(made))
        assert report.outcome is JobOutcome.FINISHED, report
    assert found(broker, out) == Counter(row(number) for number in range(ROWS))
    assert left(broker, tmp_path, out) == []


@pytest.mark.twin
def test_a_job_that_is_killed_again_and_again_sends_every_row_once(broker: Kafka, tmp_path: Path) -> None:
    broker.topic("killed", partitions=2)
    command = Command.of(tmp_path, text(broker, tmp_path, "killed", ROWS // 20))
    before = 0
    for number in range(KILLS):
        engine = command.resume() if number else command.begin()
        while (count := found(broker, "killed").total()) < before + ROWS // 10:
            assert engine.exit_code is None, engine.output
            assert engine.age_s < PATIENCE_S, engine.output
            time.sleep(0.02 * number)
        engine.kill()
        engine.end()
        assert count < ROWS, "the kill came too late"
        before = count
    Command.of(tmp_path, text(broker, tmp_path, "killed", None))
    last = command.resume()
    assert last.wait(PATIENCE_S) == 0, last.output
    assert found(broker, "killed") == Counter(row(number) for number in range(ROWS))
    assert left(broker, tmp_path, "killed") == []


def publish_more(run: JobRun, before: int) -> None:
    """Wait until more rows are committed than were."""
    deadline = time.monotonic() + PATIENCE_S
    while committed(run) <= before and time.monotonic() < deadline:
        assert run.wait(0.005) is None, f"it ended too early, with {before} rows: {run.wait(0.005)}"


@pytest.mark.torture
@pytest.mark.twin
def test_twenty_kills_cost_no_row_and_double_none(broker: Kafka, tmp_path: Path) -> None:
    """Each as soon as a few more rows are committed; tasks run in this process."""
    out = broker.topic("twenty", partitions=2)
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        for number in range(MANY_KILLS):
            how: dict[str, Any] = {} if not number else {"restore": Restore()}
            with ground.run(text(broker, tmp_path, out, ROWS // 100), **how) as run:
                run.start()
                publish_more(run, found(broker, out).total())
                run.kill()
                run.wait(PATIENCE_S)
        assert 0 < found(broker, out).total() < ROWS, "the kills came too late"
        report, _ = run_through(ground.run(text(broker, tmp_path, out, None), restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
    assert found(broker, out) == Counter(row(number) for number in range(ROWS))
    assert left(broker, tmp_path, out) == []


@pytest.mark.twin
def test_a_broker_that_dies_and_comes_back_costs_time_and_no_rows(broker: Kafka, tmp_path: Path) -> None:
    broker.topic("outages", partitions=2)
    command = Command.of(tmp_path, text(broker, tmp_path, "outages", ROWS // 60, retries=50))
    engine = command.begin()
    for number in range(1, BROKER_KILLS + 1):
        while found(broker, "outages").total() < number * ROWS // (BROKER_KILLS + 4):
            assert engine.exit_code is None, engine.output
            assert engine.age_s < PATIENCE_S * 3, engine.output
            time.sleep(0.1)
        broker.kill()
        time.sleep(1 + number % 3)
        broker.start()
    assert engine.wait(PATIENCE_S) == 0, engine.output
    assert found(broker, "outages") == Counter(row(number) for number in range(ROWS))
    assert left(broker, tmp_path, "outages") == []


def test_a_streaming_job_goes_on_where_it_was(broker: Kafka, tmp_path: Path) -> None:
    """Messages come while it runs, while it is dead, and after it was started again."""
    broker.topic("stream-in", partitions=2)
    broker.topic("stream-out", partitions=2)
    command = Command.of(tmp_path, text(broker, tmp_path, "stream-out", None, mode="STREAMING", topic="stream-in"))
    sent = 0

    def send(count: int) -> None:
        nonlocal sent
        broker.send("stream-in", [row(number) for number in range(sent, sent + count)])
        sent += count

    for number in range(3):
        engine = command.resume() if number else command.begin()
        for _ in range(3):
            send(100)
            wanted = Counter(row(each) for each in range(sent))
            while found(broker, "stream-out") != wanted:
                assert engine.exit_code is None, engine.output
                assert engine.age_s < PATIENCE_S, (engine.output, found(broker, "stream-out").total(), sent)
                time.sleep(0.1)
        engine.kill()
        engine.end()
        send(50)
    engine = command.resume()
    while found(broker, "stream-out").total() < sent:
        assert engine.exit_code is None, engine.output
        assert engine.age_s < PATIENCE_S, engine.output
        time.sleep(0.1)
    engine.kill()
    engine.end()
    assert found(broker, "stream-out") == Counter(row(each) for each in range(sent))


def test_a_job_stops_when_its_topic_is_created_again(broker: Kafka, tmp_path: Path) -> None:
    """It continued at the old offset. The job file has a value and a key below it, as users of SeaTunnel write them.

    It looks again if it looks while there is no topic.
    """
    topic, out = broker.topic("again"), broker.topic("again-out")
    broker.send(topic, [row(number) for number in range(100)])
    made = text(broker, tmp_path, out, None, mode="STREAMING", topic=topic, retries=20)
    made = made.replace("start_mode = earliest", "start_mode = timestamp, start_mode.timestamp = 0")
    command = Command.of(tmp_path, made)
    engine = command.begin()
    while found(broker, out).total() < 100:
        assert engine.exit_code is None, engine.output
        assert engine.age_s < PATIENCE_S, engine.output
        time.sleep(0.1)
    broker.recreate(topic)
    broker.send(topic, [row(number) for number in range(1000, 1300)])
    assert engine.wait(PATIENCE_S) not in (0, None), engine.output
    resumed = command.resume()
    assert resumed.wait(PATIENCE_S) not in (0, None), resumed.output
    for each in (engine, resumed):
        assert f"topic {topic} was deleted and created again" in each.output.replace("\n", " "), each.output
    assert found(broker, out) == Counter(row(number) for number in range(100))
