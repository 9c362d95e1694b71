"""``seatunnel iceberg compact``: which tables it rewrites, and what it prints."""

from pathlib import Path

import pytest
from pyiceberg.schema import Schema

from seatunnel_core.cli.main import main
from tests.connectors.iceberg.iceberg_tables import iceberg_sink, table_in
from tests.connectors.iceberg.test_iceberg_compacting import merged, scanned

FAKE = "FakeSource { row.num = 1, schema { fields { id = bigint } } }"


def compacted(folder: Path, sink: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    (folder / "job.conf").write_text(f"source {{ {FAKE} }}\nsink {{ {sink} }}\n")
    code = main(["iceberg", "compact", "-c", str(folder / "job.conf"), *more])
    said = capsys.readouterr()
    return code, said.out + said.err


def tables(folder: Path) -> str:
    sink = iceberg_sink("orders", folder).replace("plugin_input = orders", "")
    return sink.replace("table = orders", 'table = "${table_name}"')


def test_the_tables_of_a_job_are_compacted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merged(tmp_path)
    code, said = compacted(tmp_path, tables(tmp_path), capsys)
    assert (code, said) == (0, "shop.orders: 1 data file and 3 delete files replaced by 1 data file\n")
    assert len(scanned(tmp_path)) == 3
    assert compacted(tmp_path, tables(tmp_path), capsys) == (0, "shop.orders: no deleted rows\n")


def test_a_table_that_cannot_be_compacted_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merged(tmp_path)
    catalog = table_in(tmp_path, "orders").catalog
    broken = catalog.create_table("shop.broken", Schema())
    Path(broken.metadata_location.removeprefix("file://")).unlink()
    code, said = compacted(tmp_path, tables(tmp_path), capsys)
    assert code == 1
    assert "shop.orders: 1 data file and 3 delete files replaced by 1 data file\n" in said
    assert "shop.broken: the table shop.broken cannot be rewritten: FileNotFoundError" in said
    assert len(scanned(tmp_path)) == 3


def test_what_cannot_be_compacted_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = compacted(tmp_path, "Console { }", capsys)
    assert (code, "the job has no Iceberg sink" in said) == (2, True)
    sink = tables(tmp_path).replace("sqlite:///", f"sqlite:///{tmp_path}/missing/")
    code, said = compacted(tmp_path, sink, capsys)
    assert (code, "cannot be rewritten: OperationalError" in said) == (1, True), said
    assert main(["iceberg", "compact"]) == 2
    assert "No job file" in capsys.readouterr().err
