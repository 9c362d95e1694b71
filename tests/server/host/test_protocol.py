"""The documented messages between an agent and its worker process, compared with those that the process handles."""

import json
from functools import partial
from typing import Any

from seatunnel_core.control.server import answer
from seatunnel_core.server.host import protocol
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.host.warm_spark import SparkStanding
from seatunnel_core.server.state.records import JobState
from tests.server.host.test_host import Job, ask, host, jobs, order  # noqa: F401  # host and jobs are fixtures

_DECODER = json.JSONDecoder()


def documented() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the requests of the module's docstring, each with its response."""
    assert protocol.__doc__ is not None
    text = protocol.__doc__.split("::\n", 1)[1].split("``job``")[0].strip()
    messages = []
    while text:
        message, end = _DECODER.raw_decode(text)
        messages.append(message)
        text = text[end:].strip()
    return list(zip(messages[::2], messages[1::2], strict=True))


class Read(dict[str, Any]):
    """A request that remembers which of its members were read."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(request)
        self.keys_read = set[str]()

    def __getitem__(self, key: str) -> Any:
        self.keys_read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.keys_read.add(key)
        return super().get(key, default)


def test_the_documented_conversation(host: Host, jobs: list[Job]) -> None:  # noqa: F811
    """Play it: each request has the members that are read of it, and each response the members that are documented."""
    host.spark = SparkStanding(slots=4)
    ask(host, do="status", term=7)
    known: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}
    for request, response in documented():
        request |= {"job": order()["job"]} if "job" in request else {}
        for job in jobs:
            job.state = JobState.FINISHED
        asked = Read(request)
        verbs = {request["do"]: partial(_answer, host, asked)}
        answered = answer(json.dumps(request).encode(), verbs)
        assert _shape(answered) == _shape(response), request["do"]
        known.setdefault(request["do"], {"do"}).update(request)
        read.setdefault(request["do"], {"do"}).update(asked.keys_read)
    ask(host, do="log-level", name="seatunnel", level="")  # other tests of this process have its logger, too
    assert read == known
    assert known.keys() == host.verbs().keys()


def _answer(host: Host, request: Read, _request: Any) -> Any:  # noqa: F811
    return host.verbs()[request["do"]](request)


def _shape(message: Any) -> Any:
    """Return a message with the types in place of values; lists may have any content."""
    if isinstance(message, dict):
        return {key: _shape(value) for key, value in message.items()}
    return type(message)
