import contextlib
import os.path
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.config import option as types
from seatunnel_core.config.document import CODE, Block, Entry, Scalar, from_code
from seatunnel_core.config.option import STRING, Option, Options, OptionType
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, Validated, validate


def _named(name: str) -> str:
    return name


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (types.STRING, "x", "x"),
        (types.STRING, 7, "7"),
        (types.STRING, True, "true"),
        (types.INTEGER, 7, 7),
        (types.INTEGER, " 7 ", 7),
        (types.INTEGER, 7.0, 7),
        (types.LONG, 2**40, 2**40),
        (types.NUMBER, "1.5e3", 1500.0),
        (types.NUMBER, 2, 2.0),
        (types.BOOLEAN, "YES", True),
        (types.BOOLEAN, False, False),
        (types.DURATION_MS, 1500, 1500),
        (types.DURATION_MS, "10s", 10_000),
        (types.DURATION_MS, "1.5 min", 90_000),
        (types.DURATION_MS, "2 days", 172_800_000),
        (types.SIZE, "128MB", 128_000_000),
        (types.SIZE, "1 MiB", 1_048_576),
        (types.SIZE, "2k", 2_048),
        (types.SIZE, 5, 5),
        (types.ENUM("FAIL", "SKIP"), "skip", "SKIP"),
        (types.ENUM("\\n", "\n"), "\n", "\n"),
        (types.ENUM("FAIL", "SKIP"), " Skip ", "SKIP"),
        (types.LIST(), "a, b", ("a", "b")),
        (types.LIST(), "['a','b']", ("a", "b")),
        (types.LIST(), "a", ("a",)),
        (types.LIST(), "", ()),
        (types.LIST(types.INTEGER), [1, "2"], (1, 2)),
        (types.LIST(types.NESTED), {"a": 1}, ({"a": 1},)),
        (types.MAP, {"a": {"b": 1, "c": None}, "d.e": "x"}, {"a.b": "1", "d.e": "x"}),
        (types.SCHEMA, {"fields": {"a": "int"}}, {"fields": {"a": "int"}}),
        (types.ANY, [1], [1]),
        (types.FUNCTION, "os.path:join", os.path.join),
        (types.FUNCTION, _named, _named),
        (types.within(1, 3), 3, 3),
    ],
)
def test_values_are_understood(kind: Any, written: Any, value: Any) -> None:
    assert kind.parse(written) == value


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        (types.STRING, [1], "expected text, found a list"),
        (types.STRING, None, "expected text, found a NoneType"),
        (types.INTEGER, "x", "expected a whole number, found 'x'"),
        (types.INTEGER, 1.5, "expected a whole number, found 1.5"),
        (types.INTEGER, True, "expected a whole number, found true"),
        (types.INTEGER, float("inf"), "expected a whole number, found inf"),
        (types.INTEGER, 2**31, "expected a whole number from -2147483648 to 2147483647"),
        (types.LONG, "9" * 19, "expected a whole number from"),
        (types.NUMBER, "x", "expected a number, found 'x'"),
        (types.BOOLEAN, "maybe", "expected true or false, found 'maybe'"),
        (types.DURATION_MS, "10 apples", 'expected milliseconds, or a duration such as "10s"'),
        (types.DURATION_MS, -1, "of at least 0, found -1"),
        (types.SIZE, {"a": 1}, "found a block"),
        (types.ENUM("FAIL", "SKIP"), "stop", "expected one of FAIL, SKIP, found 'stop'"),
        (types.LIST(types.INTEGER), "1,x", "expected a whole number, found 'x'"),
        (types.MAP, "x", "expected a block { key = value }, found 'x'"),
        (types.MAP, {"a": [1]}, "expected text, found a list"),
        (types.FUNCTION, "nothing", 'expected a function in the form "package.module:name"'),
        (types.FUNCTION, "no_such_module:f", "importing 'no_such_module' failed"),
        (types.FUNCTION, "os.path:no_such", "module 'os.path' has no 'no_such'"),
        (types.FUNCTION, "os.path:sep", "cannot be called"),
        (types.FUNCTION, "os.system('x')", 'expected a function in the form "package.module:name"'),
        (types.within(1, 3), 4, "expected a whole number from 1 to 3, found 4"),
        (types.STRING, {"a": "x"}, "found a block"),
        (types.BOOLEAN, "x" * 100, "found 'xxx"),
    ],
)
def test_other_values_are_refused_with_what_was_expected(kind: Any, written: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)):
        kind.parse(written)


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
    max_leaves=5,
)
_TYPES = [
    types.STRING,
    types.INTEGER,
    types.LONG,
    types.NUMBER,
    types.BOOLEAN,
    types.DURATION_MS,
    types.SIZE,
    types.MAP,
]
_TYPES += [types.SCHEMA, types.NESTED, types.FUNCTION, types.LIST(), types.LIST(types.INTEGER), types.ENUM("A")]


@given(st.sampled_from(_TYPES), _ANYTHING)
def test_no_value_makes_a_type_raise_anything_but_value_error(kind: OptionType[Any], written: Any) -> None:
    with contextlib.suppress(ValueError):
        kind.parse(written)


_PATH = Option("path", types.STRING, doc="A path.")
_SIZE = Option("size", types.INTEGER, default=3, doc="A size.")
_PASSWORD = Option("password", types.STRING, doc="A secret.", secret=True)
_OPTIONS = Options({"path": "/x", "password": "hush"}, (_PATH, _SIZE, _PASSWORD))


def test_options_are_read_by_name_and_by_declaration() -> None:
    assert (_OPTIONS["path"], _OPTIONS[_SIZE], _OPTIONS.is_set(_SIZE), _OPTIONS.is_set("path")) == (
        "/x",
        3,
        False,
        True,
    )
    assert (list(_OPTIONS), len(_OPTIONS)) == (["path", "size", "password"], 3)


def test_options_hide_secrets() -> None:
    assert "hush" not in repr(_OPTIONS)


def test_options_travel_to_tasks() -> None:
    copy = pickle.loads(pickle.dumps(_OPTIONS))
    assert dict(copy) == dict(_OPTIONS)
    assert repr(copy) == repr(_OPTIONS)
    assert (copy["path"], copy[_SIZE], copy.is_set("size")) == ("/x", _OPTIONS[_SIZE], False)
    assert copy.declared == ()


def test_a_declaration_that_travels_leaves_its_parser_behind() -> None:
    copy = pickle.loads(pickle.dumps(_PATH))
    assert (copy.key, copy.doc) == (_PATH.key, _PATH.doc)
    with pytest.raises(ValueError, match="parsed during planning"):
        copy.type.parse("x")


def test_a_secret_option_takes_its_value_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = (Option("hook", STRING, doc="Where to call.", secret=True), Option("path", STRING, doc="A path."))
    (tmp_path / "hook").write_text("hush\n")
    monkeypatch.setenv("A_HOOK", "quiet")
    reference = (tmp_path / "hook").as_uri()
    problems = Problems()

    def read(**written: Any) -> Validated:
        block = from_code(written)
        assert isinstance(block, Block)
        return validate(block, declared, BlockRules(what="the sink X", free=("spark.",)), problems)

    options = read(hook=reference, path=reference).options
    assert (options["hook"], options["path"]) == ("hush", reference)
    assert read(hook="${A_HOOK}").options["hook"] == "${A_HOOK}", "code looks up variables itself"
    filled = Scalar("${A_HOOK}", "${A_HOOK}", CODE)
    block = Block((Entry("hook", filled, CODE),), CODE)
    assert validate(block, declared, BlockRules(what="the sink X"), problems).options["hook"] == "quiet"
    free = read(**{"spark.hadoop.fs.s3a.secret.key": reference, "spark.files": reference}).free
    assert free == {"spark.hadoop.fs.s3a.secret.key": "hush", "spark.files": reference}
    assert not problems.found
    read(**{"hook": "file:///no/such", "spark.a.password": "file:///no/such/password"})
    assert [str(problem) for problem in problems.errors] == [
        "the sink X: the value of 'hook' is the content of the file /no/such, which does not exist. "
        "Check that the secret is mounted where this process runs",
        "the value of 'spark.a.password' is the content of the file /no/such/password, which does not exist. "
        "Check that the secret is mounted where this process runs",
    ]
