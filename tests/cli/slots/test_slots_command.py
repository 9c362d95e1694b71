"""``seatunnel slots``: what it shows of the slot of a job, and when it removes it."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from attrs import frozen

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.cli.main import main
from seatunnel_core.connectors.postgres_log.created_objects import created_slots, record_slot, record_slots, recording
from seatunnel_core.connectors.postgres_log.publications import create_publication
from seatunnel_core.inspector import survey
from seatunnel_core.inspector.content import loaded
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_storage_api.discovery import open_storage
from tests.cdc.captured import CapturedPostgres
from tests.cdc.storm import wait_until
from tests.runtime.ground import Ground, ground_in

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]
NAME = "cdc_slots"
"""Name of the database, the slot and the publication."""

WAIT_S = 60
SLOTS = f"SELECT slot_name FROM pg_replication_slots WHERE database = '{NAME}' ORDER BY 1"
PUBLICATIONS = "SELECT pubname FROM pg_publication ORDER BY 1"


@frozen(kw_only=True)
class Shop:
    """A database, a job that captures it, and the command for its slot."""

    captured: CapturedPostgres
    ground: Ground
    capsys: pytest.CaptureFixture[str]

    def text(self, slot: str = NAME, more: str = "") -> str:
        source = self.captured.source_block(NAME, ["orders"], slot, more)
        env = "job.mode = STREAMING, parallelism = 1, checkpoint.interval = 200"
        return f"env {{ {env} }}\nsource {{{source}\n}}\nsink {{ Console {{ }} }}\n"

    def run(self, slot: str = NAME, more: str = "", *, drops: bool = False) -> None:
        """Run the job until a checkpoint has a position in the log, and stop it."""
        with self.ground.run(self.text(slot, more), job_id=slot) as run:
            run.start()
            wait_until(lambda: self.has_checkpoint(slot) or run.wait(0.01), WAIT_S, "a checkpoint")
            if drops:
                code, said = self.say("drop", "--force")
                assert (code, "is used by process" in said) == (2, True), said
            run.stop()
            report = run.wait(WAIT_S)
            assert report is not None
            assert report.outcome is JobOutcome.STOPPED, report

    def has_checkpoint(self, slot: str) -> bool:
        """Return True if the job can be resumed from the slot."""
        with open_storage("hdfs", {"namespace": f"{self.ground.work}/state/"}, read_only=True) as storage:
            newest = [each.latest for job in survey(storage) for each in job.pipelines.values() if each.latest]
            states = [codec.decode(loaded(storage, each).states) for each in newest]
        cursors = [source.memory or {} for each in states for source in each.sources.values()]
        return any(each.get("slot") == slot for each in cursors)

    def say(self, *arguments: str) -> tuple[int, str]:
        self.capsys.readouterr()
        folder = self.ground.work
        files = ("-c", str(folder / "job.conf"), "--engine-config", str(folder / "seatunnel.yaml"))
        code = main(["slots", *arguments, *files])
        said = self.capsys.readouterr()
        return code, said.out + said.err

    def shown(self) -> dict[str, str]:
        """Return the row of the table, by column."""
        code, said = self.say("list")
        assert code == 0, said
        heading, row = said.splitlines()
        names = ["source", "slot", "use", "restart position", "retained bytes", "WAL status", "publication"]
        at = [heading.index(name) for name in [*names, "created here"]]
        cells = [row[start:end].strip() for start, end in zip(at, [*at[1:], None], strict=True)]
        return dict(zip([*names, "created here"], cells, strict=True))

    def sql(self, *statements: str) -> list[str]:
        return [str(row[0]) for row in self.captured.run(NAME, *statements)]


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Shop]:
    captured = CapturedPostgres()
    for slot in (NAME, f"{NAME}_2"):
        captured.release(slot)
    captured.recreate(NAME)
    captured.run(NAME, "CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
    with ground_in(tmp_path) as ground:
        yield Shop(captured=captured, ground=ground, capsys=capsys)
    for slot in (NAME, f"{NAME}_2"):
        captured.release(slot)
    captured.run("postgres", f"DROP DATABASE {NAME} WITH (FORCE)")


def test_the_slot_of_a_job_is_shown_and_removed(shop: Shop) -> None:
    shop.run(drops=True)
    shown = shop.shown()
    assert int(shown["retained bytes"].replace(",", "")) >= 0
    restart = shop.sql(f"SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = '{NAME}'")
    assert [shown["restart position"]] == restart
    assert [shown[name] for name in ("slot", "use", "WAL status", "publication", "created here")] == [
        NAME, "not in use", "reserved", NAME, "slot, publication"
    ]  # fmt: skip
    code, said = shop.say("drop")
    assert (code, f"the job {NAME} can be resumed from its latest checkpoint" in said) == (2, True), said
    assert shop.sql(SLOTS) == [NAME]
    assert shop.say("drop", "--force") == (
        0, f"dropped the replication slot {NAME}\ndropped the publication {NAME}\n"
    )  # fmt: skip
    assert (shop.sql(SLOTS), shop.sql(PUBLICATIONS)) == ([], [])
    assert shop.shown()["use"] == "does not exist"
    assert shop.say("drop") == (
        0, f"the replication slot {NAME} does not exist\nthe publication {NAME} does not exist\n"
    )  # fmt: skip


def test_what_the_user_created_is_kept(shop: Shop) -> None:
    shop.sql(f"CREATE PUBLICATION {NAME} FOR TABLE orders")
    shop.sql(f"SELECT pg_create_logical_replication_slot('{NAME}', 'pgoutput')")
    shop.run()
    assert shop.shown()["created here"] == "-"
    code, said = shop.say("drop")
    assert (code, "has no record that the engine created it; add --force" in said) == (2, True), said
    code, said = shop.say("drop", "--force")
    assert (code, f'DROP PUBLICATION "{NAME}" removes it' in said) == (0, True), said
    assert (shop.sql(SLOTS), shop.sql(PUBLICATIONS)) == ([], [NAME])


def test_a_publication_of_two_slots_is_kept_until_the_second_is_dropped(shop: Shop) -> None:
    second, more = f"{NAME}_2", f"publication.name = {NAME}"
    shop.run()
    shop.run(second, more)
    assert shop.sql("SELECT obj_description(oid, 'pg_publication') FROM pg_publication") == [
        f"Created by SeaTunnel with the replication slots: {NAME} (job {NAME}), {second} (job {second})"
    ]
    code, said = shop.say("drop", NAME, "--force")
    assert (code, f"no source of the job reads the slot {NAME}; it reads {second}" in said) == (2, True), said
    code, said = shop.say("drop", second, "--force")
    assert (code, f"kept the publication {NAME}, because it is used with {NAME}" in said) == (0, True), said
    (shop.ground.work / "job.conf").write_text(shop.text())
    shutil.rmtree(shop.ground.work / "state")
    code, said = shop.say("drop")
    assert (code, f"its job {NAME} is not in the checkpoint storage of this job file" in said) == (2, True), said
    assert shop.sql(SLOTS) == [NAME]
    code, said = shop.say("drop", "--force")
    assert (code, f"dropped the publication {NAME}" in said) == (0, True), said
    assert (shop.sql(SLOTS), shop.sql(PUBLICATIONS)) == ([], [])


def test_a_slot_of_an_earlier_version_needs_force(shop: Shop) -> None:
    """It did not record the job, whose checkpoints may be in another storage."""
    shop.run()
    shop.sql(f"COMMENT ON PUBLICATION {NAME} IS 'Created by SeaTunnel with the replication slots: {NAME}'")
    shutil.rmtree(shop.ground.work / "state")
    code, said = shop.say("drop")
    assert (code, "no record of the job that uses it" in said) == (2, True), said
    code, said = shop.say("drop", "--force")
    assert (code, f"dropped the publication {NAME}" in said) == (0, True), said


def test_slots_that_are_recorded_at_once_are_all_in_the_record(shop: Shop) -> None:
    """One of two jobs that started at once was missing."""
    names = [f"slot_{number}" for number in range(8)]
    barrier = Barrier(len(names))

    def record(name: str) -> None:
        with shop.captured.connect(NAME) as connection:
            barrier.wait(WAIT_S)
            with recording(connection, NAME):
                record_slot(connection, NAME, name, f"job-{name}", creates=True)

    with shop.captured.connect(NAME) as connection:
        create_publication(connection, NAME, [("public", "orders")])
        record_slots(connection, NAME, {})
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(record, names))
    with shop.captured.connect(NAME) as connection:
        assert created_slots(connection, NAME) == {name: f"job-{name}" for name in sorted(names)}


def test_a_lost_checkpoint_does_not_keep_a_slot(shop: Shop) -> None:
    """Nothing can continue from a slot that was advanced."""
    shop.run()
    shop.sql("INSERT INTO orders VALUES (2)")
    shop.sql(f"SELECT pg_replication_slot_advance('{NAME}', pg_current_wal_lsn())")
    code, said = shop.say("drop")
    assert (code, f"dropped the replication slot {NAME}" in said) == (0, True), said


def test_a_job_without_a_slot_is_named(shop: Shop) -> None:
    with shop.ground.run(shop.text(more="startup.mode = snapshot-only")):
        pass
    code, said = shop.say("list")
    assert (code, "the job has no source that reads a replication slot" in said) == (2, True), said
    assert main(["slots", "list"]) == 2
    assert "No job file" in shop.capsys.readouterr().err
    code, said = shop.say("list", "--force")
    assert (code, "NAME and --force are for drop" in said) == (2, True), said
