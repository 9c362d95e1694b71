"""Rows of a log as batches: which kinds they get, and what must not be missing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SourceError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.change_data.emitted import emitted
from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.rows.kind import RowKind

INS, B, A, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
TOO_LARGE = Misfit({"name": "too large"})
SCHEMA = TableSchema(table="shop.people", columns=COLUMNS, primary_key=("id",))

WITHOUT_KEY = TableSchema(table="shop.people", columns=COLUMNS)


@frozen(kw_only=True)
class Logged:
    rows: pa.RecordBatch
    kinds: Any
    missing: dict[int, Sequence[bool]]
    misfits: dict[int, Misfit]

    @property
    def complete(self) -> bool:
        return not self.missing

    def arrived(self, column: int) -> Any:
        return ~np.array(self.missing.get(column, [False] * len(self.kinds)), np.bool_)


class Context(ReadContext):
    def __init__(self, *, skips: bool) -> None:
        self.skips, self.skipped = skips, list[str]()

    def skip(self, error: Exception, rows: int = 1) -> None:
        if not self.skips:
            raise error
        self.skipped.append(str(error))


def played(
    *rows: tuple[int, int], keep: Sequence[bool] | None = None, misfits: dict[int, Misfit] | None = None,
    missing: dict[int, Sequence[bool]] | None = None, context: Context | None = None,
    absent: dict[str, Sequence[bool]] | None = None, schema: TableSchema = SCHEMA,
) -> list[tuple[int, int]]:  # fmt: skip
    kinds = np.array([kind for kind, _ in rows], np.int8)
    keys = [key for _, key in rows]
    made = pa.RecordBatch.from_arrays(
        [pa.array(keys, pa.int64()), pa.array(map(str, keys), pa.string())], schema=COLUMNS
    )
    logged = Logged(rows=made, kinds=kinds, missing=missing or {}, misfits=misfits or {})
    mask = None if keep is None else np.array(keep, np.bool_)
    found = emitted(logged, mask, schema, context or Context(skips=False), "position 7", "set X")
    if found is None:
        return []
    batch = found.batch
    assert [keys[number] for number in found.numbers] == batch.rows.column("id").to_pylist()
    assert {name: mask.to_pylist() for name, mask in batch.absent.items()} == (absent or {})
    return pairs(batch)


def pairs(batch: Batch) -> list[tuple[int, int]]:
    assert batch.table == "shop.people"
    kinds = [int(INS)] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
    return list(zip(kinds, batch.rows.column("id").to_pylist(), strict=True))


def test_all_rows_keep_their_kinds() -> None:
    rows = [(INS, 1), (B, 1), (A, 2), (A, 3), (D, 3)]
    assert played(*rows) == rows
    assert played((INS, 1), (INS, 2)) == [(INS, 1), (INS, 2)]


def test_rows_that_a_chunk_contains_are_dropped() -> None:
    assert played((INS, 1), (INS, 2), (D, 1), keep=[False, True, True]) == [(INS, 2), (D, 1)]
    assert played((INS, 1), keep=[False]) == []


def test_half_of_an_update_is_a_deletion_or_an_insertion() -> None:
    """A key that moves between chunks with different marks: only one of them has the update."""
    assert played((B, 1), (A, 9), keep=[True, False]) == [(D, 1)]
    assert played((B, 1), (A, 9), keep=[False, True]) == [(INS, 9)]
    assert played((B, 1), (A, 9), (A, 5), keep=[True, True, False]) == [(B, 1), (A, 9)]


def test_a_misfit_fails_or_leaves_out_the_whole_update() -> None:
    with pytest.raises(RowError, match=r"table shop.people, position 7, row with id = 2, column 'name': too large"):
        played((INS, 1), (B, 2), (A, 2), misfits={2: TOO_LARGE})
    context = Context(skips=True)
    assert played((INS, 1), (B, 2), (A, 2), misfits={2: TOO_LARGE}, context=context) == [(INS, 1)]
    assert len(context.skipped) == 1
    assert played((B, 2), (A, 2), misfits={0: TOO_LARGE, 1: TOO_LARGE}, context=context) == []
    assert played((INS, 1), keep=[False], misfits={0: TOO_LARGE}) == []


def test_an_old_row_needs_only_its_key() -> None:
    """Its other values are not applied, and the target would keep the row, or lack the new one."""
    assert played((D, 1), misfits={0: TOO_LARGE}) == [(D, 1)]
    assert played((B, 2), (A, 2), misfits={0: TOO_LARGE}) == [(B, 2), (A, 2)]
    key, context = Misfit({"name": "too large", "id": "too large"}), Context(skips=True)
    with pytest.raises(RowError, match="column 'name': too large"):
        played((D, 1), misfits={0: key})
    assert played((D, 1), (B, 2), (A, 3), misfits={0: key, 1: key}, context=context) == [(INS, 3)]
    assert len(context.skipped) == 2


def test_a_skipped_update_that_changes_the_key_deletes_the_old_row() -> None:
    context = Context(skips=True)
    assert played((B, 1), (A, 2), misfits={1: TOO_LARGE}, context=context) == [(D, 1)]
    assert played((B, 1), (A, 2), misfits={0: TOO_LARGE, 1: TOO_LARGE}, context=context) == [(D, 1)]
    assert len(context.skipped) == 2
    omitted: dict[int, Sequence[bool]] = {0: [False, True]}
    assert played((B, 1), (A, 2), misfits={1: TOO_LARGE}, missing=omitted, context=context) == [], "it is unchanged"


def test_without_a_key_each_row_of_an_update_is_left_out_separately() -> None:
    """The other row is in the target, or belongs there, and no later row would correct it."""
    context = Context(skips=True)
    skipped: dict[str, Any] = {"context": context, "schema": WITHOUT_KEY}
    assert played((B, 2), (A, 3), misfits={1: TOO_LARGE}, **skipped) == [(D, 2)]
    assert played((B, 2), (A, 3), misfits={0: TOO_LARGE}, **skipped) == [(INS, 3)]
    assert played((B, 2), (A, 3), misfits={0: TOO_LARGE, 1: TOO_LARGE}, **skipped) == []
    assert "row without a key, column 'name': too large" in context.skipped[0]


def test_without_a_key_all_rows_need_every_column() -> None:
    for kind in (INS, B, A, D):
        with pytest.raises(
            SourceError, match="does not contain the value of the column 'name' of a changed row; set X"
        ):
            played((kind, 1), missing={1: [True]}, schema=WITHOUT_KEY)


def test_the_value_of_a_masked_column_is_not_shown() -> None:
    logged = Logged(
        rows=pa.RecordBatch.from_pylist([{"id": 1}, {"id": 2}], COLUMNS),
        kinds=np.array([INS, INS], np.int8),
        missing={},
        misfits={0: Misfit({"name": "'secret' is too large"})},
    )
    context = Context(skips=True)
    emitted(logged, None, SCHEMA, context, "position 7", "set X", masked={"name"})
    (said,) = context.skipped
    assert said.startswith("table shop.people, position 7, row with id = 1, column 'name': ")
    assert "the column is masked" in said
    assert "secret" not in said


def test_old_rows_need_only_their_key() -> None:
    assert played((D, 1), missing={1: [True]}) == [(D, 1)]
    with pytest.raises(SourceError, match=r"position 7: .* of the column 'id' of a changed row; set X"):
        played((D, 1), missing={0: [True]})


def test_values_of_updated_rows_that_did_not_arrive_are_absent() -> None:
    rows = [(INS, 1), (A, 2), (D, 3)]
    assert played(*rows, missing={1: [False, True, True]}, absent={"name": [False, True, False]}) == rows
    assert played(*rows, missing={1: [False, True, True]}, keep=[True, False, True]) == [rows[0], rows[2]]
    kept = played(*rows, missing={1: [False, True, True]}, keep=[False, True, True], absent={"name": [True, False]})
    assert kept == rows[1:]


def test_inserted_rows_need_every_column() -> None:
    with pytest.raises(SourceError, match="column 'name'"):
        played((INS, 1), (A, 2), missing={1: [True, False]})
    with pytest.raises(SourceError, match="column 'name'"):
        played((B, 1), (A, 9), missing={1: [True, True]}, keep=[False, True])
