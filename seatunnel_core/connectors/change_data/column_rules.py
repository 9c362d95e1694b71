"""Rules from the options: selected and masked columns of captured tables, and row filters."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from seatunnel_core.config.variables import without_salt
from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.emitted import Changes, Flags
from seatunnel_core.connectors.change_data.masks import Asterisks, Mask, SaltedHash, Truncation
from seatunnel_core.connectors.change_data.options import (
    CONFIGURED_COLUMNS,
    CONFIGURED_FILTER,
    CONFIGURED_TABLE,
    DEBEZIUM,
    TABLE_CONFIG,
)
from seatunnel_core.connectors.change_data.row_filter import RowFilter
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of

INCLUDED, EXCLUDED = "column.include.list", "column.exclude.list"
_OF_COLUMNS = re.compile(r"column\.(mask|truncate|include|exclude|whitelist|blacklist)\b.*", re.DOTALL)
"""Debezium properties that select or change columns. If one were ignored, values that the user wants to hide would be
emitted."""

_ASTERISKS = re.compile(r"column\.mask\.with\.(\d{1,5})\.chars")
_TRUNCATION = re.compile(r"column\.truncate\.to\.(\d{1,9})\.chars")
_HASH = re.compile(r"column\.mask\.hash\.v2\.(SHA-?256)\.with\.salt\.(.+)", re.IGNORECASE | re.DOTALL)
_MASKED = "has a mask"

_Entry = TypeVar("_Entry")


@frozen(kw_only=True)
class MaskRule:
    """A mask with the columns to which it applies."""

    shown: str
    """Debezium property that declares the mask, without the salt."""

    columns: tuple[re.Pattern[str], ...]
    """Patterns that match full column names."""

    mask: Mask

    def matches(self, name: str) -> bool:
        """Return True if the mask applies to a column with this full name."""
        return any(each.fullmatch(name) for each in self.columns)

    @property
    def recorded(self) -> str:
        """String that changes whenever the mask or its salt changes."""
        return f"{self.shown}{self.mask.fingerprint}"


@frozen(kw_only=True)
class ColumnRules:
    """Selected and masked columns of all tables. As in Debezium, a full column name contains the path of the table."""

    listed: tuple[tuple[TablePath, frozenset[str]], ...] = ()
    """Selected columns of individual tables, keyed by the table's path or the end of its path."""

    filters: tuple[tuple[TablePath, RowFilter], ...] = ()
    """Row filters for individual tables, keyed by the table's path or the end of its path."""

    included: tuple[re.Pattern[str], ...] = ()
    """Patterns for full names of selected columns; empty to select all."""

    excluded: tuple[re.Pattern[str], ...] = ()
    masks: tuple[MaskRule, ...] = field(default=(), repr=False)
    _by_column: dict[str, MaskRule | None] = field(factory=dict, init=False, eq=False, repr=False)
    """Cache of masks by full column name."""

    @classmethod
    def of(cls, options: Options) -> "ColumnRules":
        """Return the rules in the options.

        Raises:
            UsageError: A property is invalid or not supported, or two properties contradict each other.
        """
        entries: Sequence[Options] = options[TABLE_CONFIG] or ()
        listed = ((parts_of(each[CONFIGURED_TABLE]), each[CONFIGURED_COLUMNS]) for each in entries)
        filters = ((parts_of(each[CONFIGURED_TABLE]), each[CONFIGURED_FILTER]) for each in entries)
        given: Mapping[str, str] = options[DEBEZIUM] or {}
        if given.get(INCLUDED) and given.get(EXCLUDED):
            raise UsageError(f"option 'debezium': remove {INCLUDED} or {EXCLUDED}; only one of them is allowed")
        return cls(
            listed=tuple((path, frozenset(columns)) for path, columns in listed if columns),
            filters=tuple((path, RowFilter.parse(text)) for path, text in filters if text),
            included=_patterns(INCLUDED, given[INCLUDED]) if given.get(INCLUDED) else (),
            excluded=_patterns(EXCLUDED, given[EXCLUDED]) if given.get(EXCLUDED) else (),
            masks=tuple(_masks(given)),
        )

    def restricts(self, path: TablePath) -> bool:
        """Return True if the rules may exclude columns of a table."""
        return bool(self.included or self.excluded) or self._listed(path) is not None

    def selects(self, path: TablePath, column: str) -> bool:
        """Return True if a column is selected. The column need not exist yet."""
        listed, name = self._listed(path), _name(path, column)
        if listed is not None and column not in listed:
            return False
        if self.included and not any(each.fullmatch(name) for each in self.included):
            return False
        return not any(each.fullmatch(name) for each in self.excluded)

    def selection(self, found: Found) -> Found:
        """Return a table with only its selected columns, and with the part of its filter that the server can evaluate.

        Raises:
            SourceError: A listed column does not exist, or a column of the key or of the filter is not selected.
        """
        path = path_of(found)
        for name in self._listed(path) or ():
            found.column(name, CONFIGURED_COLUMNS.key)
        selected = tuple(column for column in found.columns if self.selects(path, column.name))
        missing = set(found.schema().primary_key) - {column.name for column in selected}
        if missing:
            raise SourceError(
                f"the table {found.reading.name}: the column {min(missing)} is part of the key and is not selected, "
                "so rows cannot be identified in the log; select the column"
            )
        found = evolve(found, columns=selected)
        row_filter = self.row_filter(found)
        if row_filter is None:
            return found
        row_filter.require_valid(found)
        where = row_filter.sql(found)
        return evolve(found, reading=evolve(found.reading, where=where)) if where else found

    def require_valid(self, tables: Sequence[Found]) -> None:
        """Check that each mask can be applied to all of its columns.

        Raises:
            SourceError: A mask applies to a key column or to an unsupported type, or a column has two masks.
        """
        for found in tables:
            for column in found.columns:
                name = _name(path_of(found), column.name)
                rules = [rule for rule in self.masks if rule.matches(name)]
                where = f"{found.reading.name}, column {column.name} ({column.declared})"
                if len(rules) > 1:
                    raise SourceError(f"{where}: {' and '.join(rule.shown for rule in rules)} both apply; remove one")
                if rules and column.name in found.schema().primary_key:
                    raise SourceError(f"{where}: {rules[0].shown} applies to a key column; exclude the column")
                if rules and (problem := rules[0].mask.problem(column.arrow)):
                    raise SourceError(f"{where}: {rules[0].shown} cannot be applied: {problem}")

    def require_matched(self, tables: Sequence[Found]) -> None:
        """Raise SourceError if a pattern does not match any column.

        For new jobs only, because columns may be dropped later.
        """
        every = _names(tables, lambda found: (*found.columns, *(found.table.columns if found.table else ())))
        for name, patterns in ((INCLUDED, self.included), (EXCLUDED, self.excluded)):
            for each in patterns:
                if not any(map(each.fullmatch, every)):
                    raise _unmatched(each, name, "column")
        selected = _names(tables, lambda found: found.columns)
        for rule in self.masks:
            for each in rule.columns:
                if not any(map(each.fullmatch, selected)):
                    raise _unmatched(each, rule.shown, "selected column")

    def require_masks_kept(
        self, found: Found, former: Collection[str], renamed: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Check that no renamed column lost its mask, or is selected only because of its new name.

        Args:
            found: The table with changed columns.
            former: Names of the selected columns before the change.
            renamed: Former names of columns that were certainly renamed, by current name.

        Raises:
            SourceChangedError: A masked or unselected column was renamed, or a masked column was removed and a column
                without a mask was added.
        """
        now, masked = {column.name for column in found.columns}, self.masked_columns(found)
        for name in sorted(now.intersection(renamed) - {*masked}):
            before = renamed[name]
            reason = self.protection(path_of(found), before)
            if reason == _MASKED or (reason and before not in former):  # a list may no longer contain a former name
                raise SourceChangedError(
                    f"the column {before} of {found.reading.name}, which {reason}, was renamed to {name}, so its "
                    "values would be emitted unchanged. Restore the former name, or start a new job"
                )
        removed = [name for name in former if name not in now and self._mask(path_of(found), name) is not None]
        added = sorted(now - {*former, *masked})
        if removed and added:
            raise SourceChangedError(
                f"the column {removed[0]} of {found.reading.name}, which has a mask, was removed, and {added[0]}, "
                "which has no mask, was added. If the column was renamed, its values would no longer be masked. "
                f"Restore the former name, or start a new job with a mask for {added[0]}"
            )

    def protection(self, path: TablePath, column: str) -> str:
        """Return how the values of a column are protected, for messages; empty if they are emitted as they are."""
        if self._mask(path, column) is not None:
            return _MASKED
        return "" if self.selects(path, column) else "is not selected"

    def shown(self, found: Found) -> Found:
        """Return a table with the types of its emitted rows, in which masked columns are strings."""
        masks = self._masks(found)
        columns = (
            evolve(column, arrow=pa.string(), declared="text") if column.name in masks else column
            for column in found.columns
        )
        return evolve(found, columns=tuple(columns)) if masks else found

    def row_filter(self, found: Found) -> RowFilter | None:
        """Return the row filter of a table; ``None`` if all rows are captured."""
        return _of_table(self.filters, path_of(found))

    def kept_rows(self, rows: Fetched, found: Found) -> Fetched:
        """Apply the row filter of a table, and remove the values of masked columns from messages about its rows."""
        row_filter, masked = self.row_filter(found), self.masked_columns(found)
        misfits = {number: misfit.hiding(masked) for number, misfit in rows.misfits.items()}
        if row_filter is None:
            return evolve(rows, misfits=misfits)
        kept = row_filter.met(rows.rows, misfits)
        new = np.cumsum(kept) - 1
        return Fetched(
            rows=rows.rows.filter(pa.array(kept)),
            misfits={int(new[number]): misfit for number, misfit in misfits.items() if kept[number]},
        )

    def kept_changes(self, changes: Changes, found: Found, where: str, remedy: str) -> Flags | None:
        """Return a mask of the changed rows that pass the filter of a table; ``None`` for all rows.

        Args:
            changes: The logged rows.
            found: The table.
            where: Position in the log, for messages.
            remedy: Instruction that makes the log contain all columns of changed rows.

        Raises:
            SourceError: The log does not contain a value that the filter needs.
        """
        row_filter = self.row_filter(found)
        if row_filter is None:
            return None
        for name in () if changes.complete else row_filter.columns:
            if not changes.arrived(changes.rows.schema.get_field_index(name)).all():
                raise SourceError(
                    f"table {found.reading.name}, {where}: the filter needs the column {name!r}, but the log does "
                    f"not contain its value in a changed row; {remedy}"
                )
        return row_filter.met(changes.rows, changes.misfits)

    def recorded(self, found: Found) -> dict[str, str]:
        """Return the filter of a table and all masks, with digests of salts, to detect changed options.

        Masks are recorded as written in the options, because the columns of the table may change.
        """
        return self._recorded_filter(found) | {
            rule.recorded: ", ".join(each.pattern for each in rule.columns) for rule in self.masks
        }

    def recorded_by_column(self, found: Found) -> dict[str, str]:
        """Return the filter of a table and the masks of its columns in the format of earlier versions."""
        return self._recorded_filter(found) | {name: rule.recorded for name, rule in self._masks(found).items()}

    def _recorded_filter(self, found: Found) -> dict[str, str]:
        row_filter = self.row_filter(found)
        return {} if row_filter is None else {"": row_filter.text}

    def masked(self, batch: Batch, found: Found) -> Batch:
        """Apply the masks to the rows of a table."""
        masks = self._masks(found)
        if not masks:
            return batch
        rows = batch.rows
        columns = [
            masks[name].mask.applied(values) if name in masks else values
            for name, values in zip(rows.schema.names, rows.columns, strict=True)
        ]
        return evolve(batch, rows=pa.RecordBatch.from_arrays(columns, schema=self.shown(found).schema().columns))

    def masked_columns(self, found: Found) -> Collection[str]:
        """Return the names of the masked columns of a table."""
        return self._masks(found).keys()

    def _masks(self, found: Found) -> Mapping[str, MaskRule]:
        """Return the masks of a table by column name."""
        if not self.masks:
            return {}
        masks = {column.name: self._mask(path_of(found), column.name) for column in found.columns}
        return {name: rule for name, rule in masks.items() if rule is not None}

    def _mask(self, path: TablePath, column: str) -> MaskRule | None:
        """Return the mask of a column; ``None`` if it has none."""
        name = _name(path, column)
        if name not in self._by_column:
            self._by_column[name] = next((rule for rule in self.masks if rule.matches(name)), None)
        return self._by_column[name]

    def _listed(self, path: TablePath) -> frozenset[str] | None:
        """Return the columns that ``table-names-config`` lists for a table; ``None`` if it lists none."""
        return _of_table(self.listed, path)


def _of_table(entries: Sequence[tuple[TablePath, _Entry]], path: TablePath) -> _Entry | None:
    """Return the entry for a table by its full path or the end of its path; ``None`` if there is none."""
    for written, entry in entries:
        parts = min(len(written), len(path))
        if written[-parts:] == path[-parts:]:
            return entry
    return None


EVERY_COLUMN = ColumnRules()
"""Rules that select all columns and mask none."""


def path_of(found: Found) -> TablePath:
    """Return the path of a captured table."""
    assert found.reading.path is not None, "a captured table has a path"
    return found.reading.path


def is_rule(name: str) -> bool:
    """Return True if a Debezium property selects or changes columns."""
    return _OF_COLUMNS.fullmatch(name) is not None


def _name(path: TablePath, column: str) -> str:
    return ".".join((*path, column))


def _names(tables: Sequence[Found], columns: Callable[[Found], Sequence[Column]]) -> list[str]:
    """Return the full names of the columns of tables."""
    return [_name(path_of(found), column.name) for found in tables for column in columns(found)]


def _unmatched(pattern: re.Pattern[str], rule: str, what: str) -> SourceError:
    return SourceError(f"option 'debezium': {pattern.pattern!r} of {rule} matches no {what} of the captured tables")


def _patterns(name: str, written: str) -> tuple[re.Pattern[str], ...]:
    """Parse a comma-separated list of regular expressions for full names."""
    parts = (part.strip() for part in re.split(r"(?<!\\),", written))
    try:
        found = tuple(re.compile(part, re.IGNORECASE) for part in parts if part)
    except re.error as error:
        raise UsageError(f"option 'debezium': {name} = {written!r} is not a regular expression: {error}") from None
    if not found:
        raise UsageError(f"option 'debezium': {name} is empty; remove it, or set a regular expression")
    return found


def _masks(given: Mapping[str, str]) -> Iterator[MaskRule]:
    for name, written in given.items():
        if not is_rule(name) or name in (INCLUDED, EXCLUDED):
            continue
        shown = without_salt(name)
        mask: Mask
        if found := _ASTERISKS.fullmatch(name):
            mask = Asterisks(int(found[1]))
        elif found := _TRUNCATION.fullmatch(name):
            mask = Truncation(int(found[1]))
        elif found := _HASH.fullmatch(name):
            mask = SaltedHash(found[2])
        else:
            raise UsageError(
                f"option 'debezium': {shown} is not supported; use {INCLUDED}, {EXCLUDED}, "
                "column.mask.with.N.chars, column.truncate.to.N.chars or column.mask.hash.v2.SHA-256.with.salt.SALT"
            )
        yield MaskRule(shown=shown, columns=_patterns(shown, written), mask=mask)
