"""Form in which a source emits captured rows: masked, and as rows or as messages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.change_data.chunk_batches import ChunkRows, chunk_batches
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules
from seatunnel_core.connectors.change_data.messages import TABLE, Messages, ignored_properties
from seatunnel_core.connectors.jdbc.reading import Found


@frozen(kw_only=True)
class Emission:
    """Masks and encoding of the rows of a source; picklable."""

    rules: ColumnRules = EVERY_COLUMN
    messages: Messages | None = None
    """Encoder of the rows; ``None`` to emit them as they are."""

    notes: tuple[str, ...] = field(default=(), repr=False)
    """Notes for users about properties without effect."""

    @classmethod
    def of(cls, options: Options, connector: str) -> "Emission":
        """Return the form in the options.

        Args:
            options: The options of the source.
            connector: ``mysql``, ``mariadb`` or ``postgresql``.

        Raises:
            UsageError: An option has a value that is not allowed.
        """
        messages, notes = Messages.of(options, connector), tuple(ignored_properties(options))
        return cls(rules=ColumnRules.of(options), messages=messages, notes=notes)

    def schemas(self, tables: Sequence[Found]) -> tuple[TableSchema, ...]:
        """Return the schemas of the emitted rows."""
        return tuple(self.rules.shown(each).schema() for each in tables) if self.messages is None else (TABLE,)

    def require_supported(self, tables: Sequence[Found]) -> None:
        """Raise ``SourceError`` if masks cannot be applied to tables, or messages cannot represent them."""
        self.rules.require_valid(tables)
        if self.messages is not None:
            self.messages.require_supported([self.rules.shown(each) for each in tables])

    def require_matched(self, tables: Sequence[Found]) -> None:
        """Raise ``SourceError`` if a pattern of a new job matches no column of the tables."""
        self.rules.require_matched(tables)

    def fitted(self, found: Found, rows: ChunkRows, number: int, where: str, context: ReadContext) -> Iterator[Batch]:
        """Yield the rows of a chunk for ``chunk``, and then report its mark; see ``chunk_batches``."""
        return chunk_batches(found, rows, number, where, context, self.rules)

    def chunk(self, batches: Iterator[Batch], found: Found, where: Mapping[str, Any]) -> Iterator[Batch]:
        """Yield the rows of a chunk.

        Args:
            batches: The rows as ``fitted`` yields them.
            found: Their table.
            where: The block ``source`` of their messages, without ``ts_ms``.
        """
        for batch in batches:
            masked = self.rules.masked(batch, found)
            if self.messages is None:
                yield masked
            else:
                yield from self.messages.snapshot(masked, self.rules.shown(found), where)

    def changes(self, batch: Batch, found: Found, where: Callable[[], Sequence[Mapping[str, Any]]]) -> Iterator[Batch]:
        """Yield changed rows.

        Args:
            batch: The rows as they were logged.
            found: Their table.
            where: Returns the block ``source`` of the message of each row.
        """
        masked = self.rules.masked(batch, found)
        if self.messages is None:
            yield masked
        else:
            yield from self.messages.changes(masked, self.rules.shown(found), where())
