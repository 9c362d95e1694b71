"""JSON records that follow from the fields of their classes: their bytes, and what their readers reject."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.errors import StoredValueError
from seatunnel_core.job.binding import Binding
from seatunnel_core.reporting.report import JobOutcome, JobReport, PipelineView
from seatunnel_core.reporting.report_record import report_from, report_record
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.host.protocol import HostedJob, HostStatus
from seatunnel_core.server.logs.log_reading import LogFile
from seatunnel_core.server.member_report import HostReport, MemberReport
from seatunnel_core.server.state.records import DesiredState, EndedJob, JobRecord, JobState, PastAttempt, Requirements
from seatunnel_core.stored_fields import Stored

PAST = (PastAttempt(attempt=1, host="a:1", started_at=0.0, ended_at=2.5, cause="lost"),)
RECORD = JobRecord(
    job_id="1",
    name="n",
    text="t",
    format="json",
    variables={"a": "b"},
    wanted=DesiredState.SAVEPOINT,
    state=JobState.RUNNING,
    host="h:1",
    process="p",
    dedicated=True,
    attempt=2,
    submitted_at=1.5,
    since=2.0,
    past=PAST,
)
ENDED = EndedJob(
    job_id="1",
    name="n",
    state=JobState.FAILED,
    error="e",
    attempts=2,
    submitted_at=1.0,
    ended_at=2.0,
    env={"parallelism": 2},
    metrics={"m": [1]},
    shown="{}",
    past=PAST,
)
HOSTED = HostedJob(
    job_id="1",
    attempt=2,
    state=JobState.RUNNING,
    metrics={"x": 1},
    pipelines=({"id": 1},),
    failures=({"at": 1.0},),
    series={"points": [[1]]},
)
STATUS = HostStatus(pid=7, term=3, ready=True, slots=4, jobs=(HOSTED,))
MEMBER = MemberReport(
    hosts=(HostReport(name="", boot="b", status=STATUS), HostReport(name="1", boot="c", status=None)),
    ended=("z",),
    tags={"zone": "a"},
    workers={"w:1": 2},
    clock=5.5,
)
LOG = LogFile(name="job-1.log", size_bytes=3, written_at=1.5)
BINDING = Binding(terms={}, tracks={"x": "y"}, place="/p", since=9)
VIEW = PipelineView(id=1, name="a -> b", phase="running", table_rows={"t": 3}, warnings=("w",))
REPORT = JobReport(
    job_id="1", name="n", outcome=JobOutcome.STOPPED, started_at=1.0, ended_at=2.5, pipelines=(VIEW,), warnings=("w",)
)
GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "stored_records.json").read_text())
"""Records that the version before derived codecs wrote."""

VALUES: dict[str, Stored] = {
    "rec": RECORD,
    "end": ENDED,
    "hosted": HOSTED,
    "status": STATUS,
    "report": MEMBER,
    "log": LOG,
    "b1": Binding(terms={"path": "/a"}),
    "b2": BINDING,
}


def test_bytes_of_a_clusters_state_have_not_changed() -> None:
    assert RECORD.to_bytes() == json.dumps(GOLDEN["rec"], separators=(",", ":")).encode()
    assert ENDED.to_bytes() == json.dumps(GOLDEN["end"], separators=(",", ":")).encode()
    assert JobRecord.from_bytes(RECORD.to_bytes()) == RECORD
    assert JobRecord.from_bytes(RECORD.to_bytes()).past == PAST
    assert EndedJob.from_bytes(ENDED.to_bytes()) == ENDED


@pytest.mark.parametrize("name", VALUES)
def test_a_record_is_as_the_version_before_wrote_it(name: str) -> None:
    value = VALUES[name]
    assert json.loads(json.dumps(value.record())) == GOLDEN[name]
    assert type(value).from_record(GOLDEN[name]) == value


def test_a_report_is_as_the_version_before_wrote_it() -> None:
    assert json.loads(json.dumps(report_record(REPORT))) == GOLDEN["rep"]
    assert report_from("1", GOLDEN["rep"]).pipelines == REPORT.pipelines
    first: dict[str, Any] = {"id": 1, "name": "a", "phase": "running"}
    assert report_from("1", {**GOLDEN["rep"], "pipelines": [first]}).pipelines == (PipelineView(**first),)


def test_a_record_keeps_the_requirements_of_its_job() -> None:
    asked = Requirements(slots=5, readers=(2, 1), tags={"zone": "a"}, own_host=True)
    read = JobRecord.from_bytes(evolve(RECORD, requirements=asked).to_bytes())
    assert read.requirements == asked
    assert JobRecord.from_bytes(RECORD.to_bytes()).requirements is None


def test_a_record_keeps_the_submission_of_its_job() -> None:
    assert JobRecord.from_bytes(evolve(RECORD, submission="s1").to_bytes()).submission == "s1"
    assert JobRecord.from_bytes(RECORD.to_bytes()).submission == ""


ADDED = {
    "rec": {"origin", "process", "dedicated", "unfenced", "deaths", "fresh", "placed_at", "past"},
    "end": {"restored", "host", "shown", "begun", "past"},
    "hosted": {"claimed", "failures", "series"},
    "report": {"ended", "offered", "moves_rows"},
    "b2": {"tracks", "place"},
}
"""The members that records of earlier versions lack."""


@pytest.mark.parametrize("name", VALUES)
def test_a_record_lacks_only_what_earlier_versions_did_not_write(name: str) -> None:
    kind = type(VALUES[name])
    for key in GOLDEN[name]:
        less = {each: value for each, value in GOLDEN[name].items() if each != key}
        if key in ADDED.get(name, ()):
            kind.from_record(less)
        else:
            with pytest.raises(StoredValueError, match=f"'{key}' is missing"):
                kind.from_record(less)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("rec", "attempt", True),
        ("rec", "attempt", -1),
        ("rec", "name", 1),
        ("rec", "restore", "true"),
        ("rec", "variables", {"a": 1}),
        ("rec", "since", "now"),
        ("rec", "past", [{}]),
        ("rec", "past", {}),
        ("report", "workers", {"w": "2"}),
        ("report", "hosts", [{"name": "", "boot": "b", "status": {}}]),
        ("report", "ended", [1]),
        ("status", "jobs", [1]),
        ("b2", "terms", {"path": 1}),
    ],
)
def test_a_member_of_another_type_is_rejected(name: str, key: str, value: Any) -> None:
    with pytest.raises(StoredValueError):
        type(VALUES[name]).from_record({**GOLDEN[name], key: value})


@pytest.mark.parametrize("block", [None, [], "x", 1])
def test_what_is_no_block_is_rejected(block: Any) -> None:
    with pytest.raises(StoredValueError, match="expected a block"):
        Binding.from_record(block)


def test_names_of_files_need_not_be_text_and_other_texts_must() -> None:
    name = "/caf\udce9"
    assert Binding.from_record(Binding(terms={"path": name}, place=name).record()).place == name
    with pytest.raises(StoredValueError, match="must be a string"):
        PastAttempt.from_record({**PAST[0].record(), "cause": name})


def test_a_state_that_is_unknown_and_a_name_that_is_no_log_are_rejected() -> None:
    with pytest.raises(ValueError, match="'LOST' is not a valid JobState"):
        HostedJob.from_record({**GOLDEN["hosted"], "state": "LOST"})
    with pytest.raises(RequestError):
        LogFile.from_record({**GOLDEN["log"], "name": "../passwd"})
