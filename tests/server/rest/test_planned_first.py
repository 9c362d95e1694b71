"""A job is planned before it is accepted: what cannot run gets no id, and warnings reach the client that submits."""

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.errors import ConfigError
from seatunnel_core.server.agent import dispatcher
from seatunnel_core.server.agent.dispatcher import Dispatcher
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.aside.planner import Planner
from seatunnel_core.server.aside.planning import plan
from seatunnel_core.server.aside.submissions import split
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.requirements import requirements_of
from seatunnel_core.server.state.records import Requirements
from seatunnel_core.server.submitted_job import SubmittedJob
from tests.server.scheduling.views import JOB

TYPO = (
    "env { job.mode = BATCH, job.name = night }\nsource { FakeSource { rownum = 3, schema { fields { id = int } } } }\n"
)


def request(text: str, **more: Any) -> Mapping[str, Any]:
    return {"text": text, "format": "hocon", "variables": {}, "origin": "bad.conf", "engine_file": "", **more}


def test_warnings_name_the_file_of_the_user() -> None:
    found = plan(request(TYPO + "sink { Console { } }"))
    assert found["name"] == "night"
    assert found["warnings"] == ["bad.conf:2:23: the source FakeSource has no option 'rownum'. Did you mean 'row.num'?"]


def test_the_requirements_of_a_job_are_parsed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader takes them from the record, and parses only records of earlier versions."""
    env = "env { parallelism = 3, isolation = process, tag_filter = { zone = a } }\n"
    text = env + "source { FakeSource { schema { fields { id = int } } } }\nsink { Console { } }"
    planned = Requirements.from_record(plan(request(text))["requirements"])
    assert planned == Requirements(slots=4, readers=(3,), tags={"zone": "a"}, own_host=True)
    record = evolve(JOB, text=text, format="hocon")
    assert requirements_of(SubmittedJob.of(record)) == planned
    leader = Dispatcher.__new__(Dispatcher)
    leader._read = {}
    leader._read_jobs({JOB.job_id: record})
    assert leader._read[JOB.job_id][1] == planned
    monkeypatch.setattr(dispatcher, "requirements_of", None)
    leader._read = {}
    leader._read_jobs({JOB.job_id: evolve(record, requirements=planned)})
    assert leader._read[JOB.job_id][1] == planned


def test_all_problems_are_reported_together_and_the_warnings_first() -> None:
    with pytest.raises(ConfigError) as raised:
        plan(request(TYPO + "sink { Consol { } }"))
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("warning: bad.conf:2:23: the source FakeSource has no option 'rownum'")
    assert lines[1].startswith("bad.conf:3:8: ")
    assert "did you mean Console" in lines[1]


def test_a_job_that_takes_its_process_along_is_refused_and_the_next_one_is_planned(tmp_path: Path) -> None:
    """The module of a function is foreign code: it may end the process that imports it."""
    (tmp_path / "deadly_to_import.py").write_text("import os; os._exit(3)")
    config = NodeConfig.__new__(NodeConfig)
    object.__setattr__(config, "engine_file", None)
    deadly = (
        'source { PythonFunction { function = "deadly_to_import:f", schema { fields { id = int } } } }\n'
        "sink { Console { } }"
    )

    async def both() -> Any:
        planner = Planner(config)
        try:
            with pytest.raises(RequestError, match="planning failed"):
                await planner.plan(request(deadly))
            return await planner.plan(request(TYPO + "sink { Console { } }"))
        finally:
            await planner.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        assert asyncio.run(both())["name"] == "night"


def test_a_large_list_of_jobs_is_parsed_beside_the_loop(tmp_path: Path) -> None:
    """Parsing 10 MiB took a second of the loop, twice: nothing else was answered, and no lease was prolonged."""
    config = NodeConfig.__new__(NodeConfig)
    object.__setattr__(config, "engine_file", None)
    largest = "[" + "[]," * (10 * 1024 * 1024 // 3 - 2) + "[]]"

    async def longest_pause() -> float:
        planner, loop = Planner(config), asyncio.get_running_loop()
        pauses: list[float] = []

        async def tick() -> None:
            while True:
                begun = time.thread_time()
                await asyncio.sleep(0)
                pauses.append(time.thread_time() - begun)
                await asyncio.sleep(0.005)

        try:
            await planner.split("[]")
            ticking = loop.create_task(tick())
            with pytest.raises(RequestError, match="JSON array of objects") as raised:
                await planner.split(largest)
            assert (raised.value.status, raised.value.reason) == (400, "invalid_json")
            ticking.cancel()
            return max(pauses)
        finally:
            await planner.close()

    assert asyncio.run(longest_pause()) < 0.3, "of processor time, in the thread of the loop"


def test_a_list_is_split_into_texts_and_short_parameters() -> None:
    body = [{"params": {"jobId": 1, "jobName": "a", "other": [1]}, "env": {"job.name": "\u00e9"}}, {}]
    assert split({"body": json.dumps(body)}) == [
        {"text": '{"env": {"job.name": "\\u00e9"}}', "params": {"jobId": 1, "jobName": "a"}},
        {"text": "{}", "params": {}},
    ]
    for wrong, status in (
        ("[1]", 400),
        ('[{"params": 1}]', 400),
        ('[{"params": {"jobId": ["1"]}}]', 400),
        ('[{"params": {"jobName": "' + "x" * 1_001 + '"}}]', 400),
        ("[" + ",".join(["{}"] * 1_001) + "]", 413),
        ('[{"a": "' + "\u00e9" * 2_000_000 + '"}]', 413),
    ):
        with pytest.raises(RequestError) as raised:
            split({"body": wrong})
        assert raised.value.status == status, wrong[:30]
