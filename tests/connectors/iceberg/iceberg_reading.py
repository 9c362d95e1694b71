"""The rows of a table of Iceberg with deleted rows, read by Iceberg's specification and without the engine's code."""

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq

DATA, POSITIONS, KEYS = 0, 1, 2
Row = dict[str, Any]


def visible_rows(table: Any) -> list[Row]:
    """The rows that a reader sees who knows files of keys and of places."""
    entries = list(_entries(table))
    return [row for entry in entries if entry.data_file.content.value == DATA for row in _rows(table, entry, entries)]


def _entries(table: Any) -> Iterator[Any]:
    for manifest in table.current_snapshot().manifests(table.io):
        yield from manifest.fetch_manifest_entry(table.io)


def _rows(table: Any, entry: Any, entries: list[Any]) -> Iterator[Row]:
    applying = [(each, each.data_file) for each in entries if _reaches(table, each.data_file, entry.data_file)]
    places = {
        row["pos"]
        for each, file in applying
        if file.content.value == POSITIONS and each.sequence_number >= entry.sequence_number
        for row in _read(table, file)
        if row["file_path"] == entry.data_file.file_path
    }
    keys = {
        tuple(row.items())
        for each, file in applying
        if file.content.value == KEYS and each.sequence_number > entry.sequence_number
        for row in _read(table, file)
    }
    names = {tuple(name for name, _ in key) for key in keys}
    for place, row in enumerate(_read(table, entry.data_file)):
        if place not in places and not any(tuple((name, row[name]) for name in by) in keys for by in names):
            yield row


def _reaches(table: Any, deleting: Any, data: Any) -> bool:
    if deleting.content.value == DATA:
        return False
    everywhere = deleting.content.value == KEYS and table.specs()[deleting.spec_id].is_unpartitioned()
    return everywhere or (deleting.spec_id == data.spec_id and deleting.partition == data.partition)


def _read(table: Any, file: Any) -> list[Row]:
    with table.io.new_input(file.file_path).open() as stream:
        rows: list[Row] = pq.read_table(stream).to_pylist()
    return rows
