"""Jobs that are checked before they are submitted, and the options of plugins."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.server.aside import asides
from seatunnel_core.server.aside.__main__ import answered
from tests.server.test_rest import ask, config_of, leading

JOB = """env { job.mode = BATCH, job.name = checked }
source { FakeSource { plugin_output = f, row.num = 1, schema { fields { id = bigint, name = string } } } }
sink { LocalFile { plugin_input = f, path = "/tmp/nowhere", file_format_type = parquet } }
"""


def checked(text: str, format: str = "hocon", origin: str = "") -> Any:
    """Return what a process beside the node answers, without the process."""
    request = {"do": "check", "text": text, "format": format, "engine_file": "", "origin": origin}
    return json.loads(json.dumps(answered(request)))["answer"]


def test_a_check_tells_the_plan_and_each_problem_with_its_line() -> None:
    found = checked(JOB)
    assert (found["valid"], found["errors"], found["name"]) == (True, [], "checked"), found
    (pipeline,) = found["pipelines"]
    assert pipeline["guarantee"] == "exactly-once"
    assert pipeline["sources"][0]["tables"][0]["columns"] == [
        {"name": "id", "type": "bigint"},
        {"name": "name", "type": "string"},
    ]
    assert "guarantee: exactly-once" in found["report"]

    wrong = JOB.replace("row.num = 1", "\n rwo.num = 1, row.num = x").replace('"/tmp/nowhere"', '"out"')
    found = checked(wrong)
    assert (found["valid"], found["code"]) == (False, "CONFIG-ERROR")
    assert {(each["file"], each["line"]) for each in found["errors"]} == {("job.conf", 3), ("job.conf", 4)}
    assert "is relative" in found["errors"][0]["message"]
    found = checked(wrong.replace('"out"', '"/tmp/nowhere"'))
    assert {each["line"] for each in found["errors"]} == {3}
    named = checked(wrong, origin="orders.conf")
    assert {each["file"] for each in (*named["errors"], *named["warnings"])} == {"orders.conf"}
    assert "{not" not in checked("{not json", "json")["report"]
    dangling = checked(
        JOB.replace("plugin_input = f", "plugin_input = g").replace("FakeSource {", "FakeSource { name = x, ")
    )
    assert dangling["warnings"] or dangling["errors"]


def test_the_options_of_a_plugin_are_listed() -> None:
    found = answered({"do": "options", "type": "source", "plugin": "fakesource"})["answer"]
    assert (found["pluginName"], found["pluginType"]) == ("FakeSource", "source")
    assert "row.num" in {each["key"] for each in found["optionRule"]["optionalOptions"]}
    assert answered({"do": "options", "type": "source", "plugin": "Nobody"})["code"] == "USAGE-ERROR"


@pytest.mark.torture
def test_a_job_is_checked_in_a_process_beside_the_node(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    status, found, _ = ask(agent, "POST", "/check?format=hocon", JOB)
    assert (status, found["valid"], found["name"]) == (200, True, "checked"), found
    assert ask(agent, "GET", "/option-rules?type=sink&plugin=Console")[1]["pluginName"] == "Console"
    assert ask(agent, "GET", "/option-rules?type=sink&plugin=Nobody")[:2][0] == 400


def test_what_is_no_question_is_asked_of_no_process(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    assert ask(agent, "POST", "/check", "")[1]["code"] == "empty_body"
    assert ask(agent, "POST", "/check?format=xml", JOB)[1]["code"] == "unknown_format"
    for query in ("", "?type=source", "?type=shop&plugin=x"):
        assert ask(agent, "GET", f"/option-rules{query}")[0] == 400


def test_what_takes_too_long_is_ended_and_only_a_few_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(asides, "LIMIT_S", 2)  # in which the script surely begins
    agent = leading(tmp_path, config_of(tmp_path))
    status, answer, _ = ask(agent, "POST", "/check?format=hocon", JOB)
    assert (status, answer["code"]) == (503, "timeout")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIG_DFL)
    monkeypatch.setattr(asides.Asides, "most_waiting", 0)
    assert ask(agent, "POST", "/check?format=hocon", JOB)[1]["code"] == "busy"
    monkeypatch.setattr(asides.Asides, "most_waiting", 1)
    monkeypatch.setattr(asides, "LIMIT_S", 60)
    script.write_text("#!/bin/sh\necho no JSON\n")
    status, answer, _ = ask(agent, "POST", "/check?format=hocon", JOB)
    assert (status, answer["code"]) == (500, "bug")
