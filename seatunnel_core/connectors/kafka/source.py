"""The ``Kafka`` source, which divides the messages of topics into ranges of offsets."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from operator import methodcaller
from typing import Any, ClassVar

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError, UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.kafka import options as opt
from seatunnel_core.connectors.kafka.cluster import TASK_MODULES, Cluster, errors_of_source
from seatunnel_core.connectors.kafka.identity import note_of, require_same, topic_ids
from seatunnel_core.connectors.kafka.open_transactions import OpenTransactions
from seatunnel_core.connectors.kafka.reading import Range, messages
from seatunnel_core.connectors.kafka.settings import WITHOUT_EFFECT, translated
from seatunnel_core.connectors.kafka.starting import Place, Starting
from seatunnel_core.connectors.messages.changes import CHANGES
from seatunnel_core.connectors.messages.decoding import Decoder, declared_or_content
from seatunnel_core.connectors.messages.options import DELIMITER, EMPTY_VALUE, NULL_FORMAT, TABLE_FILTER
from seatunnel_core.connectors.messages.sampling import Sampling
from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.schema_text import schema_from_text, schema_to_text

MOST_OFFSETS = 100_000

LEAST_OFFSETS = 1_000
"""Minimum number of offsets for which a partition is divided, unless there is a rate limit."""

MOST_RANGES = 1_000
"""Maximum number of ranges in a poll. Checkpoints contain these ranges until they are read."""

LOOK_MS = 300
_MESSAGE_BYTES = 300
"""Estimated size of a message in bytes. The weight of a split only affects how splits are grouped into work units."""

_log = logging.getLogger(__name__)


class KafkaSource(Source):
    """Source that reads topics: a batch job up to the offsets at its start, a streaming job continuously."""

    identifier: ClassVar[str] = "Kafka"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SOURCE_OPTIONS
    task_modules: tuple[str, ...] = TASK_MODULES
    waits = False
    ordered = True
    beside_tables = frozenset({opt.SERVERS.key, opt.CONFIG.key})
    caveat = (
        "Exception: messages removed by compaction are not read again, and messages that expire while the job is "
        "stopped cause an error"
    )
    example = """
        bootstrap.servers = "localhost:9092"
        topic = "people"
        start_mode = earliest
        format = json
        schema { fields { id = bigint, name = string } }
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        written = options[opt.CONFIG] or {}
        self._cluster = Cluster(servers=options[opt.SERVERS], settings=translated(written))
        self._starting = Starting.of(options, self._cluster)
        self.remarks = self._starting.unused(options)
        self._decoder = _decoder(options, self._starting)
        self._sampling = Sampling.of(options, self._decoder, _identity)
        self._schema: TableSchema = self._decoder.schema
        self.acknowledges = options[opt.COMMIT]
        self._open_transactions = OpenTransactions(self._starting)
        self._committed: dict[Place, int] = {}
        """Offsets last committed for the group."""

        self._patience_s: float = options[opt.POLL] / 1000
        if self._decoder.format == "avro":
            self.task_modules = (*TASK_MODULES, "fastavro")
        for key in sorted(WITHOUT_EFFECT & set(written) - _USED):
            _log.warning("the source Kafka: %s in kafka.config has no effect in a source", key)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "options": None}

    @classmethod
    def tables(cls, options: Options) -> Sequence[Options]:
        """Return the options of each table. Servers and ``kafka.config`` are shared; the table name is the topic."""
        entries = []
        for entry in super().tables(options):
            own = {key: entry[key] for key in entry if entry.is_set(key)}
            if opt.SERVERS.key not in own:
                raise UsageError("option 'bootstrap.servers' is missing; set it outside tables_configs")
            if opt.TOPIC.key not in own:
                raise UsageError("option 'tables_configs': an entry has no topic")
            schema = own.get(opt.SCHEMA_BLOCK.key) or {}
            own[opt.SCHEMA_BLOCK.key] = {"table": own[opt.TOPIC.key], **schema}
            entries.append(Options(own, opt.SOURCE_OPTIONS))
        return entries

    def run_in(self, *, streaming: bool) -> None:
        self.bounded = not streaming
        if streaming and self._sampling is not None:
            raise UsageError(
                "option 'schema_sample': a streaming job requires declared columns: schema { fields { id = "
                "bigint } }; or set job.mode = BATCH"
            )

    # -- planning -------------------------------------------------------------------------------------------------

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        """Return the declared schema. The brokers are also queried, so that ``--check`` reports their errors."""
        self.require_input()
        return (self._schema,) if self._sampling is None else None

    def planned_reading(self) -> Sequence[str]:
        return () if self._sampling is None else (f"the columns are inferred from the {self._sampling.looked_at}",)

    def require_input(self) -> None:
        with errors_of_source():
            self._starting.starts(self._starting.places())

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        """Return the partitions with the offsets to read, for inferring columns from their first messages."""
        if self._sampling is None:
            return ()
        bounds, ids = self._bounds()
        ranges = (
            Range(topic=topic, partition=partition, start=start, end=end, topic_id=ids.get(topic))
            for (topic, partition), (start, end) in sorted(bounds.items())
            if start < end
        )
        return tuple(map(_body, ranges))

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        assert self._sampling is not None
        with closing(messages(self._cluster, _range(item), self._patience_s)) as found:
            return {**item, "shape": self._sampling.shape(found).body()}

    def _bounds(self) -> tuple[dict[Place, tuple[int, int]], Mapping[str, str]]:
        """Return the start and end offsets of a batch job in each partition, and the topic IDs."""
        with errors_of_source():
            places = self._starting.places()
            ids = topic_ids(self._cluster, (topic for topic, _ in places))
            starts, opened = self._starting.starts(places), self._starting.last(places, opened=True)
            ends = self._starting.last(places)
            for warning in self._starting.unread(ends, opened):
                _log.warning("%s", warning)
        return {place: (starts[place], ends[place]) for place in places}, ids

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        if self._sampling is not None:
            return self._of_sample(self._sampling, inspected, planning)
        ranges = _divided(*self._bounds(), planning) if self.bounded else [_range(item) for item in inspected]
        return Enumeration(schemas=(self._schema,), splits=_splits(ranges, {}))

    def _of_sample(
        self, sampling: Sampling, inspected: Sequence[DiscoveredObject], planning: PlanningContext
    ) -> Enumeration:
        shape = Shape()
        for item in inspected:
            shape.unite(Shape.of(stored.below(item, "shape")))
        columns = shape.columns()
        if not columns.names:
            _log.warning("no fields found in the messages of %s, so no rows are read", ", ".join(self._starting.topics))
            return Enumeration(schemas=(), splits=())
        whole = [_range(item) for item in inspected]
        ids = {each.topic: each.topic_id for each in whole if each.topic_id is not None}
        ranges = _divided({(each.topic, each.partition): (each.start, each.end) for each in whole}, ids, planning)
        schemas = sampling.tables(sampling.with_columns(self._schema, columns))
        return Enumeration(schemas=schemas, splits=_splits(ranges, {"columns": schema_to_text(columns)}))

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        now_ms = int(time.time() * 1000)
        with errors_of_source():
            known, listed_ms = _known(cursor) if cursor else ({}, now_ms)
            new: list[Place] = []
            if not cursor:
                new = self._starting.places()
            elif self._discovers and abs(now_ms - listed_ms) >= self.options[opt.DISCOVERY]:
                new, listed_ms = [place for place in self._starting.places() if place not in known], now_ms
            ids = self._same_topics(known, new, cursor)  # Reading cannot detect offsets that are older than the ID.
            known = {**known, **(self._starting.firsts(new) if cursor else self._starting.starts(new))}
            ends = self._starting.ends_behind(known)
            for warning in self._open_transactions.warnings(known, ends):
                _log.warning("%s", warning)
        ranges = _divided({place: (start, ends[place]) for place, start in known.items()}, ids, planning)
        taken = ranges[:MOST_RANGES]
        known = {**known, **{(each.topic, each.partition): each.end for each in taken}}
        again_ms = 0 if len(ranges) > len(taken) else LOOK_MS
        cursor = _remembered(known, ids, listed_ms)
        return PollResult(items=tuple(map(_body, taken)), cursor=cursor, again_ms=again_ms)

    def _same_topics(self, known: Mapping[Place, int], new: Sequence[Place], memory: PollCursor) -> Mapping[str, str]:
        """Return the IDs of all topics. Raise SourceChangedError if the ID of a known topic has changed."""
        ids = topic_ids(self._cluster, (topic for topic, _ in (*known, *new)))
        for topic, expected in _known_ids(memory).items():
            require_same(self._cluster, topic, expected, ids.get(topic), "of the checkpoint")
        return ids

    def require_readable(self, cursor: PollCursor, unread: Sequence[Split]) -> None:
        """Raise SourceChangedError if a topic was recreated, or messages after the cursor were removed."""
        known, _ = _known(cursor)
        for each in (_range(split.body) for split in unread):
            known[each.topic, each.partition] = min(known.get((each.topic, each.partition), each.start), each.start)
        with errors_of_source():
            self._same_topics(known, (), cursor)
            firsts = self._starting.firsts(list(known))
        for place, offset in known.items():
            if offset < firsts[place]:
                topic, partition = place
                raise SourceChangedError(
                    f"{self._cluster.names}: topic {topic}, partition {partition} begins at offset {firsts[place]}, "
                    f"but the checkpoint continues at {offset}: the topic's retention removed the messages between "
                    "them"
                )

    def acknowledge(self, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        """Commit the offset at which each partition resumes: the start of its first unpublished range, or its end."""
        offsets: dict[Place, int] = _known(cursor)[0] if cursor else {}
        ids = _known_ids(cursor)
        for each in (_range(split.body) for split in planned):
            place = (each.topic, each.partition)
            ids |= {} if each.topic_id is None else {each.topic: each.topic_id}
            offsets[place] = max(offsets.get(place, 0), each.end)
        for each in (_range(split.body) for split in unread):
            place = (each.topic, each.partition)
            offsets[place] = min(offsets.get(place, each.start), each.start)
        changed = {place: offset for place, offset in offsets.items() if self._committed.get(place) != offset}
        if changed:
            with errors_of_source():
                notes = {topic: note_of(each) for topic, each in ids.items()}
                self._cluster.commit(self._starting.group, changed, notes)
            self._committed.update(changed)

    @property
    def _discovers(self) -> bool:
        return bool(self.options[opt.DISCOVERY] > 0)

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        found = messages(self._cluster, _range(split.body), self._patience_s)
        if self._sampling is None:
            for some in found:
                yield from self._decoder.batches(some, context)
            return
        columns = schema_from_text(stored.text(split.body, "columns"))
        schema = self._sampling.with_columns(self._schema, columns)
        for some in found:
            yield from self._sampling.batches(schema, some, context)

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [str(_range(split.body)) for split in splits]


_USED = {"auto.offset.reset", "enable.auto.commit", "max.poll.records"}
"""Settings from the examples in SeaTunnel's documentation, for which no warning is logged."""


def _decoder(options: Options, starting: Starting) -> Decoder:
    format = options[opt.FORMAT].replace("-", "_")
    if format in opt.REFUSED:
        raise UsageError(f"option 'format': {format} is not supported; use json, text, avro or {', '.join(CHANGES)}")
    alone = starting.topics[0] if len(starting.topics) == 1 and not starting.pattern else None
    schema, declared = declared_or_content(options, alone)
    if not declared and format not in ("json", "text"):
        raise UsageError(
            f"option 'schema': required for format = {format}; write schema {{ fields {{ id = bigint }} }}"
        )
    table_filter = {key: str(value) for key, value in (options[TABLE_FILTER] or {}).items() if value is not None}
    if unknown := set(table_filter) - {"database_name", "schema_name", "table_name"}:
        raise UsageError(f"option 'debezium_record_table_filter': unknown key {sorted(unknown)[0]}")
    nulls = (options[NULL_FORMAT], "" if options[EMPTY_VALUE] == "NULL" else None)
    return Decoder(
        schema=schema,
        format=format,
        declared=declared,
        delimiter=options[DELIMITER],
        nulls=tuple(each for each in nulls if each is not None),
        ragged=not options.is_set(opt.ROW_ERRORS),
        table_filter=table_filter,
        value_of=methodcaller("value"),
        place=_where,
    )


def _identity(message: Any) -> tuple[str, int, int]:
    return message.topic(), message.partition(), message.offset()


def _where(message: Any) -> str:
    return "topic {}, partition {}, offset {}".format(*_identity(message))


def _divided(bounds: Mapping[Place, tuple[int, int]], ids: Mapping[str, str], planning: PlanningContext) -> list[Range]:
    """Divide partitions into ranges, which are in order within each partition and alternate between partitions."""
    total = sum(end - start for start, end in bounds.values())
    size = min(max(total // (planning.parallelism * 4), LEAST_OFFSETS), MOST_OFFSETS)
    if planning.rows_per_second:
        size = min(size, planning.rows_per_second)
    if planning.bytes_per_second:
        size = min(size, max(1, planning.bytes_per_second // _MESSAGE_BYTES))
    pieces = [
        [
            Range(topic=topic, partition=partition, start=at, end=min(at + size, end), topic_id=ids.get(topic))
            for at in range(start, end, size)
        ]
        for (topic, partition), (start, end) in sorted(bounds.items())
    ]
    return [each for turn in zip_longest(*pieces) for each in turn if each is not None]


def _splits(ranges: Sequence[Range], more: Mapping[str, str]) -> tuple[Split, ...]:
    return tuple(
        Split(
            index=index,
            weight_bytes=(each.end - each.start) * _MESSAGE_BYTES,
            rows=each.end - each.start,
            body={**_body(each), **more},
            ordering_key=f"{each.topic}/{each.partition}",
        )
        for index, each in enumerate(ranges)
    )


def _body(of: Range) -> dict[str, Any]:
    found = {"topic": of.topic, "partition": of.partition, "start": of.start, "end": of.end}
    return found if of.topic_id is None else {**found, "topic_id": of.topic_id}


def _range(body: DiscoveredObject) -> Range:
    start = stored.number(body, "start")
    return Range(
        topic=stored.text(body, "topic"),
        partition=stored.number(body, "partition"),
        start=start,
        end=stored.number(body, "end", least=start + 1),
        topic_id=stored.text(body, "topic_id") if "topic_id" in body else None,
    )


def _known(memory: PollCursor) -> tuple[dict[Place, int], int]:
    """Return the next offset of each partition, and the time when the partitions were last listed."""
    topics = stored.below(memory, "topics")
    known = {}
    for topic in topics:
        offsets = stored.below(topics, topic)
        for partition in offsets:
            if not partition.isdigit():
                raise SourceError(f"the cursor of topic {topic} contains an invalid partition {partition!r}")
            known[topic, int(partition)] = stored.number(offsets, partition)
    return known, stored.number(memory, "listed_ms")


def _known_ids(memory: PollCursor) -> dict[str, str]:
    """Return the topic IDs; empty for a checkpoint of an older version."""
    ids = stored.below(memory, "ids") if "ids" in memory else {}
    return {topic: stored.text(ids, topic) for topic in ids}


def _remembered(known: Mapping[Place, int], ids: Mapping[str, str], listed_ms: int) -> PollCursor:
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(known.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return {"topics": topics, "ids": dict(sorted(ids.items())), "listed_ms": listed_ms}
