"""Pipelines: connected components of a job's graph, which are scheduled and checkpointed independently."""

from attrs import frozen

from seatunnel_core.config.job_file import Kind
from seatunnel_core.job.graph import Graph, Vertex


@frozen(kw_only=True)
class PipelineShape:
    """Connected component of a job's graph."""

    vertices: tuple[Vertex, ...]
    """Vertices in the order of the job file, with each transform after its inputs."""

    inputs: dict[str, tuple[str, ...]]
    """Names of the inputs, by vertex name."""

    def of(self, kind: Kind) -> tuple[Vertex, ...]:
        """Return the vertices of one kind, in the order of the graph."""
        return tuple(vertex for vertex in self.vertices if vertex.node.kind is kind)


def connected(graph: Graph) -> tuple[PipelineShape, ...]:
    """Return the pipelines of an acyclic graph, in the order of their first nodes."""
    parts: dict[int, list[int]] = {}
    root = _roots(graph)
    for index in range(len(graph.vertices)):
        parts.setdefault(root[index], []).append(index)
    return tuple(_shape(graph, part) for part in parts.values())


def _roots(graph: Graph) -> list[int]:
    parent = list(range(len(graph.vertices)))

    def find(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for index, vertex in enumerate(graph.vertices):
        for taken in vertex.inputs:
            parent[find(index)] = find(taken)
    return [find(index) for index in range(len(parent))]


def _shape(graph: Graph, part: list[int]) -> PipelineShape:
    vertices = [graph.vertices[index] for index in _ordered(graph, part)]
    inputs = {vertex.name: tuple(graph.vertices[each].name for each in vertex.inputs) for vertex in vertices}
    return PipelineShape(vertices=tuple(vertices), inputs=inputs)


def _ordered(graph: Graph, part: list[int]) -> list[int]:
    """Return the vertices in the order of the job file, except that each comes after its inputs."""
    ordered: list[int] = []
    placed: set[int] = set()
    for start in part:
        stack = [start]
        while stack:
            index = stack[-1]
            open_inputs = [each for each in reversed(graph.vertices[index].inputs) if each not in placed]
            if open_inputs:
                stack += open_inputs
                continue
            stack.pop()
            if index not in placed:
                placed.add(index)
                ordered.append(index)
    return ordered
