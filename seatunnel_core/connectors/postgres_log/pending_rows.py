"""Conversion of row messages to Arrow."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seatunnel_core.connectors.jdbc.fetched import Misfit, misfits_of
from seatunnel_core.connectors.postgres_log.change_batch import TableChanges
from seatunnel_core.connectors.postgres_log.errors import LogError, MalformedLogError
from seatunnel_core.connectors.postgres_log.log_table import LogTable
from seatunnel_core.connectors.postgres_log.row_images import LEAST_BYTES, RowBuffer, RowImages, images_of


def changes_of(
    messages: Sequence[bytes],
    tables: Mapping[int, LogTable],
    runs: Sequence[tuple[int, int]],
    first_number: int,
) -> tuple[TableChanges, ...]:
    """Convert row messages to changed rows.

    Args:
        messages: Row messages, with the header of the replication stream.
        tables: Tables by OID.
        runs: For each transaction, its number and the index of its first message.
        first_number: Number of the first message in the stream.

    Raises:
        MalformedLogError: The bytes do not match the format.
        UnsupportedLogError: A value cannot be read.
    """
    if not messages:
        return ()
    if min(map(len, messages)) < LEAST_BYTES:
        raise MalformedLogError("a row ends early")
    buffer = RowBuffer.of(messages)
    ends = [start for _, start in runs[1:]] + [len(messages)]
    lengths = [end - start for (_, start), end in zip(runs, ends, strict=True)]
    transactions = np.repeat(np.array([number for number, _ in runs], np.int64), lengths)
    return tuple(
        _changes(buffer, where, _table(tables, oid), transactions, first_number)
        for oid, where in _by_relation(buffer.relations)
    )


def _by_relation(relations: npt.NDArray[np.int64]) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Group messages by relation, in the order of the first message of each relation."""
    if (relations == relations[0]).all():
        return [(int(relations[0]), np.arange(len(relations)))]
    order = np.argsort(relations, kind="stable")
    borders = np.flatnonzero(np.diff(relations[order])) + 1
    groups = [order[start:end] for start, end in pairwise([0, *borders.tolist(), len(order)])]
    return [(int(relations[group[0]]), group) for group in sorted(groups, key=lambda group: int(group[0]))]


def _table(tables: Mapping[int, LogTable], oid: int) -> LogTable:
    found = tables.get(oid)
    if found is None:
        raise MalformedLogError(f"a row refers to the relation {oid}, which no earlier message describes")
    return found


def _changes(
    buffer: RowBuffer,
    where: npt.NDArray[np.int64],
    table: LogTable,
    transactions: npt.NDArray[np.int64],
    first_number: int,
) -> TableChanges:
    try:
        images = images_of(buffer, where, [column.in_identity for column in table.columns])
    except LogError as error:
        raise type(error)(f"{table}: {error}") from None
    selected = [number for number, column in enumerate(table.columns) if column.selected]
    if len(selected) < len(table.columns):
        images = RowImages(images.messages, images.kinds, tuple(images.columns[number] for number in selected))
    arrays, misfits = _converted(table, images)
    layouts, layout = _layouts(images)
    rows = pa.RecordBatch.from_arrays(arrays, schema=table.schema) if arrays else _without_columns(len(layout))
    return TableChanges(
        table=table,
        rows=rows,
        kinds=images.kinds,
        transactions=transactions[images.messages],
        numbers=first_number + images.messages,
        positions=buffer.positions[images.messages],
        layouts=layouts,
        layout=layout,
        misfits=misfits,
    )


def _without_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def _converted(table: LogTable, images: RowImages) -> tuple[list[pa.Array], dict[int, Misfit]]:
    arrays, misfits = [], list[tuple[str, Mapping[int, str]]]()
    columns = (column for column in table.columns if column.selected)
    for column, values in zip(columns, images.columns, strict=True):
        where = f"{table}, column {column.name} ({column.declared})"
        try:
            array, wrong = column.convert(values)
        except LogError as error:
            raise type(error)(f"{where}: {error}") from None
        except pa.ArrowInvalid as error:
            raise MalformedLogError(f"{where}: {error}") from None
        arrays.append(array)
        misfits.append((column.name, wrong))
    return arrays, misfits_of(misfits)


def _layouts(images: RowImages) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32]]:
    """Return the distinct sets of columns in row images, and the index of each image's set."""
    rows, columns = len(images.kinds), len(images.columns)
    if all(values.arrived.all() for values in images.columns):
        return np.ones((1, columns), bool), np.zeros(rows, np.int32)
    arrived = np.stack([values.arrived for values in images.columns], axis=1)
    packed = np.ascontiguousarray(np.packbits(arrived, axis=1))
    _, firsts, layout = np.unique(
        packed.view(np.dtype((np.void, packed.shape[1]))).ravel(), return_index=True, return_inverse=True
    )
    return arrived[firsts], layout.astype(np.int32)
