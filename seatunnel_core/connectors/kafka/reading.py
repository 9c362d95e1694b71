"""Reading of an offset range of a partition. Repeated reads of a range return the same messages."""

import time
from collections.abc import Generator, Iterator
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.kafka.cluster import LATEST, BackgroundErrors, Cluster, errors_of_source, patiently
from seatunnel_core.connectors.kafka.identity import require_same, topic_ids
from seatunnel_core.connectors.kafka.idle import Idle

_AT_ONCE = 5_000
"""Maximum number of messages to request from the client at a time."""

_WAIT_S = 0.25
_MOST_IDLE = 8
"""Maximum number of idle consumers to keep for later ranges."""


@frozen(kw_only=True)
class Range:
    """Offset range of a partition: from ``start`` (inclusive) to ``end`` (exclusive).

    Transaction markers and compacted offsets have no message.
    """

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str | None = None
    """ID of the topic to which the offsets belong; ``None`` if the brokers or an older checkpoint have no IDs."""

    def __str__(self) -> str:
        return f"topic {self.topic}, partition {self.partition}, offsets {self.start} to {self.end - 1}"


_Consumer = tuple[Any, BackgroundErrors]
"""A consumer with the errors of its background threads."""

_READING = {"queued.max.messages.kbytes": 16_384, "fetch.wait.max.ms": 100, "fetch.error.backoff.ms": 100}
_idle: Idle[_Consumer] = Idle(most=_MOST_IDLE)


def _opened(cluster: Cluster) -> _Consumer:
    found = _idle.take(cluster)
    if found is None:
        background = BackgroundErrors()
        return cluster.consumer(background, **_READING), background
    found[1].clear()
    return found


def _released(cluster: Cluster, consumer: Any, background: BackgroundErrors) -> None:
    """Return a consumer to the pool after it has read its range."""
    consumer.unassign()
    dropped = _idle.give_back(cluster, (consumer, background))
    if dropped is not None:
        dropped[0].close()


def messages(cluster: Cluster, wanted: Range, patience_s: float) -> Generator[list[Any], None, None]:
    """Yield lists of the messages of a range, in order; ``patience_s`` limits the wait for the next message.

    Raises:
        SourceChangedError: The first offsets of the range no longer exist.
        SourceError: The messages cannot be read; retryable if a retry may succeed.
    """
    _require_topic(cluster, wanted, patience_s)
    consumer, background = _opened(cluster)
    done = False
    try:
        yield from _read(cluster, consumer, background, wanted, patience_s)
        _require_topic(cluster, wanted, patience_s)  # Checked again, so that all messages are from this topic.
        done = True
    finally:
        if done:
            _released(cluster, consumer, background)
        else:
            consumer.close()


def _require_topic(cluster: Cluster, wanted: Range, patience_s: float) -> None:
    """Raise SourceChangedError if the topic's ID differs from the ID in the range."""
    if wanted.topic_id is None:
        return
    with errors_of_source():
        found = patiently(lambda: topic_ids(cluster, [wanted.topic]), patience_s)
    require_same(cluster, wanted.topic, wanted.topic_id, found.get(wanted.topic), "of the job")


def _read(
    cluster: Cluster, consumer: Any, background: BackgroundErrors, wanted: Range, patience_s: float
) -> Iterator[list[Any]]:
    from confluent_kafka import KafkaException, TopicPartition

    at = wanted.start
    try:
        consumer.assign([TopicPartition(wanted.topic, wanted.partition, at)])
    except KafkaException as error:
        raise cluster.failed(SourceError, f"{wanted} cannot be read", error, background) from None
    deadline = time.monotonic() + patience_s
    while at < wanted.end:
        some = consumer.consume(min(_AT_ONCE, wanted.end - at), _WAIT_S)
        found = []
        for message in some:
            problem = message.error()
            if problem is None and message.offset() < wanted.end:
                found.append(message)
            elif problem is not None:
                _look(cluster, wanted, problem)
            at = max(at, _next(message, problem))
        if found:
            yield found
        if some and (found or at >= wanted.end):
            deadline = time.monotonic() + patience_s
        elif time.monotonic() > deadline:
            _require_end(cluster, wanted)
            raise _late(cluster, wanted, at, background)


def _next(message: Any, error: Any) -> int:
    """Return the offset after a message, or the current end of the partition for an end-of-partition event."""
    from confluent_kafka import KafkaError

    if error is None:
        return int(message.offset()) + 1
    return int(message.offset() or 0) if error.code() == KafkaError._PARTITION_EOF else 0


def _look(cluster: Cluster, wanted: Range, error: Any) -> None:
    """Raise the error that the consumer returned instead of a message, unless reading can continue."""
    from confluent_kafka import KafkaError, KafkaException

    if error.code() == KafkaError._PARTITION_EOF:
        return
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        raise SourceChangedError(
            f"{cluster.names}: {wanted}: some offsets no longer exist: the topic's retention removed them, or the "
            "topic was created again. Start a new job. To prevent this error, set the topic's retention to more "
            "than the longest time for which you stop a job"
        )
    found = cluster.failed(SourceError, f"{wanted} cannot be read", KafkaException(error))
    if not found.retryable:
        raise found


def _require_end(cluster: Cluster, wanted: Range) -> None:
    """Raise SourceChangedError if the partition ends before the range."""
    place = (wanted.topic, wanted.partition)
    with errors_of_source():
        end = cluster.offsets([place], LATEST, committed=False)[place]
    if end < wanted.end:
        raise SourceChangedError(
            f"{cluster.names}: {wanted}: the partition now ends at offset {end}: its topic was created again, "
            "or brokers lost messages. Start a new job"
        )


def _late(cluster: Cluster, wanted: Range, at: int, background: BackgroundErrors) -> SourceError:
    from confluent_kafka import KafkaException

    if background.worst is not None:
        found = cluster.failed(SourceError, f"{wanted} cannot be read", KafkaException(background.worst), background)
    else:
        found = SourceError(
            f"{cluster.names}: {wanted}: no message after offset {at - 1} arrived within poll.timeout; the broker is "
            "slow, or the partition has an open transaction"
        )
        found.retryable = True
    return found
