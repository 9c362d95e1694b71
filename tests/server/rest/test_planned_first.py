"""A job is planned before it is accepted: what cannot run gets no id, and warnings reach the client that submits."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.errors import ConfigError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.aside.planner import Planner
from seatunnel_core.server.aside.planning import plan
from seatunnel_core.server.errors import RequestError

TYPO = (
    "env { job.mode = BATCH, job.name = night }\nsource { FakeSource { rownum = 3, schema { fields { id = int } } } }\n"
)


def request(text: str, **more: Any) -> Mapping[str, Any]:
    return {"text": text, "format": "hocon", "variables": {}, "origin": "bad.conf", "engine_file": "", **more}


def test_warnings_name_the_file_of_the_user() -> None:
    found = plan(request(TYPO + "sink { Console { } }"))
    assert found["name"] == "night"
    assert found["warnings"] == ["bad.conf:2:23: the source FakeSource has no option 'rownum'. Did you mean 'row.num'?"]


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
