"""``python -m tests.connectors.mistakes.services_page`` writes ``docs/evidence/mistakes-services.md``."""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from seatunnel_core.cli.main import main
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connectors.http.services import WeChat
from seatunnel_core.connectors.http.sink import HttpSink
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.models.llm import Llm
from tests.servers.http_service import Asked, HttpService, Said, certificate_in, http_service

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "mistakes-services.md"
TOKEN = "the-right-token"
SHOWN = ("localhost:8080", "localhost:8443")
"""What stands in the page for the services of the test, without and with TLS."""

_HEAD = """# Mistakes with services and their messages

The messages of [`Http`](../reference/connectors/Http.md) and of models. No message contains a token or the part of a
URL after `?`, and they are masked in quoted responses. `python -m tests.connectors.mistakes.services_page` makes each
mistake and generates this page.

## Reading

`seatunnel --check -c job.conf` reports these, and so does a job with a local Spark before any row moves; on a Spark
cluster a task reports them. Each row changes one part of:

```hocon
"""
_GOOD = """source { Http {
  url = "http://localhost:8080/people?tenant=secret-tenant", headers { Authorization = "Bearer the-right-token" }
  content_field = "$.data[*]", schema { fields { id = bigint, name = string } }, retry = 0 } }
sink { Console { } }
"""
_URL = "http://localhost:8080/people"

_READING = {
    "an unknown host": (_URL, "http://nohost.invalid/people"),
    "a port without a server": (_URL, "http://localhost:1/people"),
    "another path": (_URL, "http://localhost:8080/peple"),
    "a wrong token": ("the-right-token", "the-wrong-token"),
    "a missing permission": (_URL, "http://localhost:8080/forbidden"),
    "a certificate that is not trusted": (_URL, "https://localhost:8443/people"),
    "`https` where there is `http`": (_URL, "https://localhost:8080/people"),
    "another method": (_URL, "http://localhost:8080/posted"),
    "an answer that is not JSON": (_URL, "http://localhost:8080/page"),
    "lines of JSON": (_URL, "http://localhost:8080/lines"),
    "a path that matches nothing": ("$.data[*]", "$.dta[*]"),
    "a path of a column that matches nothing": (
        "schema {",
        'json_field { id = "$[*].id", name = "$[*].nam" }, schema {',
    ),
    "an invalid path": ("$.data[*]", "$.data[*"),
    "content_field not set": ('content_field = "$.data[*]", ', ""),
    "columns that the response does not have": ("id = bigint, name = string", "key = bigint, title = string"),
    "an exhausted quota": (_URL, "http://localhost:8080/busy"),
    "a server error": (_URL, "http://localhost:8080/broken"),
    "a redirect to another host": (_URL, "http://localhost:8080/moved"),
    "no scheme": ("http://localhost:8080", "localhost:8080"),
    "no placeholder for the page": ("retry = 0", "retry = 0, pageing { use_placeholder_replacement = true }"),
}


@frozen
class Sent:
    """What is sent in a wrong way."""

    what: str
    path: str
    options: Mapping[str, Any]
    plugin: type[HttpSink] = HttpSink


_TOKEN = {"headers": {"Authorization": f"Bearer {TOKEN}"}}
_SENDING = (
    Sent("an unknown host", "http://nohost.invalid/rows", _TOKEN),
    Sent("a port without a server", "http://localhost:1/rows", _TOKEN),
    Sent("a certificate that is not trusted", "https://localhost:8443/rows", _TOKEN),
    Sent("another path", "http://localhost:8080/rws", _TOKEN),
    Sent("a wrong token", "http://localhost:8080/rows", {"headers": {"Authorization": "Bearer the-wrong-token"}}),
    Sent("a rejected row", "http://localhost:8080/picky", _TOKEN),
    Sent("an exhausted quota", "http://localhost:8080/busy", _TOKEN),
    Sent("an unknown webhook", "http://localhost:8080/hook?key=secret-key", {}, WeChat),
)
_ASKING = {
    "a wrong key": {"api_path": "http://localhost:8080/chat", "api_key": "the-wrong-token"},
    "an unknown model": {"api_path": "http://localhost:8080/chat", "model": "gpt-0"},
    "an exhausted quota": {"api_path": "http://localhost:8080/busy"},
    "a reply that is not a value": {"api_path": "http://localhost:8080/talks", "output_data_type": "INT"},
    "a URL that is not a model API": {"api_path": "http://localhost:8080/page"},
}
_PEOPLE = TableSchema(table="people", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))
_ROWS = pa.RecordBatch.from_pydict({"id": [1, 2], "name": ["Joy", "Kin"]}, schema=_PEOPLE.columns)


def page() -> str:
    """The whole page."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, _services(Path(folder)) as real:
        os.chdir(folder)
        try:
            reading = [f"| {what} | {_checked(changes, real)} |" for what, changes in _READING.items()]
            sending = [f"| {sent.what} | {_told(partial(_send, sent, real), real)} |" for sent in _SENDING]
            asking = [f"| {what} | {_told(partial(_ask, how, real), real)} |" for what, how in _ASKING.items()]
        finally:
            os.chdir(before)
    table = "| mistake | message |\n|---|---|\n"
    return (
        f"{_HEAD}{_GOOD}```\n\n{table}"
        + "\n".join(reading)
        + "\n\n## Sending\n\nHost, port and certificate are checked when a job starts; a task reports the rest "
        f"with the first rejected row.\n\n{table}"
        + "\n".join(sending)
        + "\n\n## Calling models\n\nA task reports these for the transforms `LLM` and `Embedding`, and publishes "
        f"nothing of its work unit.\n\n{table}" + "\n".join(asking) + "\n"
    )


@contextmanager
def _services(folder: Path) -> Iterator[tuple[str, str]]:
    with http_service() as plain, http_service(certificate_in(folder)) as secure:
        for service in (plain, secure):
            _serve(service)
        yield f"localhost:{plain.port}", f"localhost:{secure.port}"


def _serve(service: HttpService) -> None:
    people = {"data": [{"id": 1, "name": "Joy"}], "count": 1}

    def known(answer: Any) -> Callable[[Asked], Any]:
        def check(asked: Asked) -> Any:
            given = asked.headers.get("authorization", "")
            right = asked.method == "HEAD" or given == f"Bearer {TOKEN}"
            return answer(asked) if right else Said(status=401, body={"error": f"no such token: {given}"})

        return check

    service.at |= {
        "/people": known(lambda _: people),
        "/rows": known(lambda _: ""),
        "/forbidden": lambda _: Said(status=403, body={"error": "needs the scope people:read"}),
        "/posted": lambda _: Said(status=405, body=""),
        "/page": lambda _: "<html>Log in</html>",
        "/lines": lambda _: '{"id": 1}\n{"id": 2}\n',
        "/busy": lambda asked: "" if asked.method == "HEAD" else Said(status=429, body="100 per hour"),
        "/broken": lambda _: Said(status=500, body="Internal error 7"),
        "/moved": lambda _: Said(status=301, headers={"Location": "https://other.example/people"}),
        "/picky": lambda asked: Said(status=409, body="name is taken") if "Kin" in asked.body else "",
        "/hook": lambda _: {"errcode": 93000, "errmsg": "invalid webhook url"},
        "/chat": known(lambda _: Said(status=404, body={"error": {"message": "The model does not exist"}})),
        "/talks": lambda _: {"choices": [{"message": {"content": "I would say 7, or 8"}}]},
    }


def _checked(changes: tuple[str, ...], real: tuple[str, str]) -> str:
    text = _GOOD
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new, 1)
    Path("job.conf").write_text(_for_real(text, real))
    Path("seatunnel.yaml").write_text("seatunnel: {engine: {checkpoint: {storage: {type: hdfs}}}}")
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(["-c", "job.conf", "--engine-config", "seatunnel.yaml", "--check"])
    assert code == 2, said.getvalue()
    return _cell(said.getvalue(), real)


def _send(sent: Sent, real: tuple[str, str]) -> None:
    options = {"url": _for_real(sent.path, real), "retry": 0, **sent.options}
    sink = sent.plugin(options_of(sent.plugin, options))
    sink.prepare(sink_place(place()))
    writer = begin(sink, _PEOPLE, place())
    try:
        writer.write(Batch(table=_PEOPLE.table, rows=_ROWS))
    finally:
        writer.abort()


def _ask(options: Mapping[str, Any], real: tuple[str, str]) -> None:
    usual = {
        "model_provider": "OPENAI",
        "model": "gpt-4o",
        "api_key": TOKEN,
        "prompt": "?",
        "model_retry_max_attempts": 1,
    }
    given = {**usual, **options, "api_path": _for_real(options["api_path"], real)}
    list(Llm(options_of(Llm, given)).apply(Batch(table=_PEOPLE.table, rows=_ROWS)))


def _told(act: Callable[[], None], real: tuple[str, str]) -> str:
    try:
        act()
    except SeaTunnelError as error:
        return _cell(str(error), real)
    raise AssertionError("nothing was wrong")


def _for_real(text: str, real: tuple[str, str]) -> str:
    for shown, running in zip(SHOWN, real, strict=True):
        text = text.replace(shown, running)
    return text


def _cell(message: str, real: tuple[str, str]) -> str:
    for shown, running in zip(SHOWN, real, strict=True):
        message = message.replace(running, shown)
    assert "the-right" not in message
    assert "the-wrong" not in message
    assert "secret-" not in message
    return "<br>".join(f"`{line.replace('|', chr(92) + '|')}`" for line in message.strip().splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
