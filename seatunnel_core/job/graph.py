"""Graph of a job: its vertices and their inputs."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.problem import Problems, nearest
from seatunnel_core.job.node import Node


@frozen(kw_only=True)
class Vertex:
    """Node of a job with its unique name and its inputs."""

    node: Node
    name: str
    """Unique name in the job. It changes only if names in the job file change."""

    inputs: tuple[int, ...]
    """Indexes of the distinct input vertices."""


@frozen
class Graph:
    """Vertices of a job in the order of the job file."""

    vertices: tuple[Vertex, ...] = field()


def build_graph(nodes: Sequence[Node], problems: Problems, *, complete: bool = True) -> Graph:
    """Connect the nodes, and report duplicate names, dangling inputs, unused nodes and cycles to ``problems``.

    If ``complete`` is False, only some nodes of the job are given, and unused ones are not reported.
    """
    outputs = _outputs(nodes, problems)
    inputs = [_inputs(index, nodes, outputs, problems) for index in range(len(nodes))]
    names = _names(nodes, problems)
    if complete and not problems.errors:
        _refuse_unused(nodes, names, inputs, problems)
    _refuse_circles(nodes, names, inputs, problems)
    vertices = zip(nodes, names, inputs, strict=True)
    return Graph(tuple(Vertex(node=node, name=name, inputs=each) for node, name, each in vertices))


def right_part(graph: Graph, is_right: Sequence[bool]) -> Graph:
    """Return the graph of all valid vertices that have only valid inputs, in topological order.

    ``is_right`` states for each vertex whether it is valid by itself. ``graph`` may have dangling inputs, duplicate
    names and cycles.
    """
    names = Counter(vertex.name for vertex in graph.vertices)
    left = {
        index: vertex
        for index, vertex in enumerate(graph.vertices)
        if is_right[index] and names[vertex.name] == 1 and len(vertex.inputs) >= len(vertex.node.inputs)
    }
    found: list[int] = []
    while ready := [index for index, vertex in left.items() if set(vertex.inputs) <= set(found)]:
        found += [index for index in ready if left[index].inputs or left[index].node.kind is Kind.SOURCE]
        left = {index: vertex for index, vertex in left.items() if index not in ready}
    places = {index: place for place, index in enumerate(found)}
    vertices = (graph.vertices[index] for index in found)
    return Graph(tuple(evolve(each, inputs=tuple(places[index] for index in each.inputs)) for each in vertices))


def _outputs(nodes: Sequence[Node], problems: Problems) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, node in enumerate(nodes):
        if node.output is None:
            continue
        if node.output in found:
            first = nodes[found[node.output]]
            problems.error(
                f"two nodes have the same output name {node.output!r}",
                node.position,
                f"It is also the output of {first.identifier} at {first.position}: set a different plugin_output "
                "for each node",
            )
        else:
            found[node.output] = index
    return found


def _inputs(index: int, nodes: Sequence[Node], outputs: dict[str, int], problems: Problems) -> tuple[int, ...]:
    node = nodes[index]
    if node.kind is Kind.SOURCE:
        return ()
    found = []
    for name in node.inputs:
        if name in outputs:
            found.append(outputs[name])
        elif _is_small(nodes):
            before = _before(index, nodes)
            found += before
            problems.warn(
                f"{node.identifier} should read from {name!r}, but no node has this plugin_output: it reads from "
                "the previous node instead",
                node.position,
                "Correct plugin_input",
            )
        else:
            close = nearest(name, outputs)
            known = (
                f"Did you mean {close!r}?"
                if close
                else (f"Existing outputs: {', '.join(sorted(outputs)[:10]) or 'none'}")
            )
            problems.error(
                f"{node.identifier} reads from {name!r}, but no source or transform has this plugin_output",
                node.position,
                known,
            )
    if not node.inputs:
        found = list(_before(index, nodes))
        if not found:
            problems.error(f"{node.identifier} has no input: no source or transform precedes it", node.position)
    return tuple(dict.fromkeys(found))


def _is_small(nodes: Sequence[Node]) -> bool:
    """Return True for a job with one source and one sink, where a wrong name cannot refer to another node."""
    kinds = [node.kind for node in nodes]
    return kinds.count(Kind.SOURCE) == 1 and kinds.count(Kind.SINK) == 1


def _before(index: int, nodes: Sequence[Node]) -> tuple[int, ...]:
    """Return the closest preceding node that has output."""
    before = (each for each in range(index - 1, -1, -1) if nodes[each].kind is not Kind.SINK)
    return tuple(each for each, _ in zip(before, range(1), strict=False))


def _names(nodes: Sequence[Node], problems: Problems) -> list[str]:
    """Return the names of all nodes. Generated names depend on other nodes only if necessary."""
    names: list[str] = []
    taken: dict[str, Node] = {}
    given = {node.given_name or node.output for node in nodes}
    counts: dict[str, int] = {}
    for node in nodes:
        own = node.given_name or node.output
        if own is None:
            own = _made(node, counts, given, taken)
        elif own in taken:
            first = taken[own]
            if not (node.given_name is None and first.output == node.output):
                problems.error(
                    f"two nodes have the same name {own!r}",
                    node.position,
                    f"The other is {first.identifier} at {first.position}",
                )
        taken.setdefault(own, node)
        names.append(own)
    return names


def _made(node: Node, counts: dict[str, int], given: Container[str | None], taken: Container[str]) -> str:
    """Return a generated name: ``LocalFile-sink-orders`` for an input ``orders``, ``LocalFile-source-1`` for none."""
    base = f"{node.identifier}-{node.kind.value}"
    name = f"{base}-{'+'.join(node.inputs)}" if node.inputs else f"{base}-1"
    if node.inputs:
        base = name
    while name in given or name in taken:
        counts[base] = counts.get(base, 1) + 1
        name = f"{base}-{counts[base]}"
    return name


def _refuse_unused(
    nodes: Sequence[Node], names: Sequence[str], inputs: Sequence[tuple[int, ...]], problems: Problems
) -> None:
    used = {each for taken in inputs for each in taken}
    for index, node in enumerate(nodes):
        if node.kind is not Kind.SINK and index not in used:
            problems.error(
                f"no transform or sink reads from {names[index]!r}",
                node.position,
                f"Use it in a plugin_input, or remove this {node.kind.value}",
            )


def _refuse_circles(
    nodes: Sequence[Node], names: Sequence[str], inputs: Sequence[tuple[int, ...]], problems: Problems
) -> None:
    """Report cycles: the nodes that remain after nodes without open inputs have been removed repeatedly.

    If two nodes have the same output name, an input may refer to the other node, so this is not reported as a cycle.
    """
    times = Counter(node.output for node in nodes)
    doubled = {name for name in times if name is not None and times[name] > 1}
    waiting = {
        index: {each for each in taken if nodes[each].output not in doubled} for index, taken in enumerate(inputs)
    }
    below: dict[int, list[int]] = {}
    for index, taken in waiting.items():
        for each in taken:
            below.setdefault(each, []).append(index)
    gone = [index for index, taken in waiting.items() if not taken]
    while True:
        _take_away(gone, waiting, below)
        if not waiting:
            return
        circle = list(_circle(waiting))
        problems.error(
            f"the job graph has a cycle: {' -> '.join(names[each] for each in circle)}",
            nodes[circle[0]].position,
            "Correct one plugin_input",
        )
        gone = circle[1:]


def _take_away(gone: list[int], waiting: dict[int, set[int]], below: Mapping[int, Sequence[int]]) -> None:
    """Remove nodes from ``waiting``, and repeatedly all nodes that have no inputs left."""
    for each in gone:
        del waiting[each]
    while gone:
        done = gone.pop()
        for each in below.get(done, ()):
            if each in waiting:
                waiting[each].discard(done)
                if not waiting[each]:
                    del waiting[each]
                    gone.append(each)


def _circle(waiting: Mapping[int, set[int]]) -> Iterator[int]:
    """Yield a cycle among the remaining nodes in downstream order. The last node equals the first."""
    seen: list[int] = []
    at = min(waiting)
    while at not in seen:
        seen.append(at)
        at = min(waiting[at])
    yield from reversed([*seen[seen.index(at) :], at])
