"""Row filters that give the same result for rows of a table and for rows of its log.

A server compares strings by collation and times by time zone, which the log does not contain. Therefore, only
conditions on integers and null are supported.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of
from attrs import frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connectors.change_data.emitted import Flags
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.connectors.jdbc.reading import Found

_OPTION = "filter"
_TOKEN = re.compile(
    r"\s*(?:(?P<name>`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[^\W\d]\w*)|(?P<number>[+-]?\d{1,18})"
    r"|(?P<symbol><=|>=|<>|!=|[=<>(),]))"
)
_COMPARISONS: dict[str, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    "=": pc.equal, "<>": pc.not_equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
    ">=": pc.greater_equal,
}  # fmt: skip
_EXPECTED = (
    "expected comparisons of a column with an integer (=, <>, <, <=, >, >=), IN (…) with integers, IS NULL or IS NOT "
    "NULL, joined by AND"
)


@frozen
class Condition:
    """A condition on one column."""

    column: str
    operator: str
    """Comparison operator, ``IN``, ``IS NULL`` or ``IS NOT NULL``."""

    numbers: tuple[int, ...] = ()

    @property
    def tests_null(self) -> bool:
        """True for ``IS NULL`` and ``IS NOT NULL``."""
        return self.operator.startswith("IS")

    def met(self, values: pa.Array) -> pa.Array:
        """Return a mask of the values that meet the condition. Null never meets a comparison."""
        if self.tests_null:
            return values.is_null() if self.operator == "IS NULL" else values.is_valid()
        if self.operator == "IN":
            return pc.is_in(values.cast(pa.int64()), value_set=pa.array(self.numbers, pa.int64()))
        compared = _COMPARISONS[self.operator](values.cast(pa.int64()), pa.scalar(self.numbers[0], pa.int64()))
        return compared.fill_null(False)

    def sql(self, quoted: Callable[[str], str]) -> str:
        """Return the condition in SQL; empty for null checks, because the source may read other values as null."""
        if self.tests_null:
            return ""
        listed = ", ".join(map(str, self.numbers))
        return f"{quoted(self.column)} {self.operator} " + (f"({listed})" if self.operator == "IN" else listed)


@frozen
class RowFilter:
    """Conjunction of conditions."""

    text: str
    conditions: tuple[Condition, ...]

    @classmethod
    def parse(cls, text: str) -> "RowFilter":
        """Parse the filter in an option.

        Raises:
            UsageError: A condition is not supported.
        """
        conditions, tokens = list[Condition](), _Tokens(text)
        while True:
            conditions.append(tokens.condition())
            if tokens.at_end:
                return cls(text, tuple(conditions))
            tokens.word("AND")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the conditions need."""
        return tuple(dict.fromkeys(each.column for each in self.conditions))

    def require_valid(self, found: Found) -> None:
        """Raise SourceError if a column is not selected, or a comparison applies to a column that is not an integer."""
        for each in self.conditions:
            column = found.column(each.column, _OPTION)
            if not each.tests_null and not of.is_integer(column.arrow):
                raise SourceError(
                    f"option {_OPTION!r}: {found.reading.name}, column {column.name} ({column.declared}): only "
                    "integers can be compared; filter the rows in a transform, or in the target"
                )

    def met(self, rows: pa.RecordBatch, misfits: Mapping[int, Misfit]) -> Flags:
        """Return a mask of the rows that meet all conditions. A condition on an unrepresentable value counts as met.

        Args:
            rows: The rows.
            misfits: Unrepresentable values by row index; they are null in ``rows``.
        """
        found: Flags = np.ones(rows.num_rows, np.bool_)
        for each in self.conditions:
            met = each.met(rows.column(each.column)).to_numpy(zero_copy_only=False)
            unknown = [number for number, misfit in misfits.items() if each.column in misfit.reasons]
            if unknown:
                met = met.copy()
                met[unknown] = True
            found &= met
        return found

    def sql(self, found: Found) -> str:
        """Return the conditions in SQL that the server can evaluate to return fewer rows; ``""`` if there are none.

        Conditions on YEAR columns are omitted, because MySQL interprets the number 24 as the year 2024.
        """
        checked = (each for each in self.conditions if not _is_year(found.column(each.column, _OPTION)))
        return " AND ".join(filter(None, (each.sql(found.reading.dialect.quoted) for each in checked)))


class _Tokens:
    """Tokenizer of a filter."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text.strip(), 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._text)

    def condition(self) -> Condition:
        column = _plain(self._next("name"))
        start = self._at
        word = self._next("name", "symbol").upper()
        if word == "IS":
            second = self._next("name").upper()
            if second == "NOT":
                self.word("NULL")
                return Condition(column, "IS NOT NULL")
            if second == "NULL":
                return Condition(column, "IS NULL")
        if word == "IN":
            return Condition(column, "IN", self._numbers())
        if word in _COMPARISONS:
            return Condition(column, word, (int(self._next("number")),))
        raise self._error(start)

    def _numbers(self) -> tuple[int, ...]:
        self.word("(")
        found = [int(self._next("number"))]
        while self.word(",", ")") == ",":
            found.append(int(self._next("number")))
        return tuple(found)

    def word(self, *words: str) -> str:
        """Return the next word, which must be one of the given words."""
        start = self._at
        found = self._next("name", "symbol").upper()
        if found not in words:
            raise self._error(start)
        return found

    def _next(self, *kinds: str) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found.lastgroup not in kinds:
            raise self._error(self._at)
        self._at = found.end()
        return found[found.lastgroup]

    def _error(self, at: int) -> UsageError:
        return UsageError(f"option {_OPTION!r}: {self._text!r}, at {self._text[at:].strip()[:30]!r}: {_EXPECTED}")


def _is_year(column: Column) -> bool:
    return column.declared.lower().startswith("year")


def _plain(name: str) -> str:
    return name[1:-1].replace(name[0] * 2, name[0]) if name[0] in '`"' else name
