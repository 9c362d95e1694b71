from collections.abc import Iterable
from typing import Any

import pytest

from seatunnel_core.config.document import Position
from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.problem import Problems
from seatunnel_core.job.graph import Graph, build_graph, right_part
from seatunnel_core.job.node import Node
from seatunnel_core.job.pipeline import connected


def node(
    kind: Kind,
    identifier: str = "X",
    *,
    name: str | None = None,
    output: str | None = None,
    inputs: Iterable[str] = (),
    line: int = 1,
) -> Node:
    return Node(
        kind=kind,
        identifier=identifier,
        given_name=name,
        output=output,
        inputs=tuple(inputs),
        position=Position("j", line, 1),
    )


def source(output: str | None = None, **more: Any) -> Node:
    return node(Kind.SOURCE, "Read", output=output, **more)


def transform(inputs: Iterable[str] = (), output: str | None = None, **more: Any) -> Node:
    return node(Kind.TRANSFORM, "Change", inputs=inputs, output=output, **more)


def sink(inputs: Iterable[str] = (), **more: Any) -> Node:
    return node(Kind.SINK, "Write", inputs=inputs, **more)


def graph(*nodes: Node) -> Graph:
    problems = Problems()
    built = build_graph(nodes, problems)
    assert not problems.errors, problems.errors
    return built


def edges(built: Graph) -> dict[str, list[str]]:
    return {vertex.name: [built.vertices[each].name for each in vertex.inputs] for vertex in built.vertices}


def errors(*nodes: Node, complete: bool = True) -> list[str]:
    problems = Problems()
    build_graph(nodes, problems, complete=complete)
    return [problem.message for problem in problems.errors]


def shapes(built: Graph) -> list[list[str]]:
    return [[vertex.name for vertex in shape.vertices] for shape in connected(built)]


def test_with_no_names_a_node_takes_the_output_of_the_node_before() -> None:
    assert edges(graph(source(), transform(), transform(), sink(), sink())) == {
        "Read-source-1": [],
        "Change-transform-1": ["Read-source-1"],
        "Change-transform-2": ["Change-transform-1"],
        "Write-sink-1": ["Change-transform-2"],
        "Write-sink-2": ["Change-transform-2"],
    }


def test_names_join_nodes_whatever_their_order() -> None:
    built = graph(source("a"), source("b"), transform(["c"], "d"), transform(["a"], "c"), sink(["d", "b", "d"]))
    assert edges(built) == {"a": [], "b": [], "d": ["c"], "c": ["a"], "Write-sink-d+b+d": ["d", "b"]}
    assert shapes(built) == [["a", "b", "c", "d", "Write-sink-d+b+d"]]


def test_made_names_do_not_change_when_another_table_is_added() -> None:
    before = [source("b"), sink(["b"])]
    after = [source("a"), *before[:1], sink(["a"]), *before[1:]]
    assert edges(graph(*before)).items() <= edges(graph(*after)).items()


def test_made_names_never_meet_given_ones() -> None:
    built = graph(
        source("Write-sink-a"), source("a"), sink(["a", "Write-sink-a"]), sink(["a"]), sink(["a"]), sink(["a"])
    )
    names = [vertex.name for vertex in built.vertices]
    assert len(set(names)) == len(names)
    assert names[3:] == ["Write-sink-a-2", "Write-sink-a-3", "Write-sink-a-4"]


def test_a_given_name_wins_over_the_output() -> None:
    assert list(edges(graph(source("a", name="first"), sink(["a"], name="last")))) == ["first", "last"]


def test_connected_parts_become_pipelines_in_the_order_of_the_text() -> None:
    built = graph(source("a"), source("b"), source("c"), sink(["b"]), sink(["c", "a"]), sink(["b"]))
    assert shapes(built) == [["a", "c", "Write-sink-c+a"], ["b", "Write-sink-b", "Write-sink-b-2"]]
    (first, second) = connected(built)
    assert [vertex.name for vertex in first.of(Kind.SOURCE)] == ["a", "c"]
    assert second.inputs == {"b": (), "Write-sink-b": ("b",), "Write-sink-b-2": ("b",)}


def test_transforms_stand_behind_their_inputs() -> None:
    built = graph(source("s"), transform(["b", "c"], "a"), transform(["c"], "b"), transform(["s"], "c"), sink(["a"]))
    assert shapes(built) == [["s", "c", "b", "a", "Write-sink-a"]]


def test_long_chains_need_no_recursion() -> None:
    count = 5_000
    chain = [transform([f"t{n + 1}"], f"t{n}") for n in range(count)]
    built = graph(*chain, source(f"t{count}"), sink(["t0"]))
    assert len(shapes(built)[0]) == count + 2


def test_a_wrong_input_name_is_tolerated_where_it_cannot_mean_another_node() -> None:
    problems = Problems()
    built = build_graph([source("a"), transform(["x"], "b"), sink(["y"])], problems)
    assert edges(built) == {"a": [], "b": ["a"], "Write-sink-y": ["b"]}
    assert [problem.message.split(", ")[0] for problem in problems.warnings] == [
        "Change should read from 'x'",
        "Write should read from 'y'",
    ]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([source("a"), source("a"), sink(["a"])], ["two nodes have the same output name 'a'"]),
        ([source("a"), sink(["a"], name="a")], ["two nodes have the same name 'a'"]),
        ([source("a", name="n"), source("b", name="n"), sink(["a", "b"])], ["two nodes have the same name 'n'"]),
        (
            [source("a"), source("b"), sink(["a", "b", "bb"])],
            ["Write reads from 'bb', but no source or transform has this plugin_output"],
        ),
        (
            [source(), source(), sink(["x"])],
            ["Write reads from 'x', but no source or transform has this plugin_output"],
        ),
        ([sink()], ["Write has no input: no source or transform precedes it"]),
        ([sink(["x"]), source("a")], ["no transform or sink reads from 'a'"]),
        ([source("a"), source("b"), sink()], ["no transform or sink reads from 'a'"]),
        ([source("a"), transform(["a"], "t"), sink(["a"])], ["no transform or sink reads from 't'"]),
        (
            [source("s"), transform(["s", "c"], "a"), transform(["a"], "b"), transform(["b"], "c"), sink(["c"])],
            ["the job graph has a cycle: a -> b -> c -> a"],
        ),
        ([source("s"), transform(["s", "a"], "a"), sink(["a"])], ["the job graph has a cycle: a -> a"]),
        (
            [source("s"), source("r"), transform(["s", "b"], "a"), transform(["a"], "b"), sink(["b"]), sink(["t"])],
            [
                "Write reads from 't', but no source or transform has this plugin_output",
                "the job graph has a cycle: a -> b -> a",
            ],
        ),
        (
            [source("s"), source("r"), transform(["s", "a"], "a"), sink(["a"])],
            ["no transform or sink reads from 'r'", "the job graph has a cycle: a -> a"],
        ),
        (
            [
                source("s"),
                *(transform(["s", "b", "e"], "a"), transform(["a"], "b"), transform(["b"], "c")),
                *(transform(["c", "e", "a"], "d"), transform(["d"], "e"), transform(["f"], "f"), sink(["e", "f"])),
            ],
            [
                "the job graph has a cycle: a -> b -> a",
                "the job graph has a cycle: d -> e -> d",
                "the job graph has a cycle: f -> f",
            ],
        ),
        (
            [source("s"), transform(["a"], "a"), transform(["s"], "a"), sink(["a", "s"])],
            ["two nodes have the same output name 'a'"],
        ),
    ],
)
def test_what_does_not_hold_together_is_refused_by_name(nodes: Any, expected: Any) -> None:
    assert errors(*nodes) == expected


def test_unused_nodes_are_no_mistake_of_a_job_that_is_not_complete() -> None:
    assert errors(source("a"), complete=False) == []


class TestRightPart:
    """The vertices that can be checked although others of the job are wrong."""

    NODES = (source("a"), transform(["a"], "b"), sink(["b"]), source("c"), sink(["c"], name="last"))

    @pytest.mark.parametrize(
        ("wrong", "left"),
        [
            ((), {"a": [], "b": ["a"], "Write-sink-b": ["b"], "c": [], "last": ["c"]}),
            ((1,), {"a": [], "c": [], "last": ["c"]}),
            ((0, 4), {"c": []}),
            ((0, 3), {}),
        ],
    )
    def test_gets_all_its_rows_from_right_vertices(self, wrong: tuple[int, ...], left: dict[str, list[str]]) -> None:
        built = graph(*self.NODES)
        found = right_part(built, [index not in wrong for index in range(len(self.NODES))])
        assert edges(found) == left

    def test_has_no_vertex_with_a_dangling_input_a_doubled_name_or_a_cycle(self) -> None:
        nodes = (
            *(source("a"), sink(["a", "nowhere"], name="dangling")),
            *(sink(["a"], name="twice"), sink(["a"], name="twice")),
            *(transform(["y"], "x"), transform(["x"], "y"), sink(["y"])),
        )
        problems = Problems()
        built = build_graph(nodes, problems)
        assert problems.errors
        assert edges(right_part(built, [True] * len(nodes))) == {"a": []}
