"""The ids of topics: a topic that is deleted and created again has another one, and offsets of its own."""

from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_core.connector_api.errors import ConnectorError, SourceChangedError, SourceError
from seatunnel_core.connectors.kafka.cluster import LOOK_S, BackgroundErrors, Cluster
from seatunnel_core.connectors.kafka.idle import Idle

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id that brokers before 2.8 give each topic."""

_NOTE = "topic-id="
_idle: Idle[Any] = Idle(most=4)
"""The admin clients of this process: opening one takes longer than a query."""


def topic_ids(cluster: Cluster, topics: Iterable[str]) -> Mapping[str, str]:
    """Return the ids of topics; without those that do not exist, or whose brokers have no ids.

    Raises:
        ConnectorError: The brokers cannot be reached, or reject the client.
    """
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    names, background = sorted(set(topics)), BackgroundErrors()
    if not names:
        return {}
    admin = _idle.take(cluster) or cluster.admin(background)
    found = {}
    for name, future in admin.describe_topics(TopicCollection(names), request_timeout=LOOK_S).items():
        try:
            found[name] = str(future.result().topic_id)  # ends with the request
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise cluster.failed(ConnectorError, f"the topic {name} cannot be seen", error, background) from None
    _idle.give_back(cluster, admin)
    return {name: found_id for name, found_id in found.items() if found_id != _NO_ID}


def require_same(cluster: Cluster, topic: str, expected: str | None, found: str | None, kept_in: str) -> None:
    """Raise ``SourceChangedError`` if the topic has another id than the one the offsets belong to.

    Args:
        cluster: The brokers.
        topic: The name.
        expected: The id of the topic that the offsets belong to; ``None`` where it is not known.
        found: The id that the topic has now; ``None`` when it does not exist, or its brokers have no ids.
        kept_in: What has the offsets, for the message.
    """
    if expected is None or expected == found:
        return
    if found is None:
        gone = SourceError(f"{cluster.names}: topic {topic} with the id {expected} does not exist any more")
        gone.retryable = True  # a broker that has just started may not know it yet
        raise gone
    raise SourceChangedError(
        f"{cluster.names}: topic {topic} was deleted and created again: its id was {expected} and is {found} now. The "
        f"offsets {kept_in} belong to the deleted topic. Start a new job with start_mode = earliest to read all "
        "messages of the topic as it is now"
    )


def note_of(topic_id: str) -> str:
    """Return the metadata of a committed offset that names its topic."""
    return _NOTE + topic_id


def noted_id(metadata: str) -> str | None:
    """Return the id in the metadata of a committed offset; ``None`` for metadata of other programs."""
    return metadata.removeprefix(_NOTE) if metadata.startswith(_NOTE) else None
