"""Whatever a file holds, reading it ends with a tree or with ``ConfigError``."""

import contextlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seatunnel_core.config.document import plain
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import ConfigError
from tests.config.oracle.generate import Text, mutated
from tests.config.reading import read

_PIECES = [
    "{",
    "}",
    "[",
    "]",
    "=",
    ":",
    ",",
    "\n",
    '"',
    '"""',
    "${",
    "${?a}",
    "${a:1}",
    "a",
    "a.b",
    ".",
    "+=",
    " ",
    "\\",
]
_PIECES += [
    "//",
    "#",
    "include",
    '"x"',
    "1",
    "-",
    "null",
    "source",
    "sink {",
    "é",
    "\ud7ff",
    "\t",
    "+",
    "$",
    "&",
    "*",
    "- ",
]
_TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
_FORMATS = st.sampled_from(["job.conf", "job.json", "job.yaml"])


@pytest.mark.fuzz
@given(_TEXTS, _FORMATS)
@example('a="\\', "job.conf")
@example("&a [*a]", "job.yaml")
def test_any_text(text: str, name: str) -> None:
    problems = Problems()
    with contextlib.suppress(ConfigError):
        read_job(read(text, name, problems=problems), name, problems)


@pytest.mark.fuzz
@given(st.integers(min_value=0, max_value=2**32), st.booleans(), st.booleans())
def test_texts_that_are_nearly_right(seed: int, plugins: bool, spoil: bool) -> None:
    text = Text(seed, plugins=plugins).make()
    problems = Problems()
    with contextlib.suppress(ConfigError):
        read_job(read(mutated(text, seed) if spoil else text, problems=problems), "job.conf", problems)


_KEYS = st.text(min_size=1, max_size=6).filter(
    lambda key: "${" not in key and key not in ("source", "transform", "sink")
)
_SCALARS: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
_SCALARS = _SCALARS | st.text(max_size=8).filter(lambda text: "$" not in text)
_VALUES = st.recursive(
    _SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(_KEYS, below, max_size=4), max_leaves=15
)
_TREES = st.dictionaries(_KEYS, _VALUES, max_size=5)


@pytest.mark.fuzz
@given(_TREES)
def test_json_means_the_same_to_both_parsers(tree: dict[str, object]) -> None:
    """Every JSON text is HOCON, with the same meaning; the round trip through text loses nothing."""
    text = json.dumps(tree)
    assert plain(read(text, "job.json")) == tree
    assert plain(read(text, "job.conf")) == tree


@pytest.mark.fuzz
@given(_TREES, st.randoms(use_true_random=False))
def test_hocon_means_the_same_however_it_is_written(tree: dict[str, object], random: object) -> None:
    assert plain(read(_written(tree, random))) == tree


def _written(tree: dict[str, object], random: object) -> str:
    """The tree in one of the many ways to write it."""
    choose = random.choice  # type: ignore[attr-defined]
    lines = []
    for key, value in tree.items():
        if isinstance(value, dict):
            lines.append(f"{json.dumps(key)}{choose([' ', '=', ' : '])}{{{_written(value, random)}}}")
        else:
            note = choose(["", " # note", " // note"])
            lines.append(f"{json.dumps(key)}{choose([':', '=', ' =  '])}{json.dumps(value)}{note}")
    text = choose(["\n", "\n\n  "]).join(lines)
    return f"\n{text}\n"
