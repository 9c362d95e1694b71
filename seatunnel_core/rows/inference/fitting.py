"""Conversion of rows to inferred columns. The schema contract applies to values that do not match."""

import json
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.inference.contract import DISCARD_ROW, DISCARD_VALUE, SchemaContract
from seatunnel_core.rows.inference.kinds import HELD, kind_of
from seatunnel_core.rows.repeated_keys import require_once
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.values import Converter, converter
from seatunnel_core.rows.written_decimal import NegativeZero

Discard = Callable[[str], None]
"""Callback for discarded values. Its argument completes a sentence: ``lose the field 'x', which is not a column``."""

_Fit = Callable[[Any, Discard], Any]


class DiscardedRowError(Exception):
    """Error for a discarded row. Its message completes a sentence that starts with the number of rows."""


class Fitting:
    """Converts JSON objects to rows of inferred columns."""

    def __init__(
        self,
        columns: pa.Schema,
        contract: SchemaContract,
        sample: str,
        *,
        known: Iterable[str] = (),
        child_tables: bool = False,
    ) -> None:
        """Create a converter for the columns of a schema.

        ``sample`` is used in messages to describe the rows used for inference. ``known`` contains columns that are not
        read. If ``child_tables``, the contract's ``tables`` applies to unknown lists.
        """
        self._contract = contract
        self._child_tables = child_tables
        self._sample = sample
        self._fits = [(column.name, self._fit(column.type, column, column.name)) for column in columns]
        self._names = frozenset((*columns.names, *known))

    def row(self, document: Mapping[str, Any], discard: Discard) -> dict[str, Any]:
        """Return the values of a row by column. A missing field is null.

        ``document`` is from ``native_json.parsed``. ``discard`` is called for discarded values.

        Raises:
            ValueError: The row does not match, and the contract does not discard it. The message names the column.
            DiscardedRowError: The row is discarded.
        """
        require_once(document, self._names)
        for name in document:
            if name not in self._names:
                self._unknown(name, document[name], discard)
        return {name: fit(document.get(name), discard) for name, fit in self._fits}

    def _unknown(self, path: str, value: Any, discard: Discard) -> None:
        """Discard a field without a column or child table, or raise an error, according to the contract."""
        as_table = self._child_tables and isinstance(value, list)
        key, word = ("tables", self._contract.tables) if as_table else ("columns", self._contract.columns)
        what = f"the field {path!r}, which is not a {'child table' if as_table else 'column'}"
        if word == DISCARD_VALUE:
            discard(f"lose {what}, as set by schema_contract")
            return
        if word == DISCARD_ROW:
            raise DiscardedRowError(f"are skipped, as set by schema_contract, because of {what}")
        raise ValueError(
            f"column {path!r}: the {self._sample} do not contain this field, and the columns are fixed once the job "
            f"has started. Inspect more rows with schema_sample, or set schema_contract {{ {key} = discard_value "
            "}, or discard_row"
        )

    def _misfit(self, value: Any, column: pa.Field, discard: Discard) -> None:
        """Discard a value that does not match its column, or raise an error, according to the contract."""
        name, kind = column.name, type_name(column.type)
        if self._contract.data_type == DISCARD_VALUE:
            discard(f"have null in the column {name!r}, as set by schema_contract, because the value is not a {kind}")
            return
        if self._contract.data_type == DISCARD_ROW:
            raise DiscardedRowError(
                f"are skipped, as set by schema_contract, because of a value that is not a {kind} in the column "
                f"{name!r}"
            )
        raise ValueError(
            f"column {name!r}: {_shown(value)} is not a {kind}, the type inferred from the {self._sample}. Inspect "
            "more rows with schema_sample, set schema_contract { data_type = discard_value } or "
            "discard_row, or declare the columns, for example schema { columns = [ { name = zip, type = string } ] }"
        )

    def _fit(self, kind: pa.DataType, column: pa.Field, path: str) -> _Fit:
        """Return a function that converts a value to a type; ``path`` is the location of the value in its row."""
        if pa.types.is_string(kind):
            return lambda value, _: None if value is None else text_of(value)
        if pa.types.is_struct(kind):
            return self._fit_object(kind, column, path)
        if pa.types.is_list(kind):
            return self._fit_list(kind, column, path)
        held, convert = HELD[kind], converter(kind)

        def fit(value: Any, discard: Discard) -> Any:
            return self._misfit(value, column, discard) if kind_of(value) & ~held else convert(value)

        return fit

    def _fit_object(self, kind: pa.DataType, column: pa.Field, path: str) -> _Fit:
        fits = {part.name: self._fit(part.type, column, f"{path}.{part.name}") for part in kind}

        def fit(value: Any, discard: Discard) -> Any:
            if not isinstance(value, dict):
                return None if value is None else self._misfit(value, column, discard)
            require_once(value, fits)
            for name in value:
                if name not in fits:
                    self._unknown(f"{path}.{name}", value[name], discard)
            return {name: fit(value.get(name), discard) for name, fit in fits.items()}

        return fit

    def _fit_list(self, kind: pa.DataType, column: pa.Field, path: str) -> _Fit:
        element = self._fit(kind.value_type, column, path)

        def fit(value: Any, discard: Discard) -> Any:
            if not isinstance(value, list):
                return None if value is None else self._misfit(value, column, discard)
            return [element(each, discard) for each in value]

        return fit


def exact_converter(kind: pa.DataType) -> Converter:
    """Return a function that converts a JSON value to an inferred type, or raises ValueError if it would change."""
    fit = Fitting(pa.schema([pa.field("", kind)]), SchemaContract(), "")

    def convert(value: Any) -> Any:
        return fit.row({"": value}, _refuse)[""]

    return convert


def _refuse(what: str) -> None:
    raise ValueError(what)


def text_of(value: Any) -> str:
    """Return a string unchanged, and any other JSON value as JSON. Raise ValueError for a lone surrogate."""
    text = value if isinstance(value, str) else _json(value)
    if not text.isascii():
        text.encode()
    return text


def _json(value: Any) -> str:
    if isinstance(value, dict):
        require_once(value)
        return "{" + ",".join(f"{_json(name)}:{_json(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return str(value) if isinstance(value, Decimal | NegativeZero) else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = repr(value if isinstance(value, str) else _json(value))
    return text if len(text) <= 80 else text[:77] + "..."
