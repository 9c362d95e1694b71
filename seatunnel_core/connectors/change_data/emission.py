"""Output of captured rows with masks applied, as rows or as Debezium messages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.change_data.chunk_batches import ChunkRows, chunk_batches
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules
from seatunnel_core.connectors.change_data.log_order import LoggedRows, LogOrder
from seatunnel_core.connectors.change_data.messages import TABLE, Messages, ignored_properties
from seatunnel_core.connectors.jdbc.reading import Found


@frozen(kw_only=True)
class Emission:
    """Masks and output format of the rows of a source; picklable."""

    rules: ColumnRules = EVERY_COLUMN
    messages: Messages | None = None
    """Encoder for Debezium messages; ``None`` to emit rows."""

    notes: tuple[str, ...] = field(default=(), repr=False)
    """Notes for users about properties that have no effect."""

    @classmethod
    def of(cls, options: Options, connector: str) -> "Emission":
        """Return the masks and the output format in the options.

        ``connector`` is ``mysql``, ``mariadb`` or ``postgresql``.

        Raises:
            UsageError: An option has an invalid value.
        """
        messages, notes = Messages.of(options, connector), tuple(ignored_properties(options))
        return cls(rules=ColumnRules.of(options), messages=messages, notes=notes)

    def schemas(self, tables: Sequence[Found]) -> tuple[TableSchema, ...]:
        """Return the schemas of the emitted rows."""
        return tuple(self.rules.shown(each).schema() for each in tables) if self.messages is None else (TABLE,)

    def require_supported(self, tables: Sequence[Found]) -> None:
        """Raise SourceError if a mask cannot be applied to the tables, or messages cannot represent their rows."""
        self.rules.require_valid(tables)
        if self.messages is not None:
            for each in tables:
                if not each.schema().primary_key:
                    raise SourceError(
                        f"option 'format': COMPATIBLE_DEBEZIUM_JSON requires a key, but {each.reading.name} has no "
                        "key; add a primary key, or remove format"
                    )
            self.messages.require_supported([self.rules.shown(each) for each in tables])

    def require_matched(self, tables: Sequence[Found]) -> None:
        """Raise SourceError if a pattern of a new job does not match any column of the tables."""
        self.rules.require_matched(tables)

    def fitted(self, found: Found, rows: ChunkRows, number: int, where: str, context: ReadContext) -> Iterator[Batch]:
        """Yield the batches of a chunk for ``chunk``, then report the chunk's mark, as ``chunk_batches`` does."""
        return chunk_batches(found, rows, number, where, context, self.rules)

    def chunk(self, batches: Iterator[Batch], found: Found, where: Mapping[str, Any]) -> Iterator[Batch]:
        """Yield the rows of a chunk in the output format.

        Args:
            batches: The rows, from ``fitted``.
            found: The table.
            where: The ``source`` block of the messages, without ``ts_ms``.
        """
        for batch in batches:
            masked = self.rules.masked(batch, found)
            if self.messages is None:
                yield masked
            else:
                yield from self.messages.snapshot(masked, self.rules.shown(found), where)

    def changes(self, rows: Sequence[LoggedRows], order: LogOrder) -> Iterator[Batch]:
        """Yield the changed rows of a batch of the log in the output format. Messages are yielded in log order."""
        masked = [evolve(each, batch=self.rules.masked(each.batch, each.found)) for each in rows]
        if self.messages is None:
            yield from order.batches(masked)
        else:
            yield from self.messages.changes([evolve(each, found=self.rules.shown(each.found)) for each in masked])
