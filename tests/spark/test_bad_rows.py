"""Rows that a sink cannot hold: named, left out, or written with null, as its ``row_error_handle_way`` says."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.connector_api.sink import SinkWriter, Staged
from seatunnel_core.connector_api.testing import plan
from seatunnel_core.connector_api.testing.drive import begin, finished, place, sink_place
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.spark.bad_rows import OnBadRow, write_around
from seatunnel_core.spark.operator_chain import Target, build_chain
from seatunnel_core.spark.task import run_unit
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.unit import UnitAttempt, WorkUnit
from tests.connectors.file.local_files import sink, source

BAD = {3, 4, 7, 11}
COLUMNS = [{"name": "id", "type": "int"}, {"name": "s", "type": "string"}, {"name": "t", "type": "string"}]


def run(folder: Path, way: str, columns: Any = COLUMNS, **options: Any) -> tuple[UnitResult, LocalFileSink]:
    (folder / "in").mkdir()
    lines = (f'{{"id": {n}, "s": "{"x" if n not in BAD else chr(92) + "u0001"}", "t": "t{n}"}}' for n in range(12))
    (folder / "in" / "a.json").write_text("\n".join(lines))
    reads = source(folder / "in", file_format_type="json", schema={"columns": columns})
    writes = sink(folder / "out", **{"file_format_type": "xml", **options})
    found = plan(reads)
    target = Target(name="xml", ordinal=0, sink=writes, inputs=("in",), on_bad_row=OnBadRow(way))
    chain = build_chain(
        job_id=place().job_id, pipeline_id=1, source_name="in", source_ordinal=0, source=reads, schemas=found.schemas,
        steps=(), targets=[target],
    )  # fmt: skip
    attempt = UnitAttempt(unit=WorkUnit(number=1, splits=found.splits), epoch=place().epoch, number=1)
    return run_unit(chain, attempt, 1), writes


def written(result: UnitResult, made: LocalFileSink, folder: Path) -> str:
    (committable,) = result.committables.values()
    made.commit([committable], sink_place(place()), may_be_committed=False)
    return "".join(path.read_text() for path in sorted((folder / "out").glob("*.xml")))


def test_the_first_one_is_named_with_its_row_and_column(tmp_path: Path) -> None:
    """Which of thousands of rows it was, nobody said."""
    result, _ = run(tmp_path, "FAIL")
    assert result.failure is not None
    assert result.failure.message == (
        "pipeline 1, sink LocalFile, column 's': '\\x01' contains the character '\\x01', which XML cannot represent. "
        f"Read from {tmp_path}/in/a.json, bytes 0 to {(tmp_path / 'in' / 'a.json').stat().st_size}, its row 4"
    )


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"partition_by": ["t"]}])
def test_they_are_left_out_and_counted(tmp_path: Path, options: dict[str, Any]) -> None:
    """``SKIP`` of a sink was read and did nothing."""
    result, made = run(tmp_path, "SKIP", **options)
    assert (result.failure, result.rows_read, result.rows_skipped) == (None, 12, 4)
    text = written(result, made, tmp_path) if "partition_by" not in options else ""
    assert [n for n in range(12) if f"<id>{n}</id>" in text] == (sorted({*range(12)} - BAD) if text else [])
    assert result.notes[0].startswith(
        "sink 'xml': 4 rows are skipped, because the sink cannot write them; for example, pipeline"
    )


def test_bad_values_become_null(tmp_path: Path) -> None:
    result, made = run(tmp_path, "NULL")
    assert (result.failure, result.rows_skipped) == (None, 0)
    text = written(result, made, tmp_path)
    assert text.count("<id>") == 12
    assert "<RECORD><id>3</id><t>t3</t></RECORD>" in text
    assert result.notes[0].startswith("sink 'xml': 4 rows have null instead of a value that the sink cannot write;")


def test_a_column_that_may_not_be_null_does_not_become_null(tmp_path: Path) -> None:
    columns = [COLUMNS[0], {**COLUMNS[1], "nullable": False}, COLUMNS[2]]
    result, _ = run(tmp_path, "NULL", columns)
    assert (result.failure, result.rows_skipped) == (None, 4)


def test_a_row_with_two_bad_values_has_two_nulls(tmp_path: Path) -> None:
    made = sink(tmp_path, file_format_type="text", field_delimiter=";")
    columns = pa.schema([("a", pa.string()), ("b", pa.string())])
    writer = begin(made, TableSchema(table="default", columns=columns), place())
    rows = pa.record_batch([["x", ";", "y"], ["1", "\n", ";"]], schema=columns)
    refused = list(write_around(writer, Batch(table="default", rows=rows), nulls=True))
    assert [(each.place, each.written, each.error.column) for each in refused] == [
        *((1, True, "a"), (1, True, "b"), (2, True, "b")),
    ]
    made.commit([finished(writer, place())], sink_place(place()), may_be_committed=False)
    assert next(tmp_path.glob("*.txt")).read_text() == "x;1\n;\ny;\n"


class Recorder(SinkWriter):
    """Accepts rows whose texts are not ``bad``, and rejects others by column."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Any, Any]] = []

    def write(self, batch: Batch) -> None:
        for name in ("a", "b"):
            if "bad" in batch.rows[name].to_pylist():
                raise RowError(f"{name} is bad", column=name)
        assert batch.kinds is not None
        self.rows += zip(batch.kinds.to_pylist(), *(column.to_pylist() for column in batch.rows.columns), strict=True)

    def finish(self) -> Staged:
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


B, A, I = RowKind.UPDATE_BEFORE.value, RowKind.UPDATE_AFTER.value, RowKind.INSERT.value  # noqa: E741
Texts = list[tuple[int, Any, Any]]


def around(rows: Texts, *, nulls: bool, nullable: bool = True) -> tuple[Texts, list[tuple[int, int, bool]]]:
    kinds, *texts = zip(*rows, strict=True)
    columns = pa.schema([pa.field("a", pa.string(), nullable), pa.field("b", pa.string(), nullable)])
    batch = Batch(
        table="t", rows=pa.record_batch([list(each) for each in texts], columns), kinds=pa.array(kinds, pa.int8())
    )
    writer = Recorder()
    refused = [(each.place, each.rows, each.written) for each in write_around(writer, batch, nulls=nulls)]
    return writer.rows, refused


@pytest.mark.parametrize("bad", range(7))
def test_an_update_is_left_out_with_its_old_row(bad: int) -> None:
    """The old row was written alone, and a sink combined it with the new row of the next update."""
    rows: Texts = [(kind, f"{at}", "x") for at, kind in enumerate([I, B, A, A, B, A, B])]
    pair = {1: (1, 2), 2: (1, 2), 4: (4, 5), 5: (4, 5)}.get(bad, (bad,))
    some = [(kind, "bad" if at == bad else a, b) for at, (kind, a, b) in enumerate(rows)]
    written, refused = around(some, nulls=False)
    assert written == [row for at, row in enumerate(rows) if at not in pair]
    assert refused == [(pair[0], len(pair), False)]


@pytest.mark.parametrize(
    ("old", "new", "written", "refused"),
    [
        (("bad", "x"), ("y", "x"), [(None, "x"), ("y", "x")], [(0, 1, True)]),
        (("y", "x"), ("bad", "x"), [("y", "x"), (None, "x")], [(0, 1, True)]),
        (("bad", "x"), ("bad", "x"), [(None, "x"), (None, "x")], [(0, 2, True)]),
        (("bad", "x"), ("y", "bad"), [(None, "x"), ("y", None)], [(0, 1, True), (0, 1, True)]),
        (("y", "x"), ("bad", "bad"), [("y", "x"), (None, None)], [(0, 1, True), (0, 1, True)]),
        ((None, "x"), ("bad", "x"), [(None, "x"), (None, "x")], [(0, 1, True)]),
    ],
)
def test_in_an_update_only_bad_values_become_null(old: Any, new: Any, written: Any, refused: Any) -> None:
    found = around([(B, *old), (A, *new)], nulls=True)
    assert found == ([(B, *written[0]), (A, *written[1])], refused)
    assert around([(B, *old), (A, *new)], nulls=True, nullable=False) == ([], [(0, 2, False)])


@pytest.mark.parametrize("way", ["SKIP", "NULL"])
def test_a_sink_that_cannot_distinguish_them_refuses_the_option(
    tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("{}")
    text = f"""source {{ LocalFile {{ path = "{tmp_path}/in", file_format_type = binary }} }}
        sink {{ LocalFile {{ path = "{tmp_path}/out", file_format_type = binary, row_error_handle_way = {way} }} }}
    """
    (tmp_path / "job.conf").write_text(text)
    assert main(["--check", "-c", str(tmp_path / "job.conf")]) != 0
    assert "option 'row_error_handle_way': this sink cannot isolate bad rows" in capsys.readouterr().err
