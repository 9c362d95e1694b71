"""Publishing of staged messages in transactions that also record the sent files.

Each sink of a pipeline has a commit topic for these records and one transactional ID. Initializing this ID aborts the
open transaction of the previous engine and fences it. The engine then reads the topic to find the sent files, and to
detect a newer engine that has taken over the job.
"""

import hashlib
import json
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import define, evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.filesystems.staged_name import committable_id, owner
from seatunnel_core.connectors.kafka.cluster import EARLIEST, LATEST, LOOK_S, BackgroundErrors, Cluster
from seatunnel_core.connectors.kafka.reading import Range, messages
from seatunnel_core.connectors.staging.committed import staged_files
from seatunnel_core.connectors.staging.target import StagedFile, Target

TIMEOUT_MS = 600_000
"""Timeout after which brokers abort a transaction, in milliseconds. A transaction takes only a few seconds."""

_AT_ONCE = 300_000
"""Maximum number of messages in a transaction. A file is sent as a whole even if it contains more."""

MARKS = 10_000
"""Minimum number of records that the commit topic retains per engine."""

_PATIENCE_S = 60.0

_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class Mark:
    """Record of a transaction in the commit topic."""

    offset: int
    epoch: int
    files: tuple[str, ...]
    """Names of the sent files; empty for the first record of an engine."""


@define
class SendingEngine:
    """Producer and state of the process that publishes messages for a sink."""

    producer: Any
    background: BackgroundErrors
    sent: set[str]
    """Names of the files that were recorded as sent when the commit topic was read."""

    marks: list[Mark]
    own: deque[int] = field(factory=lambda: deque(maxlen=MARKS))
    """Offsets of this engine's most recent records."""

    count: int = 0
    """Number of transactions of this engine."""


@frozen(kw_only=True)
class Publishing:
    """Operations on the commit topic of a pipeline's sink, in the driver."""

    cluster: Cluster
    target: Target
    context: SinkContext
    prefix: str

    @property
    def who(self) -> str:
        """Pipeline and sink, for messages."""
        return f"pipeline {self.context.pipeline_id}, sink Kafka"

    @property
    def name(self) -> str:
        """Name of the commit topic, which is also the transactional ID."""
        key = f"{self.context.job_id}/{self.context.pipeline_id}/{self.context.sink_ordinal}"
        return f"{self.prefix}-commits-{hashlib.sha256(key.encode()).hexdigest()[:16]}"

    # -- ownership of the pipeline --------------------------------------------------------------------------------

    def make_topic(self) -> None:
        """Create the commit topic if it does not exist."""
        from confluent_kafka import KafkaError
        from confluent_kafka.admin import NewTopic

        if self.cluster.topic(self.name) is not None:
            return
        if self.context.prepared_in:
            raise SinkError(
                f"{self.who}: the topic {self.name}, which records the files that this job has sent, no longer "
                "exists: it was removed, or bootstrap.servers refers to other brokers. Check which rows were written, "
                "and start a new job"
            )
        if staged := self.target.staged(self.context.epoch):
            raise SinkError(
                f"{self.who}: the topic {self.name}, which records the sent files, no longer exists, and {staged} "
                f"files in {self.target.root} may or may not have been sent: check whether their rows were written, "
                "and start a new job"
            )
        admin = self.cluster.admin(BackgroundErrors())
        kept = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
        try:
            admin.create_topics([NewTopic(self.name, 1, -1, config=kept)])[self.name].result(3 * LOOK_S)
        except Exception as error:
            problem = error.args[0] if error.args else None
            if getattr(problem, "code", lambda: None)() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self.cluster.failed(SinkError, f"the topic {self.name} cannot be created", error) from None
        deadline = time.monotonic() + LOOK_S
        while self.cluster.topic(self.name) is None and time.monotonic() < deadline:
            time.sleep(0.05)

    def begin(self) -> SendingEngine:
        """Fence the previous engine, and read which files were sent. Raise CommitError if there is a newer engine."""
        from confluent_kafka import KafkaException

        if self.cluster.topic(self.name) is None:
            raise CommitError(
                f"{self.who}: the topic {self.name}, which records the sent files, no longer exists: the job has "
                "ended, or the topic was removed"
            )
        background = BackgroundErrors()
        settings = {"transactional.id": self.name, "transaction.timeout.ms": TIMEOUT_MS, "linger.ms": 20}
        producer = self.cluster.producer(background, **settings)
        try:
            producer.init_transactions(_PATIENCE_S)
        except KafkaException as error:
            raise self._failed("no transaction can be started", error, background) from None
        marks = list(self.marks())
        newest = max((mark.epoch for mark in marks), default=0)
        if newest > self.context.epoch:
            raise CommitError(
                f"{self.who}: another engine has taken over this job: its epoch is {newest}, and the epoch of this "
                f"engine is {self.context.epoch}"
            )
        engine = SendingEngine(producer, background, {name for mark in marks for name in mark.files}, marks)
        if newest < self.context.epoch:
            self._in_transaction(engine, [], ())
        return engine

    def marks(self) -> Iterator[Mark]:
        """Yield the committed records of the commit topic, in order."""
        settings = {key: value for key, value in self.cluster.settings.items() if key != "isolation.level"}
        cluster = evolve(self.cluster, settings=settings)
        place = (self.name, 0)
        first, end = (cluster.offsets([place], at)[place] for at in (EARLIEST, LATEST))
        if first == end:
            return
        wanted = Range(topic=self.name, partition=0, start=first, end=end)
        for some in messages(cluster, wanted, _PATIENCE_S):
            for message in some:
                try:
                    body = stored.parse(message.value())
                    files = tuple(stored.texts(body, "files"))
                    yield Mark(offset=message.offset(), epoch=stored.number(body, "epoch"), files=files)
                except StoredValueError as error:
                    raise CommitError(
                        f"{self.who}: the topic {self.name} has a record at offset {message.offset()} that "
                        f"this sink did not write: {error}"
                    ) from error

    def sent(self) -> set[str]:
        """Return the IDs of the committables that are recorded as sent, without fencing another engine."""
        if self.cluster.topic(self.name) is None:
            return set()
        units = (owner(name, self.context.job_id) for mark in self.marks() for name in mark.files)
        return {committable_id(unit) for unit in units if unit is not None}

    # -- sending --------------------------------------------------------------------------------------------------

    def commit(self, engine: SendingEngine, committables: Sequence[Committable], *, may_be_committed: bool) -> None:
        """Send the staged files that are not recorded as sent, and remove all staged files of the committables.

        Raises:
            CommitError: A file is missing or cannot be sent, or it is recorded as sent and ``may_be_committed`` is
                False.
        """
        self.target.require_for_commit(self.context.epoch)
        files = [file for committable in committables for file in staged_files(committable, self.target)]
        done, left = self._sorted(engine, files, may_be_committed=may_be_committed)
        self._discard(done)
        for group in _groups(left):
            self._in_transaction(engine, [path for _, path in group], [file.name for file, _ in group])
            self._discard(file for file, _ in group)

    def _sorted(
        self, engine: SendingEngine, files: Sequence[StagedFile], *, may_be_committed: bool
    ) -> tuple[list[StagedFile], list[tuple[StagedFile, str]]]:
        """Return the sent files, and the unsent files with their paths."""
        done: list[StagedFile] = []
        left: list[tuple[StagedFile, str]] = []
        for file in files:
            if file.name in engine.sent:
                if not may_be_committed:
                    raise CommitError(
                        f"{self.who}: {self.name} records that {file.name} was sent, but this job never committed "
                        "the file: another job may use the same ID"
                    )
                done.append(file)
            else:
                path = self.target.waiting(file.epoch, file.name, may_be_committed=False)
                assert path is not None
                left.append((file, path))
        return done, left

    def _discard(self, files: Any) -> None:
        for file in files:
            self.target.discard(file.epoch, file.name)

    def _in_transaction(self, engine: SendingEngine, paths: Sequence[str], names: Sequence[str]) -> None:
        from confluent_kafka import KafkaException

        producer, background = engine.producer, engine.background
        background.clear()
        mark = json.dumps({"epoch": self.context.epoch, "files": list(names)}).encode()
        try:
            producer.begin_transaction()
            for path in paths:
                for message in _staged(path):
                    _produce(producer, *message)
            _produce(producer, self.name, 0, None, mark, on_delivery=_noting(engine.own))
            producer.commit_transaction(TIMEOUT_MS / 1000)
            producer.poll(0)  # Delivers the offset of the record to ``engine.own``.
        except (KafkaException, OSError, pa.ArrowInvalid) as error:
            self._give_up(producer)
            raise self._failed("staged rows cannot be sent", error, background) from None
        self._trim(engine)

    def _give_up(self, producer: Any) -> None:
        """Try to abort the transaction. If this fails, the next call to ``begin`` aborts it."""
        from confluent_kafka import KafkaException

        try:
            producer.purge()
            producer.abort_transaction(5.0)
        except KafkaException as error:
            _log.debug("%s: a transaction could not be aborted; the brokers will abort it: %s", self.who, error)

    def _failed(self, what: str, error: BaseException, background: BackgroundErrors) -> CommitError:
        if isinstance(error, OSError | pa.ArrowInvalid):
            return CommitError(f"{self.who}: a staged file cannot be read: {error}")
        return self.cluster.failed(CommitError, f"{self.who}: {what}", error, background)

    # -- cleanup ------------------------------------------------------------------------------------------------------

    def sweep(self, engine: SendingEngine, keep: frozenset[str]) -> None:
        """Delete the records of sent files that no checkpoint refers to."""
        needed = [
            mark.offset
            for mark in engine.marks
            if any((unit := owner(name, self.context.job_id)) and committable_id(unit) in keep for name in mark.files)
        ]
        if engine.marks:
            self._forget_below(min([*needed, engine.marks[-1].offset]))

    def _trim(self, engine: SendingEngine) -> None:
        """Periodically delete old records, because an engine may run for months."""
        engine.count += 1
        if engine.count > MARKS and engine.count % (MARKS // 10) == 0:
            self._forget_below(engine.own[0])

    def _forget_below(self, offset: int) -> None:
        from confluent_kafka import TopicPartition

        admin = self.cluster.admin(BackgroundErrors())
        place = TopicPartition(self.name, 0, offset)
        try:
            admin.delete_records([place])[place].result(LOOK_S)
        except Exception as error:  # The remaining records only use space.
            _log.debug("%s: old records of sent files cannot be deleted: %s", self.who, error)

    def remove_topic(self) -> None:
        """Delete the commit topic after the end of the job has been recorded."""
        admin = self.cluster.admin(BackgroundErrors())
        try:
            admin.delete_topics([self.name])[self.name].result(LOOK_S)
        except Exception as error:
            _log.warning("%s: the topic %s is no longer needed, but cannot be removed: %s", self.who, self.name, error)


def _groups(left: Sequence[tuple[StagedFile, str]]) -> Iterator[list[tuple[StagedFile, str]]]:
    """Group files into transactions, in order. The number of messages limits the duration of a transaction."""
    group: list[tuple[StagedFile, str]] = []
    rows = 0
    for file, path in left:
        more = _count(path)
        if group and rows + more > _AT_ONCE:
            yield group
            group, rows = [], 0
        group.append((file, path))
        rows += more
    if group:
        yield group


def _count(path: str) -> int:
    """Return the number of messages in a file; 0 for an unreadable file, because sending it raises the error."""
    try:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            return sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))
    except (OSError, pa.ArrowInvalid):
        return 0


def _staged(path: str) -> Iterator[tuple[str, int, bytes | None, bytes | None]]:
    with pa.OSFile(path) as source, pa.ipc.open_file(source) as file:
        for number in range(file.num_record_batches):
            columns = [column.to_pylist() for column in file.get_batch(number).columns]
            yield from zip(*columns, strict=True)


def _produce(producer: Any, topic: str, partition: int, key: bytes | None, value: bytes | None, **more: Any) -> None:
    while True:
        try:
            producer.produce(topic, value, key, partition, **more)
            return
        except BufferError:
            producer.poll(0.1)


def _noting(places: deque[int]) -> Any:
    def delivered(error: Any, message: Any) -> None:
        if error is None:
            places.append(message.offset())

    return delivered
