"""A real job, killed while it was about to publish: looked at, moved to another storage, and resumed there."""

import re
from pathlib import Path

import pytest

from seatunnel_core import inspector
from seatunnel_core.connectors.filesystems.staged_name import staging_folder
from tests.inspector import transcript
from tests.inspector.transcript import ROWS
from tests.runtime.command import Command, column, staged

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.xdist_group("commands")]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Kill a job where the page's job was killed: the small table done, a unit of the large one in flight.

    The kill may come before the small table is done, or between two units, which the speed limit keeps apart.
    """
    for _ in range(6):
        command = transcript.killed_job(tmp_path_factory.mktemp("killed") / "job")
        small_done = list(command.folder.glob("state/nightly/000002/*.completed-point.*"))
        if small_done and "runs again" in transcript.played(command.folder, "seatunnel checkpoints show nightly 1"):
            return command
    pytest.fail("six times in turn the job was not killed where the page's job was")


def test_the_page_shows_what_a_real_job_leaves(killed: Command) -> None:
    for block in transcript.blocks(transcript.PAGE.read_text("utf-8")):
        for line, written in transcript.commands(block):
            said = transcript.played(killed.folder, line)
            assert transcript.shape(said) == transcript.shape(written), line


def test_a_job_that_was_moved_goes_on_where_it_was_moved_to(killed: Command) -> None:
    """By way of a file; then the old place is gone, what nothing needs is collected, and every row comes out once."""
    folder = killed.folder
    archive = folder / "move.zip"
    with (
        inspector.StorageReference(storage=f"{folder}/state/").open(to_remove=True) as old,
        inspector.ArchiveStorage.create(archive) as packed,
    ):
        inspector.remove(old, inspector.find_garbage(old, inspector.survey(old), older_than_s=0).garbage)
        inspector.copy_job(old, packed, killed.job_id)
        packed.publish()
    (folder / "state").rename(folder / "gone")
    new = inspector.StorageReference(storage=f"{folder}/moved/")
    with inspector.StorageReference(storage=str(archive)).open() as packed, new.open(to_write=True) as storage:
        inspector.copy_job(packed, storage, killed.job_id)
    engine_file = folder / "seatunnel.yaml"
    engine_file.write_text(engine_file.read_text().replace(f"{folder}/state/", f"{folder}/moved/"))
    engine = killed.resume("-m", "local[2]")
    assert engine.wait(100) == 0, engine.output
    for table, rows in ROWS.items():
        assert column(folder / "out" / table, "id") == list(range(1, rows + 1))
    assert not staged(folder / "out")
    the_late_file_of_an_old_executor_is_collected(killed, new)


def the_late_file_of_an_old_executor_is_collected(killed: Command, place: inspector.StorageReference) -> None:
    late = Path(staging_folder(str(killed.folder / "out" / "flights"), killed.job_id, 1, 100_000), "late")
    late = late.with_name(f"{killed.job_id}-p1-s0-o0-e100000-u9-a1-9-0.parquet")
    late.parent.mkdir(parents=True)
    late.write_bytes(b"late")
    with place.open(to_remove=True) as storage:
        (job,) = inspector.survey(storage)
        assert job.state is inspector.JobState.ENDED
        found = inspector.find_garbage(storage, [job], older_than_s=0)
        assert str(late) in [each.path for each in found.garbage]
        assert inspector.remove(storage, found.garbage) == ()
    assert not late.exists()
    assert not re.search("seatunnel", "".join(path.name for path in (killed.folder / "out").rglob("*")))
