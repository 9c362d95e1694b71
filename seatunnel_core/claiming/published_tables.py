"""Tables to which a restored job has published rows, by target: no sink of the job creates them again (R8)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from attrs import frozen

from seatunnel_core.checkpoint.decisions.base import RestoreRequest, choose_base
from seatunnel_core.checkpoint.decisions.restored import restored
from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.checkpoint.state.vertex_state import SinkState
from seatunnel_core.claiming.restoration import READERS, states_in
from seatunnel_core.planning.plan import PlannedPipeline, Target
from seatunnel_core.planning.settings import topology_of
from seatunnel_core.work.committable import with_tables
from seatunnel_storage_api.state import PipelineListing
from seatunnel_storage_api.storage import CheckpointStorage

Published = Mapping[Target, frozenset[str]]
"""Names of tables with published rows, by target."""


def published_tables(
    storage: CheckpointStorage,
    job_id: str,
    pipelines: Iterable[PlannedPipeline],
    requests: Mapping[int, RestoreRequest],
) -> Published:
    """Return the tables to which several pipelines may write, and to which one of them has published rows.

    The tables are read from the checkpoints at which the pipelines start, and only if several pipelines share a target.
    A pipeline whose checkpoint cannot be restored does not start, so its tables are omitted.
    """
    pipelines = tuple(pipelines)
    targets = Counter(target for each in pipelines for target in {sink.target for sink in each.sinks if sink.target})
    shared = {target for target, count in targets.items() if count > 1}
    sharing = [each for each in pipelines if any(sink.target in shared for sink in each.sinks)]
    if not sharing:
        return {}
    reader = _Reader(storage, storage.scan_job(job_id), requests)
    found: dict[Target, frozenset[str]] = {}
    with ThreadPoolExecutor(READERS) as pool:
        for target, tables in chain.from_iterable(pool.map(reader.tables, sharing)):
            found[target] = found.get(target, frozenset()) | tables
    return {target: found[target] for target in shared & found.keys()}


@frozen
class _Reader:
    _storage: CheckpointStorage
    _listings: Mapping[int, PipelineListing]
    _requests: Mapping[int, RestoreRequest]

    def tables(self, pipeline: PlannedPipeline) -> list[tuple[Target, frozenset[str]]]:
        """Return the target of each sink, and the tables to which it has published or may have published rows."""
        states = self._sinks(pipeline)
        named = ((sink.target, states[sink.name]) for sink in pipeline.sinks if sink.name in states)
        return [
            (target, frozenset(with_tables(state.published_to, state.uncommitted)))
            for target, state in named
            if target is not None
        ]

    def _sinks(self, pipeline: PlannedPipeline) -> Mapping[str, SinkState]:
        listing = self._listings.get(pipeline.id, PipelineListing())
        request = self._requests.get(pipeline.id, RestoreRequest()).as_of(listing.checkpoints)
        try:
            base = choose_base(listing.checkpoints, request)
            states = None if base.cut is None else states_in(self._storage, base.cut)
            if states is None or isinstance(states, str):
                return {}
            return restored(states, base, request, topology_of(pipeline)).states.sinks
        except RestoreRefusedError:
            return {}
