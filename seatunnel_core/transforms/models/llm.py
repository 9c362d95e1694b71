"""The transform ``LLM``: sends rows to a language model, and writes its responses to a column."""

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import TransformError
from seatunnel_core.connector_api.option import ENUM, LIST, STRING, Option, Options, within
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.connectors.http.client import Client
from seatunnel_core.connectors.http.sink import json_objects
from seatunnel_core.rows.columns import check_known, put, with_outputs
from seatunnel_core.rows.json_document import parsed
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.rows.values import plain
from seatunnel_core.transforms.models import provider as of_models
from seatunnel_core.transforms.models.provider import CHATS, MICROSOFT, Provider

PROMPT = Option("prompt", STRING, required=True, doc="Instruction for the model, applied to each row.")
COLUMNS = Option("inference_columns", LIST(STRING), doc="Columns sent to the model; by default all.")
OUTPUT = Option(
    "output_column_name",
    STRING,
    default="llm_output",
    doc="Column for the model's response. If a column with this name exists, llm_output is used.",
)
TYPE = Option(
    "output_data_type",
    ENUM("STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN"),
    default="STRING",
    doc="Type of that column.",
)
BATCH = Option(
    "process_batch_size",
    within(1, 10_000),
    default=100,
    unit="rows",
    aliases=("inference_batch_size",),
    doc="Approximate number of rows in one request.",
)

_ANSWER = "$.choices[0].message.content"
_RULES = (
    "\nYou are given a JSON array with {count} objects. Answer with a JSON array of exactly {count} elements of type "
    '{type}, one for each object, in the same order, and with nothing else. For example: ["value1", "value2"]'
)
_FENCE = re.compile(r"^```\w*\n(.*)\n```$", re.DOTALL)


class Llm(Transform):
    """Sends several rows per request; a repeated work unit sends them again, and may get different responses."""

    identifier: ClassVar[str] = "LLM"
    declared = (*of_models.OPTIONS, PROMPT, COLUMNS, OUTPUT, TYPE, BATCH)
    task_modules: ClassVar[tuple[str, ...]] = of_models.MODULES
    example = """
        model_provider = OPENAI
        model = gpt-4o-mini
        api_key = "sk-of-your-own"
        inference_columns = [name]
        prompt = "Say from which language the name comes"
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._provider = Provider.of("LLM", options, CHATS)
        self._type: pa.DataType = arrow_type(options[TYPE].lower())
        self._columns: tuple[str, ...] = options[COLUMNS] or ()

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("LLM", self._columns, schema)
        return with_outputs(schema, [self._output(schema.columns)])

    def _output(self, columns: pa.Schema) -> pa.Field:
        taken = self.options[OUTPUT] in columns.names
        return pa.field(OUTPUT.default if taken else self.options[OUTPUT], self._type)

    def apply(self, batch: Batch) -> Iterator[Batch]:
        rows = batch.rows.select(list(self._columns)) if self._columns else batch.rows
        objects = list(json_objects(rows))
        said: list[Any] = []
        with self._provider.client("LLM") as client:
            for start in range(0, len(objects), self.options[BATCH]):
                said += self._said(client, objects[start : start + self.options[BATCH]], batch.table)
        yield put(batch, [self._output(batch.rows.schema)], [pa.array(said, self._type)])

    def _said(self, client: Client, objects: list[str], table: str) -> list[Any]:
        """Return the model's response for each object; if the number of responses is wrong, split the request."""
        answer = self._provider.asked(client, self._body(objects))
        values = self._provider.values(answer, _ANSWER, "LLM")
        if self._type == pa.bool_():  # models also return True
            values = [each.lower() if isinstance(each, str) else each for each in values]
        said = _listed(values, len(objects))
        if said is not None and len(said) == len(objects):
            return [self._value(each, table) for each in said]
        if len(objects) > 1:
            half = len(objects) // 2
            return self._said(client, objects[:half], table) + self._said(client, objects[half:], table)
        error = TransformError(
            f"LLM: table {table}: the model returned "
            f"{'text that is not a JSON array' if said is None else f'{len(said)} values'} for one row, expected one "
            "value; make the prompt more specific"
        )
        error.retryable = True
        raise error

    def _body(self, objects: list[str]) -> Any:
        rules = _RULES.format(count=len(objects), type=self.options[TYPE])
        prompt, data = self.options[PROMPT] + rules, f"[{','.join(objects)}]"
        if self._provider.body is not None:
            return self._provider.filled({"model": self._provider.model, "prompt": prompt, "input": data})
        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": data}]
        named = {} if self._provider.name == MICROSOFT else {"model": self._provider.model}
        return {**named, "messages": messages}

    def _value(self, said: Any, table: str) -> Any:
        try:
            return plain(said, self._type)
        except ValueError as error:
            raise TransformError(f"LLM: table {table}: the model's reply {error}") from None


def _listed(values: list[Any], count: int) -> list[Any] | None:
    """Return the values in the model's response, which may be JSON; ``None`` if it is not a list of several values."""
    if len(values) != 1:
        return values
    (value,) = values
    if not isinstance(value, str):
        return value if isinstance(value, list) else values
    text = value.strip()
    fenced = _FENCE.match(text)
    try:
        said = parsed(fenced[1] if fenced else text)
    except ValueError:
        return [text] if count == 1 else None
    return said if isinstance(said, list) else [said if not isinstance(said, dict) else json.dumps(said)]
