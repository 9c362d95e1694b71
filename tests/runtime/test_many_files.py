"""A folder of many small files is one source: few work units, few files in the target, and little in a checkpoint.

What happened elsewhere: a file of its own for each file that was read, and a list of all of them in every checkpoint.
"""

from pathlib import Path

import pytest

from tests.runtime.command import Command, ids, published

FILES = 10_000
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
def test_ten_thousand_small_files_become_few_units_and_few_targets(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        (tmp_path / "in" / f"part-{number:05d}.csv").write_text(f"id,name\n{2 * number},a\n{2 * number + 1},b\n")
    command = Command.of(tmp_path, JOB % (tmp_path, tmp_path))
    engine = command.begin()
    assert engine.wait(240) == 0, engine.output
    assert ids(tmp_path / "out") == list(range(2 * FILES))
    targets = len(published(tmp_path / "out"))
    checkpoints = [path.stat().st_size for path in tmp_path.glob("state/job-1/0*/*.ckpt")]
    assert targets <= MOST_TARGETS
    assert checkpoints
    assert max(checkpoints) < LARGEST_CHECKPOINT, "the list of files is an attachment (R12)"
    print(f"{FILES:,} files became {targets} files; largest checkpoint {max(checkpoints):,} bytes")
