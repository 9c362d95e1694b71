"""Differences between two checkpoints of a pipeline."""

from attrs import frozen

from seatunnel_core.inspector.content import CheckpointContent, Scalar, VertexContent


@frozen(kw_only=True)
class Change:
    """A difference between two checkpoints."""

    vertex: str
    """Kind and name, such as ``sink flights_out``."""

    what: str
    """Changed part: name of a value, ``unit 7``, ``committable 0-100000-7``, or empty for the vertex itself."""

    before: Scalar
    """Earlier value, or ``None``."""

    after: Scalar
    """Later value, or ``None``."""

    @property
    def words(self) -> str:
        """Description for users, such as ``rows_committed: 4,000 -> 6,000 (+2,000)``."""
        if _is_number(self.before) and _is_number(self.after):
            assert isinstance(self.before, int)
            assert isinstance(self.after, int)
            return f"{self.what}: {self.before:,} -> {self.after:,} ({self.after - self.before:+,})"
        if self.before is None:
            return f"+ {self.what}: {self.after}" if self.what else f"+ {self.after}"
        if self.after is None:
            return f"- {self.what}: {self.before}" if self.what else f"- {self.before}"
        return f"{self.what}: {self.before} -> {self.after}"


def changes(before: CheckpointContent, after: CheckpointContent) -> tuple[Change, ...]:
    """Return all differences between the states in two checkpoints, by vertex."""
    old = {vertex.title: vertex for vertex in before.vertices}
    new = {vertex.title: vertex for vertex in after.vertices}
    found: list[Change] = []
    for title in [*new, *(title for title in old if title not in new)]:
        if title not in old:
            found.append(Change(vertex=title, what="", before=None, after="a new vertex"))
        elif title not in new:
            found.append(Change(vertex=title, what="", before="the vertex", after=None))
        else:
            found += _between(old[title], new[title])
    return tuple(found)


def _between(old: VertexContent, new: VertexContent) -> list[Change]:
    facts = [
        Change(vertex=new.title, what=what, before=old.facts.get(what), after=value)
        for what, value in new.facts.items()
        if old.facts.get(what) != value
    ]
    names = [*new.parts, *(name for name in old.parts if name not in new.parts)]
    words = [(name, _words(old, name), _words(new, name)) for name in names]
    return facts + [
        Change(vertex=new.title, what=name, before=before, after=after)
        for name, before, after in words
        if before != after
    ]


def _words(vertex: VertexContent, name: str) -> str | None:
    return vertex.parts[name].words if name in vertex.parts else None


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
