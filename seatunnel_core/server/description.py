"""What a job's text says of it, without its plugins: its options, and its graph as SeaTunnel's REST has it."""

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
"""The history keeps the graph of a job with at most so many sources, transforms and sinks."""

LONGEST_TEXT = 4_096
"""The history keeps the text of a job with at most so many characters."""


@frozen(kw_only=True)
class Description:
    """What is shown of a job beside its figures."""

    env: Mapping[str, str] = field(factory=dict)
    """The options of its ``env`` that are no secrets, as texts."""

    edges: Mapping[str, Any] = field(factory=dict)
    """By the number of a pipeline: which vertex takes the rows of which."""

    vertices: tuple[Mapping[str, Any], ...] = ()
    """Sources, transforms and sinks, in the order of the text."""

    text: str = field(default="", repr=False)
    """The job itself, as ``masked_job`` writes it."""


def describe(job: SubmittedJob) -> Description:
    """Return what a job's text says of it; the text alone when it cannot be read, which its host then reports."""
    text = masked_job(job.text, FORMATS[job.format])
    try:
        raw = job.read()
    except SeaTunnelError:  # it was accepted by a version that could
        return Description(text=text)
    problems = Problems()
    graph = build_graph([_node(block) for block in raw.blocks], problems, complete=False)
    return Description(
        env=env_in_texts(raw.env),
        edges={} if problems.errors else _edges(graph),  # such a job fails when it is planned, and says why
        vertices=tuple(_vertices(graph)),
        text=text,
    )


def shown_at_end(described: Description, hosted: HostedJob | None) -> str:
    """Return what the history keeps of a job's graph, pipelines, failures and metrics over time, as JSON.

    Very large graphs are left out.
    """
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
    """Return the tables of a source or a sink, by the names under which rows leave the source, or what it takes."""
    givers = {Kind.SOURCE: (vertex,), Kind.SINK: tuple(graph.vertices[each] for each in vertex.inputs)}
    return [each.node.output or each.name for each in givers.get(vertex.node.kind, ())]
