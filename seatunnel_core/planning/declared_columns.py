"""Validation of each column of a ``schema`` block separately, so that all mistakes of a table are reported."""

from collections.abc import Iterator, Sequence
from typing import Any

from seatunnel_core.config.document import Block, Items, Position, plain
from seatunnel_core.config.option import SCHEMA, Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.rows.schema_block import declared_table
from seatunnel_core.rows.types import VECTORS

_SOME_DIMENSIONS = dict.fromkeys(VECTORS, 8)
"""Assumed dimension of vectors without one. The plugin itself checks whether it may be missing."""


def refuse_columns(written: Block, declared: Sequence[Option[Any]], what: str, problems: Problems) -> frozenset[str]:
    """Report each invalid column of a schema; return the keys of their options. ``what`` describes the block."""
    wrong: set[str] = set()
    for option in declared:
        schema = written.get(option.key) if option.type is SCHEMA else None
        for column, position in _columns(schema) if isinstance(schema, Block) else ():
            try:
                declared_table(column, _SOME_DIMENSIONS)
            except ValueError as error:
                problems.error(f"{what}: option {option.key!r}: {error}", position)
                wrong.add(option.key)
    return frozenset(wrong)


def _columns(schema: Block) -> Iterator[tuple[dict[str, object], Position]]:
    """Yield a schema of one column, and its position, for each column with a name and a type."""
    fields, columns = schema.get("fields"), schema.get("columns")
    if isinstance(fields, Block):
        for entry in fields:
            yield {"fields": {entry.key: plain(entry.value, textual=True)}}, entry.position
    if isinstance(columns, Items):
        for column in columns.values:
            if isinstance(column, Block) and column.get("name") and column.get("type"):
                yield {"columns": [plain(column, textual=True)]}, column.position
