"""A failing pipeline names what is wrong and where; the others complete and stay committed; the exit code is 1.

One job with many pipelines plays all of it, so that Spark is started once.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from seatunnel_core.checkpoint.vertices.limits import Limits
from tests.jobs.small_disk import small_disk
from tests.runtime.command import Command, column, job, parquet_sink, published, staged

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("commands-of-jobs"), pytest.mark.timeout(240)]

GOOD_ROWS = 500

TRIES = 1 + Limits().unit_retries
"""How often a work unit is tried before its pipeline starts again."""

FLAKY = '''
import errno
import os
from pathlib import Path

def often_fails(rows):
    """A disk that cannot be read, on the first {tries} tries that come to the row with the id 400."""
    if 400 in rows.column("id").to_pylist():
        for number in range({tries}):
            try:
                Path("{folder}", f"try-{{number}}").touch(exist_ok=False)
            except FileExistsError:
                continue
            raise OSError(errno.EIO, os.strerror(errno.EIO))
    return rows

def always_fails(rows):
    """Poison: whoever takes the row with the id 300 is lost."""
    if 300 in rows.column("id").to_pylist():
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return rows
'''


@frozen(kw_only=True)
class Outcome:
    """The job when it is over."""

    folder: Path
    exit_code: int
    output: str
    full: Path | None
    """The target without room; ``None`` when none could be made."""

    read_only: Path | None
    """The target that nobody may write to; ``None`` when none could be made."""

    def message(self, pipeline: str) -> str:
        """The line about a pipeline in the closing lines."""
        lines = self.output.partition(" FAILED\n")[2].splitlines()
        return next((line for line in lines if f" {pipeline} -> " in line and ":" in line), "")


def source(name: str, path: Path, *, format: str = "csv", more: str = "") -> str:
    return f"""
  LocalFile {{
    plugin_output = {name}
    path = "{path}"
    file_format_type = {format}
    schema {{ fields {{ id = bigint, text = string }} }}
    {more}
  }}"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    folder = tmp_path_factory.mktemp("failing")
    inputs = write_inputs(folder / "in")
    with contextlib.ExitStack() as mounts:
        full = mounts.enter_context(small_disk(folder / "full", "size=128k"))
        read_only = mounts.enter_context(protected_folder(folder / "read-only"))
        sources = [source(name, path) for name, path in inputs.items() if path.suffix == ".csv" and name != "skipped"]
        sources.append(source("skipped", inputs["skipped"], more="row_error_handle_way = SKIP"))
        sources.append(source("torn", inputs["torn"], format="parquet"))
        names = [*inputs]
        targets = {name: folder / "out" / name for name in names}
        if full is not None:
            sources.append(source("crowded", inputs["large"]))
            targets["crowded"] = full
        if read_only is not None:
            sources.append(source("locked", inputs["good"]))
            targets["locked"] = read_only
        sources.append(source("patient", inputs["good"], more="split_size = 1024"))
        targets["recovered"] = folder / "out" / "recovered"
        sources.append(source("poisoned", inputs["good"], more="split_size = 1024"))
        targets["poison"] = folder / "out" / "poison"
        env = "job.mode = BATCH, checkpoint.interval = 500, job.retry.times = 2, job.retry.interval.seconds = 0"
        text = job(env, sources, [parquet_sink(name, target) for name, target in targets.items()])
        recovered = 'plugin_input = patient, plugin_output = recovered, function = "flaky:often_fails"'
        poison = 'plugin_input = poisoned, plugin_output = poison, function = "flaky:always_fails"'
        text += f"transform {{\n Python {{ {recovered} }}\n Python {{ {poison} }}\n}}"
        (folder / "flaky.py").write_text(FLAKY.format(folder=folder, tries=2 * TRIES))
        monkeypatch = mounts.enter_context(pytest.MonkeyPatch.context())
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        command = Command.of(folder, text)
        engine = command.begin()
        code = engine.wait(200)
        yield Outcome(folder=folder, exit_code=code, output=engine.output, full=full, read_only=read_only)
        engine.end()


def write_inputs(folder: Path) -> dict[str, Path]:
    """By the name of the source."""
    folder.mkdir()
    paths = {name: folder / f"{name}.csv" for name in ("good", "large", "typed", "skipped")}
    paths["torn"] = folder / "torn.parquet"
    rows = [f'{number},"text {number}"' for number in range(1, GOOD_ROWS + 1)]
    paths["good"].write_text("\n".join(rows) + "\n")
    paths["large"].write_text("".join(f"{number},{os.urandom(24).hex()}\n" for number in range(20_000)))
    wrong = [*rows[:240], '241,"two\nlines"', 'oops,"text"', *rows[242:]]
    paths["typed"].write_text("\n".join(wrong) + "\n")
    paths["skipped"].write_text("\n".join([*rows[:100], "oops,a", "4.5,b", *rows[100:]]) + "\n")
    paths["torn"].write_bytes(b"PAR1 this is no Parquet file, although it begins like one PAR1")
    return paths


@contextlib.contextmanager
def protected_folder(folder: Path) -> Iterator[Path | None]:
    """A folder that this user may not write to. Permissions do not stop root, a file system mounted so does."""
    if os.geteuid():
        folder.mkdir(mode=0o555)
        yield folder
        folder.chmod(0o755)
    else:
        with small_disk(folder, "ro") as mounted:
            yield mounted


def test_the_exit_code_is_1_and_nothing_is_a_traceback(outcome: Outcome) -> None:
    assert outcome.exit_code == 1, outcome.output
    assert "Traceback" not in outcome.output
    assert "a bug in the engine" not in outcome.output
    print(f"\n{outcome.output}")


def test_the_other_pipelines_complete_and_stay_committed(outcome: Outcome) -> None:
    assert column(outcome.folder / "out" / "good", "id") == list(range(1, GOOD_ROWS + 1))
    assert column(outcome.folder / "out" / "large", "id") == list(range(20_000))
    assert outcome.message("good") == ""


def test_a_wrong_type_is_named_with_pipeline_source_file_line_and_column(outcome: Outcome) -> None:
    """Line 243 of the file, because a value before it has two lines."""
    said = outcome.message("typed")
    assert "pipeline 3" in said
    assert "typed" in said
    assert "typed.csv" in said
    assert "243" in said
    assert "'id'" in said or "column id" in said
    assert "oops" in said
    assert published(outcome.folder / "out" / "typed") == []
    assert outcome.output.count("More: seatunnel help ROW-ERROR\n") == 1


def test_an_unreadable_file_is_named(outcome: Outcome) -> None:
    said = outcome.message("torn")
    assert "torn.parquet" in said, outcome.output
    assert published(outcome.folder / "out" / "torn") == []


def test_what_passes_by_itself_is_tried_again_and_gives_every_row_once(outcome: Outcome) -> None:
    """Row 400 fails every try of two starts, when other rows are staged already, and passes at the second restart."""
    assert len(list(outcome.folder.glob("try-*"))) == 2 * TRIES
    assert outcome.message("patient") == ""
    (line,) = [line for line in outcome.output.splitlines() if "patient -> " in line and "finished   " in line]
    assert line.split()[-5:] == ["500", "500", "0", line.split()[-2], "2"], line
    assert column(outcome.folder / "out" / "recovered", "id") == list(range(1, GOOD_ROWS + 1))
    assert staged(outcome.folder / "out" / "recovered") == []


def test_a_unit_that_fails_on_each_attempt_is_named_with_what_it_reads(outcome: Outcome) -> None:
    """No attempt tells the line, so the message says where to look for it: the bytes, in which there is row 300."""
    said = outcome.message("poisoned")
    found = re.search(
        rf"work unit (\d+) of source 'poisoned' failed on each of its {TRIES} attempts\. "
        r"It reads (\S+good\.csv), bytes (\d+) to (\d+)$",
        said,
    )
    assert found, outcome.output
    piece = Path(found[2]).read_bytes()[int(found[3]) : int(found[4])]
    assert b'\n300,"text 300"\n' in piece
    assert 300 not in column(outcome.folder / "out" / "poison", "id")


def test_skipped_rows_are_counted_and_reported(outcome: Outcome) -> None:
    assert column(outcome.folder / "out" / "skipped", "id") == list(range(1, GOOD_ROWS + 1))
    (line,) = [line for line in outcome.output.splitlines() if "skipped -> " in line and "finished   " in line]
    assert line.split()[-5:] == ["500", "500", "2", line.split()[-2], "0"], line


def test_a_full_target_is_named(outcome: Outcome) -> None:
    if outcome.full is None:
        pytest.skip("A FULL TARGET WAS NOT TESTED: no small file system can be mounted here (it takes root)")
    said = outcome.message("crowded")
    assert "sink" in said
    assert str(outcome.full) in said
    assert "No space left on device" in said


def test_a_read_only_target_is_named(outcome: Outcome) -> None:
    if outcome.read_only is None:
        pytest.skip("A READ-ONLY TARGET WAS NOT TESTED: root writes everywhere, and none can be mounted read-only here")
    said = outcome.message("locked")
    assert "sink" in said
    assert str(outcome.read_only) in said
    assert staged(outcome.read_only) == []
