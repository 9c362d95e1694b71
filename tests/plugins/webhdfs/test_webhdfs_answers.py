"""Answers that no healthy cluster gives on demand, from a web server that says what it is told to say."""

import http.server
import json
from collections.abc import Callable, Iterator

import pytest
import requests

from seatunnel_core.clients.webhdfs.client import WebHdfs
from seatunnel_storage_api.errors import StorageAccessError, StorageFailureError, StorageUnavailableError
from tests.servers.http_stand_in import StandIn, serving


class Mouthpiece(http.server.ThreadingHTTPServer):
    """Answers every request with the same words."""

    status = 200
    body = b""
    asked = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def says(self, status: int, body: str) -> None:
        self.status, self.body = status, body.encode()

    def refuses(self, exception: str, message: str) -> None:
        self.says(403, json.dumps({"RemoteException": {"exception": exception, "message": message}}))


class _Handler(StandIn):
    server: Mouthpiece

    def _answer(self) -> None:
        self.server.asked += 1
        self.body()
        self.reply(self.server.status, self.server.body)

    do_GET = do_PUT = do_DELETE = _answer  # noqa: N815


@pytest.fixture
def servers() -> Iterator[list[Mouthpiece]]:
    with serving(Mouthpiece()) as first, serving(Mouthpiece()) as second:
        yield [first, second]


@pytest.fixture
def server(servers: list[Mouthpiece]) -> Mouthpiece:
    return servers[0]


@pytest.fixture
def webhdfs(server: Mouthpiece) -> Iterator[WebHdfs]:
    client = WebHdfs((server.url,), session=requests.Session())
    yield client
    client.close()


VERBS: dict[str, Callable[[WebHdfs], object]] = {
    "create": lambda webhdfs: webhdfs.create("/a", b"a"),
    "rename": lambda webhdfs: webhdfs.rename("/a", "/b"),
    "read": lambda webhdfs: webhdfs.read("/a"),
    "entries": lambda webhdfs: webhdfs.entries("/a"),
    "make_folder": lambda webhdfs: webhdfs.make_folder("/a"),
    "delete": lambda webhdfs: webhdfs.delete("/a"),
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


@every_verb
@pytest.mark.parametrize(
    ("exception", "kind"),
    [
        ("AccessControlException", StorageAccessError),
        ("DSQuotaExceededException", StorageAccessError),
        ("InvalidPathException", StorageAccessError),
        ("StandbyException", StorageUnavailableError),
        ("RetriableException", StorageUnavailableError),
        ("SafeModeException", StorageUnavailableError),
        ("EOFException", StorageUnavailableError),
        ("ConnectException", StorageUnavailableError),
        ("AlreadyBeingCreatedException", StorageUnavailableError),
        ("LeaseExpiredException", StorageUnavailableError),
        ("SomethingNobodyKnows", StorageUnavailableError),
    ],
)
def test_what_java_says(
    server: Mouthpiece,
    webhdfs: WebHdfs,
    verb: Callable[[WebHdfs], object],
    exception: str,
    kind: type[StorageFailureError],
) -> None:
    server.refuses(exception, "What happened.\n\tat org.apache.hadoop.Stack.trace(Stack.java:1)")
    with pytest.raises(kind) as caught:
        verb(webhdfs)
    said, _, remedy = str(caught.value).partition(". ")
    assert said == f"{exception}: What happened"
    assert remedy
    assert "Stack" not in str(caught.value)


@every_verb
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, "<html>not here</html>", StorageAccessError),
        (400, "{}", StorageAccessError),
        (403, '{"RemoteException": null}', StorageAccessError),
        (403, '["no", "object"]', StorageAccessError),
        (403, "", StorageAccessError),
        (500, "<html>oh</html>", StorageUnavailableError),
        (502, '{"error": "bad gateway"}', StorageUnavailableError),
        (503, "", StorageUnavailableError),
        (401, "<html>who?</html>", StorageAccessError),
    ],
)
def test_an_answer_that_webhdfs_does_not_give(
    server: Mouthpiece,
    webhdfs: WebHdfs,
    verb: Callable[[WebHdfs], object],
    status: int,
    body: str,
    kind: type[StorageFailureError],
) -> None:
    server.says(status, body)
    with pytest.raises(kind, match=rf"HTTP {status}.*\. "):
        verb(webhdfs)


@pytest.mark.parametrize("body", ["", "<html>Log in first</html>", "{}", '{"FileStatuses": null}', "[]", "7"])
def test_an_answer_of_another_shape_is_no_listing(server: Mouthpiece, webhdfs: WebHdfs, body: str) -> None:
    """Taken for an empty one, it would let an engine start from nothing."""
    server.says(200, body)
    with pytest.raises(StorageFailureError, match="HTTP 200, but not a WebHDFS response"):
        webhdfs.entries("/a")


@pytest.mark.parametrize("verb", [VERBS[name] for name in VERBS if name not in ("read", "entries")])
def test_a_page_to_log_in_has_done_nothing(
    server: Mouthpiece, webhdfs: WebHdfs, verb: Callable[[WebHdfs], object]
) -> None:
    """Taken for a yes, it would acknowledge what nobody stored. (What is read is sealed.)"""
    server.says(200, "<html>Log in first</html>")
    with pytest.raises(StorageFailureError, match="HTTP 200, but not a WebHDFS response"):
        verb(webhdfs)


def test_absence_is_recognised_by_one_exception_alone(server: Mouthpiece, webhdfs: WebHdfs) -> None:
    server.refuses("FileNotFoundException", "File does not exist: /a")
    assert webhdfs.read("/a") is None
    assert webhdfs.entries("/a") == []
    assert webhdfs.rename("/a", "/b") is False
    server.says(404, "")
    for verb in (webhdfs.read, webhdfs.entries):
        with pytest.raises(StorageAccessError):
            verb("/a")


@pytest.mark.parametrize("exception", ["StandbyException", "RetriableException"])
def test_the_other_namenode_is_asked_and_remembered(servers: list[Mouthpiece], exception: str) -> None:
    standby, active = servers
    standby.refuses(exception, "not me")
    active.says(200, '{"FileStatuses": {"FileStatus": []}}')
    client = WebHdfs((standby.url, active.url), session=requests.Session())
    assert [client.entries("/a") for _ in range(3)] == [[], [], []]
    assert (standby.asked, active.asked) == (1, 3)
    client.close()


def test_of_two_namenodes_both_are_named(servers: list[Mouthpiece]) -> None:
    for server in servers:
        server.says(503, "")
    client = WebHdfs(tuple(server.url for server in servers), session=requests.Session())
    with pytest.raises(StorageUnavailableError) as caught:
        client.entries("/a")
    assert all(server.url.removeprefix("http://") in str(caught.value) for server in servers)
    client.close()
