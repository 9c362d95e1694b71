"""Jobs of one name that read in increments: what each reads, who may begin one, what a death changes."""

import json
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from attrs import evolve

from seatunnel_core.claiming import increments
from seatunnel_core.claiming.increments import KEPT, acknowledged, job_to_go_on_with, load, put
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.errors import JobError, UsageError
from seatunnel_core.inspector import survey
from seatunnel_core.job.increment_state import IncrementState, SourceState
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime import job_threads
from seatunnel_core.work.window import Cursor, Window
from seatunnel_storage_api import layout
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import ManifestConflictError, StorageAccessError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.storage import CheckpointStorage
from tests.runtime.command import published
from tests.runtime.ground import Ground, ground_in, run_through

ENV = "job.name = nightly, job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0"
INCREMENTAL = "incremental { column = changed }"


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ground_in(tmp_path) as found:
        found.work.mkdir()
        add(found, 1, 2, 3)
        yield found
    forget()


@pytest.fixture
def storage(ground: Ground) -> Iterator[CheckpointStorage]:
    with open_storage("hdfs", {"namespace": f"{ground.work}/state/"}) as found:
        yield found


def add(ground: Ground, *ids: int) -> None:
    with closing(sqlite3.connect(ground.work / "shop.db")) as database:
        database.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, changed INTEGER NOT NULL)")
        database.executemany("INSERT INTO orders VALUES (?, ?)", [(number, number) for number in ids])
        database.commit()


def text(ground: Ground, *, env: str = ENV, source: str = INCREMENTAL, table: str = "orders") -> str:
    return f"""
        env {{ {env} }}
        source {{ Jdbc {{ url = "jdbc:sqlite:{ground.work}/shop.db", table_path = {table}, {source} }} }}
        sink {{ LocalFile {{ path = "{ground.work}/out", file_format_type = json }} }}
    """


def rows(ground: Ground) -> list[int]:
    files = published(ground.work / "out") if (ground.work / "out").exists() else []
    return sorted(json.loads(line)["id"] for file in files for line in file.read_text().splitlines())


def night(ground: Ground, job_id: str, **how: str) -> None:
    report, _ = run_through(ground.run(text(ground, **how), job_id))
    assert report.outcome is JobOutcome.FINISHED, report


def abandoned(ground: Ground, job_id: str, **how: str) -> None:
    """Let a job claim its window and die before it has read anything."""
    with ground.run(text(ground, **how), job_id) as run:
        run.start()
        run.kill()
        run.wait(60)


def test_a_job_goes_on_where_the_one_before_ended(ground: Ground, storage: CheckpointStorage) -> None:
    night(ground, "first")
    add(ground, 4, 5)
    report, notes = run_through(ground.run(text(ground), "second"))
    assert report.outcome is JobOutcome.FINISHED
    assert rows(ground) == [1, 2, 3, 4, 5]
    assert notes == ("The source Jdbc-source-1 reads incrementally by changed: after 3, up to 5.",)
    state = load(storage, "nightly")
    assert (state.job_id, state.is_done) == ("second", True)
    assert [each.job_id for each in survey(storage)] == ["first", "second"], "the record is no job"


def test_a_job_that_died_is_the_next_one(ground: Ground, storage: CheckpointStorage) -> None:
    abandoned(ground, "first")
    add(ground, 4)
    with pytest.raises(UsageError, match=r"the job first of the same name \('nightly'\) has not ended.*-r first"):
        run_through(ground.run(text(ground), "second"))
    raw = load_job(ground.work / "job.conf", Variables({}, {}))
    engine = load_engine(ground.work / "seatunnel.yaml")
    assert job_to_go_on_with(raw, engine, None) == "first"
    report, _ = run_through(ground.run(text(ground), "first", restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED
    assert rows(ground) == [1, 2, 3], "4 came after the job had begun"
    assert job_to_go_on_with(raw, engine, None) is None
    night(ground, "second")
    assert rows(ground) == [1, 2, 3, 4]


def test_a_death_between_the_last_commit_and_the_record_repeats_nothing(
    ground: Ground, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(job_threads, "note_end", lambda *_: None)
        night(ground, "first")
    state = load(storage, "nightly")
    assert not state.is_done
    assert not state.sources
    read = acknowledged(storage, state)
    assert read is not None
    assert [str(each.cursor and each.cursor.value) for each in read.sources.values()] == ["3"]
    add(ground, 4)
    night(ground, "second")
    assert rows(ground) == [1, 2, 3, 4]


def test_a_death_between_the_claim_and_the_record_leaves_a_job_that_never_runs(
    ground: Ground, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(increments.IncrementalRun, "begin", dies)
        with ground.run(text(ground), "first") as run, pytest.raises(KeyboardInterrupt):
            run.start()
    assert storage.get_manifest("first") is not None
    night(ground, "second")
    with pytest.raises(UsageError, match="first is not the last job that used the state 'nightly'"):
        run_through(ground.run(text(ground), "first", restore=Restore()))
    assert rows(ground) == [1, 2, 3]


def test_of_two_that_begin_at_once_one_is_refused(
    ground: Ground, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = increments.IncrementalRun.begin

    def later(run: increments.IncrementalRun) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(increments.IncrementalRun, "begin", begin)
            night(ground, "faster")
        begin(run)

    monkeypatch.setattr(increments.IncrementalRun, "begin", later)
    with pytest.raises(UsageError, match="the job faster of the same"):
        run_through(ground.run(text(ground), "slower"))
    assert storage.get_manifest("slower") is None
    assert rows(ground) == [1, 2, 3]


def test_a_job_that_reads_something_else_is_refused(ground: Ground) -> None:
    night(ground, "first")
    with closing(sqlite3.connect(ground.work / "shop.db")) as database:
        database.execute("CREATE TABLE others AS SELECT * FROM orders")
    key = "incremental { column = changed, key = [id] }"
    with pytest.raises(UsageError, match=r"table was 'orders' and is 'others'.*seatunnel state reset nightly"):
        run_through(ground.run(text(ground, source=key, table="others"), "second"))
    night(ground, "second", source=key, table="others", env=f"{ENV}, state.name = others")
    add(ground, 4)
    night(ground, "third", source="incremental { column = changed, lag = 5 }")
    assert rows(ground) == sorted([1, 2, 3] * 2 + [4])


def test_a_job_goes_on_with_what_it_began_to_read(ground: Ground) -> None:
    abandoned(ground, "first")
    for source, said in {
        "incremental { column = id }": "column was 'changed' and is 'id'",
        "partition_num = 1": "is incremental in the job file or in the stored job",
    }.items():
        with pytest.raises(UsageError, match=said):
            run_through(ground.run(text(ground, source=source), "first", restore=Restore()))


def test_a_removed_job_leaves_a_state_that_nobody_trusts(ground: Ground, storage: CheckpointStorage) -> None:
    abandoned(ground, "first")
    storage.delete_job("first")
    with pytest.raises(UsageError, match=r"the job first, the last job that used the state 'nightly', was removed"):
        run_through(ground.run(text(ground), "second"))


def test_a_sink_that_removes_earlier_rows_is_refused(ground: Ground) -> None:
    emptied = text(ground).replace("file_format_type = json", "file_format_type = json, data_save_mode = DROP_DATA")
    with pytest.raises(JobError, match=r"removes the rows of earlier jobs \(DROP_DATA\)"):
        run_through(ground.run(emptied, "first"))


def test_a_folder_is_read_in_increments(ground: Ground) -> None:
    inbox = ground.work / "inbox"
    inbox.mkdir()
    source = f"""LocalFile {{ path = "{inbox}", file_format_type = json, schema {{ fields {{ id = bigint }} }}
                 incremental {{ column = modified, lag = 1h }} }}"""
    job = text(ground)
    start, end = job.index("source {") + len("source {"), job.index("sink {")
    job = f"{job[:start]} {source} }}\n{job[end:]}"
    for number in (1, 2, 3):
        (inbox / f"{number}.json").write_text(json.dumps({"id": number}) + "\n")
        report, _ = run_through(ground.run(job, f"job-{number}"))
        assert report.outcome is JobOutcome.FINISHED, report
    assert rows(ground) == [1, 2, 3]


def test_a_job_without_a_name_has_no_state(ground: Ground) -> None:
    with pytest.raises(UsageError, match=r"set job\.name in env"):
        run_through(ground.run(text(ground, env="job.mode = BATCH"), "first"))


def test_a_state_of_several_sources_is_theirs_by_name(storage: CheckpointStorage) -> None:
    reads = {name: {"table": name} for name in "abc"}
    state = IncrementState(name="x", job_id="1", is_done=False)
    after = state.after({name: Window(reads=reads[name], upto=Cursor(value=name)) for name in "ab"})
    put(storage, after)
    found = load(storage, "x")
    assert found == evolve(after, version=1)
    assert found.cursor_of("a", reads["a"]) == Cursor(value="a")
    assert found.cursor_of("renamed", reads["b"]) == Cursor(value="b")
    assert found.cursor_of("c", reads["c"]) is None
    with pytest.raises(UsageError, match="has a cursor of 'a', but that source now reads different data"):
        found.cursor_of("a", reads["c"])
    renamed = found.after({"renamed": Window(reads=reads["b"], after=Cursor(value="b"))})
    assert {name: each.cursor for name, each in renamed.sources.items()} == {
        "a": Cursor(value="a"),
        "renamed": Cursor(value="b"),
    }
    assert SourceState(reads=None, cursor=None).reads is None


def versions(storage: MemoryStorage) -> list[int]:
    found = (layout.manifest_version(each.key) for each in storage.list_blobs(""))
    return sorted(each for each in found if each is not None)


def test_old_versions_of_a_state_go() -> None:
    with MemoryStorage() as storage:
        for number in range(1, 3 * KEPT):
            put(storage, evolve(load(storage, "x"), job_id=str(number)))
        assert versions(storage) == list(range(2 * KEPT, 3 * KEPT))
        assert (load(storage, "x").version, load(storage, "x").job_id) == (3 * KEPT - 1, str(3 * KEPT - 1))


def test_who_slept_while_versions_went_is_refused() -> None:
    """The version that comes next for the sleeper was removed, so that it can be put once more."""
    with MemoryStorage() as storage:
        put(storage, IncrementState(name="x", job_id="first"))
        sleeper = load(storage, "x")
        for number in range(2 * KEPT):
            put(storage, evolve(load(storage, "x"), job_id=str(number)))
        assert sleeper.version + 1 not in versions(storage)
        with pytest.raises(ManifestConflictError, match="version 2 of the state 'x' is no longer the newest version"):
            put(storage, evolve(sleeper, job_id="sleeper"))
        assert load(storage, "x").job_id == str(2 * KEPT - 1)
        put(storage, load(storage, "x"))
        assert len(versions(storage)) == KEPT, "what the sleeper left has gone"


def test_of_many_who_put_at_once_each_version_has_one_and_readers_see_the_newest() -> None:
    with MemoryStorage() as storage:
        put(storage, IncrementState(name="x"))
        won, seen = list[int](), list[int]()

        def work(number: int) -> None:
            for _ in range(40):
                seen_now = load(storage, "x")
                seen.append(seen_now.version)
                with suppress(ManifestConflictError):
                    put(storage, evolve(seen_now, job_id=str(number)))
                    won.append(seen_now.version + 1)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert len(won) == len({*won}) > 0
        assert 0 not in seen, "a reader between a listing and a removal lists again"
        assert len(versions(storage)) <= KEPT + 4


def test_versions_that_cannot_be_removed_stop_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageAccessError("no right to delete")

    with MemoryStorage() as storage:
        monkeypatch.setattr(storage, "delete_manifests", refuse)
        put(storage, IncrementState(name="x"))
        assert load(storage, "x").version == 1
    assert "old versions of the state x are kept until the next job: no right to delete" in caplog.text


@pytest.mark.parametrize("kind", ["Jdbc", "DuckDB"])
def test_a_table_that_is_dropped_between_two_nights_lacks_older_rows_with_a_warning(
    ground: Ground, kind: str, tmp_path: Path
) -> None:
    """The second night created it again with its own rows only, and said nothing."""
    file, url = tmp_path / "copy.db", f'url = "jdbc:sqlite:{tmp_path}/copy.db", generate_sink_sql = true'
    where = url if kind == "Jdbc" else f'path = "{file}"'
    sink = f"sink {{ {kind} {{ {where}, table = copies }} }}"
    loads = re.sub(r"sink \{.*\}\n", f"{sink}\n", text(ground))
    report, _ = run_through(ground.run(loads, "first"))
    assert (report.outcome, report.warnings) == (JobOutcome.FINISHED, ())
    for night in ("second", "third"):
        add(ground, {"second": 4, "third": 5}[night])
        if night == "second":
            forget()
            file.unlink()
        report, _ = run_through(ground.run(loads, night))
        assert report.outcome is JobOutcome.FINISHED
        warned = [each for each in report.warnings if "copies" in each]
        assert len(warned) == (night == "second")
        assert all("copies does not exist, and the source 'Jdbc-source-1' reads only rows after 3" in each
                   and "`seatunnel state reset nightly`" in each for each in warned)  # fmt: skip
