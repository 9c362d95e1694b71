"""The ``Kafka`` sink, which writes rows as messages to topics."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.capabilities import (
    SupportsDryRun,
    SupportsProbe,
    SupportsPublishedQuery,
    SupportsSaveMode,
)
from seatunnel_core.connector_api.errors import CommitError, ConnectorError, SinkError, UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.sink import Guarantee, SaveMode, SinkContext, SinkWriter, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.additions import AddingSink
from seatunnel_core.connectors.filesystems.local import absolute, local_path
from seatunnel_core.connectors.kafka import options as opt
from seatunnel_core.connectors.kafka.cluster import TASK_MODULES, Cluster
from seatunnel_core.connectors.kafka.encoding import COMPATIBLE, Encoder
from seatunnel_core.connectors.kafka.identity import topic_ids
from seatunnel_core.connectors.kafka.publishing import Publishing, SendingEngine
from seatunnel_core.connectors.kafka.settings import translated
from seatunnel_core.connectors.kafka.writer import DirectWriter, StagingWriter
from seatunnel_core.connectors.messages.options import DELIMITER, NULL_FORMAT
from seatunnel_core.connectors.staging.lost_table import require_same_table
from seatunnel_core.connectors.staging.target import Target

_COLUMN = re.compile(r"\$\{([^{}]+)\}")
_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,200}")
_LARGEST = 1_000_000
"""Default of librdkafka's ``message.max.bytes``."""


class KafkaSink(AddingSink, SupportsDryRun, SupportsProbe, SupportsPublishedQuery, SupportsSaveMode):
    """Sink that sends rows directly or, with ``semantics = EXACTLY_ONCE``, in transactions from staged files.

    Each transaction also records the sent files.
    """

    identifier: ClassVar[str] = "Kafka"
    isolates_bad_rows = True
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SINK_OPTIONS
    guarantee = Guarantee.EXACTLY_ONCE
    task_modules: tuple[str, ...] = TASK_MODULES
    example = """
        bootstrap.servers = "localhost:9092"
        topic = "people"
        format = json
        semantics = EXACTLY_ONCE
        staging_path = "/data/staging"
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._cluster = Cluster(servers=options[opt.SERVERS], settings=translated(options[opt.CONFIG] or {}))
        self._encoder = _encoder(options)
        self._stages = options[opt.SEMANTICS] == "EXACTLY_ONCE"
        self.root = _root(options) if self._stages else ""
        self._prefix: str = options[opt.PREFIX]
        if not _LEGAL.fullmatch(self._prefix):
            raise UsageError("option 'transaction_prefix': expected at most 200 letters, digits, dots, _ and -")
        if self._encoder.format == "avro":
            self.task_modules = (*TASK_MODULES, "fastavro")
        if not self._stages:
            self.guarantee = Guarantee.AT_LEAST_ONCE
            self.weakness = (
                "sends rows immediately; set semantics = EXACTLY_ONCE and staging_path to send each row once"
            )
        self._driver: _Driver | None = _Driver()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driver": None, "options": None}

    @property
    def target_folder(self) -> str | None:
        return self.root or None

    @property
    def bound_to(self) -> Mapping[str, str]:
        """Return the brokers, staging folder and commit topic prefix. Staged messages contain their topic."""
        where = written_options(self.options, opt.SERVERS, opt.SEMANTICS, opt.PREFIX)
        return {**where, opt.STAGING_PATH.key: self.root} if self._stages else where

    @property
    def save_mode(self) -> SaveMode | None:
        """Return ``None``: rows are only appended to topics, so nothing is removed."""
        return None

    def check_schema(self, schema: TableSchema) -> None:
        self._encoder.check(schema)

    # -- at the start ---------------------------------------------------------------------------------------------

    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        self._look()
        found = f"connected to the brokers at {self._cluster.servers}"
        return [found, "the write permission for the topic was not checked"]

    def prepare(self, context: SinkContext) -> None:
        """Check that the brokers accept the client and that the topic exists, before any row is read."""
        with self._errors_wrapped(context, SinkError):
            self._look()
            for topic, identity in self._encoder.topic_ids.items():
                who = f"pipeline {context.pipeline_id}, sink Kafka"
                require_same_table(context, who, topic, identity, what="topic")
            if self._stages:
                self._target(context).create(context)
                self._publishing(context).make_topic()
                self._of_driver.forget_older(context)
                self._engine(context)

    def _look(self) -> None:
        largest = int(self._cluster.settings.get("message.max.bytes", _LARGEST))
        if self._encoder.topic_column is not None:
            self._cluster.topics()
            self._encoder = evolve(self._encoder, largest={"": largest})
            return
        name = self._encoder.topic
        found = self._cluster.topic(name)
        if found is None:
            raise SinkError(
                f"{self._cluster.names}: topic {name!r} does not exist; create it, or correct the option topic"
            )
        partitions = len(found.partitions)
        if self._encoder.partition is not None and self._encoder.partition >= partitions:
            raise SinkError(
                f"option 'partition': topic {name} has {partitions} partitions, so the largest possible value is "
                f"{partitions - 1}"
            )
        if len(self._encoder.assigned) > partitions:
            raise SinkError(
                f"option 'assign_partitions': found {len(self._encoder.assigned)} strings, but topic {name} has "
                f"{partitions} partitions"
            )
        allowed = self._cluster.setting(name, "max.message.bytes")
        limit = min(largest, int(allowed)) if allowed is not None else largest
        ids = {name: topic_ids(self._cluster, [name]).get(name, "")}
        self._encoder = evolve(self._encoder, partitions={name: partitions}, largest={"": limit}, topic_ids=ids)

    def apply_save_mode(self, context: SinkContext) -> None:
        """Check whether the topic already contains messages. None are removed, because the job only appends."""
        if self._encoder.topic_column is None:
            with self._errors_wrapped(context, SinkError):
                found = self._cluster.has_messages(self._encoder.topic)
            self.adds_to = {"": f"the topic {self._encoder.topic}, which had messages"} if found else {}

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        for schema in schemas:
            with self._errors_wrapped(context, SinkError):
                self._encoder.check(schema)

    def probe(self, context: SinkContext, token: str) -> None:
        if self._stages:
            self._target(context).probe(context.epoch, token)

    def prove(self, context: SinkContext, token: str) -> None:
        if self._stages:
            self._target(context).prove(context.epoch, token)

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        if self._stages:
            return StagingWriter(self._target(context), self._cluster, self._encoder, context)
        return DirectWriter(f"pipeline {context.pipeline_id}, sink Kafka", self._cluster, self._encoder)

    # -- committing and sweeping ----------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        if not self._stages:
            return
        driver = self._of_driver
        with driver.lock, self._errors_wrapped(context, CommitError):
            if may_be_committed:
                driver.engines.pop(context, None)  # The commit topic is read again.
            try:
                self._publishing(context).commit(self._engine(context), committables, may_be_committed=may_be_committed)
            except BaseException:
                driver.engines.pop(context, None)
                raise

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        if not self._stages:
            return 0
        removed = self._target(context).sweep(context.epoch + final, keep)
        if not final:
            with self._of_driver.lock, self._errors_wrapped(context, SinkError):
                self._publishing(context).sweep(self._engine(context), keep)
        return removed

    def published(self, context: SinkContext) -> Iterable[str]:
        """Return the IDs of published committables. An earlier process may have staged messages."""
        with self._errors_wrapped(context, SinkError):
            return self._publishing(context).sent()

    def clear(self, context: SinkContext) -> None:
        if self._stages:
            self._of_driver.engines.pop(context, None)
            self._target(context).clear(context.epoch)
            self._publishing(context).remove_topic()

    def _engine(self, context: SinkContext) -> SendingEngine:
        engines = self._of_driver.engines
        if context not in engines:
            engines[context] = self._publishing(context).begin()
        return engines[context]

    def _publishing(self, context: SinkContext) -> Publishing:
        return Publishing(cluster=self._cluster, target=self._target(context), context=context, prefix=self._prefix)

    def _target(self, context: SinkContext | WriterContext) -> Target:
        return Target.of(self.root, context, self.identifier)

    @property
    def _of_driver(self) -> "_Driver":
        assert self._driver is not None, "internal error: a task used state of the driver"
        return self._driver

    @contextmanager
    def _errors_wrapped(self, context: SinkContext, kind: Callable[[str], SinkError]) -> Iterator[None]:
        who = f"pipeline {context.pipeline_id}, sink Kafka"
        try:
            yield
        except UsageError:
            raise
        except ConnectorError as error:
            if isinstance(error, SinkError) and who in str(error):
                raise
            found = kind(f"{who}: {error}")
            found.retryable = error.retryable
            raise found from error


class _Driver:
    """State in the driver's process, shared by its threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.engines: dict[SinkContext, SendingEngine] = {}
        """Producer for each pipeline and epoch."""

    def forget_older(self, context: SinkContext) -> None:
        """Close the producers of earlier epochs, because the next producer fences them."""
        with self.lock:
            for each in [each for each in self.engines if evolve(each, epoch=context.epoch) == context]:
                del self.engines[each]


def _encoder(options: Options) -> Encoder:
    format = options[opt.FORMAT].replace("-", "_")
    if format in opt.REFUSED and format != COMPATIBLE:
        raise UsageError(f"option 'format': {format} is not supported; use json, text, avro or debezium_json")
    topic: str = options[opt.SINK_TOPIC]
    column = _COLUMN.fullmatch(topic)
    if column is None and not _LEGAL.fullmatch(topic):
        raise UsageError(
            f"option 'topic': {topic!r} is not a topic name; use letters, digits, dots, _ and -, or write only "
            "${column} to take the topic from a column"
        )
    if options[opt.PARTITION] is not None and options[opt.ASSIGN]:
        raise UsageError("option 'assign_partitions': cannot be combined with partition; remove one of the two")
    if format == COMPATIBLE and options[opt.KEY_FIELDS]:
        raise UsageError(
            f"option 'partition_key_fields': cannot be combined with format = {COMPATIBLE}, which takes the key of "
            "a message from the column key; remove it"
        )
    return Encoder(
        topic="" if column else topic,
        topic_column=column[1] if column else None,
        format=format,
        delimiter=options[DELIMITER],
        null=options[NULL_FORMAT] or "",
        key_columns=options[opt.KEY_FIELDS] or (),
        partition=options[opt.PARTITION],
        assigned=options[opt.ASSIGN] or (),
    )


def _root(options: Options) -> str:
    written = options[opt.STAGING_PATH]
    if not written:
        raise UsageError(
            "option 'staging_path': required with semantics = EXACTLY_ONCE. Set a folder shared by the driver and all "
            "workers; it holds rows until their checkpoint completes"
        )
    return absolute(local_path(written))
