"""Identity of a vertex in its pipeline."""

import enum

from attrs import frozen


class VertexKind(enum.Enum):
    """Kind of a vertex; the first word of its string form."""

    SOURCE = "source"
    TASK = "task"
    SINK = "sink"


@frozen
class VertexId:
    """Kind of a vertex, and the name of its source or sink. ``str`` returns, for example, ``"task NAME"``."""

    kind: VertexKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}"

    @classmethod
    def parse(cls, text: str) -> "VertexId":
        """Return the vertex with this string form; raise ``ValueError`` if its kind is unknown."""
        kind, _, name = text.partition(" ")
        return cls(VertexKind(kind), name)

    @classmethod
    def source(cls, name: str) -> "VertexId":
        """Return the vertex that emits the splits of a source."""
        return cls(VertexKind.SOURCE, name)

    @classmethod
    def task(cls, name: str) -> "VertexId":
        """Return the vertex that turns the splits of a source into work units."""
        return cls(VertexKind.TASK, name)

    @classmethod
    def sink(cls, name: str) -> "VertexId":
        """Return the vertex that publishes the staged output of a sink."""
        return cls(VertexKind.SINK, name)
