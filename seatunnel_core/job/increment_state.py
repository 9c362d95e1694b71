"""The state of increments under one name: how far each source was read, and by which job last.

It is stored beside the checkpoints as manifests are, under an id of its own among the jobs.
"""

import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.errors import JobError, StoredValueError, UsageError
from seatunnel_core.job.binding import differences
from seatunnel_core.work.window import Cursor, Window

PREFIX = ".state."
"""The ids under which states lie among the jobs begin with it."""

FORMAT = 1
_LONGEST = 128 - len(PREFIX)


@frozen(kw_only=True)
class SourceState:
    """How far one source has been read."""

    reads: Mapping[str, str] | None
    """What the cursor belongs to; ``None`` after ``seatunnel state set``: whatever the next job reads."""

    cursor: Cursor | None


@frozen(kw_only=True)
class IncrementState:
    """One version of the record of a name."""

    name: str
    version: int = 0
    """0: nothing is stored."""

    sources: Mapping[str, SourceState] = field(factory=dict)
    """By the name of the source in its job: how far it was read before ``job_id``; with ``is_done``, after it."""

    job_id: str | None = None
    """The last job of this name."""

    is_done: bool = True
    """Whether ``sources`` have what that job has read."""

    def cursor_of(self, source: str, reads: Mapping[str, str]) -> Cursor | None:
        """Return where a source goes on; ``None`` for one that begins.

        Raises:
            UsageError: The cursor of this name belongs to something else.
        """
        same = [each.cursor for each in self.sources.values() if each.reads == reads]
        known = self.sources.get(source)
        if known is None or known.reads == reads:
            return known.cursor if known is not None else same[0] if same else None
        if known.reads is None:
            return known.cursor
        raise UsageError(
            f"the state {self.name!r} says how far {source!r} was read, and that source reads something else now: its "
            f"{'; its '.join(differences(known.reads, reads))}. Put that back; or give the job another state.name, and "
            f"it reads from the beginning; or write seatunnel state set {self.name} {source} VALUE to go on behind a "
            f"value, or seatunnel state reset {self.name} to begin again"
        )

    def after(self, windows: Mapping[str, Window]) -> "IncrementState":
        """Return the state when the job with these windows has ended."""
        read = {name: SourceState(reads=each.reads, cursor=each.end) for name, each in windows.items()}
        moved = [each.reads for each in windows.values()]
        kept = {name: each for name, each in self.sources.items() if each.reads not in moved}
        return evolve(self, sources={**kept, **read}, is_done=True)

    def to_bytes(self) -> bytes:
        """JSON, the same bytes for the same state."""
        sources = {
            name: {
                **({} if each.reads is None else {"reads": dict(each.reads)}),
                **({} if each.cursor is None else {"cursor": each.cursor.record()}),
            }
            for name, each in self.sources.items()
        }
        content: dict[str, Any] = {"format": FORMAT, "state": self.name, "sources": sources, "done": self.is_done}
        if self.job_id is not None:
            content["job"] = self.job_id
        return stored.written(content)

    @classmethod
    def from_bytes(cls, encoded: bytes, version: int) -> "IncrementState":
        """Read what ``to_bytes`` wrote.

        Raises:
            JobError: It is something else, or of a newer format.
        """
        try:
            content = stored.parse(encoded)
            if stored.number(content, "format") > FORMAT:
                raise JobError("the state was written by a newer version of seatunnel-core: run that one, or a later")
            sources = stored.below(content, "sources")
            return cls(
                name=stored.text(content, "state"),
                version=version,
                sources={name: _source(record) for name, record in sources.items()},
                job_id=stored.text(content, "job") if "job" in content else None,
                is_done=stored.flag(content, "done"),
            )
        except StoredValueError as error:
            raise JobError(f"what is stored as the state of increments is none: {error}") from error


def _source(record: Any) -> SourceState:
    reads = stored.below(record, "reads") if stored.has(record, "reads") else None
    return SourceState(
        reads=None if reads is None else {name: stored.path(reads, name) for name in reads},
        cursor=Cursor.from_record(record["cursor"]) if stored.has(record, "cursor") else None,
    )


def record_id(name: str) -> str:
    """Return the id under which the record of a name lies.

    Raises:
        UsageError: The name is too long.
    """
    written = re.sub(r"[^A-Za-z0-9-]", lambda found: "".join(f"_{byte:02x}" for byte in found[0].encode()), name)
    if not name or len(written) > _LONGEST:
        raise UsageError(f"the name {name[:40]!r} of a state is empty or too long; write a shorter one as state.name")
    return PREFIX + written
