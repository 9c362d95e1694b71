"""Partitioned tables: division of rows into partitions, and encoding of partition values for checkpoints.

pyiceberg computes Iceberg's transforms: identity, year, month, day, hour, bucket and truncate. A checkpoint stores a
partition's values in Iceberg's binary form, as base64.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.errors import SinkError, StoredValueError, UsageError
from seatunnel_core.installing import install_command

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.typedef import Record

Partition = tuple[str | None, ...]
"""Values of a partition's fields, in the form that checkpoints store; empty for a table without partitions."""

_KEY = re.compile(r"(\w+)\((.+)\)")
_TIMES = ("year", "month", "day", "hour")
_COUNTED = {"bucket": "bucket", "truncate": "trunc"}
"""Transforms with a numeric parameter, and the suffix of their field names in Iceberg."""


def partition_keys(text: str) -> tuple[tuple[str, str], ...]:
    """Parse the column and the transform of each key, for example ``day(made_at), bucket(id, 16), country``."""
    parts = [part.strip() for part in re.findall(r"(?:[^,(]|\([^)]*\))+", text)]
    found = []
    for part in parts:
        called = _KEY.fullmatch(part)
        if called is None:
            found.append((part, "identity"))
            continue
        name, (column, _, number) = called[1].lower(), called[2].partition(",")
        if (name in _COUNTED and number.strip().isdigit() and int(number)) or (name in _TIMES and not number):
            found.append((column.strip(), f"{name}[{int(number)}]" if number else name))
            continue
        raise UsageError(
            f"option 'iceberg.table.partition-keys': {part!r} is invalid; write a column, year(column), "
            "month(column), day(column), hour(column), bucket(column, 16) or truncate(column, 10)"
        )
    return tuple(found)


def new_spec(keys: Sequence[tuple[str, str]], schema: "Schema", named: str) -> "PartitionSpec":
    """Return the partition spec of a new table."""
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.transforms import parse_transform

    by_name = {field.name: field for field in schema.fields}
    fields = []
    for number, (column, text) in enumerate(keys):
        field, transform = by_name.get(column), parse_transform(text)
        if field is None or not field.field_type.is_primitive or not transform.can_transform(field.field_type):
            why = (
                f"the table has no column {column}" if field is None else f"the column {column} is a {field.field_type}"
            )
            raise SinkError(
                f"option 'iceberg.table.partition-keys': {text}({column}) cannot partition the table {named}, "
                f"because {why}; the table has {', '.join(by_name)}"
            )
        kind = text.partition("[")[0]
        name = column if kind == "identity" else f"{column}_{_COUNTED.get(kind, kind)}"
        fields.append(PartitionField(field.field_id, 1000 + number, transform, name))
    return PartitionSpec(*fields)


def positions_of(columns: Sequence[str], spec: "PartitionSpec", schema: "Schema", named: str) -> list[int]:
    """Return the indexes of the columns in the tuple of partition values."""
    found = {
        schema.find_column_name(field.source_id): at
        for at, field in enumerate(spec.fields)
        if str(field.transform) == "identity"
    }
    for column in columns:
        if column not in found:
            by = ", ".join(f"{field.name} ({field.transform})" for field in spec.fields) or "nothing"
            raise SinkError(
                f"option 'replace_partitions': the table {named} is not partitioned by the values of "
                f"{column!r}, but by {by}; choose columns of iceberg.table.partition-keys, or remove "
                "replace_partitions to replace all rows"
            )
    return [found[column] for column in columns]


Parts = Iterator[tuple[Partition, pa.RecordBatch]]


def refuse_unwritable(spec: "PartitionSpec", schema: "Schema", named: str) -> None:
    """Check, before the first row is written, that the partitions of a table can be computed."""
    columns = {field.field_id for field in schema.fields}
    for field in spec.fields:
        if field.source_id not in columns:
            raise SinkError(
                f"the table {named} is partitioned by {field.name!r}, a nested field, which this sink does not support"
            )
    try:
        _transforms(spec, schema)
    except (NotImplementedError, ValueError) as error:
        raise SinkError(f"the table {named} is partitioned by {spec}, which cannot be computed: {error}") from error
    except ModuleNotFoundError as error:
        raise SinkError(
            f"the table {named} is partitioned, which requires pyiceberg-core: {install_command('iceberg')}"
        ) from error


def parted(spec: "PartitionSpec", schema: "Schema") -> Callable[[pa.RecordBatch], Parts]:
    """Return a function that divides rows with the table's columns into partitions and preserves their order."""
    if not spec.fields:
        return lambda rows: iter([((), rows)])
    from pyiceberg.conversions import to_bytes
    from pyiceberg.partitioning import partition_record_value

    transforms = _transforms(spec, schema)
    kinds = [field.field_type for field in spec.partition_type(schema).fields]
    columns = [schema.find_column_name(field.source_id) for field in spec.fields]

    def value(at: int, found: Any) -> str | None:
        stored = partition_record_value(spec.fields[at], found, schema)
        return None if stored is None else b64encode(to_bytes(kinds[at], stored)).decode()

    def divide(rows: pa.RecordBatch) -> Parts:
        values = [transform(rows.column(name)) for transform, name in zip(transforms, columns, strict=True)]
        codes = codes_of(values)
        order = pc.sort_indices(codes)
        start = 0
        for end in pc.run_end_encode(codes.take(order)).run_ends.to_pylist():
            first = order[start].as_py()
            partition = tuple(value(at, column[first].as_py()) for at, column in enumerate(values))
            yield partition, rows.take(order.slice(start, end - start))
            start = end

    return divide


def _transforms(spec: "PartitionSpec", schema: "Schema") -> list[Callable[[pa.Array], pa.Array]]:
    return [field.transform.pyarrow_transform(schema.find_type(field.source_id)) for field in spec.fields]


def codes_of(values: Sequence[pa.Array]) -> pa.Array:
    """Return a number for each row; rows with equal values in all columns get the same number."""
    total = None
    for column in values:
        found = pc.dictionary_encode(column, null_encoding="encode")
        codes = found.indices.cast(pa.int64())
        total = codes if total is None else pc.add(pc.multiply(total, len(found.dictionary)), codes)
        total = pc.dictionary_encode(total).indices.cast(pa.int64())  # to prevent an overflow of the product
    return total


def comparable(partition: "Record") -> tuple[Any, ...]:
    """Return a partition's values in a form that can be compared, including NaN."""
    values = (partition[place] for place in range(len(partition)))
    return tuple("NaN" if value != value else value for value in values)


def record(partition: Partition, spec: "PartitionSpec", schema: "Schema") -> "Record":
    """Convert the values of a partition to the form used in manifests."""
    from pyiceberg.conversions import from_bytes
    from pyiceberg.typedef import Record

    kinds = [field.field_type for field in spec.partition_type(schema).fields]
    try:
        found = (
            None if text is None else from_bytes(kind, b64decode(text, validate=True))
            for kind, text in zip(kinds, partition, strict=True)
        )
        return Record(*found)
    except Exception as error:
        raise StoredValueError(f"{ascii(partition)[:200]} is not a partition of {spec}: {error}") from error
