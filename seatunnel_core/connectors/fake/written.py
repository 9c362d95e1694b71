"""Rows listed in the option ``rows`` of ``FakeSource``.

``CURRENT_DATE``, ``CURRENT_TIME`` and ``CURRENT_TIMESTAMP`` are replaced with the planning time of the split, so that
reading it again returns the same rows.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.batch import RowKind
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.findings import Findings
from seatunnel_core.rows.defaults import Moment, written_value
from seatunnel_core.rows.schema_block import Column

_REPORTED = 10
"""Maximum number of invalid rows that one error reports."""


@frozen(kw_only=True)
class WrittenRows:
    """Rows listed in a job, with their row kinds."""

    rows: tuple[tuple[Any, ...], ...]
    """Values of each row, in the order of the columns."""

    kinds: tuple[int, ...]

    def batch(self, columns: pa.Schema, start: int, count: int, now: dt.datetime | None) -> pa.RecordBatch:
        """Return ``count`` rows from row ``start``. ``now``, in the driver's time zone, replaces ``Moment.NOW``."""
        some = self.rows[start : start + count]
        values = [
            pa.array([at(row[index], column.type, now) for row in some], column.type)
            for index, column in enumerate(columns)
        ]
        return pa.RecordBatch.from_arrays(values, schema=columns)


def written_rows(written: Any, columns: Sequence[Column], defaults: Mapping[str, Any]) -> WrittenRows:
    """Parse the option ``rows``, a list of ``{ kind = INSERT, fields = [1, a] }``; raise UsageError if it is invalid.

    Fields may also be a block keyed by column name. ``defaults`` replace null and missing values.
    """
    if not isinstance(written, list | tuple):
        raise UsageError("option 'rows': expected a list [{ kind = INSERT, fields = [1, a] }, …]")
    rows, kinds, findings = [], [], Findings()
    for number, row in enumerate(written, 1):
        with findings.part(f"option 'rows', row {number}: "):
            kinds.append(_kind(row))
            rows.append(_row(row["fields"], columns, defaults))
        if number - len(rows) == _REPORTED:
            break
    findings.raise_all()
    return WrittenRows(rows=tuple(rows), kinds=tuple(kinds))


def at(value: Any, kind: pa.DataType, now: dt.datetime | None) -> Any:
    """Convert a value to the column type. ``now``, in the driver's time zone, replaces ``Moment.NOW``."""
    if value is not Moment.NOW:
        return value
    assert now is not None
    if pa.types.is_date(kind):
        return now.date()
    local = now.replace(tzinfo=None)
    return local.time() if pa.types.is_time(kind) else now.astimezone(dt.UTC) if kind.tz else local


def _kind(row: Any) -> int:
    known = ", ".join(each.name for each in RowKind)
    if not isinstance(row, Mapping) or not isinstance(row.get("fields"), Mapping | list | tuple):
        raise ValueError(f"expected {{ kind = INSERT, fields = […] }} with a kind of {known}")
    kind = str(row.get("kind") or RowKind.INSERT.name).upper()
    if kind not in RowKind.__members__:
        raise ValueError(f"expected a kind of {known}, found {row['kind']!r}")
    return RowKind[kind].value


def _row(fields: Any, columns: Sequence[Column], defaults: Mapping[str, Any]) -> tuple[Any, ...]:
    names = [column.field.name for column in columns]
    if isinstance(fields, Mapping):
        unknown = [name for name in fields if name not in names]
        if unknown:
            raise ValueError(f"the fields {unknown} are not in the schema, which contains {names}")
        fields = [fields.get(name) for name in names]
    if len(fields) != len(columns):
        raise ValueError(f"found {len(fields)} fields, expected {len(columns)} according to the schema")
    findings = Findings(UsageError)
    values = []
    for value, column in zip(fields, columns, strict=True):
        with findings.part():
            values.append(_field(value, column.field, defaults))
    findings.raise_all()
    return tuple(values)


def _field(written: Any, field: pa.Field, defaults: Mapping[str, Any]) -> Any:
    try:
        value = written_value(written, field.type)
    except ValueError as error:
        raise ValueError(f"column {field.name!r}: {error}") from None
    if value is None:
        value = defaults.get(field.name)
    if value is None and not field.nullable:
        raise ValueError(f"column {field.name!r} is null, but the schema declares nullable = false")
    return value
