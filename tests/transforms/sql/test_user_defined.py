"""Functions of one's own, from entry points."""

import datetime as dt
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.transforms.sql.functions import user_defined
from seatunnel_core.transforms.sql.functions.user_defined import sql_function
from seatunnel_core.transforms.sql.transform import Sql
from tests.transforms.tables import changed, made

ROWS = [(1, "joy", 20), (2, None, 30)]


@sql_function("string")
def shout(text: str, times: int = 1) -> str:
    return text.upper() + "!" * times


@sql_function("boolean", nulls=True)
def unknown(*values: Any) -> bool:
    return None in values


@sql_function(lambda types: f"array<{types[0]}>")
def pair(value: Any) -> list[Any]:
    return [value, value]


@sql_function("date")
def broken(value: int) -> Any:
    return "no date" if value == 20 else dt.date(2020, 1, 1) / 0  # type: ignore[operator]


def undeclared(value: int) -> int:
    return value


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    names = {each: each for each in ("shout", "unknown", "Pair", "broken", "undeclared", "gone")} | {"Upper": "shout"}
    points = [EntryPoint(name, f"{__name__}:{of.lower()}", user_defined.GROUP) for name, of in names.items()]
    monkeypatch.setattr(user_defined, "entry_points", lambda group: points)
    user_defined.user_defined.cache_clear()
    yield
    user_defined.user_defined.cache_clear()


def selected(expressions: str, rows: Any = ROWS) -> list[Any]:
    return [row for _, row in changed(made(Sql, query=f"SELECT {expressions} FROM t"), rows, kinds=None)]


def test_a_function_gets_the_values_of_each_row() -> None:
    assert selected("SHOUT(name) AS a, shout(name, age - 18) AS b, Unknown(id, name) AS c, PAIR(id) AS d") == [
        ("JOY!", "JOY!!", False, [1, 1]),
        (None, None, True, [2, 2]),
    ]
    assert selected("Shout('a', 2) AS a", ROWS[:1]) == [("A!!",)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("SHOUT()", "has 0 arguments, expected 1 to 2"),
        ("SHOUTS(name)", "there is no function SHOUTS; did you mean SHOUT?"),
        ("UNDECLARED(age)", "is not a function decorated with @sql_function"),
        ("GONE(age)", "the function gone of .* cannot be loaded: AttributeError"),
        ("UPPER(name)", "has the name of a built-in function; rename it"),
    ],
)
def test_what_cannot_be_called(expression: str, message: str) -> None:
    with pytest.raises((UsageError, TransformError), match=message):
        selected(expression)


@pytest.mark.parametrize(("age", "message"), [(20, "the result is not of type date"), (21, "TypeError: unsupported")])
def test_what_it_raises_names_the_row(age: int, message: str) -> None:
    with pytest.raises(TransformError, match=f"BROKEN at line 1, column 8 has no result for {age}: .*{message}"):
        selected("BROKEN(age) AS x", [(1, "a", age)])
