"""A key that stands in an object of JSON more than once: the last value was taken, the others lost without a word."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import Skipped, read
from seatunnel_core.errors import RowError
from seatunnel_core.rows.json_document import exact
from seatunnel_core.rows.json_document import parsed as parsed_document
from seatunnel_core.rows.lax_json import lax
from seatunnel_core.rows.repeated_keys import require_once
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.rows.values import plain, row_converter
from tests.connectors.file.local_files import source

INFERRED: dict[str, Any] = {}


def declared(kind: str) -> dict[str, Any]:
    return {"schema": {"fields": {"id": "int", "c": kind}}}


def rows(folder: Path, line: str, options: dict[str, Any], context: Skipped | None = None) -> list[dict[str, Any]]:
    (folder / "a.json").write_text(f'{{"id": 1}}\n{line}\n{{"id": 3}}\n')
    return read(source(folder, file_format_type="json", **options), context=context)


@pytest.mark.parametrize(
    ("line", "options", "key"),
    [
        ('{"id": 2, "c": 1, "c": 2}', declared("int"), "c"),
        ('{"id": 2, "c": "a", "c": "a"}', declared("string"), "c"),
        ('{"id": 2, "c": null, "c": {}}', declared("map<string, int>"), "c"),
        ('{"id": 2, "c": {"a": 1, "a": 2}}', declared("map<string, int>"), "a"),
        ('{"id": 2, "c": {"a": 1, "b": 1, "a": 2}}', declared("{a = int}"), "a"),
        ('{"id": 2, "c": [{"a": 1, "a": 2}]}', declared("array<{a = int}>"), "a"),
        ('{"id": 2, "c": {"x": [{"a": 1, "a": 2}]}}', declared("string"), "a"),
        ('{"id": 2, "c": "{\\"a\\": 1, \\"a\\": 2}"}', declared("map<string, int>"), "a"),
        ('{"id": 2, "c": 1, "c": 2}', INFERRED, "c"),
        ('{"id": 2, "c": 1, "c": "x"}', INFERRED, "c"),
        ('{"id": 2, "c": {"a": 1, "a": 2}}', INFERRED, "a"),
        ('{"id": 2, "c": 1, "c": 2}', {"schema_sample": 2}, "c"),
        ('{"id": 2, "c": [1, {"a": 1, "a": 2}]}', INFERRED, "a"),
    ],
)
def test_its_row_is_refused(tmp_path: Path, line: str, options: dict[str, Any], key: str) -> None:
    with pytest.raises(RowError, match=rf"a\.json, line 2.*the key '{key}' occurs more than once in an object"):
        rows(tmp_path, line, options)
    found = rows(tmp_path, line, options, Skipped(fail=False))
    assert [row["id"] for row in found] == [1, 3]


@pytest.mark.parametrize("line", ['{"id": 2, "x": 1, "x": 2}', '{"id": 2, "x": {"a": 1, "a": 2}}'])
@pytest.mark.parametrize("careful", ["1", '"1"'])
def test_where_nobody_reads_it_it_does_no_harm(tmp_path: Path, line: str, careful: str) -> None:
    """The fast reader does not see it there, so the careful one must not refuse it either."""
    found = rows(tmp_path, f'{line}\n{{"id": {careful}}}', declared("int"))
    assert [row["id"] for row in found] == [1, 2, 1, 3]


def test_answers_of_services_remember_it() -> None:
    for text in ('{"rows": [{"a": 1.5, "a": 2, "b": 1}]}', "{rows: [{a: 1.5, a: 2, 'b': 1}]}"):
        (element,) = exact(lax(text))["rows"]
        assert row_converter(pa.schema([("b", pa.int64())]))(element) == {"b": 1}
        with pytest.raises(ValueError, match="the key 'a' occurs"):
            row_converter(pa.schema([("a", pa.float64())]))(element)
    require_once(parsed_document('{"a": 1, "b": {"a": 2}}'))


def test_a_value_inside_of_a_value_names_its_key_alone() -> None:
    with pytest.raises(ValueError, match=r"^the key 'a' occurs more than once in an object"):
        plain('{"x": {"a": 1, "a": 2}}', arrow_type("{x = {a = int}}"))
