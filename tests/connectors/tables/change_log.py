"""A table that random statements change, and its log as a change source sends it, with absent values."""

import random
from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import define, field

from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind

INSERT, BEFORE, AFTER, DELETE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
COLUMNS = pa.schema([("a", pa.string()), ("b", pa.int64()), ("name", pa.string()), ("big", pa.string())])
SCHEMA = TableSchema(table="shop.things", columns=COLUMNS, primary_key=("a", "b"))
KEY = ["a", "b"]

Key = tuple[str, int]
Values = tuple[str | None, str | None]
Image = tuple[RowKind, Key, Values, tuple[bool, bool]]
"""Kind, key and values of a row, and whether each value is absent."""


def batches_of(images: Sequence[Image], sizes: Iterator[int], schema: TableSchema = SCHEMA) -> Iterator[Batch]:
    """The rows in batches of these sizes."""
    while images:
        size = next(sizes)
        some, images = images[:size], images[size:]
        columns = [[(*key, *values)[at] for _, key, values, _ in some] for at in range(4)]
        masks = {name: pa.array([absent[at] for *_, absent in some]) for at, name in enumerate(("name", "big"))}
        arrays = [pa.array(values, kind.type) for values, kind in zip(columns, schema.columns, strict=True)]
        yield Batch(
            table=schema.table,
            rows=pa.RecordBatch.from_arrays(arrays, schema=schema.columns),
            kinds=pa.array([kind.value for kind, *_ in some], pa.int8()),
            absent={name: mask for name, mask in masks.items() if mask.true_count},
        )


@define
class ChangedTable:
    """The table, and what it logs: with or without the rows before updates, and with whole rows or not."""

    rng: random.Random
    rows: dict[Key, Values] = field(factory=dict)
    keys: int = 6
    """How many keys there may be."""

    def log(self, statements: int) -> list[Image]:
        """Run statements and return their images."""
        return [image for _ in range(statements) for image in self._statement()]

    def _statement(self) -> list[Image]:
        here = sorted(self.rows)
        free = sorted({("ab"[number % 2], number) for number in range(self.keys)} - self.rows.keys())
        what = self.rng.choice(["insert", "update", "update", "update", "move", "move", "delete"])
        if what == "insert" and free:
            key = self.rng.choice(free)
            self.rows[key] = self._value(), self._value()
            return [(INSERT, key, self.rows[key], (False, False))]
        if not here:
            return []
        key = self.rng.choice(here)
        if what == "delete":
            return [(DELETE, key, *self._old(self.rows.pop(key)))]
        new = self.rng.choice(free) if what == "move" and free else key
        return self._update(key, new)

    def _update(self, key: Key, new: Key) -> list[Image]:
        """Change a row; the values that stay may be absent from the log."""
        old = self.rows.pop(key)
        stays = [self.rng.random() < 0.5 for _ in old]
        name, big = (was if same else self._value() for was, same in zip(old, stays, strict=True))
        self.rows[new] = name, big
        absent = [same and self.rng.random() < 0.8 for same in stays]
        values = None if absent[0] else name, None if absent[1] else big
        after: Image = (AFTER, new, values, (absent[0], absent[1]))
        if new == key and self.rng.random() < 0.6:
            return [after]
        return [(BEFORE, key, *self._old(old)), after]

    def _old(self, values: Values) -> tuple[Values, tuple[bool, bool]]:
        """An old row as it is logged: whole, or the key alone."""
        return (values, (False, False)) if self.rng.random() < 0.3 else ((None, None), (True, True))

    def _value(self) -> str | None:
        return self.rng.choice([None, "", *(f"v{number}" for number in range(20))])

    def sizes(self) -> Iterator[int]:
        """Sizes of batches: the rows of an update may be in two of them."""
        while True:
            yield self.rng.randint(1, 5)

    @property
    def found(self) -> list[tuple[str, int, str | None, str | None]]:
        """The rows, in the order of their keys."""
        return sorted((*key, *values) for key, values in self.rows.items())
