"""``seatunnel iceberg compact``: the same rows without delete files, also beside a running job."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.manifest import ManifestFile
from pyiceberg.types import NestedField, StructType, UUIDType

from seatunnel_core.connector_api.testing import commit
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.iceberg import compacting
from seatunnel_core.connectors.iceberg.compacting import Compacted
from seatunnel_core.connectors.iceberg.data_files import DataFiles
from seatunnel_core.connectors.iceberg.snapshots import Rewrite
from seatunnel_core.connectors.iceberg.writer import OpenFile
from seatunnel_core.errors import SinkError
from tests.connectors.iceberg.iceberg_tables import orders_sink, shop_in, table_in
from tests.connectors.iceberg.test_iceberg_merging import BY_DAY, MERGE, A, D, N, batch, orders, run, unit

TOTALS = ("total-records", "total-data-files", "total-delete-files", "total-equality-deletes")


def scanned(folder: Path) -> list[tuple[Any, ...]]:
    """Rows that pyiceberg reads."""
    return sorted(tuple(row.values()) for row in table_in(folder, "orders").scan().to_arrow().to_pylist())


def compacted(folder: Path) -> Compacted:
    (table,) = orders_sink(folder).to_compact()
    return table.run()


def merged(folder: Path, options: Mapping[str, Any] = MERGE) -> None:
    run(folder, [batch((1, "mo", 1), (2, "mo", 2), (2, "mo", 3), (3, "tu", 3))], **options)
    run(folder, [batch((1, "mo", 10), (2, "mo", 2), (4, "we", 4), kinds=[A, D, N])], job="next", **options)


@pytest.mark.parametrize("options", [MERGE, BY_DAY], ids=("whole", "partitions"))
def test_pyiceberg_reads_the_same_rows_afterwards(tmp_path: Path, options: Mapping[str, Any]) -> None:
    merged(tmp_path, options)
    before = orders(tmp_path)
    with pytest.raises(ValueError, match="equality deletes"):
        scanned(tmp_path)
    found = compacted(tmp_path)
    assert (found.named, found.rewritten > 0, found.deletes > 0) == ("shop.orders", True, True)
    assert scanned(tmp_path) == orders(tmp_path) == before == [(1, "mo", 10), (3, "tu", 3), (4, "we", 4)]
    snapshot = table_in(tmp_path, "orders").current_snapshot()
    assert snapshot.summary.operation.value == "replace"
    assert [snapshot.summary[key] for key in TOTALS[:1] + TOTALS[2:]] == ["3", "0", "0"]
    assert compacted(tmp_path) == Compacted(named="shop.orders"), "nothing is left to do"


def test_a_merge_after_it_replaces_rows_of_the_new_files(tmp_path: Path) -> None:
    merged(tmp_path)
    compacted(tmp_path)
    run(tmp_path, [batch((1, "th", 11), (3, "tu", 3), kinds=[A, D])], job="third", **MERGE)
    assert orders(tmp_path) == [(1, "th", 11), (4, "we", 4)]
    compacted(tmp_path)
    assert scanned(tmp_path) == [(1, "th", 11), (4, "we", 4)]


def test_rows_that_a_job_commits_meanwhile_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job replaces, deletes and adds rows after the old files were read; its bookkeeping stays, too."""
    merged(tmp_path)
    sink = orders_sink(tmp_path, **MERGE)
    changes = batch((1, "th", 11), (3, "tu", 3), (5, "fr", 5), (5, "fr", 6), kinds=[A, D, N, A])
    units = [unit(sink, 1, changes, job_id="running")]
    written = compacting.Compacting._written

    def meanwhile(self: Any, *given: Any) -> Any:
        found = written(self, *given)
        commit(sink, units, place(job_id="running"))
        return found

    monkeypatch.setattr(compacting.Compacting, "_written", meanwhile)
    compacted(tmp_path)
    monkeypatch.undo()
    expected = [(1, "th", 11), (4, "we", 4), (5, "fr", 6)]
    assert orders(tmp_path) == expected
    commit(sink, units, place(job_id="running", epoch=2), may_be_committed=True)
    assert orders(tmp_path) == expected, "the unit is not committed again"
    assert set(sink.published(sink_place(place(job_id="running")))) == {units[0].id}
    compacted(tmp_path)
    assert scanned(tmp_path) == expected


def test_a_commit_is_found_although_its_snapshot_expired(tmp_path: Path) -> None:
    """Its files are only named as deleted ones in the manifests of the new snapshot."""
    merged(tmp_path)
    sink = orders_sink(tmp_path, **MERGE)
    units = [unit(sink, 1, batch((1, "th", 11), (3, "tu", 3), kinds=[A, D]), job_id="running")]
    commit(sink, units, place(job_id="running"))
    run(tmp_path, [batch((1, "fr", 12), kinds=[A])], job="other", **MERGE)
    compacted(tmp_path)
    table = table_in(tmp_path, "orders")
    for snapshot in table.snapshots()[:-1]:
        table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    commit(sink, units, place(job_id="running", epoch=2), may_be_committed=True)
    assert orders(tmp_path) == [(1, "fr", 12), (4, "we", 4)]


def test_a_commit_of_another_writer_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged(tmp_path)
    check, calls = compacting._require_unchanged, list[int]()

    def then_another(*given: Any) -> None:
        check(*given)
        calls.append(1)
        if len(calls) == 1:
            run(tmp_path, [batch((7, "su", 7))], job="other", **MERGE)

    monkeypatch.setattr(compacting, "_require_unchanged", then_another)
    compacted(tmp_path)
    assert len(calls) == 2
    assert orders(tmp_path) == [(1, "mo", 10), (3, "tu", 3), (4, "we", 4), (7, "su", 7)]


def test_each_manifest_is_read_once_and_tries_are_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged(tmp_path)
    read, pauses = Counter[str](), list[float]()
    fetch = ManifestFile.fetch_manifest_entry

    def counted(self: ManifestFile, *given: Any) -> Any:
        read[self.manifest_path] += 1
        return fetch(self, *given)

    def refused(*_: Any) -> None:
        raise CommitFailedException("another writer was faster")

    monkeypatch.setattr(ManifestFile, "fetch_manifest_entry", counted)
    monkeypatch.setattr(SqlCatalog, "commit_table", refused)
    monkeypatch.setattr(compacting, "sleep", pauses.append)
    with pytest.raises(SinkError, match="10 commits to the table"):
        compacted(tmp_path)
    assert set(read.values()) == {1}
    longest = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))


def test_files_that_are_gone_begin_it_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged(tmp_path)
    written, calls = compacting.Compacting._written, list[int]()

    def meanwhile(self: Any, *given: Any) -> Any:
        found = written(self, *given)
        calls.append(1)
        if len(calls) == 1:
            monkeypatch.setattr(compacting.Compacting, "_written", written)
            compacted(tmp_path)
            run(tmp_path, [batch((1, "su", 12))], job="other", **MERGE)
        return found

    monkeypatch.setattr(compacting.Compacting, "_written", meanwhile)
    compacted(tmp_path)
    assert scanned(tmp_path) == [(1, "su", 12), (3, "tu", 3), (4, "we", 4)]
    assert left_over(tmp_path) == set()


def test_files_of_an_earlier_partition_spec_keep_it(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2))], [batch((2, "mo", 2), kinds=[D])], **BY_DAY)
    with table_in(tmp_path, "orders").update_spec() as spec:
        spec.add_identity("n")
    assert compacted(tmp_path).added == 1
    assert scanned(tmp_path) == orders(tmp_path) == [(1, "mo", 1)]
    table = table_in(tmp_path, "orders")
    assert [each["spec_id"] for each in table.inspect.data_files().to_pylist()] == [0]
    assert table.current_snapshot().summary["total-records"] == "1"


def left_over(folder: Path) -> set[str]:
    """Names of new files that no snapshot names."""
    named = {Path(each["file_path"]).name for each in table_in(folder, "orders").inspect.all_files().to_pylist()}
    return {path.name for path in folder.rglob("seatunnel-compacted/*.parquet")} - named


def failing(how: BaseException, after: int = 0) -> Any:
    calls = list[int]()

    def fail(original: Any) -> Any:
        def replaced(*given: Any, **named: Any) -> Any:
            calls.append(1)
            if len(calls) > after:
                raise how
            return original(*given, **named)

        return replaced

    return fail


@pytest.mark.parametrize("how", [OSError("full"), KeyboardInterrupt()], ids=("full", "interrupted"))
@pytest.mark.parametrize(
    ("place", "name", "after"),
    [(OpenFile, "write", 1), (OpenFile, "close", 1), (Rewrite, "_summary", 0)],
    ids=("writing", "closing", "committing"),
)
def test_a_failed_rewrite_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, after: int, how: BaseException
) -> None:
    monkeypatch.setattr(compacting, "FILE_BYTES", 1)
    run(tmp_path, [batch((1, "mo", 1))], [batch((2, "mo", 2))], [batch((9, "mo", 9), kinds=[D])], **MERGE)
    before = set(tmp_path.rglob("*.avro"))
    monkeypatch.setattr(place, name, failing(how, after)(getattr(place, name)))
    with pytest.raises((SinkError, KeyboardInterrupt)):
        compacted(tmp_path)
    assert list(tmp_path.rglob("seatunnel-compacted/*.parquet")) == []
    assert set(tmp_path.rglob("*.avro")) == before
    monkeypatch.undo()
    compacted(tmp_path)
    assert scanned(tmp_path) == [(1, "mo", 1), (2, "mo", 2)]


def test_files_that_may_be_committed_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged(tmp_path)
    commit_table = SqlCatalog.commit_table

    def then_lost(*given: Any) -> None:
        commit_table(*given)
        raise CommitStateUnknownException("the answer is lost")

    monkeypatch.setattr(SqlCatalog, "commit_table", then_lost)
    with pytest.raises(SinkError, match="the answer is lost"):
        compacted(tmp_path)
    assert scanned(tmp_path) == [(1, "mo", 10), (3, "tu", 3), (4, "we", 4)]


def test_uuids_are_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged(tmp_path)
    with table_in(tmp_path, "orders").update_schema() as schema:
        schema.add_column("u", UUIDType())
    table, number = table_in(tmp_path, "orders"), UUID(int=2**128 - 1)
    rows = {"id": [8], "day": ["su"], "n": [8], "u": pa.array([number.bytes], pa.binary(16))}
    table.append(pa.table(rows, table.schema().as_arrow()))
    monkeypatch.setattr(DataFiles, "reached", lambda self, body: self._entry(body).data_file)
    assert compacted(tmp_path).rewritten == 3
    found = [(1, "mo", 10, None), (3, "tu", 3, None), (4, "we", 4, None), (8, "su", 8, number)]
    assert scanned(tmp_path) == found


def test_nested_uuids_are_refused_by_name(tmp_path: Path) -> None:
    merged(tmp_path)
    with table_in(tmp_path, "orders").update_schema() as schema:
        schema.add_column("made", StructType(NestedField(1, "by", UUIDType())))
    with pytest.raises(SinkError, match=r"shop\.orders contains UUIDs in the nested column 'made\.by'"):
        compacted(tmp_path)
    assert list(tmp_path.rglob("seatunnel-compacted/*")) == []


def test_large_tables_become_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "FILE_BYTES", 1)
    run(tmp_path, [batch((1, "mo", 1))], [batch((2, "mo", 2))], [batch((9, "mo", 9), kinds=[D])], **MERGE)
    assert compacted(tmp_path).added == 2
    assert scanned(tmp_path) == [(1, "mo", 1), (2, "mo", 2)]


def _changed(*_: Any) -> None:
    raise compacting._ChangedMeanwhileError


def test_tables_that_change_all_the_time_and_missing_ones_are_named(tmp_path: Path, monkeypatch: Any) -> None:
    shop_in(tmp_path)
    with pytest.raises(SinkError, match=r"the table shop\.orders does not exist"):
        compacted(tmp_path)
    merged(tmp_path)
    monkeypatch.setattr(compacting, "_require_unchanged", _changed)
    with pytest.raises(SinkError, match=r"the table shop\.orders was changed by another program 3 times"):
        compacted(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(compacting, "TRIES", 0)
    with pytest.raises(SinkError, match=r"0 commits to the table shop\.orders failed"):
        compacted(tmp_path)
    assert list(tmp_path.rglob("seatunnel-compacted/*.parquet")) == []


def test_later_positions_in_an_old_file_are_noticed(tmp_path: Path) -> None:
    """The rewritten rows have other positions."""
    merged(tmp_path)
    table = table_in(tmp_path, "orders")
    old = {each["file_path"] for each in table.inspect.data_files().to_pylist()}
    entries = compacting.Compacting(id=("shop", "orders"), catalog=lambda: table.catalog)._current(table)
    compacting._require_unchanged(table, entries, frozenset(), set())
    with pytest.raises(compacting._ChangedMeanwhileError):
        compacting._require_unchanged(table, entries, frozenset(), old)


def test_a_file_without_remaining_rows_is_only_dropped(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (1, "mo", 1), kinds=[N, D])], **MERGE)
    assert compacted(tmp_path).added == 0
    assert scanned(tmp_path) == []
