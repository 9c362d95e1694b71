"""``LLM`` and ``Embedding`` against an API in this process."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import TransformConformance, options_of
from seatunnel_core.errors import SeaTunnelError, TransformError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.models.embedding import Embedding
from seatunnel_core.transforms.models.llm import Llm
from tests.servers.http_service import Asked, HttpService, Said, http_service

KEY = "sk-secret-of-mine"
PEOPLE: list[dict[str, Any]] = [{"id": 1, "name": "Joy"}, {"id": 2, "name": None}, {"id": 3, "name": ""}]
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
FAST = {"model_retry_backoff_ms": 1, "model_retry_max_attempts": 2}


@pytest.fixture(scope="module")
def running() -> Iterator[HttpService]:
    with http_service() as service:
        yield service


@pytest.fixture
def service(running: HttpService) -> HttpService:
    running.at.clear()
    running.asked.clear()
    running.at["/chat"] = chat
    running.at["/embeddings"] = embeddings
    return running


def said(*contents: Any) -> Any:
    return {"choices": [{"message": {"role": "assistant", "content": each}} for each in contents]}


def chat(asked: Asked) -> Any:
    """Says of each row how long its name is."""
    rows = json.loads(asked.json["messages"][1]["content"])
    return said(json.dumps([len(row["name"] or "") for row in rows]))


def vector(text: str) -> list[float]:
    return [len(text), 0.5]


def embeddings(asked: Asked) -> Any:
    data = [{"index": number, "embedding": vector(text)} for number, text in enumerate(asked.json["input"])]
    return {"data": data[::-1], "model": asked.json["model"]}


def _given(answer: Any, _: object) -> Any:
    return answer


def passed(plugin: Any, rows: Sequence[Mapping[str, Any]] = PEOPLE, **options: Any) -> list[dict[str, Any]]:
    given = {"model_provider": "OPENAI", "model": "m-1", "api_key": KEY, **FAST, **options}
    transform = plugin(options_of(plugin, given))
    batch = Batch(table="people", rows=pa.RecordBatch.from_pylist(list(rows), schema=COLUMNS))
    (after,) = transform.apply(batch)
    assert after.rows.schema == transform.output_schema(TableSchema(table="people", columns=COLUMNS)).columns
    return after.rows.to_pylist()


# -- the kit -------------------------------------------------------------------------------------------------------


class TestLlm(TransformConformance):
    transform_class = Llm
    columns = COLUMNS

    @pytest.fixture(autouse=True)
    def api(self, service: HttpService) -> None:
        self.url = service.url

    def options(self) -> Mapping[str, Any]:
        asked = {"model_provider": "OPENAI", "model": "m-1", "api_key": KEY, "api_path": f"{self.url}/chat"}
        return {**asked, "prompt": "How long?", "output_data_type": "INT", "process_batch_size": 2}

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return PEOPLE

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [{**row, "llm_output": len(row["name"] or "")} for row in PEOPLE]


class TestEmbedding(TransformConformance):
    transform_class = Embedding
    columns = COLUMNS

    @pytest.fixture(autouse=True)
    def api(self, service: HttpService) -> None:
        self.url = service.url

    def options(self) -> Mapping[str, Any]:
        asked = {"model_provider": "OPENAI", "model": "m-1", "api_key": KEY, "api_path": f"{self.url}/embeddings"}
        return {**asked, "vectorization_fields": {"v": "name"}, "single_vectorized_input_number": 2}

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return PEOPLE

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [{**row, "v": None if row["name"] is None else vector(row["name"])} for row in PEOPLE]


# -- LLM -----------------------------------------------------------------------------------------------------------


def test_a_model_sees_the_chosen_columns_of_some_rows_and_the_prompt(service: HttpService) -> None:
    url = f"{service.url}/chat"
    passed(
        Llm, api_path=url, prompt="How long?", inference_columns="name", output_data_type="INT", process_batch_size=2
    )
    first, second = service.asked
    system, user = first.json["messages"]
    assert (first.method, first.headers["authorization"], first.json["model"]) == ("POST", f"Bearer {KEY}", "m-1")
    assert first.headers["content-type"] == "application/json"
    assert (system["role"], user["role"], system["content"].startswith("How long?\n")) == ("system", "user", True)
    assert "JSON array of exactly 2 elements of type INT" in system["content"]
    assert json.loads(user["content"]) == [{"name": "Joy"}, {"name": None}]
    assert json.loads(second.json["messages"][1]["content"]) == [{"name": ""}]


@pytest.mark.parametrize(
    ("kind", "content", "value"),
    [
        ("STRING", '["Chinese"]', "Chinese"),
        ("STRING", '```json\n["Chinese"]\n```', "Chinese"),
        ("STRING", "Chinese, I think", "Chinese, I think"),
        ("BOOLEAN", '["True"]', True),
        ("BOOLEAN", "[True]", True),
        ("BOOLEAN", "```json\n[FALSE]\n```", False),
        ("BOOLEAN", "True", True),
        ("BIGINT", "[12345678901]", 12345678901),
        ("DOUBLE", '["1.5"]', 1.5),
        ("INT", "7", 7),
    ],
)
def test_what_a_model_says_has_the_type_that_is_asked_for(
    service: HttpService, kind: str, content: str, value: Any
) -> None:
    service.at["/chat"] = lambda _: said(content)
    options: dict[str, Any] = {
        "api_path": f"{service.url}/chat",
        "prompt": "?",
        "output_data_type": kind,
        "output_column_name": "o",
    }
    assert passed(Llm, PEOPLE[:1], **options)[0]["o"] == value


def test_a_column_that_is_there_is_not_replaced(service: HttpService) -> None:
    rows = passed(Llm, api_path=f"{service.url}/chat", prompt="?", output_column_name="name")
    assert [(row["name"], row["llm_output"]) for row in rows] == [("Joy", "3"), (None, "0"), ("", "0")]


def test_a_model_that_says_too_little_is_asked_about_fewer_rows(service: HttpService) -> None:
    def forgets(asked: Asked) -> Any:
        rows = json.loads(asked.json["messages"][1]["content"])
        return said(json.dumps([row["id"] for row in rows][: max(1, len(rows) - 1)]))

    service.at["/chat"] = forgets
    rows = passed(Llm, api_path=f"{service.url}/chat", prompt="?", output_data_type="INT")
    assert [row["llm_output"] for row in rows] == [1, 2, 3]
    service.at["/chat"] = lambda _: said("[1, 2]")
    with pytest.raises(TransformError, match="the model returned 2 values for one row") as raised:
        passed(Llm, PEOPLE[:1], api_path=f"{service.url}/chat", prompt="?")
    assert raised.value.retryable


def test_a_custom_model_is_asked_as_the_job_says(service: HttpService) -> None:
    service.at["/v9/m-1"] = lambda _: {"out": ["a", "b", "c"]}
    custom = {
        "custom_request_headers": {"X-Key": KEY},
        "custom_request_body": {"use": "${model}", "ask": ["${prompt}", {"about": "rows: ${input}"}], "n": 1},
        "custom_response_parse": "$.out[*]",
    }
    url = f"{service.url}/v9/${{model}}"
    options: dict[str, Any] = {
        "model_provider": "CUSTOM",
        "api_path": url,
        "custom_config": custom,
        "inference_columns": ["id"],
    }
    rows = passed(Llm, **options, prompt="Say a letter")
    assert [row["llm_output"] for row in rows] == ["a", "b", "c"]
    (asked,) = service.asked
    assert asked.headers["x-key"] == KEY
    assert "authorization" not in asked.headers
    assert (asked.json["use"], asked.json["n"], asked.json["ask"][0].startswith("Say a letter")) == ("m-1", 1, True)
    assert asked.json["ask"][1] == {"about": 'rows: [{"id":1},{"id":2},{"id":3}]'}


def test_microsoft_has_its_own_header_and_the_model_in_its_path(service: HttpService) -> None:
    service.at["/deployments/m-1/chat"] = chat
    url = f"{service.url}/deployments/${{model}}/chat?api-version=1"
    passed(Llm, model_provider="MICROSOFT", api_path=url, prompt="?")
    (asked,) = service.asked
    assert (asked.headers["api-key"], asked.query, "model" in asked.json) == (KEY, {"api-version": "1"}, False)


# -- Embedding -----------------------------------------------------------------------------------------------------


def test_texts_go_together_and_the_dimension_is_asked_for_once(service: HttpService) -> None:
    fields: dict[str, Any] = {"vectorization_fields": {"v": "name"}, "single_vectorized_input_number": 10}
    passed(Embedding, api_path=f"{service.url}/embeddings", **fields)
    assert [asked.json["input"] for asked in service.asked] == [["example"], ["Joy", ""]]
    assert service.asked[0].json["model"] == "m-1"
    service.asked.clear()
    passed(Embedding, api_path=f"{service.url}/embeddings", dimension=2, **fields)
    assert [asked.json["input"] for asked in service.asked] == [["Joy", ""]]
    with pytest.raises(TransformError, match="returns vectors of 2 numbers, but dimension is 3"):
        passed(Embedding, api_path=f"{service.url}/embeddings", dimension=3, **fields)


def test_zhipu_gets_the_dimension(service: HttpService) -> None:
    fields: dict[str, Any] = {"vectorization_fields": {"v": "name"}, "dimension": 2}
    passed(Embedding, PEOPLE[:1], model_provider="ZHIPU", api_path=f"{service.url}/embeddings", **fields)
    assert service.asked[0].json == {"model": "m-1", "dimensions": 2, "input": ["Joy"]}


def test_qianfan_gives_a_token_for_two_keys(service: HttpService) -> None:
    service.at["/oauth"] = lambda _: {"access_token": "t0k"}
    service.at["/api/m-1"] = lambda asked: {"data": [{"index": 0, "embedding": vector(asked.json["input"][0])}]}
    options: dict[str, Any] = {
        "model_provider": "QIANFAN",
        "api_path": f"{service.url}/api",
        "oauth_path": f"{service.url}/oauth",
    }
    options |= {"secret_key": "secret-too", "dimension": 2, "vectorization_fields": {"v": "name"}}
    assert passed(Embedding, PEOPLE[:1], **options)[0]["v"] == [3.0, 0.5]
    oauth, asked = service.asked
    expected = {"grant_type": "client_credentials", "client_id": KEY, "client_secret": "secret-too"}
    assert (oauth.method, oauth.query) == ("GET", expected)
    assert (asked.query, asked.json) == ({"access_token": "t0k"}, {"input": ["Joy"]})
    service.at["/api/m-1"] = lambda _: {"error_code": 6, "error_msg": "no permission"}
    with pytest.raises(TransformError, match="QIANFAN rejected the request: no permission"):
        passed(Embedding, PEOPLE[:1], **options)
    with pytest.raises(UsageError, match="QIANFAN requires it with api_key"):
        passed(Embedding, **{**options, "secret_key": ""})


@pytest.mark.parametrize(("given", "sent"), [(["${input}"], ["Joy", ""]), ("${input}", ["Joy", ""])])
def test_a_custom_model_gets_the_texts_as_a_list(service: HttpService, given: Any, sent: Any) -> None:
    service.at["/v9"] = lambda asked: {"vectors": [vector(text) for text in asked.json["texts"]]}
    custom = {"custom_request_body": {"texts": given}, "custom_response_parse": "$.vectors"}
    options: dict[str, Any] = {
        "model_provider": "CUSTOM",
        "api_path": f"{service.url}/v9",
        "custom_config": custom,
        "dimension": 2,
    }
    more: dict[str, Any] = {"vectorization_fields": {"v": "name"}, "single_vectorized_input_number": 9}
    assert [row["v"] for row in passed(Embedding, **options, **more)] == [[3.0, 0.5], None, [0.0, 0.5]]
    assert service.asked[0].json == {"texts": sent}


# -- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugin", "more"),
    [(Llm, {"prompt": "?"}), (Embedding, {"vectorization_fields": {"v": "name"}})],
    ids=["LLM", "Embedding"],
)
def test_failures_name_the_part_and_no_key(service: HttpService, plugin: Any, more: Any) -> None:
    answers = {
        "/401": Said(status=401, body=f"Incorrect API key provided: {KEY}"),
        "/429": Said(status=429, body="rate limit"),
        "/html": Said(body="<html>"),
        "/empty": Said(body={"error": "?"}),
    }
    told: dict[str, SeaTunnelError] = {}
    for path, answer in answers.items():
        service.at[path] = partial(_given, answer)
        with pytest.raises(TransformError) as found:
            passed(plugin, api_path=f"{service.url}{path}", **more)
        told[path] = found.value
    assert "answered 401 Unauthorized: check api_key. Response: Incorrect API key provided: ***" in str(told["/401"])
    assert "429 Too Many Requests: the quota is exhausted" in str(told["/429"])
    assert (told["/429"].retryable, told["/401"].retryable) == (True, False)
    assert len(service.of("/429")) == 2, "two attempts"
    assert "but the response is not JSON" in str(told["/html"])
    assert "has no value at $" in str(told["/empty"])
    assert not any(KEY in str(each) for each in told.values())
    assert KEY not in repr(options_of(plugin, {"model_provider": "OPENAI", "model": "m", "api_key": KEY, **more}))


@pytest.mark.parametrize(
    ("plugin", "options", "told"),
    [
        (Llm, {"model_provider": "AMAZON"}, "AMAZON requires signed requests"),
        (Llm, {"model_provider": "MICROSOFT"}, "MICROSOFT has no default URL; set api_path to the URL"),
        (Llm, {"model_provider": "CUSTOM"}, "CUSTOM has no default URL"),
        (Llm, {"api_key": ""}, "'api_key' is not set; set it to the key for OPENAI"),
        (Llm, {"custom_config": {"custom_response_parse": "$.a"}}, "belongs to model_provider = CUSTOM"),
        (Llm, {"model_provider": "CUSTOM", "custom_config": {"parse": "$.a"}}, "unknown key 'parse'"),
        (Embedding, {"model_provider": "KIMIAI"}, "KIMIAI has no default URL"),
        (
            Embedding,
            {"vectorization_fields": {"v": {"field": "x", "modality": "jpeg"}}},
            "only text is supported",
        ),
        (Embedding, {"vectorization_fields": {}}, "no column is set"),
    ],
)
def test_options_that_do_not_go_together_are_refused(plugin: Any, options: Any, told: str) -> None:
    usual = {"prompt": "?"} if plugin is Llm else {"vectorization_fields": {"v": "name"}}
    with pytest.raises(UsageError, match=told):
        passed(plugin, **{**usual, **options})


def test_columns_are_looked_at_before_anybody_is_asked() -> None:
    schema = TableSchema(table="people", columns=COLUMNS)
    given = {"model_provider": "OPENAI", "model": "m", "api_key": KEY}
    llm = Llm(options_of(Llm, {**given, "prompt": "?", "inference_columns": "nam"}))
    with pytest.raises(TransformError, match="LLM: the table people has no column nam"):
        llm.output_schema(schema)
    for fields, told in (({"v": "id"}, "only string is supported"), ({"name": "name"}, "already has a column name")):
        embedding = Embedding(options_of(Embedding, {**given, "dimension": 2, "vectorization_fields": fields}))
        with pytest.raises(TransformError, match=told):
            embedding.output_schema(schema)
