"""Writers that send messages directly, or stage them in files until the checkpoint is complete."""

import os
from contextlib import suppress
from typing import Any

import pyarrow as pa
from attrs import define, evolve, field

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connectors.filesystems.local import sync_file
from seatunnel_core.connectors.kafka.cluster import BackgroundErrors, Cluster
from seatunnel_core.connectors.kafka.encoding import Encoder, Message
from seatunnel_core.connectors.kafka.idle import Idle
from seatunnel_core.connectors.staging.target import Target, unique_name

STAGED = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("key", pa.binary()), ("value", pa.binary())])
"""Columns of a staged file. Each row is a message."""

FILE_BYTES = 16 << 20
"""Size in bytes at which a new file is started. Transactions send whole files."""

FILE_MESSAGES = 100_000


class _Known:
    """Encoder that checks each topic before the first message is sent to it."""

    def __init__(self, cluster: Cluster, encoder: Encoder) -> None:
        self._cluster = cluster
        self._partitions = dict(encoder.partitions)
        self.encoder = encoder

    def messages(self, batch: Batch) -> list[Message]:
        if self.encoder.topic_column is not None and self.encoder.topic_column in batch.rows.schema.names:
            for name in batch.rows.column(self.encoder.topic_column).unique().to_pylist():
                if name is not None and name not in self._partitions:
                    self._learn(name)
        return self.encoder.messages(batch)

    def _learn(self, name: str) -> None:
        found = self._cluster.topic(name)
        if found is None:
            raise RowError(
                f"{self._cluster.names}: topic {name!r}, from the column {self.encoder.topic_column!r} of a "
                "row, does not exist; create it, or correct the row"
            )
        self._partitions[name] = len(found.partitions)
        self.encoder = evolve(self.encoder, partitions=dict(self._partitions))


class StagingWriter(SinkWriter):
    """Stages messages in files."""

    def __init__(self, target: Target, cluster: Cluster, encoder: Encoder, context: WriterContext) -> None:
        self._target = target
        self._known = _Known(cluster, encoder)
        self._context = context
        self._names: list[str] = []
        self._writer: Any = None
        self._rows = self._bytes = 0
        self._room = (0, 0)
        target.require(context.epoch)

    def write(self, batch: Batch) -> None:
        messages = self._known.messages(batch)
        for start in range(0, len(messages), FILE_MESSAGES):
            self._add(messages[start : start + FILE_MESSAGES])

    def _add(self, messages: list[Message]) -> None:
        columns = zip(*messages, strict=True)
        arrays = [pa.array(values, kind.type) for kind, values in zip(STAGED, columns, strict=True)]
        rows = pa.RecordBatch.from_arrays(arrays, schema=STAGED)
        count, size = self._room
        if self._writer is not None and (count + rows.num_rows > FILE_MESSAGES or size + rows.nbytes > FILE_BYTES):
            self._close()
        try:
            if self._writer is None:
                self._begin()
            self._writer.write_batch(rows)
        except OSError as error:
            raise self._target.failed("cannot be written", error, self._path(self._names[-1])) from error
        self._room = (self._room[0] + rows.num_rows, self._room[1] + rows.nbytes)
        self._rows += rows.num_rows

    def _begin(self) -> None:
        self._names.append(f"messages-{unique_name(self._context)}-{len(self._names)}.arrow")
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._writer = pa.ipc.new_file(self._path(self._names[-1]), STAGED, options=options)
        self._room = (0, 0)

    def _close(self) -> None:
        path = self._path(self._names[-1])
        with self._target.errors("cannot be written", path):
            self._writer.close()
            sync_file(path)
            self._bytes += os.stat(path).st_size
        self._writer = None

    def finish(self) -> Staged:
        if self._writer is not None:
            self._close()
        with self._target.errors("cannot be written", self._target.root):
            if self._names:
                self._target.make_durable(self._context.epoch)
        return Staged(
            body={"files": [[name, ""] for name in self._names]},
            rows=self._rows,
            bytes=self._bytes,
            tables=self._known.encoder.topic_ids if self._rows else {},
        )

    def abort(self) -> None:
        with suppress(Exception):
            if self._writer is not None:
                self._writer.close()
        for name in self._names:
            self._target.discard(self._context.epoch, name)

    def _path(self, name: str) -> str:
        return os.path.join(self._target.staging(self._context.epoch), name)


class DirectWriter(SinkWriter):
    """Sends messages directly. ``finish`` returns once the brokers have acknowledged all messages."""

    def __init__(self, who: str, cluster: Cluster, encoder: Encoder) -> None:
        self._who = who
        self._cluster = cluster
        self._known = _Known(cluster, encoder)
        self._sending = _opened(cluster)
        self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        for topic, partition, key, value in self._known.messages(batch):
            self._sending.send(topic, partition, key, value)
            self._bytes += len(value or b"")
        self._rows += batch.rows.num_rows
        self._check()

    def finish(self) -> Staged:
        self._sending.producer.flush()  # Every message has arrived or failed, within delivery.timeout.ms.
        self._check()
        _idle.give_back(self._cluster, self._sending)
        tables = self._known.encoder.topic_ids if self._rows else {}
        return Staged(body={}, rows=self._rows, bytes=self._bytes, tables=tables)

    def abort(self) -> None:
        self._sending.producer.purge()

    def _check(self) -> None:
        from confluent_kafka import KafkaException

        if self._sending.errors:
            error = self._sending.errors[0]
            raise self._cluster.failed(
                SinkError,
                f"{self._who}: messages cannot be sent",
                KafkaException(error),
                self._sending.background_of(error),
            )


@define
class Sending:
    """A producer and the delivery errors of its messages."""

    producer: Any
    background: BackgroundErrors
    errors: list[Any] = field(factory=list)

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Queue a message, and wait while the queue is full."""
        while True:
            try:
                self.producer.produce(topic, value, key, partition, on_delivery=self._delivered)
                return
            except BufferError:
                self.producer.poll(0.1)

    def background_of(self, error: Any) -> BackgroundErrors | None:
        """Return the errors of the background threads if the given error is only a timeout; ``None`` otherwise."""
        return self.background if error.name() in ("_MSG_TIMED_OUT", "_TIMED_OUT") else None

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None and len(self.errors) < 10:
            self.errors.append(error)


_idle: Idle[Sending] = Idle(most=4)


def _opened(cluster: Cluster) -> Sending:
    found = _idle.take(cluster)
    if found is not None:
        found.background.clear()
        return found
    background = BackgroundErrors()
    only_errors = {"delivery.report.only.error": True}  # A Python call for each message would double the time.
    return Sending(producer=cluster.producer(background, **only_errors), background=background)
