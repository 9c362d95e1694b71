"""Placeholders of requests to services, which stand in quotes in SeaTunnel's jobs and are no variables."""

import sys
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from seatunnel_core.config import variables
from seatunnel_core.config.document import plain
from seatunnel_core.config.file import parse
from seatunnel_core.config.option import STRING, Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.server.submitted_job import SubmittedJob

JOB = """source { Http { url = "http://h/x", params { at = "${startAt}", p = "${page}", user = "${user}" }
  pageing { page_field = startAt } } }"""


def read(text: str, **given: str) -> tuple[Any, list[str]]:
    problems = Problems()
    found = plain(parse(text, "job.conf", Variables(given, {}), problems))
    return found, [str(each) for each in problems.errors]


def test_the_names_of_pages_stay_and_other_unknown_ones_are_errors() -> None:
    found, errors = read(JOB)
    assert found["source"]["Http"]["params"] | {"user": ""} == {"at": "${startAt}", "p": "${page}", "user": ""}
    (error,) = errors
    assert "${user} is not set" in error


def test_a_value_that_somebody_gives_is_taken() -> None:
    found, errors = read(JOB, startAt="7", user="me")
    assert (found["source"]["Http"]["params"]["at"], errors) == ("7", [])


def test_what_is_written_without_quotes_is_a_variable() -> None:
    assert "${page} is not set" in read("env { job.name = ${page} }")[1][0]


def test_columns_in_the_names_of_topics_and_keys_stay() -> None:
    """The documented job of a sink whose rows name their topic was an error: ``${topic}`` is not set."""
    found, errors = read('sink { Kafka { topic = "${topic}" }, Redis { key = "user:${id}", auth = "${word}" } }')
    assert (found["sink"]["Kafka"]["topic"], found["sink"]["Redis"]["key"]) == ("${topic}", "user:${id}")
    (error,) = errors
    assert "${word} is not set" in error
    assert read('sink { Redis { key = "user:${id}" } }', id="7")[0]["sink"]["Redis"]["key"] == "user:7"
    found, errors = read('{"sink": [{"plugin_name": "Redis", "key": "user:${id}"}]}')
    assert (found["sink"][0]["key"], errors) == ("user:${id}", [])


class QueueSink:
    """A sink of another package."""

    declared = (Option("exchange", STRING, names_columns=True, doc="…"), Option("queue", STRING, doc="…"))


def test_an_option_declares_that_its_placeholders_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = EntryPoint("Queue", f"{__name__}:QueueSink", variables.SINKS)
    broken = EntryPoint("Broken", "seatunnel_core.no_such_module:Sink", variables.SINKS)
    monkeypatch.setattr(variables, "entry_points", lambda group: [broken, queue])
    monkeypatch.setattr(variables, "_sinks", variables._sinks.__wrapped__)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[QueueSink.__module__])
    found, errors = read('sink { queue { Exchange = "${a}" }, Broken { exchange = "a-${b}" } }')
    assert (found["sink"]["queue"]["Exchange"], errors) == ("${a}", [])
    for wrong in ('{"sink": [{"plugin_name": "Queue", "queue": "${a}"}]}', 'sink { Broken { exchange = "${a}" } }'):
        assert "${a} is not set" in read(wrong)[1][0]
    assert read('{"sink": [{"plugin_name": "Queue", "exchange": "${a}"}]}')[1] == []


def test_texts_that_were_parsed_before_load_no_sinks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader of a cluster reads them in its event loop."""
    monkeypatch.setattr(variables, "_sinks", None)
    text = '{"source": [{"plugin_name": "FakeSource"}], "sink": [{"plugin_name": "Queue", "exchange": "a-${b}"}]}'
    job = SubmittedJob(text=text, format="json", variables=(), origin="")
    assert job.read(loads_sinks=False).blocks[1].identifier == "Queue"
    with pytest.raises(TypeError):
        job.read()


def test_a_source_has_no_columns_for_its_topic() -> None:
    _, errors = read('source { Kafka { topic = "${TOPIC}" } }')
    assert "${TOPIC} is not set" in errors[0]
    _, errors = read('{"source": [{"plugin_name": "Kafka", "topic": "${TOPIC}"}]}')
    assert "${TOPIC} is not set" in errors[0]
