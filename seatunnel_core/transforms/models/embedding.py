"""The transform ``Embedding``: computes embedding vectors of strings with a model."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import TransformError, UsageError
from seatunnel_core.connector_api.option import NESTED, STRING, Option, Options, within
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.connectors.http.client import Client
from seatunnel_core.connectors.http.request import Request
from seatunnel_core.rows.columns import check_new, check_text, put, with_outputs
from seatunnel_core.rows.json_document import keys_of, parsed
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.rows.values import plain
from seatunnel_core.transforms.models import provider as of_models
from seatunnel_core.transforms.models.provider import EMBEDDINGS, QIANFAN, Provider

FIELDS = Option(
    "vectorization_fields",
    NESTED,
    required=True,
    doc="Vector columns and the text columns that they are computed from: { title_vector = title }.",
)
INPUTS = Option(
    "single_vectorized_input_number",
    within(1, 10_000),
    default=1,
    unit="texts",
    doc="Number of texts in one request.",
)
DIMENSION = Option(
    "dimension",
    within(1, 65_536),
    doc=(
        "Dimension of a vector. By default the model is called once during planning to determine it. Sent only "
        "to ZHIPU."
    ),
)
SECRET_KEY = Option("secret_key", STRING, secret=True, doc="For QIANFAN: secret key that belongs to api_key.")
OAUTH_PATH = Option(
    "oauth_path",
    STRING,
    default="https://aip.baidubce.com/oauth/2.0/token",
    doc="For QIANFAN: URL that returns a token for api_key and secret_key.",
)

_ANSWER = "$.data[*]"
_EXAMPLE = "example"


class Embedding(Transform):
    """Appends columns of type ``float_vector``. The vector of a null value is null."""

    identifier: ClassVar[str] = "Embedding"
    declared = (*of_models.OPTIONS, FIELDS, INPUTS, DIMENSION, SECRET_KEY, OAUTH_PATH)
    task_modules: ClassVar[tuple[str, ...]] = of_models.MODULES
    example = """
        model_provider = OPENAI
        model = text-embedding-3-small
        api_key = "sk-of-your-own"
        vectorization_fields { name_vector = name }
        single_vectorized_input_number = 100
        dimension = 1536
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._provider = Provider.of("Embedding", options, EMBEDDINGS)
        if self._provider.name == QIANFAN and not options[SECRET_KEY]:
            raise UsageError("option 'secret_key' is not set; QIANFAN requires it with api_key")
        self._fields: dict[str, str] = {}
        for name, source in options[FIELDS].items():
            if not isinstance(source, str):
                raise UsageError(
                    f"option 'vectorization_fields': the value of {name} is a block, but only text is supported, "
                    "not images or videos; use the name of a column"
                )
            self._fields[name] = source
        if not self._fields:
            raise UsageError("option 'vectorization_fields': no column is set; use { title_vector = title }")
        self._dimension: int | None = options[DIMENSION]

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_new("Embedding", self._fields, schema, FIELDS.key)
        for source in self._fields.values():
            check_text("Embedding", source, schema)
        with self._provider.client("Embedding") as client:
            return with_outputs(schema, self._outputs(client))

    def _outputs(self, client: Client) -> list[pa.Field]:
        if self._dimension is None:
            self._dimension = len(self._vectors(client, [_EXAMPLE])[0])
        kind = arrow_type(f"float_vector({self._dimension})")
        return [pa.field(name, kind) for name in self._fields]

    def apply(self, batch: Batch) -> Iterator[Batch]:
        with self._provider.client("Embedding") as client:
            outputs = self._outputs(client)
            columns = [self._column(client, batch, self._fields[output.name], output.type) for output in outputs]
        yield put(batch, outputs, columns)

    def _column(self, client: Client, batch: Batch, source: str, kind: pa.DataType) -> pa.Array:
        texts = batch.rows.column(source).to_pylist()
        places = [place for place, text in enumerate(texts) if text is not None]
        column: list[Any] = [None] * len(texts)
        for start in range(0, len(places), self.options[INPUTS]):
            some = places[start : start + self.options[INPUTS]]
            for place, vector in zip(some, self._vectors(client, [texts[place] for place in some]), strict=True):
                column[place] = self._checked(vector, kind, batch.table, source)
        return pa.array(column, kind)

    def _checked(self, vector: Any, kind: pa.DataType, table: str, source: str) -> Any:
        if len(vector) != kind.list_size:
            raise TransformError(
                f"Embedding: table {table}, column {source}: the model returns vectors of {len(vector)} numbers, "
                f"but dimension is {kind.list_size}"
            )
        try:
            return plain(vector, kind)
        except ValueError:
            raise TransformError(
                f"Embedding: table {table}, column {source}: a vector contains a value that is not a number"
            ) from None

    def _vectors(self, client: Client, texts: list[str]) -> list[Any]:
        provider = self._provider
        if provider.name == QIANFAN:
            url, token = f"{provider.url.rstrip('/')}/{provider.model}", {"access_token": self._token(client)}
            answer = provider.asked(client, {"input": texts}, token, url)
        else:
            answer = provider.asked(client, self._body(texts))
        if isinstance(answer, dict) and answer.get("error_code"):
            raise TransformError(f"Embedding: {provider.name} rejected the request: {answer.get('error_msg')}")
        vectors = _in_order(provider.values(answer, _ANSWER, "Embedding"))
        if len(vectors) != len(texts) or not all(isinstance(each, list) and each for each in vectors):
            raise TransformError(
                f"Embedding: {len(texts)} texts were sent to {provider.name}, but some vectors are missing in the "
                f"response: {keys_of(answer)}"
            )
        return vectors

    def _body(self, texts: list[str]) -> Any:
        if self._provider.body is not None:
            return self._provider.filled({"model": self._provider.model, "input": texts})
        dimensions = {"dimensions": self._dimension} if self._provider.name == "ZHIPU" and self._dimension else {}
        return {"model": self._provider.model, **dimensions, "input": texts}

    def _token(self, client: Client) -> str:
        who = {"client_id": self.options[of_models.API_KEY], "client_secret": self.options[SECRET_KEY]}
        params = {"grant_type": "client_credentials", **who}
        request = Request(method="GET", url=self.options[OAUTH_PATH], params=params)
        try:
            return str(parsed(client.send(request).content)["access_token"])
        except (ValueError, KeyError, TypeError):
            raise TransformError(
                f"Embedding: {request.shown} returned no access_token: check api_key and secret_key"
            ) from None


def _in_order(values: Sequence[Any]) -> list[Any]:
    """Return the vectors of a response, sorted by index if it contains indexes."""
    if all(isinstance(each, dict) and "embedding" in each for each in values):
        numbered = sorted(enumerate(values), key=lambda pair: pair[1].get("index", pair[0]))
        return [each["embedding"] for _, each in numbered]
    nested = len(values) == 1 and isinstance(values[0], list) and values[0] and isinstance(values[0][0], list)
    return list(values[0]) if nested else list(values)
