"""Who is let in, by which port: users by v2 and v1, members and clients by signatures, and nobody's web page."""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.config.http_options import Permission
from seatunnel_core.control.signing import BOOT, Secret
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.access import AuthPolicy
from seatunnel_core.server.rest.application import USER_ROUTES
from seatunnel_core.server.rest.route import looking
from seatunnel_core.server.transport.http_config import HttpConfig, User
from tests.server.rest.asked import answered
from tests.server.test_rest import config_of, leading

HERE, AWAY = ("127.0.0.1", 4711), ("192.0.2.7", 4711)
SECRET = Secret(b"s" * 64)
HUNTER = "Basic " + base64.b64encode(b"admin:hunter2").decode()


def agent_of(folder: Path, **http: Any) -> Agent:
    """Return an agent that leads, which serves v1 and has a secret."""
    config = evolve(config_of(folder), secret=SECRET, serves_v1=True, http=HttpConfig(**http))
    return leading(Path(tempfile.mkdtemp(dir=folder)), config)


def status_of(
    agent: Agent, path: str, *, policy: AuthPolicy, client: tuple[str, int] | None = AWAY, **more: Any
) -> tuple[int, dict[str, str], bytes]:
    """Ask as a client at an address would, and return status, headers and body."""
    return answered(agent, path, policy=policy, client=client, host="192.0.2.1:8080", **more)


ANYWHERE = AuthPolicy(local=False)


def test_without_a_password_only_this_machine_is_let_in(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    for signed, path in ((False, "/overview"), (True, "/hazelcast/rest/maps/overview")):
        assert status_of(agent, path, client=HERE, signed=signed, policy=ANYWHERE)[0] == 200
        for client in (AWAY, None):
            assert status_of(agent, path, client=client, signed=signed, policy=ANYWHERE)[0] == 401
    said_open = agent_of(tmp_path, is_open=True)
    assert status_of(said_open, "/overview", policy=ANYWHERE)[0] == 200
    assert status_of(said_open, "/hazelcast/rest/maps/overview", signed=True, policy=ANYWHERE)[0] == 200
    assert status_of(said_open, "/overview", signed=True, policy=ANYWHERE)[0] == 401, "which wants the signature"
    assert status_of(agent, "/overview", policy=AuthPolicy(local=False, verified=True))[0] == 200


def test_the_password_is_asked_for_on_all_ports(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, login=("admin", "hunter2"))
    for signed, path in ((False, "/overview"), (True, "/hazelcast/rest/maps/overview")):
        for policy in (ANYWHERE, AuthPolicy(), AuthPolicy(local=False, verified=True)):
            for client in (HERE, AWAY):
                status, headers, _ = status_of(agent, path, client=client, signed=signed, policy=policy)
                assert (status, headers["www-authenticate"]) == (401, 'Basic realm="SeaTunnel Web UI"')
                right = status_of(agent, path, client=client, signed=signed, policy=policy, authorization=HUNTER)
                assert right[0] == 200
    refused = status_of(agent, "/internal/v1/members", signed=True, policy=ANYWHERE, authorization=HUNTER)
    assert (refused[0], BOOT in refused[1]) == (401, True), "a user's password is no signature"
    assert status_of(agent, "/overview", signed=True, policy=ANYWHERE, authorization=HUNTER)[0] == 401


EVE = "Basic " + base64.b64encode(b"eve:looks").decode()


def test_a_user_may_do_what_he_is_allowed(tmp_path: Path) -> None:
    eve = User(name="eve", password="looks", permissions=frozenset({Permission.LOOK, Permission.STOP}))
    agent = agent_of(tmp_path, login=("admin", "hunter2"), users=(eve,))
    for who, permissions in ((HUNTER, [each.value for each in Permission]), (EVE, ["look", "stop"])):
        status, _, body = status_of(agent, "/permissions", policy=ANYWHERE, authorization=who)
        assert (status, json.loads(body)["permissions"]) == (200, permissions)
    for path, signed in (("", False), ("/hazelcast/rest/maps", True)):
        asked = {"policy": ANYWHERE, "signed": signed, "authorization": EVE}
        assert status_of(agent, f"{path}/running-jobs", **asked)[0] == 200  # type: ignore[arg-type]
        stopped = status_of(agent, f"{path}/stop-job", method="POST", body=b'{"jobId": "1"}', **asked)  # type: ignore[arg-type]
        assert stopped[0] != 403
        for method, what in (("POST", "submit-job"), ("POST", "check"), ("DELETE", "loggers/x")):
            status, _, body = status_of(agent, f"{path}/{what}", method=method, **asked)  # type: ignore[arg-type]
            assert (status, json.loads(body)["code"]) == (403, "forbidden")
    for wrong in (b"eve:hunter2", b"admin:looks", b"eve:"):
        authorization = "Basic " + base64.b64encode(wrong).decode()
        assert status_of(agent, "/overview", policy=ANYWHERE, authorization=authorization)[0] == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "needed"),
    [
        ("GET", "/running-jobs", "", "look"),
        ("POST", "/check", "{}", "check submit"),
        ("POST", "/encrypt-config", "{}", "check"),
        ("POST", "/submit-job", "{}", "submit"),
        ("POST", "/submit-job?isStartWithSavePoint=true&jobId=1", "{}", "restore submit"),
        ("POST", "/submit-job/upload?isStartWithSavePoint=true", "", "restore submit"),
        ("POST", "/submit-jobs", "[{}]", "submit"),
        ("POST", "/submit-jobs", '[{}, {"params": {"isStartWithSavePoint": true, "jobId": 1}}]', "restore submit"),
        ("POST", "/stop-job", '{"jobId": 1}', "stop"),
        ("POST", "/stop-job", '{"jobId": 1, "isStopWithSavePoint": "true"}', "savepoint stop"),
        ("POST", "/stop-jobs", '[{"jobId": 1}, {"jobId": 2, "isStopWithSavePoint": true}]', "savepoint stop"),
        ("POST", "/savepoint", '{"jobId": 1}', "savepoint"),
        ("POST", "/reread-table", '{"jobId": 1, "table": "shop.orders"}', "stop"),
        ("POST", "/update-tags", "{}", "operate"),
        ("POST", "/loggers/seatunnel.x?level=INFO", "", "operate"),
        ("DELETE", "/loggers/seatunnel.x", "", "operate"),
    ],
)
def test_each_deed_has_its_permission(tmp_path: Path, method: str, path: str, body: str, needed: str) -> None:
    path, _, query = path.partition("?")
    permissions = frozenset(map(Permission, needed.split()))
    for missing in permissions:
        users = (User(name="eve", password="looks", permissions=frozenset(Permission) - {missing}),)
        agent = agent_of(tmp_path, login=("admin", "hunter2"), users=users)
        status, _, answer = status_of(
            agent, path, method=method, query=query, body=body.encode(), policy=ANYWHERE, authorization=EVE
        )
        assert (status, json.loads(answer)["message"]) == (
            403,
            f"access denied: this user lacks {missing.value}",
        )
    users = (User(name="eve", password="looks", permissions=permissions),)
    agent = agent_of(tmp_path, login=("admin", "hunter2"), users=users)
    asked = {"query": query, "body": body.encode(), "policy": ANYWHERE, "authorization": EVE}
    assert status_of(agent, path, method=method, **asked)[0] != 403  # type: ignore[arg-type]


def test_whatever_is_no_get_needs_more_than_to_look() -> None:
    changing = [route for route in USER_ROUTES if route.method != "GET"]
    assert len(changing) > 10
    assert not [route.path for route in changing if route.needs is looking]


def test_v1_is_served_where_it_is_switched_on(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    off = leading(tmp_path / "off", evolve(agent.config, serves_v1=False))
    status, _, body = status_of(off, "/hazelcast/rest/maps/overview", client=HERE, signed=True, policy=ANYWHERE)
    assert (status, "network.rest-api.enabled" in json.loads(body)["message"]) == (404, True)
    assert status_of(off, "/hazelcast/rest/maps/overview", client=HERE, policy=ANYWHERE)[0] == 200, "beside v2"
    text = "hazelcast: {network: {rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}}}}}"
    (tmp_path / "config").mkdir()
    (tmp_path / "config/hazelcast.yaml").write_text(text)
    assert config_of(tmp_path).serves_v1


def test_all_paths_have_the_prefix(tmp_path: Path) -> None:
    agent, policy = agent_of(tmp_path), AuthPolicy(prefix="/seatunnel")
    assert status_of(agent, "/seatunnel/overview", policy=policy)[0] == 200
    for path in ("/overview", "/seatunnel/seatunnel/overview", "/seatunnelx/overview"):
        assert status_of(agent, path, policy=policy)[0] == 404
    status, headers, _ = status_of(agent, "/seatunnel", policy=policy)
    assert (status, headers["location"]) == (308, "/seatunnel/"), "as the page's files are named from there"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://192.0.2.1", "http://192.0.2.1:8081"])
def test_no_page_of_another_site_asks_by_a_browser_that_knows_the_password(tmp_path: Path, origin: str) -> None:
    agent = agent_of(tmp_path, login=("admin", "hunter2"))
    for path, signed in (("/submit-job", False), ("/hazelcast/rest/maps/submit-job", True)):
        asked = {"method": "POST", "authorization": HUNTER, "signed": signed}
        status, _, body = status_of(agent, path, policy=ANYWHERE, origin=origin, **asked)  # type: ignore[arg-type]
        assert (status, b"cross-site" in body) == (401, True)
        own = status_of(agent, path, policy=ANYWHERE, origin="http://192.0.2.1:8080", **asked)  # type: ignore[arg-type]
        assert own[0] == 400, "which has no job"


def test_no_answer_is_taken_for_what_it_is_not(tmp_path: Path) -> None:
    for path in ("/overview", "/nothing<script>"):
        headers = status_of(agent_of(tmp_path), path, policy=AuthPolicy())[1]
        assert headers["content-type"] == "application/json"
        assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
        assert headers["cross-origin-resource-policy"] == "same-origin"
