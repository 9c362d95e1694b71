"""Compare the current options of a job's sinks with those of earlier epochs (rules R7, R8 and R10).

A sink must publish staged output to its original target, and find its published output there.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from seatunnel_core.checkpoint.decisions.matching import staged_elsewhere
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.connectors.filesystems.staged_name import staging_folder
from seatunnel_core.inspector.staged import staged
from seatunnel_core.job.binding import differences, from_epoch, have_same_target, in_epoch
from seatunnel_core.job.manifest import Manifest, Seat
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink
from seatunnel_core.quantity import pick
from seatunnel_core.work.committable import Committable


@frozen(kw_only=True)
class Bound:
    """Options of a job's sinks in each epoch."""

    stored: Manifest

    def has_changed(self, pipeline: PlannedPipeline) -> bool:
        """Return True if a sink of the pipeline had different options in an earlier epoch."""
        return any(any(self._otherwise(sink, 0)) for sink in pipeline.sinks)

    def changed_bindings(self, pipeline: PlannedPipeline) -> Mapping[str, Sequence[tuple[int, str]]]:
        """Return the first epoch of each changed sink's earlier options, and how these differ from the current ones."""
        changes = {sink.name: tuple(self._changes_since(sink)) for sink in pipeline.sinks}
        return {name: each for name, each in changes.items() if any(words for _, words in each)}

    def changed_targets(self, pipeline: PlannedPipeline) -> Mapping[str, Sequence[tuple[int, str]]]:
        """Return the same, without a description for earlier options with the same target."""
        return {
            name: tuple(
                (since, "" if self._had_same_target(pipeline.sink(name), since) else words) for since, words in changes
            )
            for name, changes in self.changed_bindings(pipeline).items()
        }

    def _had_same_target(self, sink: PlannedSink, epoch: int) -> bool:
        """Return True if the save mode of a sink had the same target in an epoch, with the same plugin."""
        seat = self.stored.seats.get(sink.name)
        then = None if seat is None else in_epoch(seat.bindings, epoch)
        return then is not None and have_same_target(then, sink.binding)

    def _changes_since(self, sink: PlannedSink) -> Iterator[tuple[int, str]]:
        seat = self.stored.seats.get(sink.name)
        for since in (0, *(each.since for each in (() if seat is None else seat.bindings))):
            yield since, "; its ".join(self._changes(sink, since))

    def strays(self, pipeline: PlannedPipeline, states: VertexStates) -> Iterator[str]:
        """Yield a sentence for each sink with committables that were staged for a different target."""
        for sink in pipeline.sinks:
            staged_for = (each for each in states.committables_for(sink.name) if stages(each))
            changes = [self._changes(sink, each.epoch) for each in staged_for]
            astray = [each for each in changes if each]
            if astray:
                yield staged_elsewhere(sink.name, pick(len(astray), "unit"), "; its ".join(astray[-1]))

    def lost_tracks(self, pipeline: PlannedPipeline, base: VertexStates, epoch: int) -> Iterator[str]:
        """Yield a sentence for each sink that cannot roll back its output since ``base``, a state of ``epoch``."""
        twice = "undo that change, or restore with accept_duplicates=True, which duplicates rows there"
        for sink in pipeline.sinks:
            changed = next((each for each in self._otherwise(sink, epoch) if each), None)
            if changed:
                yield (
                    f"the sink {sink.name!r} cannot find its published output to roll it back, because its "
                    f"{'; its '.join(changed)}; {twice}"
                )
        for name in sorted(base.sinks.keys() - {sink.name for sink in pipeline.sinks}):
            yield f"the sink {name!r} was removed from the job and cannot roll back its published output: {twice}"

    def _changes(self, sink: PlannedSink, epoch: int) -> list[str]:
        """Describe how the options of a sink in an epoch differ from the current ones."""
        seat = self.stored.seats.get(sink.name)
        then = None if seat is None else in_epoch(seat.bindings, epoch)
        return _other_folder(sink, seat) if then is None else differences(then.terms, sink.binding.terms)

    def _otherwise(self, sink: PlannedSink, epoch: int) -> Iterator[list[str]]:
        """Yield the differences from the current options, first for the given epoch, then for each later change."""
        seat = self.stored.seats.get(sink.name)
        if seat is None:
            return
        if in_epoch(seat.bindings, epoch) is None:
            yield _other_folder(sink, seat)
        now = {**sink.binding.tracks, **sink.binding.terms}
        for then in from_epoch(seat.bindings, epoch):
            yield differences({**then.tracks, **then.terms}, now)


def _other_folder(sink: PlannedSink, seat: Seat | None) -> list[str]:
    """Return the change of the staging folder, for manifests of older versions, which did not record other options."""
    now = sink.sink.target_folder
    if seat is None or not seat.targets or now in (None, seat.targets[-1]):
        return []
    return differences({"target": seat.targets[-1]}, {"target": now or ""})


def stages(committable: Committable) -> bool:
    """Return True if the committable has staged output. Its body is empty if the sink wrote immediately."""
    return any(committable.body.values())


def left_behind(job_id: str, pipeline: int, states: VertexStates, stored: Manifest) -> str | None:
    """Describe the staged output of a dropped pipeline, or return ``None`` if all of it is known to be published.

    A missing staged file counts as published if its staging folder still exists (R8).
    """
    for name in states.sinks:
        seat = stored.seats.get(name)
        targets = () if seat is None else seat.targets
        named = list(states.committables_for(name))
        ids = {each.id for each in named}
        waiting = [
            file
            for target in targets
            for file in staged(target)
            if (file.job_id, file.pipeline) == (job_id, pipeline) and file.committable in ids
        ]
        if waiting:
            return f"{pick(len(waiting), 'file')} staged and not published yet, such as {waiting[0].path}"
        unknown = [each for each in filter(stages, named) if not _was_staged_in(targets, job_id, pipeline, each.epoch)]
        if unknown:
            return f"{pick(len(unknown), 'unit')} staged for the sink {name!r} that may still be unpublished"
    return None


def _was_staged_in(targets: Sequence[str], job_id: str, pipeline: int, epoch: int) -> bool:
    return any(os.path.isdir(staging_folder(target, job_id, pipeline, epoch)) for target in targets)
