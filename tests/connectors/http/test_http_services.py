"""What each service is asked and sent: method, path, headers and body, as its documentation has them."""

import base64
import hashlib
import hmac
import time
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of, read
from seatunnel_core.connector_api.testing.drive import begin, place
from seatunnel_core.connectors.http import services
from seatunnel_core.connectors.http.services import ServiceSource
from seatunnel_core.connectors.http.sink import HttpSink
from seatunnel_core.errors import SinkError, SourceError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from tests.servers.http_service import HttpService, Said

PEOPLE = TableSchema(table="people", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))
SOURCES: dict[type[ServiceSource], tuple[dict[str, str], dict[str, str]]] = {
    services.Github: ({"access_token": "ghp_1234567"}, {"authorization": "Bearer ghp_1234567"}),
    services.Gitlab: ({"access_token": "glpat-1234567"}, {"private-token": "glpat-1234567"}),
    services.Jira: (
        {"email": "me@example.org", "api_token": "t0ken-of-mine"},
        {"authorization": "Basic " + base64.b64encode(b"me@example.org:t0ken-of-mine").decode()},
    ),
    services.Klaviyo: (
        {"private_key": "pk_1234567", "revision": "2024-10-15"},
        {"authorization": "Klaviyo-API-Key pk_1234567", "revision": "2024-10-15", "accept": "application/json"},
    ),
    services.Lemlist: (
        {"password": "key-of-mine"},
        {"authorization": "Basic " + base64.b64encode(b":key-of-mine").decode()},
    ),
    services.Notion: (
        {"password": "secret_1234567", "version": "2022-06-28"},
        {"authorization": "Bearer secret_1234567", "notion-version": "2022-06-28"},
    ),
    services.OneSignal: (
        {"password": "key-of-mine"},
        {"authorization": "Basic key-of-mine", "content-type": "application/json"},
    ),
    services.Persistiq: ({"password": "key-of-mine"}, {"x-api-key": "key-of-mine"}),
    services.MyHours: ({"email": "me@example.org", "password": "pass-of-mine"}, {"authorization": "Bearer t0k"}),
}


@pytest.fixture
def service(service: HttpService, monkeypatch: pytest.MonkeyPatch) -> HttpService:
    service.at["/login"] = lambda _: {"accessToken": "t0k", "expiresIn": 3600}
    monkeypatch.setattr(services.MyHours, "login", f"{service.url}/login")
    monkeypatch.setattr(services.Slack, "api", f"{service.url}/api/chat.postMessage")
    return service


def source_of(plugin: type[ServiceSource], service: HttpService, **more: Any) -> ServiceSource:
    options = {"url": f"{service.url}/v1/people?x=1", "schema": {"fields": {"id": "bigint"}}}
    return plugin(options_of(plugin, {**options, **SOURCES[plugin][0], **more}))


@pytest.mark.parametrize("plugin", SOURCES, ids=lambda each: each.identifier)
def test_a_source_says_who_asks(service: HttpService, plugin: type[ServiceSource]) -> None:
    service.at["/v1/people"] = lambda _: {"data": [{"id": 1}, {"id": 2}]}
    source = source_of(plugin, service, content_field="$.data[*]", headers={"X-More": "more"})
    assert read(source) == [{"id": 1}, {"id": 2}]
    (asked,) = service.of("/v1/people")
    expected = {**SOURCES[plugin][1], "x-more": "more"}
    assert (asked.method, asked.query) == ("GET", {"x": "1"})
    assert {name: asked.headers[name] for name in expected} == expected


@pytest.mark.parametrize("plugin", SOURCES, ids=lambda each: each.identifier)
def test_a_wrong_token_is_named_by_its_option_and_never_shown(
    service: HttpService, plugin: type[ServiceSource]
) -> None:
    service.at["/v1/people"] = lambda asked: Said(status=401, body=f"nobody has {dict(asked.headers)}")
    source = source_of(plugin, service)
    with pytest.raises(SourceError, match=f"401 Unauthorized: check {source.credentials}") as raised:
        source.planned_schemas()
    secrets = [value for key, value in SOURCES[plugin][0].items() if key not in ("email", "revision", "version")]
    assert [secret for secret in secrets if secret in str(raised.value) + repr(source.options)] == []


def test_the_login_of_my_hours(service: HttpService) -> None:
    service.at["/v1/people"] = lambda _: []
    source_of(services.MyHours, service).planned_schemas()
    (asked,) = service.of("/login")
    who = {"email": "me@example.org", "password": "pass-of-mine"}
    assert (asked.method, asked.json) == ("POST", {"grantType": "password", **who, "clientId": "api"})
    service.at["/login"] = lambda _: {"message": "wrong"}
    with pytest.raises(SourceError, match="/login has no accessToken"):
        source_of(services.MyHours, service).planned_schemas()


def test_what_is_made_of_a_token_is_not_given_twice(service: HttpService) -> None:
    with pytest.raises(UsageError, match="authorization is set by access_token; remove it"):
        source_of(services.Github, service, headers={"authorization": "Bearer other"})


def sent(plugin: type[HttpSink], rows: list[dict[str, Any]], **options: Any) -> int:
    """Send rows, and say how many the writer counts."""
    sink = plugin(options_of(plugin, {"retry_backoff_multiplier_ms": 1, **options}))
    sink.prepare(place())  # type: ignore[arg-type]  # it has what a sink is told of its place
    writer = begin(sink, PEOPLE, place())
    try:
        writer.write(Batch(table="people", rows=pa.RecordBatch.from_pylist(rows, schema=PEOPLE.columns)))
        return writer.finish().rows
    except SinkError:
        writer.abort()
        raise


ROWS: list[dict[str, Any]] = [{"id": 1, "name": 'Joy "J"'}, {"id": 2, "name": None}]


def test_feishu_gets_rows_as_objects(service: HttpService) -> None:
    service.at["/flow/hook-of-mine"] = lambda _: {"code": 0, "msg": "success"}
    assert sent(services.Feishu, ROWS, url=f"{service.url}/flow/hook-of-mine", headers={"X-A": "b"}) == 2
    posts = [asked for asked in service.asked if asked.method == "POST"]
    assert [asked.json for asked in posts] == ROWS
    assert (posts[0].headers["content-type"], posts[0].headers["x-a"]) == ("application/json", "b")


def test_dingtalk_gets_signed_messages(service: HttpService) -> None:
    service.at["/robot/send"] = lambda _: {"errcode": 0, "errmsg": "ok"}
    sent(services.DingTalk, ROWS, url=f"{service.url}/robot/send?access_token=t0ken-of-mine", secret="SEC-of-mine")
    asked = next(each for each in service.asked if each.method == "POST")
    assert asked.json == {"msgtype": "text", "text": {"content": 'id: 1\nname: Joy "J"'}}
    stamp = asked.query["timestamp"]
    signed = hmac.new(b"SEC-of-mine", f"{stamp}\nSEC-of-mine".encode(), hashlib.sha256).digest()
    assert asked.query["access_token"] == "t0ken-of-mine"
    assert asked.query["sign"] == base64.b64encode(signed).decode()
    assert abs(int(stamp) / 1000 - time.time()) < 60


def test_wechat_names_whom_it_mentions(service: HttpService) -> None:
    service.at["/cgi-bin/webhook/send"] = lambda _: {"errcode": 0}
    url = f"{service.url}/cgi-bin/webhook/send?key=key-of-mine"
    sent(services.WeChat, ROWS[1:], url=url, mentioned_list=["joy", "@all"], mentioned_mobile_list="135,136")
    text = {"content": "id: 2\nname: null", "mentioned_list": ["joy", "@all"], "mentioned_mobile_list": ["135", "136"]}
    assert service.asked[-1].json == {"msgtype": "text", "text": text}
    assert service.asked[-1].query == {"key": "key-of-mine"}


def test_slack_gets_messages_by_token_or_by_webhook(service: HttpService) -> None:
    service.at["/api/chat.postMessage"] = lambda _: {"ok": True}
    service.at["/services/T/B/x"] = lambda _: "ok"
    hook = {"webhooks_url": f"{service.url}/services/T/B/x"}
    sent(services.Slack, ROWS, oauth_token="xoxb-of-mine", slack_channel="C1", **hook)
    asked = service.of("/api/chat.postMessage")[-2]
    assert asked.headers["authorization"] == "Bearer xoxb-of-mine"
    assert asked.json == {"channel": "C1", "text": '1,Joy "J"'}
    sent(services.Slack, ROWS[1:], **hook)
    assert service.of("/services/T/B/x")[-1].json == {"text": "2,null"}
    with pytest.raises(UsageError, match="oauth_token and slack_channel, or webhooks_url"):
        sent(services.Slack, ROWS, oauth_token="xoxb-of-mine")


@pytest.mark.parametrize(
    ("plugin", "path", "answer", "more"),
    [
        (services.Feishu, "/hook-of-mine", {"code": 19021, "msg": "sign match fail"}, {}),
        (
            services.DingTalk,
            "/hook-of-mine",
            {"errcode": 310000, "errmsg": "sign not match"},
            {"secret": "SEC-of-mine"},
        ),
        (services.WeChat, "/hook-of-mine", {"errcode": 93000, "errmsg": "invalid webhook url"}, {}),
        (services.Slack, "/hook-of-mine", {"ok": False, "error": "invalid_auth"}, {}),
    ],
    ids=lambda each: getattr(each, "identifier", ""),
)
def test_an_answer_that_refuses_names_the_row_and_no_secret(
    service: HttpService, plugin: type[HttpSink], path: str, answer: Any, more: Any
) -> None:
    service.at[path] = lambda asked: answer if asked.method == "POST" else ""
    option = "webhooks_url" if plugin is services.Slack else "url"
    said = next(value for key, value in answer.items() if key in ("msg", "errmsg", "error"))
    with pytest.raises(SinkError, match=f"table people, row 1 of the work unit: .*{said}") as raised:
        sent(plugin, ROWS, **{option: f"{service.url}{path}?key=key-of-mine"}, **more)
    assert "of-mine" not in str(raised.value)
    assert not raised.value.retryable


def test_a_robot_that_is_asked_too_often_is_asked_again(service: HttpService) -> None:
    answers = [{"errcode": 45009}, {"errcode": 0}]
    service.at["/hook"] = lambda asked: answers.pop(0) if asked.method == "POST" else ""
    assert sent(services.WeChat, ROWS[:1], url=f"{service.url}/hook") == 1
    service.at["/hook"] = lambda _: {"errcode": 45009}
    with pytest.raises(SinkError, match="45009") as raised:
        sent(services.WeChat, ROWS[:1], url=f"{service.url}/hook", retry=1)
    assert raised.value.retryable
