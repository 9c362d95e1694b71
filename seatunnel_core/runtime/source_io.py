"""Blocking calls to the sources of a pipeline, which run on a pool's thread."""

import logging
from collections.abc import Sequence
from functools import partial

from attrs import Factory, evolve, field, frozen

from seatunnel_core.connector_api.capabilities import SupportsFacts, SupportsReread, SupportsRestoredSchemas
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    FrameSource,
    PlanningContext,
    PollCursor,
    PollResult,
    Source,
)
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSource
from seatunnel_core.runtime.acknowledging import Acknowledgements
from seatunnel_core.runtime.enumeration import freeze, thaw
from seatunnel_core.runtime.rereads import Reread
from seatunnel_core.runtime.source_progress import ProgressOfSources
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.failure import retried
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.parts import attachment_of, part_of, with_parts, without_parts
from seatunnel_core.work.split import Split
from seatunnel_storage_api.storage import CheckpointStorage


class KeptParts:
    """Storage for large parts of cursors that writes and reads each part only once.

    The parts of a source's last cursor are kept in memory. Only one thread at a time polls a source.
    """

    def __init__(self, storage: CheckpointStorage, job_id: str) -> None:
        self._storage = storage
        self._job_id = job_id
        self._held: dict[str, dict[bytes, str]] = {}
        """Digests of the durable parts, by source."""

    def whole(self, source: str, memory: PollCursor) -> DiscoveredObject:
        """Return a cursor from a checkpoint with its parts loaded; raise an error if one is missing or damaged."""
        by_digest = {digest: part for part, digest in self._held.get(source, {}).items()}
        named: dict[bytes, str] = {}

        def get(digest: str) -> bytes:
            part = by_digest.get(digest)
            if part is None:
                part = part_of(self._storage.get_attachment(self._job_id, digest))
            named[part] = digest
            return part

        found: DiscoveredObject = with_parts(memory, get)
        self._held[source] = named
        return found

    def stored(self, source: str, memory: PollCursor) -> DiscoveredObject:
        """Store the new parts of a cursor durably, and return the cursor with names in place of the parts."""
        held = self._held.get(source, {})
        named: dict[bytes, str] = {}

        def store(part: bytes) -> str:
            if part not in named:
                digest = held.get(part)
                named[part] = digest or self._storage.store_attachment(self._job_id, attachment_of(part))
            return named[part]

        kept: DiscoveredObject = without_parts(memory, store)
        self._held[source] = named
        return kept


_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class SourceIO:
    """Blocking calls to the sources of one pipeline."""

    job_id: str
    planned: PlannedPipeline
    storage: CheckpointStorage = field(repr=False)
    """Checkpoint storage, in which enumerations are stored as attachments."""

    backend: SparkBackend = field(repr=False)
    upstream: Acknowledgements = field(repr=False)
    _parts: KeptParts = field(
        init=False, repr=False, default=Factory(lambda self: KeptParts(self.storage, self.job_id), takes_self=True)
    )

    progress: ProgressOfSources = field(
        init=False, repr=False, default=Factory(lambda self: ProgressOfSources(self.planned), takes_self=True)
    )

    def __len__(self) -> int:
        return len(self.planned.sources)

    def is_limited(self, source_name: str) -> bool:
        """Return True if a rate limit applies to the source."""
        source = self.planned.source(source_name)
        return source.rows_per_second is not None or source.bytes_per_second is not None

    def discover(self, source_name: str) -> Sequence[DiscoveredObject]:
        """Return the objects that tasks must inspect before the source can be enumerated."""
        source = self.planned.source(source_name)
        return retried(lambda: source.source.discover(_planning(source)))

    def enumerate(
        self,
        source_name: str,
        attachment: str | None,
        items: Sequence[DiscoveredObject],
        cursor: PollCursor,
    ) -> tuple[Enumeration, str]:
        """Return the stored enumeration of a source and the name of its attachment (R12).

        Inspecting ``items`` needs Spark. If the source implements ``SupportsRestoredSchemas``, the schemas of a
        restored enumeration may differ from the stored ones.
        """
        source = self.planned.source(source_name)
        if attachment is not None:
            enumeration = thaw(self.storage.get_attachment(self.job_id, attachment))
            if cursor and isinstance(source.source, SupportsRestoredSchemas):
                whole = self._parts.whole(source_name, cursor)
                restored = partial(source.source.restored_schemas, whole, enumeration.schemas, job_id=self.job_id)
                enumeration = evolve(enumeration, schemas=tuple(retried(restored)))
            self.upstream.enumerated(source_name, enumeration.splits)
            return enumeration, attachment
        planning = _planning(source)
        inspected = self.backend.inspect(source.source, items, planning) if items else ()
        if isinstance(source.source, FrameSource):
            splits = (Split(index=0, weight_bytes=0, rows=1, body={}),)
            enumeration = Enumeration(schemas=(self.backend.source_schema(source.source),), splits=splits)
        else:
            enumeration = retried(lambda: source.source.enumerate(inspected, planning))
        self.upstream.enumerated(source_name, enumeration.splits)
        return enumeration, self.storage.store_attachment(self.job_id, freeze(enumeration))

    def open(self, source_name: str, *, restored: bool) -> None:
        """Let the source acquire the resources that its tasks share."""
        self.planned.source(source_name).source.open(restored=restored)

    @property
    def need_closing(self) -> bool:
        """True if a source has resources to release."""
        return any(type(each.source).close is not Source.close for each in self.planned.sources)

    def close(self) -> None:
        """Close the sources after the end of the pipeline."""
        for source in self.planned.sources:
            try:
                source.source.close()
            except Exception as error:
                _log.warning("source %r was not closed: %s", source.name, error)

    def poll(
        self, source_name: str, cursor: PollCursor, facts: Sequence[Fact], rereads: Sequence[Reread] = ()
    ) -> PollResult:
        """Poll an unbounded source from a cursor, and return the result once the parts of the new cursor are durable.

        Requests to read tables again are added to the cursor, unless it is empty because this is the first poll.

        Raises:
            SourceError: The restored state contains facts, but the source no longer implements ``SupportsFacts``.
        """
        source = self.planned.source(source_name)
        whole: PollCursor = self._parts.whole(source_name, cursor)
        if facts:
            if not isinstance(source.source, SupportsFacts):
                raise SourceError(
                    f"the checkpoint contains facts from readers of the source {source_name!r}, but "
                    f"{source.source.identifier} does not implement absorb: resume with the version of the "
                    "plugin that stored them"
                )
            whole = source.source.absorb(whole, facts)
        for reread in rereads if whole else ():
            assert isinstance(source.source, SupportsReread), "requests have such sources only"
            whole = reread.added(source.source, whole)
        planning = evolve(_planning(source), job_id=self.job_id, writes_directly=self.planned.writes_directly)
        polled = source.source.poll(whole, planning)
        return evolve(polled, cursor=self._parts.stored(source_name, polled.cursor))

    def splits_of(self, source_name: str, news: PollResult, next_index: int) -> tuple[Split, ...]:
        """Return the splits of new objects, numbered from ``next_index``. Inspecting objects needs Spark."""
        if not news.items:
            return ()
        source = self.planned.source(source_name)
        planning = _planning(source)
        items = self.backend.inspect(source.source, news.items, planning) if news.inspect else news.items
        found = source.source.enumerate(items, planning).splits
        return tuple(evolve(split, index=next_index + split.index) for split in found)


def _planning(source: PlannedSource) -> PlanningContext:
    return PlanningContext(
        parallelism=source.parallelism,
        rows_per_second=source.rows_per_second,
        bytes_per_second=source.bytes_per_second,
    )
