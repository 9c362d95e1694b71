"""Connectors for individual services: ``Http`` with the headers, messages and options of a service."""

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import LIST, STRING, Option, Options
from seatunnel_core.connectors.http import options as opt
from seatunnel_core.connectors.http.client import Answer, Client
from seatunnel_core.connectors.http.request import Request, checked_url
from seatunnel_core.connectors.http.sink import HttpSink, texts_of
from seatunnel_core.connectors.http.source import HttpSource
from seatunnel_core.rows.json_document import parsed
from seatunnel_core.rows.value_text import json_text

_AUTHORIZATION = "Authorization"
_OPTION = re.compile(r"{(\w+)}")


def _source_options(*own: Option[Any]) -> tuple[Option[Any], ...]:
    options = (opt.URL, *own, *opt.without(opt.SOURCE_OPTIONS, opt.URL))
    return opt.with_tables(options)


def _sink_options(*own: Option[Any]) -> tuple[Option[Any], ...]:
    return (*own, opt.INTERVAL, *opt.CONNECTION)


@frozen
class _Header:
    """A header built from options."""

    template: str
    """Value of the header, with option names in braces."""

    is_basic: bool = field(default=False, kw_only=True)
    """True if the value is a user and a password for basic authentication."""

    def value(self, options: Options) -> str | None:
        """Return the value; ``None`` if an option in it is not set."""
        given = {name: options.get(name) for name in _OPTION.findall(self.template)}
        if any(not value for value in given.values()):
            return None
        text = self.template.format_map(given)
        return f"Basic {base64.b64encode(text.encode()).decode()}" if self.is_basic else text


class ServiceSource(HttpSource):
    """A source for one service. Its credential options become headers."""

    headers: ClassVar[Mapping[str, _Header]] = {}
    """Header templates of the service."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        made = {name.lower() for name, header in self.headers.items() if "{" in header.template}
        doubled = [name for name in options[opt.HEADERS] or {} if name.lower() in made]
        if doubled:
            raise UsageError(f"option 'headers': {doubled[0]} is set by {self.credentials}; remove it")

    def identity(self, client: Client) -> Mapping[str, str]:
        made = {name: header.value(self.options) for name, header in self.headers.items()}
        return {name: value for name, value in made.items() if value is not None}


ACCESS_TOKEN = Option("access_token", STRING, required=True, secret=True, doc="Access token of the service.")
API_TOKEN = Option("api_token", STRING, required=True, secret=True, doc="API token of the account.")
EMAIL = Option("email", STRING, required=True, doc="Account email.")
PASSWORD = Option("password", STRING, required=True, secret=True, doc="API key of the service.")
PRIVATE_KEY = Option("private_key", STRING, required=True, secret=True, doc="Private API key.")
REVISION = Option("revision", STRING, required=True, doc="API revision, a date such as 2024-10-15.")
VERSION = Option("version", STRING, required=True, doc="API version, a date such as 2022-06-28.")


def _source(
    name: str, doc: str, *own: Option[Any], headers: Mapping[str, _Header], example: str, base: type = ServiceSource
) -> type[ServiceSource]:
    """Create the source class for a service that requires ``headers``; ``own`` are options specific to this service."""
    credentials = " and ".join(option.key for option in own if option not in (REVISION, VERSION))
    declared = _source_options(*own)
    members = {"identifier": name, "declared": declared, "credentials": credentials, "headers": headers}
    return type(name, (base,), {**members, "example": example, "__doc__": doc, "__module__": __name__})


class _LoggedIn(ServiceSource):
    """A source that logs in with ``email`` and ``password`` and sends the received token."""

    login: ClassVar[str] = "https://api2.myhours.com/api/tokens/login"

    def identity(self, client: Client) -> Mapping[str, str]:
        user = {"email": self.options[EMAIL], "password": self.options[PASSWORD]}
        body = json.dumps({"grantType": "password", **user, "clientId": "api"})
        request = Request(method="POST", url=self.login, body=body)
        try:
            token = parsed(client.send(request).content)["accessToken"]
        except (ValueError, KeyError, TypeError):
            raise SourceError(f"the response of {request.shown} has no accessToken") from None
        return {_AUTHORIZATION: f"Bearer {token}"}


Github = _source(
    "Github",
    "Reads rows from GitHub's REST API; sends the header ``Authorization: Bearer access_token``.",
    evolve(ACCESS_TOKEN, required=False, doc="Personal access token; if unset, only public data is read."),
    headers={_AUTHORIZATION: _Header("Bearer {access_token}")},
    example="""
        url = "https://api.github.com/orgs/apache/repos"
        access_token = "ghp_of_your_own"
        params { per_page = 100 }
        pageing { page_field = page, batch_size = 100 }
        schema { fields { id = bigint, name = string } }
    """,
)
Gitlab = _source(
    "Gitlab",
    "Reads rows from GitLab's REST API; sends the header ``PRIVATE-TOKEN: access_token``.",
    ACCESS_TOKEN,
    headers={"PRIVATE-TOKEN": _Header("{access_token}")},
    example="""
        url = "https://gitlab.com/api/v4/projects"
        access_token = "glpat-of-your-own"
        params { membership = true, per_page = 100 }
        pageing { page_field = page, batch_size = 100 }
        schema { fields { id = bigint, name = string } }
    """,
)
Jira = _source(
    "Jira",
    "Reads rows from Jira's REST API; uses ``email`` and ``api_token`` for basic authentication.",
    EMAIL,
    API_TOKEN,
    headers={_AUTHORIZATION: _Header("{email}:{api_token}", is_basic=True)},
    example="""
        url = "https://example.atlassian.net/rest/api/3/search/jql"
        email = "me@example.org"
        api_token = "of-your-own"
        params { jql = "project = ABC" }
        content_field = "$.issues[*]"
        pageing { page_type = Cursor, cursor_field = nextPageToken, cursor_response_field = "$.nextPageToken" }
        schema { fields { id = string, key = string } }
    """,
)
Klaviyo = _source(
    "Klaviyo",
    "Reads rows from Klaviyo's API; sends the headers ``Authorization: Klaviyo-API-Key private_key`` and ``revision``.",
    PRIVATE_KEY,
    REVISION,
    headers={
        "Accept": _Header("application/json"),
        _AUTHORIZATION: _Header("Klaviyo-API-Key {private_key}"),
        "revision": _Header("{revision}"),
    },
    example="""
        url = "https://a.klaviyo.com/api/lists"
        private_key = "pk_of_your_own"
        revision = "2024-10-15"
        content_field = "$.data[*]"
        pageing { page_type = Cursor, cursor_response_field = "$.links.next" }
        schema { fields { id = string, type = string } }
    """,
)
Lemlist = _source(
    "Lemlist",
    "Reads rows from Lemlist's API; sends ``password`` with basic authentication and an empty user name.",
    PASSWORD,
    headers={_AUTHORIZATION: _Header(":{password}", is_basic=True)},
    example="""
        url = "https://api.lemlist.com/api/campaigns"
        password = "of-your-own"
        schema { fields { _id = string, name = string } }
    """,
)
Notion = _source(
    "Notion",
    "Reads rows from Notion's API; sends the headers ``Authorization: Bearer password`` and ``Notion-Version: "
    "version``.",
    PASSWORD,
    VERSION,
    headers={_AUTHORIZATION: _Header("Bearer {password}"), "Notion-Version": _Header("{version}")},
    example="""
        url = "https://api.notion.com/v1/users"
        password = "secret_of_your_own"
        version = "2022-06-28"
        content_field = "$.results[*]"
        pageing { page_type = Cursor, cursor_field = start_cursor, cursor_response_field = "$.next_cursor" }
        schema { fields { id = string, name = string } }
    """,
)
OneSignal = _source(
    "OneSignal",
    "Reads rows from OneSignal's API; sends the header ``Authorization: Basic password``.",
    PASSWORD,
    headers={"Content-Type": _Header("application/json"), _AUTHORIZATION: _Header("Basic {password}")},
    example="""
        url = "https://onesignal.com/api/v1/apps"
        password = "of-your-own"
        schema { fields { id = string, name = string } }
    """,
)
Persistiq = _source(
    "Persistiq",
    "Reads rows from PersistIQ's API; sends the header ``x-api-key: password``.",
    PASSWORD,
    headers={"x-api-key": _Header("{password}")},
    example="""
        url = "https://api.persistiq.com/v1/users"
        password = "of-your-own"
        content_field = "$.users[*]"
        schema { fields { id = string, name = string } }
    """,
)
MyHours = _source(
    "MyHours",
    "Reads rows from My Hours' API. Each task logs in with ``email`` and ``password``, and sends the token that it "
    "receives.",
    EMAIL,
    evolve(PASSWORD, doc="Password of that account."),
    headers={_AUTHORIZATION: _Header("Bearer {token}")},
    base=_LoggedIn,
    example="""
        url = "https://api2.myhours.com/api/Projects/getAll"
        email = "me@example.org"
        password = "of-your-own"
        schema { fields { id = bigint, name = string } }
    """,
)


# -- sinks ---------------------------------------------------------------------------------------------------------

HOOK = evolve(opt.URL, doc="URL of the webhook, with its key.")
SECRET = Option("secret", STRING, required=True, secret=True, doc="Key that signs the messages.")
MENTIONED = Option("mentioned_list", LIST(STRING), doc="IDs of users to mention, or @all.")
MENTIONED_MOBILE = Option("mentioned_mobile_list", LIST(STRING), doc="Phone numbers of users to mention, or @all.")
SLACK_HOOK = Option("webhooks_url", STRING, secret=True, doc="URL of the webhook; unused if oauth_token is set.")
SLACK_TOKEN = Option(
    "oauth_token", STRING, secret=True, doc="Token with permission to write to the channel (chat:write)."
)
SLACK_CHANNEL = Option("slack_channel", STRING, doc="ID or name of the channel, used with the token.")


class ServiceSink(HttpSink):
    """A sink for a service with a secret webhook URL. A code in the response states whether a message was accepted."""

    credentials: ClassVar[str] = "url"
    code: ClassVar[tuple[str, ...]] = ()
    """Response fields that may contain the code; 0 means success."""

    busy: ClassVar[tuple[int, ...]] = ()
    """Response codes that mean "too many requests"."""

    def _array_rows(self, options: Options) -> int:
        return 0

    def request(self, body: str) -> Request:
        url = checked_url(self.options[opt.URL])
        return Request(method="POST", url=url, body=body, hides_path=True)

    def refusal(self, answer: Answer) -> tuple[str, bool] | None:
        try:
            said = parsed(answer.content)
        except ValueError:
            return None
        codes = [said[name] for name in self.code if name in said] if isinstance(said, dict) else []
        return (answer.text, codes[0] in self.busy) if codes and codes[0] != 0 else None


class Feishu(ServiceSink):
    """Sends each row as a JSON object to a Feishu (Lark) webhook."""

    identifier: ClassVar[str] = "Feishu"
    declared = _sink_options(HOOK, opt.HEADERS)
    code, busy = ("code", "StatusCode"), (9499, 11232)
    example = 'url = "https://www.feishu.cn/flow/api/trigger-webhook/of-your-own"'

    def request(self, body: str) -> Request:
        return evolve(super().request(body), headers=self.options[opt.HEADERS] or {})


class DingTalk(ServiceSink):
    """Sends each row as a signed DingTalk robot message, with the columns as lines ``name: value``."""

    identifier: ClassVar[str] = "DingTalk"
    declared = _sink_options(HOOK, SECRET)
    credentials = "url and secret"
    code, busy = ("errcode",), (130101, 410100)
    example = """
        url = "https://oapi.dingtalk.com/robot/send?access_token=of-your-own"
        secret = "SEC-of-your-own"
    """

    def request(self, body: str) -> Request:
        now, secret = str(time.time_ns() // 1_000_000), self.options[SECRET]
        sign = hmac.new(secret.encode(), f"{now}\n{secret}".encode(), hashlib.sha256).digest()
        return evolve(super().request(body), params={"timestamp": now, "sign": base64.b64encode(sign).decode()})

    def bodies(self, rows: pa.RecordBatch) -> Iterator[str]:
        for line in _lines(rows):
            yield json.dumps({"msgtype": "text", "text": {"content": line}}, ensure_ascii=False)


class WeChat(ServiceSink):
    """Sends each row as a WeCom (WeChat Work) robot message, with the columns as lines ``name: value``."""

    identifier: ClassVar[str] = "WeChat"
    declared = _sink_options(HOOK, MENTIONED, MENTIONED_MOBILE)
    code, busy = ("errcode",), (45009, 45033)
    example = 'url = "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=of-your-own"'

    def bodies(self, rows: pa.RecordBatch) -> Iterator[str]:
        mentions = {each.key: list(self.options[each]) for each in (MENTIONED, MENTIONED_MOBILE) if self.options[each]}
        for line in _lines(rows):
            yield json.dumps({"msgtype": "text", "text": {"content": line, **mentions}}, ensure_ascii=False)


class Slack(ServiceSink):
    """Sends the values of each row as a message, using ``oauth_token`` and ``slack_channel``, or ``webhooks_url``.

    Values are separated by commas. With a token, messages are sent through Slack's API.
    """

    identifier: ClassVar[str] = "Slack"
    declared = _sink_options(SLACK_HOOK, SLACK_TOKEN, SLACK_CHANNEL)
    credentials = "webhooks_url, oauth_token and slack_channel"
    api: ClassVar[str] = "https://slack.com/api/chat.postMessage"
    example = """
        oauth_token = "xoxb-of-your-own"
        slack_channel = "C012AB3CD"
    """

    def request(self, body: str) -> Request:
        token, hook = self.options[SLACK_TOKEN], self.options[SLACK_HOOK]
        if bool(token) != bool(self.options[SLACK_CHANNEL]) or not (token or hook):
            raise UsageError("Slack requires oauth_token and slack_channel, or webhooks_url")
        if not token:
            return Request(method="POST", url=checked_url(hook, "webhooks_url"), body=body, hides_path=True)
        headers = {_AUTHORIZATION: f"Bearer {token}", "Content-Type": "application/json; charset=utf-8"}
        return Request(method="POST", url=self.api, headers=headers, body=body)

    def bodies(self, rows: pa.RecordBatch) -> Iterator[str]:
        channel = {"channel": self.options[SLACK_CHANNEL]} if self.options[SLACK_TOKEN] else {}
        for values in texts_of(rows, _text):
            yield json.dumps({**channel, "text": ",".join(values)}, ensure_ascii=False)

    def refusal(self, answer: Answer) -> tuple[str, bool] | None:
        try:
            said = parsed(answer.content)
        except ValueError:
            return None
        refused = isinstance(said, dict) and said.get("ok") is False
        return (answer.text, said.get("error") == "ratelimited") if refused else None


def _text(value: Any, kind: pa.DataType) -> str:
    """Return a string unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json_text(value, kind).strip('"')


def _lines(rows: pa.RecordBatch) -> Iterator[str]:
    for values in texts_of(rows, _text):
        yield "\n".join(f"{name}: {value}" for name, value in zip(rows.schema.names, values, strict=True))
