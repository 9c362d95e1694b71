"""Decoder that turns the replication stream into transactions, batches of changed rows, truncations and messages."""

from collections.abc import Callable, Sequence
from typing import Any

from seatunnel_core.connectors.postgres_log.change_batch import (
    ChangeBatch,
    EmittedMessage,
    Reason,
    Transaction,
    Truncation,
)
from seatunnel_core.connectors.postgres_log.column_types import TypeCatalog, columns_of
from seatunnel_core.connectors.postgres_log.errors import LogError, MalformedLogError
from seatunnel_core.connectors.postgres_log.log_table import LogTable, Selects, every_column, log_table
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.messages import (
    BEGIN,
    COMMIT,
    DELETE,
    INSERT,
    MESSAGE,
    UPDATE,
    LogicalMessage,
    Origin,
    Relation,
    Truncate,
    TypeName,
    begin_of,
    commit_of,
    message_of,
)
from seatunnel_core.connectors.postgres_log.pending_rows import changes_of
from seatunnel_core.connectors.postgres_log.row_images import HEADER_BYTES

DATA, KEEPALIVE = b"wk"
"""First bytes of the messages in the stream."""

_KEEPALIVE_BYTES = 18
_ROWS = (INSERT, UPDATE, DELETE)


class LogDecoder:
    """Decoder that converts a connection's messages to batches, with at most one batch in memory."""

    def __init__(
        self,
        catalog: TypeCatalog,
        start: Lsn,
        *,
        batch_rows: int = 65_536,
        batch_bytes: int = 32 << 20,
        selects: Selects = every_column,
    ) -> None:
        """Create a decoder.

        Args:
            catalog: Provides the types of columns.
            start: Position at which the stream starts.
            batch_rows: Number of row messages at which a batch ends, even inside a transaction.
            batch_bytes: Size of the row messages at which a batch ends, in bytes.
            selects: Function that returns True for the columns to read; see ``log_table.Selects``.
        """
        self._selects = selects
        self._catalog, self._position = catalog, start.value
        self._batch_rows, self._batch_bytes = batch_rows, batch_bytes
        self._named: dict[int, TypeName] = {}
        self._relations: dict[int, tuple[Relation, LogTable]] = {}
        self._transaction: Transaction | None = None
        self._next_transaction = self._next_number = 0
        self._pending: list[Any] = []
        self._pending_bytes = 0
        self._runs: list[tuple[int, int]] = []
        self._transactions: list[Transaction] = []
        self._messages: list[EmittedMessage] = []
        self.reply_requested = False
        """True if the server has requested a status since the caller last set this to False."""

        self._handlers: dict[type[Any], Callable[[Any], ChangeBatch | None]] = {
            Origin: self._origin,
            Relation: self._relation,
            TypeName: self._type,
            Truncate: self._truncate,
            LogicalMessage: self._message,
        }

    @property
    def position(self) -> Lsn:
        """Position before which all committed transactions have been read. An open transaction is not included."""
        return Lsn(self._position)

    @property
    def in_transaction(self) -> bool:
        """True between the start and the end of a transaction."""
        return self._transaction is not None

    def decode(self, messages: Sequence[Any], at: int, end: Lsn | None) -> tuple[ChangeBatch | None, int]:
        """Decode messages until a batch is complete.

        Args:
            messages: Messages of the stream, as bytes or memory views.
            at: Index of the first message to decode.
            end: End of the range. Transactions committed at or after this position are not decoded.

        Returns:
            A batch, or ``None`` if the messages did not complete one, and the index of the next message.

        Raises:
            LogError: A message cannot be decoded. The error contains its position.
        """
        for index in range(at, len(messages)):
            data = messages[index]
            kind = data[HEADER_BYTES] if len(data) > HEADER_BYTES and data[0] == DATA else 0
            if kind in _ROWS:
                if self._transaction is None:
                    raise MalformedLogError(f"{self._where(data)}: a row does not belong to a transaction")
                self._pending.append(data)
                self._pending_bytes += len(data)
                if len(self._pending) < self._batch_rows and self._pending_bytes < self._batch_bytes:
                    continue
                return self.batch(Reason.FULL), index + 1
            if end is not None and self._transaction is None and self._is_beyond(data, kind, end):
                self._position = max(self._position, end.value)
                return self.batch(Reason.END), index
            batch = self._other(data, kind)
            if batch is not None:
                # The relation has another schema, so it is decoded again after the rows before it.
                return batch, index if batch.reason is Reason.SHAPE else index + 1
        return None, len(messages)

    def batch(self, reason: Reason, truncation: Truncation | None = None) -> ChangeBatch:
        """Return the collected batch, and start a new one.

        Raises:
            LogError: A row cannot be decoded.
        """
        pending, runs = self._pending, self._runs
        tables = {oid: table for oid, (_, table) in self._relations.items()}
        try:
            changes = changes_of(pending, tables, runs, self._next_number)
        except LogError as error:
            raise type(error)(f"transactions from {self.position} on: {error}") from None
        found = ChangeBatch(
            reason=reason,
            position=self.position,
            transactions=tuple(self._transactions),
            changes=changes,
            truncation=truncation,
            messages=tuple(self._messages),
            rows=sum(each.rows.num_rows for each in changes),
        )
        self._next_number += len(pending)
        self._pending, self._pending_bytes, self._messages = [], 0, []
        open_one = self._transaction
        self._transactions = [] if open_one is None else [open_one]
        self._runs = [] if open_one is None else [(open_one.number, 0)]
        return found

    # -- single messages ------------------------------------------------------------------------------------------

    def _is_beyond(self, data: Any, kind: int, end: Lsn) -> bool:
        """Return True if a message between transactions proves that all transactions before ``end`` have been read."""
        if kind == BEGIN:
            return int.from_bytes(data[HEADER_BYTES + 1 : HEADER_BYTES + 9], "big") >= end.value
        if kind == MESSAGE:  # A non-transactional message.
            return int.from_bytes(data[HEADER_BYTES + 2 : HEADER_BYTES + 10], "big") >= end.value
        if len(data) == _KEEPALIVE_BYTES and data[0] == KEEPALIVE:
            return int.from_bytes(data[1:9], "big") >= end.value
        return False

    def _other(self, data: Any, kind: int) -> ChangeBatch | None:
        try:
            if kind == BEGIN:
                self._begin(data)
                return None
            if kind == COMMIT:
                return self._commit(data)
            if kind:
                found = message_of(bytes(data[HEADER_BYTES:]))
                return self._handlers[type(found)](found)
            self._keepalive(data)
            return None
        except LogError as error:
            raise type(error)(f"{self._where(data)}: {error}") from None

    def _where(self, data: Any) -> str:
        kind = chr(data[HEADER_BYTES]) if len(data) > HEADER_BYTES else ""
        at = Lsn(int.from_bytes(data[1:9], "big"))
        return f"the message {kind!r} of the log at {at}"

    def _keepalive(self, data: Any) -> None:
        if len(data) != _KEEPALIVE_BYTES or data[0] != KEEPALIVE:
            raise MalformedLogError(
                f"the stream contains a message of {len(data)} bytes that is neither data nor a keepalive"
            )
        if self._transaction is None:
            self._position = max(self._position, int.from_bytes(data[1:9], "big"))
        self.reply_requested |= data[17] != 0

    def _begin(self, data: Any) -> None:
        if self._transaction is not None:
            raise MalformedLogError("a transaction starts before another one has ended")
        commit_position, time_us, xid = begin_of(data, HEADER_BYTES)
        found = Transaction(self._next_transaction, xid, commit_position, time_us)
        self._transaction = found
        self._next_transaction += 1
        self._transactions.append(found)
        self._runs.append((found.number, len(self._pending)))

    def _commit(self, data: Any) -> ChangeBatch | None:
        found = self._required()
        commit_position, end_position = commit_of(data, HEADER_BYTES)
        if found.commit_position != commit_position or end_position <= commit_position:
            raise MalformedLogError(
                f"the LSNs in the COMMIT message of transaction {found.xid} are invalid or do not match its BEGIN "
                "message"
            )
        found.end_position = self._position = end_position
        self._transaction = None
        return self.batch(Reason.FULL) if len(self._transactions) >= self._batch_rows else None

    def _required(self) -> Transaction:
        if self._transaction is None:
            raise MalformedLogError("the message does not belong to a transaction")
        return self._transaction

    def _origin(self, origin: Origin) -> None:
        self._required().origin = origin

    def _type(self, found: TypeName) -> None:
        self._named[found.oid] = found

    def _relation(self, relation: Relation) -> ChangeBatch | None:
        known = self._relations.get(relation.oid)
        if known is not None and known[0] == relation:
            return None
        if known is not None and self._pending:
            return self.batch(Reason.SHAPE)
        columns, delimiters = columns_of(relation, self._catalog, self._named)
        version = 1 if known is None else known[1].version + 1
        self._relations[relation.oid] = relation, log_table(relation, columns, delimiters, version, self._selects)
        return None

    def _truncate(self, found: Truncate) -> ChangeBatch:
        missing = [oid for oid in found.relations if oid not in self._relations]
        if missing:
            raise MalformedLogError(
                f"a TRUNCATE message refers to the relation {missing[0]}, which no earlier message describes"
            )
        tables = tuple(self._relations[oid][1] for oid in found.relations)
        truncation = Truncation(
            transaction=self._required(),
            tables=tables,
            cascade=found.cascade,
            restart_identity=found.restart_identity,
        )
        return self.batch(Reason.TRUNCATION, truncation)

    def _message(self, found: LogicalMessage) -> None:
        transaction = self._required() if found.transactional else None
        number = self._next_number + len(self._pending)
        self._messages.append(EmittedMessage(number=number, transaction=transaction, message=found))
