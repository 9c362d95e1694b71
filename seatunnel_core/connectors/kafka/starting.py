"""Start and end offsets of a job in each partition, according to ``start_mode`` and the brokers."""

import re
from collections.abc import Mapping, Sequence

from attrs import field, frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.kafka import options as opt
from seatunnel_core.connectors.kafka.cluster import EARLIEST, LATEST, Cluster, patiently
from seatunnel_core.connectors.kafka.identity import noted_id, require_same, topic_ids
from seatunnel_core.connectors.unused_options import without_effect

SHORTER_S = 10.0
"""Maximum time, in seconds, that a partition may end before a known offset, for example after a leader change."""

Place = tuple[str, int]
"""Topic name and partition number."""


@frozen(kw_only=True)
class Starting:
    """Topics of a source, and the offsets at which reading starts and ends."""

    cluster: Cluster
    topics: tuple[str, ...]
    """Names of the topics, or a single regular expression if ``pattern`` is true."""

    pattern: bool
    mode: str
    group: str
    reset: str | None
    """Value of ``auto.offset.reset``: the start offset of partitions for which the group has no offset."""

    timestamp_ms: int | None
    end_timestamp_ms: int | None
    offsets: Mapping[Place, int] = field(factory=dict)
    without_leader: bool = False
    """True to skip partitions without a leader."""

    committed: bool = True
    """True to read only messages of committed transactions."""

    @classmethod
    def of(cls, options: Options, cluster: Cluster) -> "Starting":
        """Return the settings in the options of a source. Raise UsageError if options contradict each other."""
        mode, config = options[opt.START], options[opt.CONFIG] or {}
        for needed, wanted in ((opt.START_TIMESTAMP, "timestamp"), (opt.START_OFFSETS, "specific_offsets")):
            if mode == wanted and not options.is_set(needed):
                raise UsageError(f"option {needed.key!r}: required with start_mode = {wanted}")
        reset = config.get("auto.offset.reset")
        if reset not in (None, "earliest", "latest", "none"):
            raise UsageError(
                f"option 'kafka.config': auto.offset.reset: expected earliest, latest or none, found {reset!r}"
            )
        pattern: bool = options[opt.PATTERN]
        written: str = options[opt.TOPIC]
        names = (written,) if pattern else tuple(each.strip() for each in written.split(",") if each.strip())
        if not names:
            raise UsageError("option 'topic': must not be empty")
        if pattern:
            try:
                re.compile(written)
            except re.error as error:
                raise UsageError(f"option 'topic': {written!r} is not a regular expression: {error}") from None
        return cls(
            cluster=cluster,
            topics=names,
            pattern=pattern,
            mode=mode,
            group=options[opt.GROUP],
            reset=reset,
            timestamp_ms=options[opt.START_TIMESTAMP],
            end_timestamp_ms=options[opt.END_TIMESTAMP],
            offsets=dict(map(_offset, (options[opt.START_OFFSETS] or {}).items())),
            without_leader=options[opt.NO_LEADER],
            committed=cluster.settings.get("isolation.level") != "read_uncommitted",
        )

    def places(self) -> list[Place]:
        """Return all partitions of the topics, sorted."""
        found = self.cluster.topics() if self.pattern else {name: self.cluster.topic(name) for name in self.topics}
        if self.pattern:
            expression = re.compile(self.topics[0])
            inside = {"__consumer_offsets", "__transaction_state"}
            found = {name: each for name, each in found.items() if expression.fullmatch(name) and name not in inside}
            if not found:
                raise SourceError(f"{self.cluster.names}: no topic name matches {self.topics[0]!r}")
        places = []
        for name, topic in sorted(found.items()):
            if topic is None:
                raise SourceError(
                    f"{self.cluster.names}: topic {name!r} does not exist; create it, or correct the option topic"
                )
            for number, partition in sorted(topic.partitions.items()):
                if partition.leader >= 0:
                    places.append((name, number))
                elif not self.without_leader:
                    raise _without_leader(self.cluster, name, number)
        return places

    # -- offsets --------------------------------------------------------------------------------------------------

    def starts(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the offset at which reading starts in each partition."""
        if self.mode == "earliest":
            return self.firsts(places)
        if self.mode == "latest":
            return self.ends(places)
        if self.mode == "timestamp":
            return self._from(places, self.timestamp_ms)
        firsts, ends = self.firsts(places), self.ends(places)
        asked = self.offsets if self.mode == "specific_offsets" else self._of_group(places, firsts, ends)
        return {place: self._checked(place, asked, firsts[place], ends[place]) for place in places}

    def firsts(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the first offset of each partition."""
        return self._asked(places, EARLIEST)

    def ends(self, places: Sequence[Place], *, opened: bool = False) -> dict[Place, int]:
        """Return the offset after each partition's last committed message, or last message if ``opened`` is True."""
        return self._asked(places, LATEST, committed=self.committed and not opened)

    def ends_behind(self, known: Mapping[Place, int]) -> dict[Place, int]:
        """Return each partition's end. Raise a retryable SourceError if it is before the known offset."""

        def asked() -> dict[Place, int]:
            ends = self.ends(list(known))
            for (topic, partition), at in known.items():
                if ends[topic, partition] < at:
                    raise _shorter(self.cluster, topic, partition, at, ends[topic, partition])
            return ends

        return patiently(asked, SHORTER_S)

    def last(self, places: Sequence[Place], *, opened: bool = False) -> dict[Place, int]:
        """Return the end offset (exclusive) of a batch job in each partition; ``opened`` includes open transactions."""
        committed = self.committed and not opened
        ends = self._asked(places, LATEST, committed=committed)
        if self.mode != "timestamp" or self.end_timestamp_ms is None:
            return ends
        found = self._asked(places, self.end_timestamp_ms, committed=committed)
        return {place: min(end, found[place]) if found[place] >= 0 else end for place, end in ends.items()}

    def unread(self, ends: Mapping[Place, int], opened: Mapping[Place, int]) -> list[str]:
        """Return a warning for each partition that has messages after the start of an open transaction.

        ``opened`` contains the ends including open transactions, requested before ``ends``.
        """
        return [
            (
                f"{self.cluster.names}: topic {topic}, partition {partition}: a producer has had an open transaction "
                f"since offset {end}. The job ends at this offset and does not read the offsets up to "
                f"{opened[topic, partition] - 1}. Run the job again when the transaction has ended"
            )
            for (topic, partition), end in sorted(ends.items())
            if end < opened[topic, partition]
        ]

    def unused(self, options: Options) -> tuple[str, ...]:
        """Return a warning for each option that belongs to another ``start_mode``."""
        timestamps = ((opt.START_TIMESTAMP, "timestamp"), (opt.END_TIMESTAMP, "timestamp"))
        modes = (*timestamps, (opt.START_OFFSETS, "specific_offsets"))
        needed = ((option, f"start_mode = {mode}, found {self.mode}", self.mode == mode) for option, mode in modes)
        return without_effect(options, *needed)

    def _from(self, places: Sequence[Place], moment_ms: int | None) -> dict[Place, int]:
        """Return the offset of the first message at or after a time, or the end of the partition if there is none."""
        found = self._asked(places, moment_ms or 0)
        late = [place for place, offset in found.items() if offset < 0]
        return {**found, **(self.ends(late) if late else {})}

    def _asked(self, places: Sequence[Place], at: str | int, *, committed: bool | None = None) -> dict[Place, int]:
        found = self.cluster.offsets(places, at, committed=self.committed if committed is None else committed)
        return {place: found[place] for place in places}

    def _of_group(
        self, places: Sequence[Place], firsts: Mapping[Place, int], ends: Mapping[Place, int]
    ) -> Mapping[Place, int]:
        """Return the group's offsets. If a partition has none, ``auto.offset.reset`` determines its offset."""
        committed = self.cluster.committed(self.group, places)
        found = {place: offset for place, (offset, _) in committed.items()}
        ids = topic_ids(self.cluster, (topic for topic, _ in found))
        for place in places:
            gone = place in found and not firsts[place] <= found[place] <= ends[place]
            if place in found:
                expected = noted_id(committed[place][1])
                if self.reset and expected not in (None, ids.get(place[0])):
                    gone = True
                else:
                    require_same(self.cluster, place[0], expected, ids.get(place[0]), f"of group {self.group}")
            if place in found and not (gone and self.reset):
                continue
            if self.reset == "none":
                raise SourceError(
                    f"{self.cluster.names}: the group {self.group} has no offset in topic {place[0]}, partition "
                    f"{place[1]}, and auto.offset.reset is none"
                )
            found[place] = ends[place] if self.reset == "latest" else firsts[place]
        return found

    def _checked(self, place: Place, asked: Mapping[Place, int], first: int, end: int) -> int:
        topic, partition = place
        if place not in asked:
            raise SourceError(
                f"option 'start_mode.offsets': no offset for topic {topic}, partition {partition}; write "
                f'"{topic}-{partition}" = {first} to start at the beginning, or = {end} for the end'
            )
        if not first <= asked[place] <= end:
            whose = f"of group {self.group}" if self.mode == "group_offsets" else "in start_mode.offsets"
            raise SourceError(
                f"{self.cluster.names}: topic {topic}, partition {partition}: the offset {asked[place]} {whose} "
                f"does not exist: the partition has the offsets {first} to {end - 1}; write another offset, or "
                "start_mode = earliest"
            )
        return asked[place]


def _offset(written: tuple[str, str]) -> tuple[Place, int]:
    name, value = written
    topic, _, partition = name.rpartition("-")
    if not topic or not partition.isdigit() or not value.isdigit():
        raise UsageError(
            f"option 'start_mode.offsets': {name} = {value} is not an offset; expected the form \"topic-0\" = 50"
        )
    return (topic, int(partition)), int(value)


def _shorter(cluster: Cluster, topic: str, partition: int, at: int, end: int) -> SourceError:
    error = SourceError(
        f"{cluster.names}: topic {topic}, partition {partition} ends at offset {end}, but the job has read it "
        f"up to {at}: its topic was created again, or brokers lost messages. Start a new job"
    )
    error.retryable = True
    return error


def _without_leader(cluster: Cluster, topic: str, partition: int) -> SourceError:
    error = SourceError(
        f"{cluster.names}: topic {topic}, partition {partition} has no leader; wait until its brokers are "
        "back, or set ignore_no_leader_partition = true"
    )
    error.retryable = True
    return error
