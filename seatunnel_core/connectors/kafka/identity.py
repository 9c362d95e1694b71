"""Topic IDs. A topic that is deleted and recreated has a new ID and new offsets."""

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_core.connector_api.errors import ConnectorError, SourceChangedError, SourceError
from seatunnel_core.connectors.kafka.cluster import LOOK_S, BackgroundErrors, Cluster
from seatunnel_core.connectors.kafka.idle import Idle

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""ID of all topics on brokers before 2.8."""

_NOTE = "topic-id="
_idle: Idle[Any] = Idle(most=4)
"""Idle admin clients of this process, kept because opening a client takes longer than a query."""


def topic_ids(cluster: Cluster, topics: Iterable[str]) -> Mapping[str, str]:
    """Return the IDs of topics. Topics that do not exist or have no ID are omitted."""
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    names, background = sorted(set(topics)), BackgroundErrors()
    if not names:
        return {}
    admin = _idle.take(cluster) or cluster.admin(background)
    found = {}
    for name, future in admin.describe_topics(TopicCollection(names), request_timeout=LOOK_S).items():
        try:
            found[name] = str(future.result().topic_id)  # It ends with the request.
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise cluster.failed(
                    ConnectorError, f"the topic {name} cannot be described", error, background
                ) from None
    _idle.give_back(cluster, admin)
    return {name: found_id for name, found_id in found.items() if found_id != _NO_ID}


def require_same(cluster: Cluster, topic: str, expected: str | None, found: str | None, kept_in: str) -> None:
    """Raise SourceChangedError if the topic's ID differs from ``expected``, unless that is ``None``.

    ``found`` is ``None`` if the topic does not exist or the brokers have no IDs.
    """
    if expected is None or expected == found:
        return
    if found is None:
        gone = SourceError(f"{cluster.names}: topic {topic} with the ID {expected} no longer exists")
        gone.retryable = True  # A broker that has just started may not have its metadata yet.
        raise gone
    raise SourceChangedError(
        f"{cluster.names}: topic {topic} was deleted and created again: its ID was {expected} and is now "
        f"{found}. The offsets {kept_in} belong to the deleted topic. Start a new job with start_mode = "
        "earliest to read all messages of the new topic"
    )


def note_of(topic_id: str) -> str:
    """Return the metadata for a committed offset. It contains the topic ID."""
    return _NOTE + topic_id


def noted_id(metadata: str) -> str | None:
    """Return the topic ID in the metadata of a committed offset; ``None`` for metadata from other programs."""
    return metadata.removeprefix(_NOTE) if metadata.startswith(_NOTE) else None
