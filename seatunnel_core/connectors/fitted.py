"""Conversion of JSON objects to rows, and notes about discarded values and about keys that have no column."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.rows.inference.fitting import Fitting
from seatunnel_core.rows.native_json import glanced

_NAMED = 10
"""Maximum number of field names in a note."""

_SAMPLE = 1_000
"""Number of rows with nulls to inspect in a batch that Arrow's parser read."""


def fitted(
    fitting: Fitting, document: dict[str, Any], where: Callable[[], str], context: ReadContext
) -> dict[str, Any]:
    """Return the values of a row, and note dropped values in ``context``. Raise the same errors as ``Fitting.row``.

    ``document`` is from ``native_json.parsed``, and ``where`` returns the location of the row.
    """
    lost: dict[str, None] = {}
    row = fitting.row(document, lost.setdefault)
    for what in lost:
        context.note(what, where())
    return row


class UnreadKeys:
    """Collection of keys in JSON objects for which no column is declared.

    A key that differs from an absent column only in case is noted immediately. ``note_others`` notes all other keys.
    """

    def __init__(self, columns: pa.Schema, context: ReadContext) -> None:
        self._level = _level(columns)
        self._context = context
        self._others = set[str]()
        self._rows = 0
        self._first = ""

    def see(self, document: Mapping[str, Any], where: Callable[[], str]) -> None:
        """Add the keys of a row's JSON object; ``where`` returns the location of the row."""
        for key, column in self._differing(document):
            self._context.note(
                f"have the key {key!r} but no {column!r}: the names differ in case, so the column is null. Write the "
                "name in schema as in the data",
                where(),
            )
        others = document.keys() - self._level.names.keys()
        others = {key for key in others if self._level.alike(key, document) is None}
        if others:
            self._first = self._first or where()
            self._rows += 1
            self._others.update(others)

    def see_parsed(self, rows: pa.RecordBatch, lines: bytes, where: Callable[[int], str]) -> None:
        """Add the keys that differ from columns only in case, in a batch that Arrow's parser has read.

        Each line is one object. Only rows with nulls can have such keys. If a sample of these rows contains such a key,
        all of them are inspected.
        """
        lacking = np.flatnonzero(_lacking(rows))
        if not len(lacking):
            return
        texts = lines.split(b"\n")
        some = lacking[:: -(-len(lacking) // _SAMPLE)]
        if any(True for row in some for _ in self._differing(glanced(texts[row]))):
            for row in lacking:
                self.see(glanced(texts[row]), lambda row=row: where(int(row)))  # type: ignore[misc]

    def note_others(self) -> None:
        """Note the number of rows with undeclared fields, and the names of at most ten of these fields, sorted."""
        if not self._others:
            return
        named = ", ".join(sorted(self._others)[:_NAMED])
        more = len(self._others) - _NAMED
        self._context.note(
            f"have fields that schema does not declare; they are ignored: {named}"
            + (f", and {more:,} more" if more > 0 else ""),
            self._first,
            rows=self._rows,
        )

    def _differing(self, document: Any) -> Iterator[tuple[str, str]]:
        return _differing(self._level, document, "")


@frozen
class _Level:
    """Names of columns, or of the fields of a nested row."""

    names: Mapping[str, "_Level | None"]
    """Names, each mapped to a nested level if its values are rows or lists of rows."""

    lowered: Mapping[str, str]

    def alike(self, key: str, document: Mapping[str, Any]) -> str | None:
        """Return a declared name that differs from a key only in case and that the object lacks; ``None`` if none."""
        name = self.lowered.get(key.lower())
        return name if name is not None and name not in document else None


def _level(fields: Any) -> _Level:
    names = {field.name: _below(field.type) for field in fields}
    return _Level(names, {name.lower(): name for name in names})


def _below(kind: pa.DataType) -> _Level | None:
    if pa.types.is_struct(kind):
        return _level(kind)
    return _below(kind.value_type) if pa.types.is_list(kind) else None


def _differing(level: _Level, value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the keys that differ from a declared name only in case, with the path of the column."""
    if isinstance(value, list):
        for element in value:
            yield from _differing(level, element, path)
    if not isinstance(value, Mapping):
        return
    for key in value.keys() - level.names.keys():
        name = level.alike(key, value)
        if name is not None:
            yield key, f"{path}{name}"
    for name, below in level.names.items():
        if below is not None and name in value:
            yield from _differing(below, value[name], f"{path}{name}.")


def _lacking(rows: pa.RecordBatch) -> Any:
    """Return a mask of the rows that may contain null at any level."""
    found = np.zeros(rows.num_rows, bool)
    for column in rows.columns:
        if column.null_count:
            found |= column.is_null().to_numpy(zero_copy_only=False)
        if _has_null_within(column):
            found[:] = True
    return found


def _has_null_within(array: pa.Array) -> bool:
    if pa.types.is_struct(array.type):
        parts = [array.field(number) for number in range(array.type.num_fields)]
    elif pa.types.is_list(array.type):
        parts = [array.values]
    else:
        return False
    return any(part.null_count or _has_null_within(part) for part in parts)
