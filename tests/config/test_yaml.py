from typing import Any

import pytest

from seatunnel_core.config.document import Position, plain
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import ConfigError
from tests.config.reading import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [x, 2.5]\nc:\n  d: yes\n  e: null", {"a": 1, "b": ["x", 2.5], "c": {"d": True, "e": None}}),
        ("a: '1'\nb: \"true\"", {"a": "1", "b": "true"}),
        ("a: 12:30:45\nb: 0x1F\nc: 2024-01-01", {"a": "12:30:45", "b": "0x1F", "c": "2024-01-01"}),
        ("a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  b: 2\n  e: 3", {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 2, "e": 3}}),
        ("a.b: 1", {"a.b": 1}),
        ("", {}),
        ("---\na: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
    ],
)
def test_yaml(text: str, expected: dict[str, Any]) -> None:
    assert plain(read(text, "job.yaml")) == expected


def test_a_text_keeps_the_digits_of_the_file() -> None:
    assert plain(read("a: 007\nb: 1.10\nc: no", "x.yml"), textual=True) == {"a": "007", "b": "1.10", "c": "no"}


def test_values_know_where_they_stand() -> None:
    (entry,) = read("\na:  x", "x.yaml")
    assert (entry.position, entry.value.position) == (Position("x.yaml", 2, 1), Position("x.yaml", 2, 5))


def test_a_line_that_begins_with_slashes_is_a_comment_with_a_warning() -> None:
    problems = Problems()
    tree = read("a:\n  // so it is:\n  b: 1", "x.yaml", problems=problems)
    assert plain(tree) == {"a": {"b": 1}}
    assert str(problems.warnings[0]) == "x.yaml:2:3: '// so it is' is treated as a comment. Begin comments with '#'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n  b: 2", "x.yaml:2:4: this is not YAML"),
        ("a: [1", "this is not YAML"),
        (
            "a:\n\tb: 1",
            "x.yaml:2:1: this line starts with a tab, but YAML must be indented with spaces. Replace the tab",
        ),
        ("a:\n  b: 1\n  \tc: 2", "x.yaml:3:3: this line starts with a tab"),
        ("a: {\n\tb: ]}", "x.yaml:2:5: this is not YAML"),
        ("// note\na: 1", "(comments begin with '#')"),
        ("a: 1\na: 2", "x.yaml:2:1: the key 'a' occurs twice"),
        ("a: !!python/object:os.system x", "x.yaml:1:4: the tag"),
        ("a: !!python/name:os.system", "the tag"),
        ("a: 1\n---\nb: 2", "x.yaml:2:1: a second document"),
        ("a: *b", "*b refers to the anchor &b, which is not defined above it"),
        ("? [1]\n: 2", "a key must be a string"),
        ("<<: 1", "'<<' takes a block"),
        ("a: " + "[" * 200 + "]" * 200, "nested more than 64 levels deep"),
        ("- 1", "expected keys and values at the top of the file"),
        ("a: &x [1]\nb: &y [*x]", "aliases inside an anchored value"),
        ("a: \x01", "this is not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text, "x.yaml")
    assert expected in str(raised.value)
    assert str(raised.value).startswith("x.yaml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a": }', "x.json:1:7: this is not JSON"), ("a = 1", "x.json:1:1: this is not JSON"), ("[1]", "x.json:1:1")],
)
def test_json_is_strict(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text, "x.json")
    assert expected in str(raised.value)


def test_json_has_positions_too() -> None:
    (entry,) = read('{\n "a.b": [1, {"c": "\\u00e9"}]}', "x.json")
    assert (entry.key, plain(entry.value), entry.position.line) == ("a.b", [1, {"c": "é"}], 2)
