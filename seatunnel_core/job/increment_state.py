"""Named state of incremental reads: cursors of the sources, and the latest job. Stored like a manifest."""

import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.errors import JobError, StoredValueError, UsageError
from seatunnel_core.job.binding import differences
from seatunnel_core.stored_fields import Stored, added
from seatunnel_core.work.window import Cursor, Window

PREFIX = ".state."
"""Prefix of the IDs of named states in the list of jobs."""

FORMAT = 1
_LONGEST = 128 - len(PREFIX)


@frozen(kw_only=True)
class SourceState(Stored):
    """Position up to which one source was read."""

    reads: Mapping[str, str] | None = added(None, omitted=True, path=True)
    """Description of the data that the cursor belongs to; ``None`` if the user set the cursor, until the next job."""

    cursor: Cursor | None = added(None, omitted=True)


@frozen(kw_only=True)
class IncrementState:
    """One version of the record of a named state."""

    name: str
    version: int = 0
    """Version of the record; 0 if nothing is stored."""

    sources: Mapping[str, SourceState] = field(factory=dict)
    """Cursors by source name, from before the job ``job_id`` or, if ``is_done``, from after it."""

    job_id: str | None = None
    """Latest job with this state name."""

    is_done: bool = True
    """True if ``sources`` includes the rows of the latest job."""

    def cursor_of(self, source: str, reads: Mapping[str, str]) -> Cursor | None:
        """Return the cursor of a source; ``None`` to read from the beginning.

        Raises:
            UsageError: The cursor belongs to data other than ``reads``.
        """
        same = [each.cursor for each in self.sources.values() if each.reads == reads]
        known = self.sources.get(source)
        if known is None or known.reads == reads:
            return known.cursor if known is not None else same[0] if same else None
        if known.reads is None:
            return known.cursor
        raise UsageError(
            f"the state {self.name!r} has a cursor of {source!r}, but that source now reads different data: its "
            f"{'; its '.join(differences(known.reads, reads))}. Undo the change; or set another state.name for the "
            f"job to read from the beginning; or run seatunnel state set {self.name} {source} VALUE to continue "
            f"after a value, or seatunnel state reset {self.name} to start over"
        )

    def after(self, windows: Mapping[str, Window]) -> "IncrementState":
        """Return the state after a job with these windows."""
        read = {name: SourceState(reads=each.reads, cursor=each.end) for name, each in windows.items()}
        moved = [each.reads for each in windows.values()]
        kept = {name: each for name, each in self.sources.items() if each.reads not in moved}
        return evolve(self, sources={**kept, **read}, is_done=True)

    def to_bytes(self) -> bytes:
        """Return the state as JSON; equal states have equal bytes."""
        sources = {name: each.record() for name, each in self.sources.items()}
        content: dict[str, Any] = {"format": FORMAT, "state": self.name, "sources": sources, "done": self.is_done}
        if self.job_id is not None:
            content["job"] = self.job_id
        return stored.written(content)

    @classmethod
    def from_bytes(cls, encoded: bytes, version: int) -> "IncrementState":
        """Decode a state; raise ``JobError`` if it is invalid or has a newer format."""
        try:
            content = stored.parse(encoded)
            if stored.number(content, "format") > FORMAT:
                raise JobError("a newer version of seatunnel-core wrote the state: run that version or a later one")
            sources = stored.below(content, "sources")
            return cls(
                name=stored.text(content, "state"),
                version=version,
                sources={name: SourceState.from_record(record) for name, record in sources.items()},
                job_id=stored.text(content, "job") if "job" in content else None,
                is_done=stored.flag(content, "done"),
            )
        except StoredValueError as error:
            raise JobError(f"the stored increment state is invalid: {error}") from error


def record_id(name: str) -> str:
    """Return the ID under which a named state is stored; raise ``UsageError`` if the name is too long."""
    written = re.sub(r"[^A-Za-z0-9-]", lambda found: "".join(f"_{byte:02x}" for byte in found[0].encode()), name)
    if not name or len(written) > _LONGEST:
        raise UsageError(f"state.name = {name[:40]!r} is empty or too long; set a shorter name")
    return PREFIX + written
