"""JSON lines without a schema: columns of all rows, however files are split, and a contract behind a sample."""

import json
import os
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import Skipped, plan, read
from seatunnel_core.errors import RowError, SourceError, UsageError
from seatunnel_core.rows.native_json import NativeJson
from seatunnel_core.rows.types import type_name
from tests.connectors.file.local_files import source
from tests.rows.inference.json_rows import ROWS

ROWS_SEEN = [{"id": 1, "at": "2024-01-31"}, {"id": 2, "at": "2024-02-01"}]
LATER = [{"id": 3, "at": "2024-02-02"}, {"id": "x", "at": "yesterday"}, {"id": 4, "email": "e"}]


class Noted(Skipped):
    """A context that keeps what is said of rows, and of how many."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: dict[str, tuple[int, str]] = {}

    def note(self, what: str, example: str, rows: int = 1) -> None:
        self.notes[what] = (self.notes.get(what, (0, ""))[0] + rows, example)


def write(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def types(path: Path, **options: Any) -> dict[str, str]:
    (schema,) = plan(source(path, file_format_type="json", **options)).schemas
    return {column.name: type_name(column.type) for column in schema.columns}


@pytest.mark.parametrize("text", ['[{"id": 1}, {"id": 2}]\n', '{\n "id": 1\n}\n', "id\n1\n"])
def test_a_file_without_an_object_on_any_line_is_refused(tmp_path: Path, text: str) -> None:
    """A list, or JSON that is spread over lines: the job finished, without a row."""
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(SourceError, match=r"a\.json: no line is a JSON object.* jq -c"):
        plan(source(tmp_path / "a.json", file_format_type="json"))


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_lines_has_no_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert plan(source(tmp_path / "a.json", file_format_type="json")).schemas == ()


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    write(tmp_path / "a.json", [*ROWS_SEEN, *LATER])
    return tmp_path


@pytest.mark.fuzz
@settings(max_examples=int(os.environ.get("SEATUNNEL_EXAMPLES", "20")))  # each opens a dozen files
@given(lines=ROWS, files=st.integers(1, 3), split_size=st.integers(1, 200), parallelism=st.sampled_from([1, 4]))
@example(lines=[b'{"a":1}', b'{"a":"x","b":[1.5]}', b"{}"], files=2, split_size=1, parallelism=4)
def test_any_files_splits_and_parallelism_give_the_same_table(
    lines: list[bytes], files: int, split_size: int, parallelism: int
) -> None:
    """A file has a dozen splits or so: with one for each byte, most of the time went into opening files."""
    split_size = max(split_size, sum(map(len, lines)) // 12)
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for count, size in ((1, 10**6), (files, split_size)):
            path = Path(folder, str(count) + str(size))
            path.mkdir()
            for number in range(count):
                (path / f"{number}.json").write_bytes(b"\n".join(lines[number::count]))
            made = source(path, file_format_type="json", split_size=size)
            planned = plan(made, PlanningContext(parallelism=parallelism))
            rows = sorted(map(repr, read(made, planned))) if planned.schemas else []
            found.append(([schema.columns for schema in planned.schemas], rows))
        assert found[0] == found[1]


def test_all_rows_are_looked_at_and_a_sample_where_it_is_asked_for(sampled: Path) -> None:
    assert types(sampled) == {"id": "string", "at": "string", "email": "string"}
    assert types(sampled, schema_sample=2) == {"id": "bigint", "at": "date"}
    write(sampled / "b.json", [{"id": 1.5, "more": True}])
    assert types(sampled, schema_sample=2) == {"id": "double", "at": "date", "more": "boolean"}


def test_members_of_an_archive_are_all_looked_at(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.json", '{"id": 1}')
        archive.writestr("b.json", '{"id": 1.5, "x": 1}')
    assert types(tmp_path, archive_compress_codec="zip") == {"id": "double", "x": "bigint"}


@pytest.mark.parametrize("word", ["evolve", "freeze"])
def test_a_row_behind_the_sample_that_does_not_fit_is_refused_where_it_stands(sampled: Path, word: str) -> None:
    made = source(sampled, file_format_type="json", schema_sample=2, schema_contract=word)
    with pytest.raises(RowError, match=r"a\.json, line 4, column 'id': 'x' is not a bigint, the type inferred"):
        read(made)
    write(sampled / "a.json", [*ROWS_SEEN, LATER[2]])
    with pytest.raises(
        RowError, match=r"line 3, column 'email': the first 2 rows of each file do not contain this field"
    ):
        read(made)


def test_what_the_contract_discards_is_left_out_and_counted(sampled: Path) -> None:
    def found(**contract: str) -> tuple[list[Any], list[int]]:
        made, noted = source(sampled, file_format_type="json", schema_sample=2, schema_contract=contract), Noted()
        rows = read(made, context=noted)
        assert all(example.startswith(f"{sampled}/a.json, line ") for _, example in noted.notes.values())
        return [row["id"] for row in rows], sorted(count for count, _ in noted.notes.values())

    assert found(columns="discard_value", data_type="discard_value") == ([1, 2, 3, None, 4], [1, 1, 1])
    assert found(columns="discard_row", data_type="discard_row") == ([1, 2, 3], [1, 1])
    assert found(columns="discard_value", data_type="discard_row") == ([1, 2, 3, 4], [1, 1])


def test_a_field_within_an_object_is_a_column_for_the_contract(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [{"o": {"a": 1}}, {"o": {"a": 2, "b": 3}}, {"o": 7}])
    made = source(tmp_path, file_format_type="json", schema_sample=1, schema_contract="discard_value")
    noted = Noted()
    assert read(made, context=noted) == [{"o": {"a": 1}}, {"o": {"a": 2}}, {"o": None}]
    assert [count for count, _ in noted.notes.values()] == [1, 1]
    assert any("the field 'o.b'" in what for what in noted.notes)


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ('"2024-01-31T10:00:00Z"', '"2024-01-31T10:00:00+02:00"'),
        ('"2024-01-31"', '"2024-01-31T10:00:00"'),
        ("1", "1.0"),
        ("1", '"1"'),
        ("1.5", "9007199254740993"),
        ("1.5", "true"),
        ("true", '"true"'),
        ("[1]", "1"),
        ("[1]", "[1.5]"),
        ('{"a": 1}', "[]"),
    ],
)
def test_no_value_behind_the_sample_is_converted(tmp_path: Path, first: str, later: str) -> None:
    (tmp_path / "a.json").write_text(f'{{"x": {first}}}\n{{"x": {later}}}\n')
    made = source(tmp_path, file_format_type="json", schema_sample=1)
    with pytest.raises(RowError, match="line 2, column 'x'"):
        read(made)


def test_columns_that_are_not_read_are_known_to_the_contract(sampled: Path) -> None:
    write(sampled / "a.json", [{"id": 1, "x": 1}, {"id": 2, "x": 2}])
    made = source(sampled, file_format_type="json", schema_sample=1, read_columns=["id"])
    assert read(made) == [{"id": 1}, {"id": 2}]


def test_a_bad_line_is_refused_with_its_place_or_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\nnonsense\n{"id": 2.5}\n')
    made = source(tmp_path, file_format_type="json")
    with pytest.raises(SourceError, match=r"a\.json: line 2: not a JSON object on one line: .*; declare schema"):
        made.planned_schemas()
    skipped = Skipped(fail=False)
    assert read(made, context=skipped) == [{"id": 1.0}, {"id": 2.5}]
    assert len(skipped.errors) == 1


def test_options_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="option 'schema_sample': only for file_format_type = json"):
        source(tmp_path, file_format_type="csv", schema_sample=1)
    with pytest.raises(UsageError, match="option 'schema_contract': schema already declares the columns"):
        source(tmp_path, file_format_type="json", schema_contract="freeze", schema={"fields": {"id": "int"}})
    with pytest.raises(ValueError, match="expected one of evolve, freeze, discard_row, discard_value, found 'thaw'"):
        source(tmp_path, file_format_type="json", schema_contract={"columns": "thaw"})


def test_a_check_says_what_the_columns_are_found_in(sampled: Path) -> None:
    made = source(sampled, file_format_type="json")
    assert made.planned_reading() == (
        "the columns are inferred from all rows of all files; --check inspected only the beginning of one file",
    )
    assert not source(sampled, file_format_type="json", schema={"fields": {"id": "int"}}).planned_reading()


ORDERS = [
    {"id": 1, "to": {"city": "Oslo", "zip": "0150"}, "lines": [{"sku": "a", "n": 2}, {"sku": "b", "tags": ["x", "y"]}]},
    {"id": 2, "to": None, "lines": []},
    {"id": 3, "to": {"city": "Rome"}, "lines": [{"sku": "c", "n": 1.5}]},
]


def tables(path: Path, **options: Any) -> dict[str, list[dict[str, Any]]]:
    made = source(path, file_format_type="json", nesting="tables", schema={"table": "orders"}, **options)
    found = plan(made)
    rows: dict[str, list[dict[str, Any]]] = {schema.table: [] for schema in found.schemas}
    for split in found.splits:
        for batch in made.read(split, Skipped()):
            rows[batch.table] += batch.rows.to_pylist()
    return {table: sorted(of_table, key=repr) for table, of_table in rows.items()}


@pytest.mark.parametrize("native", [True, False])
def test_lists_become_child_tables_with_the_same_ids_however_files_are_cut(
    tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(NativeJson, "rows", lambda *_: None)
    write(tmp_path / "a.json", ORDERS)
    found = tables(tmp_path)
    assert {table: len(rows) for table, rows in found.items()} == {
        "orders": 3,
        "orders__lines": 3,
        "orders__lines__tags": 2,
    }
    assert {row["to__city"] for row in found["orders"]} == {"Oslo", None, "Rome"}
    ids = {row["_row_id"]: row["id"] for row in found["orders"]}
    lines = [(ids[row["_parent_id"]], row["_list_index"], row["sku"], row["n"]) for row in found["orders__lines"]]
    assert sorted(lines) == [(1, 0, "a", 2.0), (1, 1, "b", None), (3, 0, "c", 1.5)]
    for split_size in (1, 60, 200):
        assert tables(tmp_path, split_size=split_size) == found


def test_ids_are_those_of_the_lines_by_either_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text("\r\n".join(map(json.dumps, ORDERS)))
    found = tables(tmp_path)
    monkeypatch.setattr(NativeJson, "rows", lambda *_: None)
    assert tables(tmp_path) == found


def test_levels_beyond_the_limit_are_texts_and_names_are_safe(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [{"Order ID": 1, "to": {"geo": {"x": 1.5}}}])
    assert types(tmp_path, max_nesting=1, nesting="columns", column_names="safe") == {
        "order_id": "bigint",
        "to__geo": "string",
    }
    assert types(tmp_path, max_nesting=0) == {"Order ID": "bigint", "to": "string"}
    made = source(tmp_path, file_format_type="json", max_nesting=1, nesting="columns")
    assert read(made) == [{"Order ID": 1, "to__geo": '{"x":1.5}'}]


def test_declared_lists_become_tables_too(tmp_path: Path) -> None:
    write(tmp_path / "a.json", ORDERS)
    fields = {"id": "int", "lines": "array<{sku = string}>"}
    made = source(tmp_path, file_format_type="json", nesting="tables", schema={"table": "o", "fields": fields})
    found = plan(made)
    assert [(each.table, each.columns.names) for each in found.schemas] == [
        ("o", ["_row_id", "id"]),
        ("o__lines", ["_row_id", "_parent_id", "_list_index", "sku"]),
    ]
    assert len(read(made, found)) == 6


def test_a_list_that_is_no_child_table_yet_follows_the_contract_for_tables(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [{"id": 1}, {"id": 2, "l": [1]}, {"id": 3, "x": 1}])

    def ids(**contract: str) -> list[Any]:
        made = source(tmp_path, file_format_type="json", nesting="tables", schema_sample=1, schema_contract=contract)
        return [row["id"] for row in read(made, context=Noted())]

    assert ids(tables="discard_value", columns="discard_row") == [1, 2]
    assert ids(tables="discard_row", columns="discard_value") == [1, 3]
    with pytest.raises(RowError, match=r"line 2, column 'l': .* schema_contract { tables = discard_value }"):
        ids(columns="discard_value")


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["NaN", "1.5", "-Infinity"], "double"),
        (['"NaN"', "1", '"-Infinity"'], "double"),
        (["NaN", '"x"', "-Infinity"], "string"),
    ],
)
def test_numbers_that_json_does_not_have_stay_themselves(tmp_path: Path, lines: list[str], kind: str) -> None:
    """What a sink had written of them, ``"nan"``, made texts of all numbers of the column when it was read again."""
    (tmp_path / "a.json").write_text("".join(f'{{"x": {line}}}\n' for line in lines))
    assert types(tmp_path) == {"x": kind}
    (first, _, last) = read(source(tmp_path, file_format_type="json"))
    expected = (float("nan"), float("-inf")) if kind == "double" else ("NaN", "-Infinity")
    assert (repr(first["x"]), repr(last["x"])) == tuple(map(repr, expected))


def test_a_declared_text_has_them_as_they_are_written(tmp_path: Path) -> None:
    """``NaN`` became ``nan``, and ``-Infinity`` ``-inf``."""
    (tmp_path / "a.json").write_text('{"x": NaN}\n{"x": -Infinity}\n{"x": 1.50}\n')
    made = source(tmp_path, file_format_type="json", schema={"fields": {"x": "string"}})
    assert [row["x"] for row in read(made)] == ["NaN", "-Infinity", "1.50"]
