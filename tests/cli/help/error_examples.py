"""For each code with an example: how to make the error say it. Nothing here needs Spark."""

import hashlib
import struct
from collections.abc import Callable
from concurrent.futures import Future
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import define, field

from seatunnel_core import stored
from seatunnel_core.application.handle import JobHandle
from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.decisions.base import RestoreRequest, choose_base
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.claiming.claim import Claim
from seatunnel_core.cli.help.plugin import print_help
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.testing import commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.assertion.sink import AssertSink
from seatunnel_core.errors import ConfigError
from seatunnel_core.inspector import copy_job
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.runtime.savepoints import Answer, JobSavepoints, ManifestWriter
from seatunnel_core.spark.starting.master import require_master
from seatunnel_core.transforms.sql.transform import Sql
from seatunnel_storage_api import configuration, discovery, envelope
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.state import CheckpointRef
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim
from tests.checkpoint.played import Played
from tests.connectors.file.local_files import sink, source
from tests.jobs.at_once import AtOnce

PEOPLE = TableSchema(table="people", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))


# -- a job ----------------------------------------------------------------------------------------------------------


GOOD = """env { job.mode = BATCH }
source { FakeSource { plugin_output = people, schema { fields { id = bigint } } } }

sink { Console { plugin_input = people }
  LocalFile { plugin_input = people, path = /out } }
"""


def plan_with(old: str, new: str) -> None:
    problems = Problems()
    text = GOOD.replace(old, new)
    raw = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
    problems.raise_errors(ConfigError)
    plan_job(raw, lookup, load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere")))


@define
class Ended:
    """Stands for a job that ran: it has a report, and nothing else is asked of it."""

    report: JobReport

    def wait(self, _timeout: float) -> JobReport:
        return self.report


def fail_a_job(_folder: Path) -> None:
    view = PipelineView(id=1, name="cities", phase="failed", failure="the disk is full")
    report = JobReport(
        job_id="42", name="cities", outcome=JobOutcome.FAILED, pipelines=(view,), started_at=0, ended_at=1
    )
    JobHandle(Ended(report)).result()  # type: ignore[arg-type]


@define
class Refusing:
    """A pipeline that takes no savepoint."""

    id: int = 1
    title: str = "people"

    def savepoint(self, _name: str, *, stop: bool, drain: bool, answer: Answer) -> None:
        answer(None, "the pipeline is already ending")


@define
class Planned:
    manifest: Manifest = field(factory=lambda: Manifest(job_name="people"))


def refuse_a_savepoint(_folder: Path) -> None:
    storage = MemoryStorage()
    storage.put_manifest(JOB, 1, Planned().manifest.to_bytes())
    writer = ManifestWriter(storage, JOB, Claim(version=1, job=Planned()))  # type: ignore[arg-type]
    taken: Future[Any] = Future()
    JobSavepoints(writer, AtOnce()).take("nightly", stop=False, drain=False, pipelines=[Refusing()], taken=taken)
    taken.result(timeout=0)


# -- connectors -----------------------------------------------------------------------------------------------------


def read_people(folder: Path, name: str, content: bytes, then: bytes | None = None) -> None:
    (folder / name).write_bytes(content)
    schema = {"fields": {"id": "bigint", "name": "string"}}
    people = source(folder / name, file_format_type=name.partition(".")[2], schema=schema)
    found = plan(people)
    if then is not None:
        (folder / name).write_bytes(then)
    read(people, found)


def keep_what_is_there(folder: Path) -> None:
    (folder / "old.csv").touch()
    sink(folder, data_save_mode="ERROR_WHEN_DATA_EXISTS").apply_save_mode(sink_place(place()))


def lose_what_is_staged(folder: Path) -> None:
    out = sink(folder)
    rows = pa.RecordBatch.from_pylist([{"id": 1, "name": "Joy"}], PEOPLE.columns)
    staged = stage(out, PEOPLE, [rows], place())
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        file.unlink()
    commit(out, [staged], place())


def break_a_rule(_folder: Path) -> None:
    rules = {"row_rules": [{"rule_type": "MIN_ROW", "rule_value": 3}]}
    AssertSink(options_of(AssertSink, {"rules": rules})).conclude(2, {"people": 2})


# -- the checkpoint storage ----------------------------------------------------------------------------------------


def stored_twice(_folder: Path) -> None:
    storage = MemoryStorage()
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1, b"one"))
    storage.store_checkpoint(checkpoint(epoch, 1, b"other"))


def taken_over(_folder: Path) -> None:
    storage = MemoryStorage()
    epoch = claim(storage)
    claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))


def claimed_twice(_folder: Path) -> None:
    storage = MemoryStorage()
    storage.put_manifest(JOB, 1, b"mine")
    storage.put_manifest(JOB, 1, b"yours")


def changed(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Something else than what was stored is read."""

    def load(_folder: Path) -> None:
        storage = MemoryStorage()
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        storage.blobs = {path: change(body) if path.endswith(".ckpt") else body for path, body in storage.blobs.items()}
        storage.get_latest_checkpoint(JOB, 1)

    return load


def of_version(sealed: bytes, version: int) -> bytes:
    """With a digest that is right."""
    at = len(envelope.MAGIC)
    content = sealed[:at] + struct.pack(">H", version) + sealed[at + 2 : -32]
    return content + hashlib.sha256(content).digest()


def refused(error: OSError) -> Callable[[Path], None]:
    def claim_it(_folder: Path) -> None:
        def refuse(_operation: str, _key: str) -> None:
            raise error

        storage = MemoryStorage(before=refuse)
        storage._backoff = Backoff(sleep=lambda _: None)
        storage.put_manifest(JOB, 1, b"")

    return claim_it


def closed(_folder: Path) -> None:
    storage = MemoryStorage()
    storage.close()
    storage.list_checkpoints(JOB, 1)


def copied_without_manifest(_folder: Path) -> None:
    storage = MemoryStorage()
    storage.store_checkpoint(checkpoint(claim(storage, job_id="42"), 1, job_id="42"))
    copy_job(storage, MemoryStorage(), "42")


EXAMPLES: dict[str, Callable[[Path], object]] = {
    "ATTACHMENT-NOT-FOUND": lambda _: MemoryStorage().get_attachment(JOB, "0" * 64),
    "CHECKPOINT-CONFLICT": stored_twice,
    "CHECKPOINT-CORRUPTED": changed(lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1])),
    "COMMIT-ERROR": lose_what_is_staged,
    "CONFIG-ERROR": lambda _: plan_with("job.mode", "job.mod"),
    "COPY-ERROR": copied_without_manifest,
    "ILLEGAL-EVENT": lambda _: begun_with(events.EpochClaimed(now_ms=0, epoch=3)),
    "INVALID-ID": lambda _: MemoryStorage().list_checkpoints("../etc", 1),
    "JOB-ERROR": lambda _: plan_with("people, path", "peple, path"),
    "JOB-FAILED": fail_a_job,
    "MANIFEST-CONFLICT": claimed_twice,
    "NAMESPACE-ERROR": lambda _: configuration.namespace({"namespace": "/checkpoints"}),
    "PLATFORM-ERROR": lambda _: require_master("spark://here"),
    "RESTORE-REFUSED": lambda _: choose_base((), RestoreRequest(ref=CheckpointRef(200_000, 7))),
    "ROW-ERROR": lambda folder: read_people(folder, "people.csv", b"1,Joy\nx,Kin\n"),
    "RULE-ERROR": break_a_rule,
    "SAVEPOINT-ERROR": refuse_a_savepoint,
    "SINK-ERROR": keep_what_is_there,
    "SOURCE-CHANGED": lambda folder: read_people(folder, "people.csv", b"1,Joy\n", b"1,Joy\n2,Kin\n"),
    "SOURCE-ERROR": lambda folder: read_people(folder, "people.orc", b"no orc"),
    "STALE-EPOCH": taken_over,
    "STATE-FORMAT": lambda _: codec.decode(b'{"format": 99, "vertices": {}}'),
    "STORAGE-ACCESS": refused(PermissionError(13, "Permission denied")),
    "STORAGE-CLOSED": closed,
    "STORAGE-CONFIGURATION": lambda _: configuration.max_retained({"max-retained": "0"}),
    "STORAGE-PLUGIN": lambda _: discovery._load(EntryPoint("acme", "no_such_module", discovery.GROUP)),
    "STORAGE-UNAVAILABLE": refused(ConnectionResetError(104, "Connection reset by peer")),
    "STORAGE-USAGE": lambda _: MemoryStorage().get_latest_checkpoint(JOB, 1, on_corrupted="ignore"),  # type: ignore[arg-type]
    "STORED-VALUE": lambda _: stored.number({"epoch": "one"}, "epoch"),
    "TRANSFORM-ERROR": lambda _: Sql(options_of(Sql, {"query": "SELECT nam FROM people"})).output_schema(PEOPLE),
    "UNKNOWN-STORAGE": lambda _: discovery.load_factory("hdsf"),
    "UNSUPPORTED-FORMAT": changed(lambda sealed: of_version(sealed, 9)),
    "USAGE-ERROR": lambda _: print_help("sink", "Consol"),
}


def begun_with(event: events.EpochClaimed) -> None:
    played = Played(epoch=100_000)
    played.deliver(events.Started(now_ms=0))
    played.deliver(event)
