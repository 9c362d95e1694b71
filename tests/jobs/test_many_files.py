"""A folder of many small files is one source: few work units, few files in the target, and little in a checkpoint.

What happened elsewhere: a file of its own for each file that was read, and a list of all of them in every checkpoint.
"""

import os
import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.file.listing import Listing
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.enumeration import freeze, thaw
from tests.figures import Figure
from tests.runtime.command import Command, ids, published
from tests.runtime.ground import ground_in, kill, run_through, until

FILES = 10_000
TINY = 20_000
TRACED = 10_000
"""While memory is traced, everything takes several times as long."""

BYTES_OF_A_FILE = 1_500
"""What the driver may need for one, while it lists, freezes and reads back: 1.5 GB for a million."""
MOST_TARGETS = 100
LARGEST_CHECKPOINT = 64 * 1024

JOB = """
env { job.mode = BATCH, parallelism = 2, checkpoint.interval = 1000 }
source { LocalFile {
  path = "%s/in", file_format_type = csv, skip_header_row_number = 1, schema { fields { id = bigint, name = string } }
} }
sink { LocalFile { path = "%s/out", file_format_type = parquet } }
"""


@pytest.mark.torture
@pytest.mark.long
@pytest.mark.timeout(300)
def test_ten_thousand_small_files_become_few_units_and_few_targets(tmp_path: Path, figure: Figure) -> None:
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        (tmp_path / "in" / f"part-{number:05d}.csv").write_text(f"id,name\n{2 * number},a\n{2 * number + 1},b\n")
    command = Command.of(tmp_path, JOB % (tmp_path, tmp_path))
    begun = time.monotonic()
    engine = command.begin()
    assert engine.wait(240) == 0, engine.output
    took_s = time.monotonic() - begun
    assert ids(tmp_path / "out") == list(range(2 * FILES))
    targets = len(published(tmp_path / "out"))
    units = {re.findall(r"-u(\d+)-", path.name)[0] for path in published(tmp_path / "out")}
    checkpoints = [path.stat().st_size for path in tmp_path.glob("state/job-1/0*/*.ckpt")]
    assert targets <= MOST_TARGETS
    assert checkpoints
    assert max(checkpoints) < LARGEST_CHECKPOINT, "the list of files is an attachment (R12)"
    figure(f"{FILES:,} files: {len(units)} units, {targets} files, {took_s:.0f} s, checkpoint {max(checkpoints):,} B")


def make_tiny(folder: Path, count: int) -> None:
    """Files with a header and no row."""
    for number in range(count):
        if number % FILES == 0:
            (folder / f"{number:07d}").mkdir(parents=True)
        path = folder / f"{number // FILES * FILES:07d}" / f"part-{number:07d}.csv"
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"id,name\n")
        os.close(descriptor)


def add_row(folder: Path, name: str, number: int) -> None:
    (folder / name).write_text(f"id,name\n{number},a\n")


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each complete listing has found."""
    found: list[int] = []
    original = Listing.files

    def files(self: Listing) -> Any:
        listed = original(self)
        found.append(len(listed))
        return listed

    monkeypatch.setattr(Listing, "files", files)
    return found


def checkpoint_sizes(folder: Path) -> Iterator[int]:
    return (path.stat().st_size for path in folder.glob("state/*/0*/*.ckpt"))


@pytest.mark.timeout(300)
def test_a_restored_job_neither_lists_again_nor_stores_its_list_again(tmp_path: Path, listings: list[int]) -> None:
    with ground_in(tmp_path) as ground:
        make_tiny(ground.work / "in", TINY)
        for number in (1, 2):
            add_row(ground.work / "in", f"{number:07d}.csv", number)  # behind the first folder, and behind the others
        text = (JOB % (ground.work, ground.work)).replace("interval = 1000", "interval = 40")
        with ground.run(text) as first:
            first.start()
            until(lambda: any(view.splits_done for view in first.progress().pipelines), first)
            done = first.progress().pipelines[0].checkpoints_completed
            until(lambda: first.progress().pipelines[0].checkpoints_completed > done, first)
            report = kill(first)
            assert report.pipelines[0].splits_done < TINY
        assert listings == [TINY + 2], "once for the whole job"
        add_row(ground.work / "in", "9999999.csv", 9)
        report, _ = run_through(ground.run(text, restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
        assert listings == [TINY + 2], "not once more"
        assert ids(ground.work / "out") == [1, 2], "what came later belongs to another job"
        assert len(list(ground.work.glob("state/*/attachments/*.attachment"))) == 1
        assert max(checkpoint_sizes(ground.work)) < LARGEST_CHECKPOINT


def test_what_the_driver_needs_for_a_file_has_a_bound(tmp_path: Path, figure: Figure) -> None:
    make_tiny(tmp_path / "in", TRACED)
    values = {"path": str(tmp_path / "in"), "file_format_type": "csv", "schema": {"fields": {"id": "bigint"}}}
    source, planning = LocalFileSource(options_of(LocalFileSource, values)), PlanningContext(parallelism=2)
    tracemalloc.start()
    try:
        assert source.discover(planning) == ()
        body = freeze(source.enumerate((), planning))
        assert len(thaw(body).splits) == TRACED
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    figure(
        f"{TRACED:,} files: {peak / TRACED:,.0f} bytes of the driver each, {len(body) / TRACED:,.0f} of the attachment"
    )
    assert peak < TRACED * BYTES_OF_A_FILE
