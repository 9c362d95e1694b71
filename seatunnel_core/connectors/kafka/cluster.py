"""Connections to the brokers: clients, queries by the driver, and error conversion."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from attrs import field, frozen

from seatunnel_core.connector_api.errors import ConnectorError, SourceError, UsageError
from seatunnel_core.connectors.kafka.settings import secrets
from seatunnel_storage_api.secret import masked

LOOK_S = 10.0
"""Maximum time to wait for unreachable brokers, in seconds."""

COMMIT_S = 30.0
"""Maximum time to wait for brokers when a group's offsets are committed, in seconds. A job's final commit is not
retried.
"""

_STEP_S = 1.0
_MARGIN_S = 5.0
"""Additional time to wait for a response, in seconds, so that the client reports its own timeout first."""

EARLIEST, LATEST = "earliest", "latest"
"""Special offsets: the first message of a partition, and the end of the partition."""

TASK_MODULES = ("confluent_kafka",)

E = TypeVar("E", bound=ConnectorError)
T = TypeVar("T")
_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class Cluster:
    """A Kafka cluster and the settings of its clients; picklable, without connections."""

    servers: str
    settings: Mapping[str, str] = field(repr=False)
    """Other librdkafka settings."""

    @property
    def names(self) -> str:
        """Name of the cluster, for messages."""
        return f"Kafka at {self.servers}"

    def hide(self, text: str) -> str:
        """Return a string with each secret replaced by ``***``."""
        return masked(text, secrets(self.settings))

    # -- clients --------------------------------------------------------------------------------------------------

    def consumer(self, background: "BackgroundErrors", **more: Any) -> Any:
        """Create a consumer that does not commit offsets; ``background`` collects errors of its background threads."""
        import confluent_kafka

        more = {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error", **more}
        return self._made(confluent_kafka.Consumer, {"group.id": "seatunnel", **more}, background)

    def producer(self, background: "BackgroundErrors", **more: Any) -> Any:
        """Create an idempotent producer; ``background`` collects errors of its background threads."""
        import confluent_kafka

        more = {"partitioner": "murmur2_random", "linger.ms": 20, "enable.idempotence": True, **more}
        return self._made(confluent_kafka.Producer, more, background)

    def admin(self, background: "BackgroundErrors") -> Any:
        """Create an admin client; ``background`` collects errors of its background threads."""
        from confluent_kafka.admin import AdminClient

        return self._made(AdminClient, {}, background)

    def _made(
        self, client: Callable[[Mapping[str, Any]], Any], ours: Mapping[str, Any], background: "BackgroundErrors"
    ) -> Any:
        import confluent_kafka

        try:
            return client(
                {
                    **_QUIET,
                    "logger": _log,
                    **ours,
                    **self.settings,
                    "bootstrap.servers": self.servers,
                    "error_cb": background.append,
                }
            )
        except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
            raise UsageError(f"option 'kafka.config': {self.hide(_reason(error))}") from None

    def failed(
        self, kind: Callable[[str], E], what: str, error: BaseException, background: "BackgroundErrors | None" = None
    ) -> E:
        """Convert a client's exception to an error of ``kind``, retryable if a retry may succeed.

        The most informative error in ``background`` is reported as the cause.
        """
        why = background.worst if background is not None and background.worst is not None else _error(error)
        reason = _reason(error) if why is None else _advice(why)
        found = kind(f"{self.names}: {what}: {self.hide(reason)}")
        found.retryable = why is not None and _may_pass(why)
        return found

    # -- queries of the driver ------------------------------------------------------------------------------------

    def topics(self) -> Mapping[str, Any]:
        """Return the metadata of all topics, by name."""
        import confluent_kafka

        background = BackgroundErrors()
        admin = self.admin(background)
        deadline = time.monotonic() + LOOK_S
        while True:
            try:
                found: Mapping[str, Any] = admin.list_topics(timeout=_STEP_S).topics
                return found
            except confluent_kafka.KafkaException as error:
                admin.poll(0)
                final = background.worst is not None and not _may_pass(background.worst)
                if final or time.monotonic() > deadline or not _may_pass(error.args[0]):
                    raise self.failed(ConnectorError, "the brokers cannot be reached", error, background) from None

    def topic(self, name: str) -> Any:
        """Return the metadata of a topic; ``None`` if it does not exist."""
        import confluent_kafka

        found = self.topics().get(name)  # of all topics, because some brokers create a topic that is requested by name
        if found is None or (
            found.error is not None and found.error.code() == confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART
        ):
            return None
        if found.error is not None:
            raise self.failed(
                ConnectorError, f"the topic {name} cannot be described", confluent_kafka.KafkaException(found.error)
            )
        return found

    def offsets(
        self, places: Iterable[tuple[str, int]], at: str | int, *, committed: bool = True
    ) -> dict[tuple[str, int], int]:
        """Return each partition's offset at ``EARLIEST``, ``LATEST`` or a time in ms since 1970; -1 if there is none.

        If ``committed`` is True, messages of open transactions are ignored.
        """
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        specs = {EARLIEST: OffsetSpec.earliest, LATEST: OffsetSpec.latest}
        spec = OffsetSpec.for_timestamp(at) if isinstance(at, int) else specs[at]()
        asked = {TopicPartition(*place): spec for place in places}
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

        def ask() -> dict[tuple[str, int], int]:
            admin = self.admin(BackgroundErrors())  # A new client, because pending requests end with it.
            futures = admin.list_offsets(asked, isolation_level=level, request_timeout=LOOK_S)
            return {
                (place.topic, place.partition): self._answer(future, f"the offsets of {place.topic}").offset
                for place, future in futures.items()
            }

        return patiently(ask) if asked else {}

    def has_messages(self, topic: str) -> bool:
        """Return True if a topic contains a message or a transaction marker."""
        found = self.topic(topic)
        places = [(topic, number) for number in ([] if found is None else found.partitions)]
        first, behind = (self.offsets(places, at) for at in (EARLIEST, LATEST))
        return any(behind[place] > first[place] for place in first)

    def committed(self, group: str, places: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], tuple[int, str]]:
        """Return the committed offsets of a group with their metadata. Retry while a new group has no coordinator."""
        from confluent_kafka import KafkaException, TopicPartition

        def ask() -> Mapping[tuple[str, int], tuple[int, str]]:
            with self._member(group, "read") as consumer:
                found = consumer.committed([TopicPartition(*place) for place in places], timeout=LOOK_S)
                for each in found:
                    if each.error is not None:
                        raise KafkaException(each.error)
            return {
                (each.topic, each.partition): (each.offset, each.metadata or "") for each in found if each.offset >= 0
            }

        return patiently(ask)

    def commit(
        self, group: str, offsets: Mapping[tuple[str, int], int], metadata: Mapping[str, str] | None = None
    ) -> None:
        """Commit offsets for a group, with metadata keyed by topic."""
        from confluent_kafka import TopicPartition

        notes = metadata or {}
        places = [TopicPartition(*place, offset, notes.get(place[0], "")) for place, offset in offsets.items()]

        def send() -> None:
            with self._member(group, "committed") as consumer:
                consumer.commit(offsets=places, asynchronous=False)

        patiently(send, COMMIT_S)

    @contextmanager
    def _member(self, group: str, done: str) -> Iterator[Any]:
        """Yield a consumer of a group, and convert its errors; ``done`` is the verb in error messages."""
        import confluent_kafka

        background = BackgroundErrors()
        consumer = self.consumer(background, **{"group.id": group})
        try:
            yield consumer
        except confluent_kafka.KafkaException as error:
            what = f"the offsets of group {group} cannot be {done}"
            raise self.failed(ConnectorError, what, error, background) from None
        finally:
            consumer.close()

    def setting(self, topic: str, name: str) -> str | None:
        """Return a setting of a topic; ``None`` if the brokers do not allow reading it."""
        from confluent_kafka.admin import ConfigResource

        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        admin = self.admin(BackgroundErrors())
        try:
            found = admin.describe_configs([resource], request_timeout=LOOK_S)[resource].result(LOOK_S)
            value: str = found[name].value
            return value
        except Exception as error:  # Reading may be denied, and only serves to report mistakes early.
            _log.debug("the setting %s of %s cannot be read: %s", name, topic, error)
            return None

    def _answer(self, future: "Future[Any]", what: str) -> Any:
        try:
            return future.result(LOOK_S + _MARGIN_S)
        except Exception as error:
            raise self.failed(ConnectorError, f"{what} cannot be read", error) from None


def patiently(ask: Callable[[], T], patience_s: float = LOOK_S) -> T:
    """Call a function, and retry for a limited time after temporary errors."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return ask()
        except ConnectorError as error:
            if not error.retryable or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


@contextmanager
def errors_of_source() -> Iterator[None]:
    """Convert errors from broker queries to SourceError."""
    try:
        yield
    except (SourceError, UsageError):
        raise
    except ConnectorError as error:
        found = SourceError(str(error))
        found.retryable = error.retryable
        raise found from error


class BackgroundErrors(list[Any]):
    """Errors from a client's background threads, in order."""

    @property
    def worst(self) -> Any:
        """Most informative error: the first permanent error, or else the last error with a reason."""
        final = [error for error in self if not _may_pass(error)]
        named = [error for error in self if error.name() not in ("_ALL_BROKERS_DOWN", "_TIMED_OUT")]
        return (final or named[-1:] or [None])[0]


_QUIET = {"log_level": 0, "log.connection.close": False, "client.id": "seatunnel"}

_PASSING = {
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_TIMED_OUT",
    "_RESOLVE",
    "_MSG_TIMED_OUT",
    "_TIMED_OUT_QUEUE",
    "_WAIT_COORD",
    "_IN_PROGRESS",
    "_PURGE_QUEUE",
    "_PURGE_INFLIGHT",
    "_STATE",
    "_FENCED",
    "_UNKNOWN_PARTITION",
    "_LEADER_NOT_AVAILABLE",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
    "REQUEST_TIMED_OUT",
    "BROKER_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE",
    "NETWORK_EXCEPTION",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "NOT_CONTROLLER",
    "KAFKA_STORAGE_ERROR",
    "CONCURRENT_TRANSACTIONS",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_PRODUCER_ID_MAPPING",
    "UNKNOWN_PRODUCER_ID",
    "PRODUCER_FENCED",
    "INVALID_TXN_STATE",
    "THROTTLING_QUOTA_EXCEEDED",
    "OFFSET_NOT_AVAILABLE",
    "UNSTABLE_OFFSET_COMMIT",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
}

_UNREACHABLE = "check bootstrap.servers and security.protocol in kafka.config, and that a broker is running"
_ADVICE = {
    "_RESOLVE": "check the host in bootstrap.servers",
    "_TRANSPORT": _UNREACHABLE,
    "_ALL_BROKERS_DOWN": _UNREACHABLE,
    "_AUTHENTICATION": "check sasl.mechanism, sasl.username and sasl.password in kafka.config",
    "SASL_AUTHENTICATION_FAILED": "check sasl.mechanism, sasl.username and sasl.password in kafka.config",
    "_SSL": "check security.protocol and ssl.ca.location in kafka.config",
    "TOPIC_AUTHORIZATION_FAILED": "this user lacks permission for the topic",
    "GROUP_AUTHORIZATION_FAILED": "this user lacks permission for consumer.group; use another group",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": (
        "this user lacks permission for transactional IDs that start with transaction_prefix"
    ),
    "CLUSTER_AUTHORIZATION_FAILED": "this user lacks permission",
    "MSG_SIZE_TOO_LARGE": "increase max.message.bytes of the topic and max.request.size in kafka.config",
    "INVALID_TRANSACTION_TIMEOUT": (
        "set transaction.timeout.ms in kafka.config to at most transaction.max.timeout.ms of the brokers"
    ),
}


def _may_pass(error: Any) -> bool:
    """Return True if a retry may succeed after a ``KafkaError``."""
    return bool(error.retriable()) or error.name() in _PASSING


def _error(error: BaseException) -> Any:
    """Return the ``KafkaError`` in a client's exception, or ``None``."""
    found = error.args[0] if error.args else None
    return found if hasattr(found, "retriable") else None


def _reason(error: BaseException) -> str:
    found = _error(error)
    return str(error) if found is None else found.str()


def _advice(error: Any) -> str:
    advice = _ADVICE.get(error.name())
    return f"{error.str()} ({error.name()})" + (f"; {advice}" if advice else "")
