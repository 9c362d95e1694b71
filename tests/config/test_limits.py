"""A few lines of a submitted job cannot cost billions of values, or hours: the error names the limit."""

import time

import pytest
from attrs import evolve

from seatunnel_core.config import limits
from seatunnel_core.config.file import parse
from seatunnel_core.config.limits import Limits
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError

SIZE = 64 * 1024


def submitted(text: str, name: str = "job.conf") -> None:
    """Parse a text as a node does."""
    parse(text, name, Variables({"big": "x" * 100_000}, {}, of_node=True), Problems())


def repeated(unit: str) -> str:
    return unit * (SIZE // len(unit))


KEYS = "\n".join(f"  k{number}: 1" for number in range(5_000))
BLOCK = "b { c {" + ",".join(f"k{number}=1" for number in range(4_000)) + "} }\na = ${b}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.conf", "a=[1]\n" + "a=${a}${a}\n" * 40),
        ("job.conf", "a=xxxxxxxxxxxxxxxxx\n" + "a=${a}${a}\n" * 60),
        ("job.conf", repeated("a+=1\n")),
        ("job.conf", BLOCK.replace("c {", "", 1).replace("} }", "}") + repeated("{c=1}")),
        ("job.conf", BLOCK + repeated("{c{k=1}}")),
        ("job.conf", "a=[" + repeated("${big},") + "]"),
        ("job.conf", 'a="' + repeated("${big}") + '"'),
        ("job.json", '{"a":"' + repeated("${big}") + '"}'),
        ("job.yaml", 'a: "' + repeated("${big}") + '"'),
        ("job.yaml", f"b: &b\n{KEYS}\na:\n" + "\n".join(f"  x{number}: *b" for number in range(999))),
        ("job.yaml", f"b: &b\n{KEYS}\na:\n  <<: [" + ",".join(["*b"] * 999) + "]\n"),
    ],
    ids=[
        "arrays doubled",
        "strings doubled",
        "elements added",
        "a block in each object of a list",
        "objects beside a block",
        "a list of blocks",
        "a text of blocks",
        "json: a text",
        "yaml: a text",
        "yaml: aliases",
        "yaml: merges",
    ],
)
def test_what_substitutions_aliases_and_merges_add_is_limited(name: str, text: str) -> None:
    begun = time.thread_time()
    with pytest.raises(ConfigError, match=r"^job\.\w+:\d+:\d+: limit of substitutions exceeded"):
        submitted(text, name)
    assert time.thread_time() - begun < 5


@pytest.mark.parametrize(("name", "key"), [("job.conf", "k{}=1"), ("job.yaml", "k{}: 1")])
def test_keys_bytes_and_time_are_limited(name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(key.format(number) for number in range(3_000))
    submitted(text, name)
    for few, said in (
        (Limits(keys=2_000), "limit of keys exceeded: the text has more than 2,000 keys"),
        (Limits(characters=1_000), "limit of bytes exceeded: the text has more than 1,000 characters"),
        (Limits(seconds=0), "limit of time exceeded"),
    ):
        monkeypatch.setattr("seatunnel_core.config.file.SUBMITTED", few)
        with pytest.raises(ConfigError, match=said):
            submitted(text, name)
        parse(text, name, Variables(), Problems())  # the user's own files have wider limits


@pytest.mark.parametrize("name", ["job.conf", "job.yaml", "job.json"])
def test_nesting_is_limited(name: str) -> None:
    with pytest.raises(ConfigError, match=r"nest|recursion"):
        submitted('{"a":' + "[" * 60_000, name)


def test_code_fences_are_read_in_linear_time() -> None:
    """The expression that found them needed hours for 1 MB, and held Python's lock meanwhile."""
    begun = time.thread_time()
    with pytest.raises(ConfigError, match="not YAML"):
        submitted("a: 1\n" + "```\n" * 100_000 + "x", "job.yaml")
    assert time.thread_time() - begun < 5


def test_submitted_texts_have_tighter_limits_than_files() -> None:
    for each in ("characters", "tokens", "keys", "substitutions", "seconds"):
        assert getattr(limits.SUBMITTED, each) < getattr(limits.LOCAL, each)


def test_a_submitted_job_of_a_hundred_thousand_columns_is_within_the_limits() -> None:
    submitted("source { X { fields {" + "\n".join(f"c{number} = int" for number in range(100_000)) + "} } }")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.conf", "a=[" + "1," * 6_000 + "1]"),
        ("job.json", '{"a":[' + "[]," * 6_000 + "1]}"),
        ("job.yaml", "a: [" + "1," * 11_000 + "1]"),
        ("job.conf", 'a="x"' + " b" * 6_000),
    ],
)
def test_tokens_are_limited(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values in lists and words that make one text took 1.9 GiB for 10 MiB, and longer than the limit of time."""
    submitted(text, name)
    monkeypatch.setattr("seatunnel_core.config.file.SUBMITTED", evolve(limits.SUBMITTED, tokens=10_000))
    said = r"^job\.\w+:1:\d+: limit of tokens exceeded: the text has more than 10,000 tokens"
    with pytest.raises(ConfigError, match=said):
        submitted(text, name)


@pytest.mark.parametrize(("name", "text"), [("job.conf", "a=[{}1]"), ("job.yaml", "a: [{}1]")])
def test_the_time_for_tokens_is_limited(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.config.file.SUBMITTED", Limits(seconds=0))
    with pytest.raises(ConfigError, match="limit of time exceeded"):
        submitted(text.format("1," * 3_000), name)
