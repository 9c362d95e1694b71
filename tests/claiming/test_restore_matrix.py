"""How a job died, from where it is restored, and how its file was changed meanwhile: every combination, exact rows.

Storage, sources and sinks are the real ones; tasks run in this process, so that a cell takes a second. The rows are
counted by Arrow's own reader. A job is run once for each way to die, and each cell begins with a copy of what it left.
"""

import time
from collections import Counter
from collections.abc import Iterator

import pytest
from attrs import frozen

from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore, SavepointName
from seatunnel_core.reporting.report import JobOutcome
from tests.figures import Figure
from tests.runtime.command import staged
from tests.runtime.ground import ALL, NEW, OLD, ROWS, Ground, ground_in, run_through

pytestmark = [pytest.mark.xdist_group("restore-matrix"), pytest.mark.timeout(900)]

DIED = ("killed", "stopped", "savepoint-stop", "finished")
FROM = ("latest", "older, refused", "older, retracted", "older, accepted", "savepoint", "savepoint, new job")
CHANGED = ("unchanged", "parallelism", "table added", "table removed")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_in(tmp_path_factory.mktemp("matrix")) as made:
        yield made


@frozen
class Cell:
    died: str
    restored: str
    changed: str


def _file(ground: Ground, changed: str) -> str:
    names = {"table added": "abc", "table removed": "a"}.get(changed, "ab")
    return ground.tables(*names, parallelism=3 if changed == "parallelism" else 1, rows_per_second=None)


def _how(cell: Cell, ground: Ground, *, allow: bool) -> dict[str, object]:
    name = "end" if cell.died == "savepoint-stop" else "middle"
    if cell.restored == "savepoint, new job":
        savepoint = SavepointName(job_id=OLD, name=name)
        return {"job_id": NEW, "begin_with": ForeignSavepoint(savepoint=savepoint, allow_non_restored_state=allow)}
    if cell.restored == "latest":
        return {"restore": Restore(allow_non_restored_state=allow)}
    if cell.restored == "savepoint":
        retract = cell.died != "savepoint-stop"
        return {"restore": Restore(savepoint=name, retract=retract, allow_non_restored_state=allow)}
    asked = Restore(
        checkpoints=(ground.older(),),
        retract=cell.restored == "older, retracted",
        accept_duplicates=cell.restored == "older, accepted",
        allow_non_restored_state=allow,
    )
    return {"restore": asked}


def play(cell: Cell, ground: Ground) -> str:
    """Restore as the cell says, and say what became of the rows. Asserts that it is what it should be."""
    ground.begin(cell.died)
    before = {table: ground.rows(table) for table in "ab"}
    text = _file(ground, cell.changed)
    ended = cell.died == "finished" and cell.restored == "latest"
    if cell.changed == "table removed" and not ended:
        said = _refusal(ground, text, _how(cell, ground, allow=False))
        assert "'b'" in said
        assert "allow_non_restored_state=True" in said
    try:
        how = _how(cell, ground, allow=cell.changed == "table removed")
        report, told = run_through(ground.run(text, **how))  # type: ignore[arg-type]
    except UsageError as error:
        assert {table: ground.rows(table) for table in "ab"} == before, "refused, and yet something moved"
        return _expect_refusal(cell, ground, str(error))
    assert report.outcome is JobOutcome.FINISHED, report
    if ended:
        assert {table: ground.rows(table) for table in "ab"} == before
        return "had ended"
    _expect_rows(cell, ground, before)
    if cell.restored == "savepoint, new job":
        ground.collect_garbage()  # what a task still staged while the old job stopped, which nobody resumes
    assert not staged(ground.work / "out" / "a")
    if cell.changed != "unchanged" and cell.changed != "parallelism":
        assert any("new, starting from the beginning: " in line or "dropped, " in line for line in told), told
    doubled = sum(count - 1 for count in Counter(ground.rows("a")).values())
    return f"{ROWS} rows, {doubled} twice" if cell.restored == "older, accepted" else f"{ROWS} rows"


def _refusal(ground: Ground, text: str, how: dict[str, object]) -> str:
    with pytest.raises(UsageError) as raised:
        run_through(ground.run(text, **how))  # type: ignore[arg-type]
    return str(raised.value)


def _expect_refusal(cell: Cell, ground: Ground, said: str) -> str:
    if "staged and not published" in said:
        assert (cell.died, cell.changed) == ("killed", "table removed"), said
        assert staged(ground.work / "out" / "b"), said
        return "refused: b waits"
    if cell.restored == "savepoint, new job":
        assert cell.died != "savepoint-stop", said
        assert "continued after the savepoint" in said
        assert f"-r {OLD} --restore-with-savepoint middle --retract" in said
        return "refused: twice"
    if cell.restored == "latest":
        assert (cell.died, cell.changed) in (("finished", "table added"), ("finished", "table removed")), said
        assert "has ended, but this job file differs from the job file of its last run" in said
        return "refused: ended"
    assert cell.restored == "older, refused", said
    assert "retract=True" in said
    assert "accept_duplicates=True" in said
    return "refused"


def _expect_rows(cell: Cell, ground: Ground, before: dict[str, list[int]]) -> None:
    assert cell.restored != "older, refused"
    if cell.restored == "older, accepted":
        assert sorted(set(ground.rows("a"))) == ALL, "rows are lost"
        assert len(ground.rows("a")) > ROWS, "nothing was doubled, so nothing was gone back to"
    else:
        assert ground.rows("a") == ALL
    if cell.changed == "table removed":
        assert set(before["b"]) <= set(ground.rows("b"))
    else:
        assert ground.rows("b") == ALL
    if cell.changed == "table added":
        assert ground.rows("c") == ALL


SMALL = (
    Cell("killed", "latest", "parallelism"),
    Cell("stopped", "older, retracted", "table added"),
    Cell("savepoint-stop", "savepoint, new job", "unchanged"),
    Cell("finished", "older, accepted", "table removed"),
    Cell("finished", "savepoint", "unchanged"),
)


@pytest.mark.parametrize("cell", SMALL, ids=lambda cell: f"{cell.died}-{cell.restored}-{cell.changed}")
def test_some_of_it(cell: Cell, ground: Ground) -> None:
    play(cell, ground)


@pytest.mark.torture
def test_all_of_it(ground: Ground, figure: Figure) -> None:
    failed: list[str] = []
    began = time.monotonic()
    lines = [f"  {'died':16}{'restored from':22}" + "".join(f"{changed:26}" for changed in CHANGED)]
    for died in DIED:
        for restored in FROM:
            cells = []
            for changed in CHANGED:
                try:
                    cells.append(play(Cell(died, restored, changed), ground))
                except (AssertionError, Exception) as error:
                    cells.append("FAILED")
                    failed.append(f"{died}, {restored}, {changed}: {error}")
            lines.append(f"  {died:16}{restored:22}" + "".join(f"{cell:26}" for cell in cells).rstrip())
    print("\n" + "\n".join(lines))
    figure(f"{len(DIED) * len(FROM) * len(CHANGED)} cells in {time.monotonic() - began:.0f} s")
    assert not failed, "\n".join(failed)
