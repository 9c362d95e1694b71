"""Model providers for the transforms ``LLM`` and ``Embedding``: URL, credentials and request format."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import TransformError, UsageError
from seatunnel_core.connector_api.option import DURATION_MS, ENUM, NESTED, STRING, Option, Options, within
from seatunnel_core.connectors.http import options as http
from seatunnel_core.connectors.http.client import Client
from seatunnel_core.connectors.http.connection import Connection
from seatunnel_core.connectors.http.request import Request, checked_url
from seatunnel_core.rows.json_document import compiled, found, keys_of, parsed

MODULES = ("requests", "jsonpath")
"""Modules that tasks import to call a model."""

CUSTOM, MICROSOFT, QIANFAN, AMAZON = "CUSTOM", "MICROSOFT", "QIANFAN", "AMAZON"
CHATS = {
    "OPENAI": "https://api.openai.com/v1/chat/completions",
    "DOUBAO": "https://ark.cn-beijing.volces.com/api/v3/chat/completions",
    "QIANFAN": "https://qianfan.baidubce.com/v2/chat/completions",
    "ZHIPU": "https://open.bigmodel.cn/api/paas/v4/chat/completions",
    "KIMIAI": "https://api.moonshot.cn/v1/chat/completions",
    "DEEPSEEK": "https://api.deepseek.com/chat/completions",
}
EMBEDDINGS = {
    "OPENAI": "https://api.openai.com/v1/embeddings",
    "DOUBAO": "https://ark.cn-beijing.volces.com/api/v3/embeddings",
    "QIANFAN": "https://aip.baidubce.com/rpc/2.0/ai_custom/v1/wenxinworkshop/embeddings",
    "ZHIPU": "https://open.bigmodel.cn/api/paas/v4/embeddings",
}
"""Default URL for embeddings, keyed by provider."""

PROVIDER = Option(
    "model_provider",
    ENUM("OPENAI", "DOUBAO", "QIANFAN", "ZHIPU", "KIMIAI", "DEEPSEEK", MICROSOFT, CUSTOM, AMAZON),
    required=True,
    aliases=("embedding_model_provider",),
    doc=(
        "Provider of the API. CUSTOM is any other provider, described by custom_config; for OpenAI-compatible APIs "
        "write OPENAI with api_path."
    ),
)
MODEL = Option("model", STRING, required=True, doc="Model name used by the provider.")
API_KEY = Option("api_key", STRING, secret=True, doc="API key; optional for CUSTOM.")
API_PATH = Option(
    "api_path",
    STRING,
    aliases=("openai.api_path",),
    doc="Complete URL of the API, by default the provider's; required for MICROSOFT and CUSTOM. ${model} stands for "
    "the model.",
)
CUSTOM_CONFIG = Option(
    "custom_config",
    NESTED,
    secret=True,
    doc="For CUSTOM: custom_request_headers, custom_request_body, with ${model}, ${input} and ${prompt} as "
    "placeholders, and custom_response_parse, a JSONPath to the model's response.",
)
ATTEMPTS = Option(
    "model_retry_max_attempts",
    within(1, 100),
    default=4,
    doc="Maximum attempts of a request without a response or with status 429, 502, 503 or 504. The header Retry-After "
    "is respected up to five minutes.",
)
BACKOFF = Option(
    "model_retry_backoff_ms",
    DURATION_MS,
    default=1000,
    unit="ms",
    doc="Delay before the first retry; doubled for each further retry.",
)
BACKOFF_MAX = Option(
    "model_retry_max_backoff_ms", DURATION_MS, default=10_000, unit="ms", doc="Maximum delay before a retry."
)
TIMEOUT = Option(
    "model_request_timeout_ms",
    DURATION_MS,
    default=60_000,
    unit="ms",
    doc="Timeout for each read of a response.",
)
OPTIONS: tuple[Option[Any], ...] = (
    PROVIDER,
    MODEL,
    API_KEY,
    API_PATH,
    CUSTOM_CONFIG,
    ATTEMPTS,
    BACKOFF,
    BACKOFF_MAX,
    TIMEOUT,
    http.CA_FILE,
)

_PARSE, _HEADERS, _BODY = "custom_response_parse", "custom_request_headers", "custom_request_body"


@frozen(kw_only=True)
class Provider:
    """URL of a model and the format of its requests."""

    name: str
    model: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)
    """Value of ``custom_request_body``; ``None`` for OpenAI's format."""

    answer_path: str | None
    connection: Connection = field(repr=False)

    @classmethod
    def of(cls, transform: str, options: Options, usual: Mapping[str, str]) -> "Provider":
        """Return the provider from the options of a transform; ``usual`` maps providers to default URLs."""
        name, key = options[PROVIDER], options[API_KEY]
        custom = _custom(options[CUSTOM_CONFIG]) if name == CUSTOM else {}
        if name == AMAZON:
            raise UsageError(
                f"option 'model_provider': AMAZON requires signed requests, which {transform} does not support; "
                "call boto3 in a function, with Python { … }"
            )
        if options[CUSTOM_CONFIG] and name != CUSTOM:
            raise UsageError("option 'custom_config' belongs to model_provider = CUSTOM")
        url = options[API_PATH] or usual.get(name)
        if not url:
            needed = f"set api_path to the URL that {transform} calls"
            raise UsageError(f"option 'model_provider': {name} has no default URL; {needed}")
        if not key and name != CUSTOM:
            raise UsageError(f"option 'api_key' is not set; set it to the key for {name}")
        headers = {"api-key": key} if name == MICROSOFT else {"Authorization": f"Bearer {key}"} if key else {}
        custom_headers = {str(header): str(value) for header, value in (custom.get(_HEADERS) or {}).items()}
        return cls(
            name=name,
            model=options[MODEL],
            url=checked_url(url.replace("${model}", options[MODEL]), "api_path"),
            headers=custom_headers or headers,
            body=custom.get(_BODY),
            answer_path=custom.get(_PARSE),
            connection=_connection(options),
        )

    def client(self, transform: str) -> Client:
        """Return an HTTP client. Its errors contain the name of the transform."""
        return Client(self.connection, lambda message: TransformError(f"{transform}: {message}"))

    def asked(self, client: Client, body: Any, more: Mapping[str, str] | None = None, url: str | None = None) -> Any:
        """Send a request to the model and return its response as JSON, or raise ``TransformError``."""
        sent = json.dumps(body, ensure_ascii=False)
        request = Request(method="POST", url=url or self.url, headers=self.headers, params=more or {}, body=sent)
        answer = client.send(request)
        try:
            return parsed(answer.content)
        except ValueError as error:
            raise client.refused(
                request, answer.status, f"but the response is not JSON ({error})", answer.text
            ) from None

    def filled(self, values: Mapping[str, Any]) -> Any:
        """Return ``custom_config`` as a request body, with its placeholders replaced."""
        return _filled(self.body, values)

    def values(self, answer: Any, usual: str, transform: str) -> list[Any]:
        """Return the values at the path in a response; raise ``TransformError`` if there are none."""
        path = self.answer_path or usual
        values = found(path, answer)
        if not values:
            raise TransformError(
                f"{transform}: the response of {self.name} has no value at {path}; the response is {keys_of(answer)}"
            )
        return values


def _connection(options: Options) -> Connection:
    return Connection(
        retries=options[ATTEMPTS] - 1,
        backoff_ms=options[BACKOFF],
        backoff_max_ms=options[BACKOFF_MAX],
        connect_timeout_ms=12_000,
        socket_timeout_ms=options[TIMEOUT],
        ca_file=options[http.CA_FILE],
        certificate=(),
        hidden=tuple(options[each] for each in options.declared if each.secret and isinstance(options[each], str)),
        credentials="api_key",
        url_option="api_path and model",
        timeout_option=TIMEOUT.key,
    )


def _custom(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    config = config or {}
    unknown = [key for key in config if key not in (_PARSE, _HEADERS, _BODY)]
    if unknown:
        raise UsageError(
            f"option 'custom_config': unknown key {unknown[0]!r}; expected {_PARSE}, {_HEADERS} or {_BODY}"
        )
    if config.get(_PARSE):
        try:
            compiled(config[_PARSE])
        except ValueError as error:
            raise UsageError(f"option 'custom_config': {error}") from None
    if not isinstance(config.get(_HEADERS) or {}, Mapping):
        raise UsageError(f"option 'custom_config': {_HEADERS} must be a block {{ name = value }}")
    return config


def _filled(body: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(body, Mapping):
        return {key: _filled(value, values) for key, value in body.items()}
    if isinstance(body, Sequence) and not isinstance(body, str):
        return [each for part in body for each in _spliced(part, values)]
    if isinstance(body, str):
        for name, value in values.items():
            mark = f"${{{name}}}"
            if body.strip() == mark:
                return value[0] if isinstance(value, list) and len(value) == 1 else value
            if mark in body:
                body = body.replace(mark, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return body


def _spliced(part: Any, values: Mapping[str, Any]) -> list[Any]:
    """Return the expansion of a list element: ``"${input}"`` expands to one element per object."""
    for name, value in values.items():
        if isinstance(part, str) and part.strip() == f"${{{name}}}" and isinstance(value, list):
            return value
    return [_filled(part, values)]
