"""Manifest of a job (protocol rule R7): the assignment of vertices to pipelines for the lifetime of the job.

Pipeline numbers and ordinals are part of the names of checkpoints and staged files, so they are never reused: adding a
table does not renumber the others, and a dropped table keeps its number.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Self

from attrs import evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.config.job_file import Kind
from seatunnel_core.errors import JobError, StoredValueError, UsageError
from seatunnel_core.job.binding import Binding, Terms, followed
from seatunnel_core.job.columns import Columns
from seatunnel_core.job.graph import Vertex
from seatunnel_core.job.pipeline import PipelineShape
from seatunnel_core.job.restoring import Asked
from seatunnel_core.job.savepoint import JobSavepoint, pipeline_number
from seatunnel_core.stored_fields import Stored, added, required
from seatunnel_core.work.window import Window

FORMAT = 3
"""Newest format. Formats 2 and 3 are only written for content that older versions would misinterpret."""


@frozen
class Seat(Stored):
    """Assignment of a source or sink to a pipeline."""

    pipeline: int = required(least=1)
    """Number of the pipeline, from 1."""

    kind: Kind = required()
    ordinal: int = required()
    """Index among the vertices of its kind in its pipeline, from 0."""

    targets: tuple[str, ...] = added((), omitted=True, path=True)
    """Folders in which the sink has staged output, newest last. Output of a killed job may remain there."""

    dropped: bool = added(False, omitted=True)
    """True if the user removed the vertex from the job. If it is added again, it keeps its assignment."""

    reads: str | None = added(None, omitted=True, path=True)
    """Location that the source read when it was first planned; later options do not change its enumeration."""

    bindings: tuple[Binding, ...] = added((), omitted=True)
    """Options of the sink in each epoch, newest last."""

    columns: Columns | None = added(None, omitted=True)
    """Column options of the source when it was first planned; ``None`` if unknown."""

    @classmethod
    def from_record(cls, block: Any) -> Self:
        kind = stored.text(block, "kind")
        if kind not in (Kind.SOURCE.value, Kind.SINK.value):
            raise StoredValueError(f"an assignment belongs to a source or a sink, not to {ascii(kind)[:60]}")
        return super().from_record(block)


@frozen(kw_only=True)
class Manifest:
    """One version of a job's manifest. The storage numbers the versions."""

    job_name: str
    seats: Mapping[str, Seat] = field(factory=dict)
    """All sources and sinks that the job has ever had, by name."""

    savepoints: tuple[JobSavepoint, ...] = ()
    """Savepoints with unique names, oldest first."""

    ended: Mapping[str, Any] | None = None
    """Final report as JSON values; ``None`` until all pipelines have finished."""

    asked: Mapping[int, Asked] = field(factory=dict)
    moved_to: str | None = None
    """ID of the job that continues this one. If set, this job never starts again."""

    settled_below: int = 0
    """Epoch below which all committables are published: the job had ended and removed its staging folders."""

    windows: Mapping[str, Window] = field(factory=dict, repr=False)
    state_name: str = ""
    """Name of the state that stores the cursors at the end of the windows; empty if there are no windows."""

    submission: str | None = None
    """ID of the submission to a cluster that created the job; empty if there was none, ``None`` if this is unknown."""

    _by_pipeline: Mapping[int, list[Seat]] = field(init=False, repr=False, eq=False)

    @_by_pipeline.default
    def _group(self) -> Mapping[int, list[Seat]]:
        grouped: dict[int, list[Seat]] = {}
        for seat in self.seats.values():
            grouped.setdefault(seat.pipeline, []).append(seat)
        return grouped

    def extended(self, pipelines: Sequence[PipelineShape]) -> "tuple[Manifest, tuple[int, ...]]":
        """Assign the new vertices to pipelines; return the manifest and the number of each pipeline.

        Raises:
            JobError: A vertex changed its kind, or pipelines of the stored job were split or merged.
        """
        seats = dict(self.seats)
        numbers: list[int] = []
        given: set[int] = set()
        next_number = max((seat.pipeline for seat in self.seats.values()), default=0) + 1
        for shape in pipelines:
            members = [vertex for vertex in shape.vertices if vertex.node.kind is not Kind.TRANSFORM]
            number = self._number(members, given)
            if number is None:
                number, next_number = next_number, next_number + 1
            numbers.append(number)
            given.add(number)
            self._seat_new(members, number, seats)
        return evolve(self, seats=seats), tuple(numbers)

    def _seat_new(self, members: Sequence[Vertex], number: int, seats: dict[str, Seat]) -> None:
        free = dict.fromkeys(Kind, 0)
        for seat in self._by_pipeline.get(number, ()):
            free[seat.kind] = max(free[seat.kind], seat.ordinal + 1)
        for vertex in members:
            kind = vertex.node.kind
            if vertex.name not in self.seats:
                seats[vertex.name] = Seat(number, kind, free[kind])
                free[kind] += 1

    def _number(self, members: Sequence[Vertex], taken: Container[int]) -> int | None:
        """Return the stored pipeline number of these vertices; ``None`` if all of them are new."""
        known: dict[int, str] = {}
        for vertex in members:
            seat = self.seats.get(vertex.name)
            if seat is None:
                continue
            if seat.kind is not vertex.node.kind:
                was, now = seat.kind.value, vertex.node.kind.value
                raise JobError(
                    f"{vertex.name!r} was a {was} in the stored job and is now a {now}: give it another name"
                )
            known.setdefault(seat.pipeline, vertex.name)
        if len(known) > 1:
            joined = " and ".join(f"{name!r} (pipeline {number})" for number, name in sorted(known.items()))
            raise JobError(
                f"{joined} were separate pipelines in the stored job and are now a single one. A restore cannot "
                "merge pipelines: undo that change, or run the job under a new id"
            )
        for number, name in known.items():
            if number in taken:
                raise JobError(
                    f"pipeline {number} of the stored job, which contains {name!r}, was split into two pipelines. A "
                    "restore cannot split a pipeline: undo that change, or run the job under a new id"
                )
        return next(iter(known), None)

    def dropped(self, pipelines: Sequence[PipelineShape]) -> tuple[str, ...]:
        """Return the vertices that the job no longer has, sorted by name, except those dropped earlier."""
        present = {vertex.name for shape in pipelines for vertex in shape.vertices}
        return tuple(sorted(name for name, seat in self.seats.items() if name not in present and not seat.dropped))

    def without(self, names: Container[str]) -> "Manifest":
        """Mark these vertices as dropped and all others as present."""
        seats = {name: evolve(seat, dropped=name in names) for name, seat in self.seats.items()}
        return evolve(self, seats=seats)

    def placed(self, targets: Mapping[str, str]) -> "Manifest":
        """Return the manifest with the current staging folders of sinks."""
        seats = {
            name: evolve(self.seats[name], targets=(*(t for t in self.seats[name].targets if t != folder), folder))
            for name, folder in targets.items()
        }
        return evolve(self, seats={**self.seats, **seats})

    def reading(self, paths: Mapping[str, str]) -> "Manifest":
        """Return the manifest with the paths that sources read; existing entries are kept."""
        seats = {name: evolve(self.seats[name], reads=self.seats[name].reads or path) for name, path in paths.items()}
        return evolve(self, seats={**self.seats, **seats})

    def declaring(self, columns: Mapping[str, Columns]) -> "Manifest":
        """Return the manifest with the column options of sources; existing entries are kept."""
        seats = {
            name: evolve(seat, columns=columns[name]) if name in columns and seat.columns is None else seat
            for name, seat in self.seats.items()
        }
        return evolve(self, seats=seats)

    def bound(self, bindings: Mapping[str, Binding], *, since: int) -> "Manifest":
        """Return the manifest with the bindings of sinks from epoch ``since`` on."""
        seats = {
            name: evolve(self.seats[name], bindings=followed(self.seats[name].bindings, evolve(each, since=since)))
            for name, each in bindings.items()
        }
        return evolve(self, seats={**self.seats, **seats})

    @property
    def tracks(self) -> Mapping[str, tuple[Terms, ...]]:
        """Return the ``tracks`` of all bindings, by sink."""
        return {name: tuple(each.tracks for each in seat.bindings) for name, seat in self.seats.items()}

    def is_of(self, submission: str) -> bool:
        """Return True if this submission to a cluster may have created the job, also if one of the two is unknown."""
        return not submission or self.submission in (None, submission)

    def savepoint(self, name: str, *, job_id: str) -> JobSavepoint:
        """Return the savepoint with this name; raise ``UsageError`` that lists the existing names if there is none."""
        for each in self.savepoints:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.savepoints) or "none"
        raise UsageError(f"the job {job_id} has no savepoint {name}; it has {known}")

    def with_savepoint(self, taken: JobSavepoint) -> "Manifest":
        """Return the manifest with a complete savepoint added."""
        return evolve(self, savepoints=(*self.savepoints, taken))

    def closed(self, table: Mapping[str, Any]) -> "Manifest":
        """Return the manifest with the final report."""
        return evolve(self, ended=dict(table))

    def to_bytes(self) -> bytes:
        """Return the manifest as JSON; equal manifests have equal bytes."""
        older_would_do = not (self.asked or self.moved_to or self.settled_below)
        content = {
            "format": FORMAT if self.windows else 1 if older_would_do else 2,
            "job_name": self.job_name,
            "vertices": {name: seat.record() for name, seat in self.seats.items()},
            "ended": self.ended,
        }
        if self.savepoints:
            content["savepoints"] = [{"name": each.name, **each.record()} for each in self.savepoints]
        if self.asked:
            content["asked"] = {str(number): each.record() for number, each in self.asked.items()}
        if self.moved_to is not None:
            content["moved_to"] = self.moved_to
        if self.settled_below:
            content["settled_below"] = self.settled_below
        if self.windows:
            content["windows"] = {name: each.record() for name, each in self.windows.items()}
            content["state_name"] = self.state_name
        if self.submission is not None:
            content["submission"] = self.submission
        return stored.written(content)

    @classmethod
    def from_bytes(cls, encoded: bytes) -> "Manifest":
        """Decode a manifest; raise ``JobError`` if it is invalid or has a newer format."""
        try:
            content = stored.parse(encoded)
            format_version = stored.number(content, "format")
            if format_version > FORMAT:
                raise JobError(
                    f"the job's manifest has format {format_version}, but this version reads formats up to "
                    f"{FORMAT}: run the version of seatunnel-core that wrote the manifest, or a later one"
                )
            seats = {name: Seat.from_record(seat) for name, seat in stored.below(content, "vertices").items()}
            if len({(seat.pipeline, seat.kind, seat.ordinal) for seat in seats.values()}) < len(seats):
                raise StoredValueError("two vertices have the same assignment")
            ended = None if stored.member(content, "ended") is None else stored.below(content, "ended")
            return cls(
                job_name=stored.text(content, "job_name"),
                seats=seats,
                savepoints=_savepoints(content),
                ended=ended,
                asked=_asked(content),
                moved_to=stored.text(content, "moved_to") if "moved_to" in content else None,
                settled_below=stored.number(content, "settled_below") if "settled_below" in content else 0,
                windows=_windows(content),
                state_name=stored.text(content, "state_name") if "state_name" in content else "",
                submission=stored.text(content, "submission") if "submission" in content else None,
            )
        except StoredValueError as error:
            raise JobError(f"the stored manifest of the job is invalid: {error}") from error


def _savepoints(content: Any) -> tuple[JobSavepoint, ...]:
    records = stored.items(content, "savepoints") if "savepoints" in content else []
    return tuple(JobSavepoint.from_record(stored.text(record, "name"), record) for record in records)


def _windows(content: Any) -> dict[str, Window]:
    records = stored.below(content, "windows") if "windows" in content else {}
    return {name: Window.from_record(record) for name, record in records.items()}


def _asked(content: Any) -> dict[int, Asked]:
    records = stored.below(content, "asked") if "asked" in content else {}
    return {pipeline_number(number): Asked.from_record(record) for number, record in records.items()}
