"""Description of a job, parsed without its plugins: options, and the graph in the format of SeaTunnel's REST API."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.config.document import Block, Items, Scalar
from seatunnel_core.config.job_file import Kind, RawBlock
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.job.graph import Graph, Vertex, build_graph
from seatunnel_core.job.node import INPUT, NAME, OUTPUT, Node
from seatunnel_core.job.pipeline import connected
from seatunnel_core.planning.masked_job import masked_job
from seatunnel_core.reporting.rest_text import env_in_texts
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.submitted_job import FORMATS, SubmittedJob

MOST_VERTICES = 300
"""Maximum number of sources, transforms and sinks of a graph that is stored in the history."""

LONGEST_TEXT = 4_096
"""Maximum number of characters of a job text that is stored in the history."""


@frozen(kw_only=True)
class Description:
    """Displayed properties of a job, without metrics."""

    env: Mapping[str, str] = field(factory=dict)
    """Options of ``env`` as strings, without secrets."""

    edges: Mapping[str, Any] = field(factory=dict)
    """Edges by pipeline number."""

    vertices: tuple[Mapping[str, Any], ...] = ()
    """Sources, transforms and sinks, in the order of the job text."""

    text: str = field(default="", repr=False)
    """Job text, as written by ``masked_job``."""


def describe(job: SubmittedJob) -> Description:
    """Return the description of a job. For an invalid job, it contains only the text."""
    text = masked_job(job.text, FORMATS[job.format])
    try:
        raw = job.read(loads_sinks=False)
    except SeaTunnelError:  # the version that accepted the job could parse it
        return Description(text=text)
    problems = Problems()
    graph = build_graph([_node(block) for block in raw.blocks], problems, complete=False)
    return Description(
        env=env_in_texts(raw.env),
        edges={} if problems.errors else _edges(graph),  # planning fails for such a job, with a message
        vertices=tuple(_vertices(graph)),
        text=text,
    )


def shown_at_end(described: Description, hosted: HostedJob | None) -> str:
    """Return a job's graph (unless very large), pipelines, failures and metrics over time as JSON for the history."""
    kept = described if len(described.vertices) <= MOST_VERTICES else Description()
    block: dict[str, Any] = {"edges": kept.edges, "vertices": kept.vertices, "pipelines": []}
    if len(described.text) <= LONGEST_TEXT:
        block["text"] = described.text
    if hosted is not None:
        block |= {"pipelines": list(hosted.pipelines), "failures": list(hosted.failures), "series": hosted.series}
    return json.dumps(block, separators=(",", ":"))


def _node(block: RawBlock) -> Node:
    output, name = _names(block, (OUTPUT.key, *OUTPUT.aliases)), _names(block, (NAME.key,))
    return Node(
        kind=block.kind,
        identifier=block.identifier,
        given_name=name[0] if name else None,
        output=output[0] if output else None,
        inputs=tuple(_names(block, (INPUT.key, *INPUT.aliases))),
        position=block.position,
    )


def _names(block: RawBlock, keys: Iterable[str]) -> list[str]:
    found: list[str] = []
    for key in keys:
        value = block.block.get(key)
        values = value.values if isinstance(value, Items) else (value,)
        found += [each.text for each in values if isinstance(each, Scalar) and not isinstance(each, Block)]
    return found


def _edges(graph: Graph) -> dict[str, Any]:
    numbers = {vertex.name: number for number, vertex in enumerate(graph.vertices, 1)}
    return {
        str(pipeline): [
            {"inputVertexId": numbers[taken], "targetVertexId": numbers[name]}
            for name, inputs in shape.inputs.items()
            for taken in inputs
        ]
        for pipeline, shape in enumerate(connected(graph), 1)
    }


def _vertices(graph: Graph) -> Iterable[dict[str, Any]]:
    places: dict[Any, int] = {}
    for number, vertex in enumerate(graph.vertices, 1):
        kind = vertex.node.kind
        place = places[kind] = places.get(kind, -1) + 1
        yield {
            "vertexId": number,
            "type": kind.value,
            "vertexName": f"{kind.value.capitalize()}[{place}]-{vertex.node.identifier}",
            "name": vertex.name,
            "tablePaths": _tables(graph, vertex),
        }


def _tables(graph: Graph, vertex: Vertex) -> list[str]:
    """Return the tables of a source or sink. They are named after its output or its inputs."""
    givers = {Kind.SOURCE: (vertex,), Kind.SINK: tuple(graph.vertices[each] for each in vertex.inputs)}
    return [each.node.output or each.name for each in givers.get(vertex.node.kind, ())]
