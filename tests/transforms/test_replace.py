"""``Replace``: a text or what an expression matches, in one column."""

from typing import Any

import pytest

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.transforms.replace import Replace
from tests.transforms.tables import PEOPLE, changed, made

FIRST = {"is_regex": True, "replace_first": True}


def replaced(value: str | None, **options: Any) -> str | None:
    rows = changed(made(Replace, replace_field="name", **options), [(1, value, 7)], kinds=None)
    ((_, (key, after, age)),) = rows
    assert (key, age) == (1, 7)
    return after


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        ("Joy Ding Dom", {"pattern": " ", "replacement": "_"}, "Joy_Ding_Dom"),
        ("a.b.c", {"pattern": ".", "replacement": ""}, "abc"),
        ("a.b.c", {"pattern": ".", "replacement": r"$1\ "}, r"a$1\ b$1\ c"),
        ("a.b.c", {"pattern": ".", "replacement": "-", "replace_first": True}, "a-b-c"),
        ("Joy", {"pattern": ".+", "replacement": "b", "is_regex": True}, "b"),
        ("Joy", {"pattern": ".", "replacement": "-", "is_regex": "true"}, "---"),
        ("Joy", {"pattern": ".", "replacement": "-", "is_regex": True, "replace_first": True}, "-oy"),
        ("a\ncat cat", {"pattern": r"\bcat\b", "replacement": "<$0>", "is_regex": True}, "a\n<cat> <cat>"),
        ("a\ncat cat", {"pattern": r"\bcat\b", "replacement": "<$0>"} | FIRST, "a\n<cat> cat"),
        ("ab b", {"pattern": r"(?P<x>b)( )?|(z)", "replacement": r"\\1${x}$2|$3|"} | FIRST, r"a\1b ||b"),
        ("ab", {"pattern": "^", "replacement": "-"} | FIRST, "-ab"),
        ("ab", {"pattern": "$", "replacement": "-"} | FIRST, "ab-"),
        ("xx", {"pattern": "y", "replacement": "-"} | FIRST, "xx"),
        ("Joy Ding", {"pattern": r"(\w+) (\w+)", "replacement": "$2 $1", "is_regex": True}, "Ding Joy"),
        ("Joy", {"pattern": "(?<x>J)", "replacement": r"${x}\$\\", "is_regex": True}, "J$\\oy"),
        ("Joy", {"pattern": r"[(](x)|[](](y)|\((?:J)|(?P<z>J)", "replacement": "<${z}>", "is_regex": True}, "<J>oy"),
        ("größe", {"pattern": "[öß]", "replacement": "$0$0", "is_regex": True}, "gröößße"),
        (None, {"pattern": ".*", "replacement": "b", "is_regex": True}, None),
    ],
)
def test_values(value: str | None, options: dict[str, Any], expected: str | None) -> None:
    assert replaced(value, **options) == expected


def test_the_kinds_and_the_schema_stay() -> None:
    replace = made(Replace, replace_field="name", pattern="Joy", replacement="Kin")
    assert replace.output_schema(PEOPLE) == PEOPLE
    assert changed(replace)[1:] == [
        ("UPDATE_BEFORE", (1, "Kin Ding", 20)),
        ("UPDATE_AFTER", (1, "Kin Dom", 21)),
        ("DELETE", (2, None, None)),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "", "replacement": "b"}, "option 'pattern' is empty"),
        ({"pattern": "(", "replacement": "b", "is_regex": True}, r"option 'pattern': '\(' is not a regular expression"),
        ({"pattern": "a(?=b)", "replacement": "b", "is_regex": True}, "look-around.* are not supported"),
        (
            {"pattern": "(a)", "replacement": "$2", "is_regex": True},
            r"\$2 refers to a group that the pattern does not have",
        ),
        ({"pattern": "(a)", "replacement": "${x}", "is_regex": True}, r"\$\{x\} refers to a group"),
        ({"pattern": "()()()()()()()()", "replacement": "$8"} | FIRST, r"only the groups \$0 to \$7 are allowed, not"),
        ({"pattern": "a", "replacement": "5 $", "is_regex": True}, r"use \\\$ for the character itself"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(Replace, replace_field="name", **options)


@pytest.mark.parametrize(
    ("column", "message"),
    [("nam", "Replace: the table shop.people has no column nam"), ("age", "column age .* is int, but only string")],
)
def test_columns_that_cannot_be_taken(column: str, message: str) -> None:
    with pytest.raises(TransformError, match=message):
        made(Replace, replace_field=column, pattern="a", replacement="b").output_schema(PEOPLE)
