import contextlib
import time
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.config.document import Block, Position, plain
from seatunnel_core.config.file import load
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError
from tests.config.reading import pairs, read

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb : two\nc { d = true }", {"a": 1, "b": "two", "c": {"d": True}}),
        ("a.b.c = 1, a.b.d = 2", {"a": {"b": {"c": 1, "d": 2}}}),
        ('"a.b" = 1\na."c.d".e = 2', {"a.b": 1, "a": {"c.d": {"e": 2}}}),
        ("a = [1, 2\n 3\n]", {"a": [1, 2, 3]}),
        ("a = [1] [2]\na += 3", {"a": [1, 2, 3]}),
        ("a += x", {"a": ["x"]}),
        ("a = {b=1} {c=2}\na.b = 3", {"a": {"b": 3, "c": 2}}),
        ("a = x\na = ${a} y", {"a": "x y"}),
        ("a = ${b}-${b}\nb = 1", {"a": "1-1", "b": 1}),
        ("a = ${b}\nb = 1", {"a": 1, "b": 1}),
        ("a = ${?b}", {}),
        ("a = 5\na = ${?b}", {"a": 5}),
        ("a = ${?a}x", {"a": "x"}),
        ("a { x = ${a.y}, y = 1 }", {"a": {"x": 1, "y": 1}}),
        ('a = """x"y\\n"""', {"a": 'x"y\\n'}),
        ('a = """"x""""', {"a": '"x"'}),
        ('a = "\\u00e9\\ud83d\\ude00"', {"a": "é😀"}),
        ("a = ; # note\nb = org.apache.Foo // note", {"a": ";", "b": "org.apache.Foo"}),
        ("a = 10.0.0.1\nb = 1e3\nc = 99999999999999999999", {"a": "10.0.0.1", "b": 1000.0, "c": "9" * 20}),
        ("a b = 1", {"a b": 1}),
        ("{ a : 1, }", {"a": 1}),
        ("a =\n  1", {"a": 1}),
        ("\ufeffa = null", {"a": None}),
        ('a = ${x:"y"}\nb = ${z:[1, 2]}\nc = ${q:5}', {"a": "y", "b": [1, 2], "c": 5}),
        ("", {}),
    ],
)
def test_the_grammar(text: str, expected: dict[str, Any]) -> None:
    assert plain(read(text)) == expected


def test_plugins_that_stand_several_times_are_entries_in_the_order_of_the_text() -> None:
    tree = read("source {\n A { x = 1 }\n B { }\n A { y = 2 }\n}\nsink { A { } }")
    assert pairs(tree) == [("source", [("A", [("x", 1)]), ("B", []), ("A", [("y", 2)])]), ("sink", [("A", [])])]


def test_elsewhere_a_block_that_stands_twice_is_merged() -> None:
    assert plain(read("env { a = 1 }\nenv { b = 2 }")) == {"env": {"a": 1, "b": 2}}


def test_values_know_where_they_stand() -> None:
    tree = read("env {\n  job.name = first\n}")
    assert isinstance(tree, Block)
    env = tree.get("env")
    assert isinstance(env, Block)
    (job,) = env
    assert isinstance(job.value, Block)
    (name,) = job.value
    assert (name.position, name.value.position) == (Position("job.conf", 2, 7), Position("job.conf", 2, 14))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {\n b = 1", "job.conf:2:7: the '{' in line 1 is never closed: a '}' is missing"),
        ("a = 1 }", "job.conf:1:7: unexpected '}': no block is open"),
        ('a = "x', "job.conf:1:5: this string has no closing quote"),
        ('a = """x', "job.conf:1:5: this string has no closing quote"),
        ("a b", "job.conf:1:4: expected '=' or '{' after the key 'a b', found the end of the file"),
        ("a = {} b", "job.conf:1:5: a block, a list and a string cannot be combined into one value"),
        ("a = ${b}\nb = ${a}", "job.conf:2:5: ${a} refers to itself"),
        ("a = ${", "job.conf:1:5: '$' starts a variable: write ${name}, or quote the string"),
        ("a = x*y", "job.conf:1:6: '*' is not allowed in an unquoted string: quote the string"),
        ("a = 1,, b = 2", "job.conf:1:7: two commas in a row"),
        ("a = [1, 2", "job.conf:1:10: the '[' in line 1 is never closed: a ']' is missing"),
        ("a..b = 1", "job.conf:1:3: a dot in a key must separate two names"),
        ("a = ", "job.conf:1:5: a value is missing"),
        ('a = "\\q"', "job.conf:1:6: '\\\\q' is an invalid escape in a quoted string"),
        ('a = "\\ud83d"', "job.conf:1:5: an unpaired surrogate is not a valid character"),
        ("[1]", "job.conf:1:1: a job file is a block of keys, not a list"),
        ("{ a = 1 } b", "job.conf:1:11: expected the end of the file, found 'b'"),
        ("a = 1\na += 2", "job.conf:2:1: '+=' appends to a list, but the value of the key is not a list"),
        ("source { A { } }\nsource { B { } }", "job.conf:2:8: this section occurs twice"),
        ("a = " + "[" * 1_000, "nested more than 64 levels deep"),
        ("a = " + "{b=" * 1_000, "nested more than 64 levels deep"),
        (".".join("a" * 1_000) + " = 1", "nested more than 64 levels deep"),
        ("\n".join(f"a{i} = ${{a{i + 1}}}" for i in range(500)), "levels deep"),
        ("a0 = xxxxxxxxxx\n" + "\n".join(f"a{i + 1} = ${{a{i}}}${{a{i}}}" for i in range(60)), "too large"),
        ("a0 = [x]\n" + "\n".join(f"a{i + 1} = [${{a{i}}}]" for i in range(2_000)), "more than 96 levels deep"),
        ("a0 = [x]\n" + "\n".join(f"a{i + 1} = [${{a{i}}}, ${{a{i}}}]" for i in range(60)), "too large"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)
    assert expected in str(raised.value)


def test_a_hidden_value_is_never_looked_at() -> None:
    assert plain(read("a = ${missing}\na = 1")) == {"a": 1}


def test_a_value_and_keys_below_it_cannot_both_hold_and_this_is_said() -> None:
    problems = Problems()
    read("spark.speculation = true\nspark.speculation.interval = 1s", problems=problems)
    assert "job.conf:2:" in str(problems.warnings[0])
    assert "this value hides the value at" in str(problems.warnings[0])


@pytest.mark.parametrize(
    "text",
    [
        "row_error_handle_way = SKIP\nrow_error_handle_way.error_table = bad",
        "row_error_handle_way.error_table = bad\nrow_error_handle_way = SKIP",
        "row_error_handle_way = FAIL\nrow_error_handle_way.error_table = bad\nrow_error_handle_way = SKIP",
    ],
)
def test_a_value_and_a_key_below_it_that_seatunnels_pages_write_both_hold(text: str) -> None:
    problems = Problems()
    read_values = plain(read(f"env {{ {text} }}", problems=problems))
    assert read_values == {"env": {"row_error_handle_way": {"": "SKIP", "error_table": "bad"}}}
    assert not problems.warnings


def test_included_files_are_read_from_the_folder_of_the_job(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.conf").write_text('x = 1\ny = ${x}\ninclude "deep"')
    (tmp_path / "sub" / "deep.conf").write_text("z = 3")
    (tmp_path / "plugins.conf").write_text("B { }\nB { }")
    job = tmp_path / "job.conf"
    job.write_text('a { include file("sub/more.conf") }\nsource { A { }\n include "plugins" }\ninclude "nothing.conf"')
    problems = Problems()
    tree = load(job, Variables({}, {}), problems)
    a, source = tree.get("a"), tree.get("source")
    assert isinstance(a, Block)
    assert isinstance(source, Block)
    assert plain(a) == {"x": 1, "y": 1, "z": 3}
    assert [entry.key for entry in source] == ["A", "B", "B"]
    assert "job.conf:4:1: the included file 'nothing.conf' does not exist" in str(problems.warnings[0])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('include "../secret.conf"', "include reads only files inside"),
        ('include "/etc/passwd"', "include reads only files inside"),
        ('include "job"', "includes itself"),
        ('include required("no.conf")', "'no.conf' does not exist"),
        ('include url("http://x/y")', 'use include "FILE"'),
        ('include "link.conf"', "include reads only files inside"),
    ],
)
def test_include_reads_only_inside_the_folder_of_the_job(tmp_path: Path, line: str, expected: str) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    (tmp_path / "secret.conf").write_text("password = x")
    (folder / "link.conf").symlink_to(tmp_path / "secret.conf")
    (folder / "job.conf").write_text(f"a = 1\n{line}\n")
    with pytest.raises(ConfigError) as raised:
        load(folder / "job.conf", Variables({}, {}), Problems())
    assert expected in str(raised.value)
    assert "job.conf:2:1" in str(raised.value)


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "more.conf").write_text("a = 1\nb }")
    (tmp_path / "job.conf").write_text('include "more"')
    with pytest.raises(ConfigError, match=r"more\.conf:2:3"):
        load(tmp_path / "job.conf", Variables({}, {}), Problems())


def test_the_corpus_is_read() -> None:
    read_files = [
        load(path, Variables({}, {}), Problems()) for path in sorted(CORPUS.glob("*.conf")) if "two" not in path.name
    ]
    assert len(read_files) >= 4
    grammar = plain(load(CORPUS / "grammar.conf", Variables({}, {}), Problems()))
    assert grammar["path"] == "/x:1.50"
    assert grammar["merged"] == {"a": 1, "b": {"c": 1, "d": 3}}


@pytest.mark.parametrize(
    "line",
    [
        "  A { x = 1, y = [1, 2], z = ${?v} }\n",
        "k { }\n",
        "l += x\n",
        'q = """\n',
        "s = a b c d ${?x} e f\n",
        "/ / / /\n",
        "{ ",
    ],
)
def test_time_grows_with_the_length_of_the_text(line: str) -> None:
    """Not faster than the text: ten times the text takes far less than a hundred times as long."""

    def seconds(count: int) -> float:
        """The quickest of five: a busy machine makes some slower, and none quicker."""
        taken = []
        for _ in range(5):
            began = time.thread_time()
            with contextlib.suppress(ConfigError):
                read(line * count, problems=Problems())
            taken.append(time.thread_time() - began)
        return min(taken)

    assert seconds(3_000) < 40 * max(seconds(300), 0.001)
