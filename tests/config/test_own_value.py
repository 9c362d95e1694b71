"""Options ``a`` and ``a.b`` in one block: each has its value, in every format and order; other keys follow HOCON."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.config.document import Block, plain
from seatunnel_core.config.file import load, parse
from seatunnel_core.config.job_file import Kind, job_from_code, read_job
from seatunnel_core.config.option import ENUM, LIST, LONG, MAP, NESTED, STRING, Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, Unknown, Validated, validate
from seatunnel_core.config.variables import Variables

MODE = Option("start_mode", ENUM("earliest", "timestamp", "specific_offsets"), doc="Mode.")
DECLARED: tuple[Option[Any], ...] = (
    MODE,
    Option("start_mode.timestamp", LONG, doc="Begin."),
    Option("start_mode.end_timestamp", LONG, doc="End."),
    Option("start_mode.offsets", MAP, doc="Offsets."),
    Option("names", LIST(), doc="A list."),
    Option("names.first", STRING, doc="Below the list."),
    Option("topic", STRING, doc="No key below it."),
    Option("config", MAP, doc="Texts."),
    Option("filter", NESTED, doc="A block."),
)
BOTH = {"start_mode": "timestamp", "start_mode.timestamp": 5}


def taken(block: Any, problems: Problems) -> Validated:
    assert isinstance(block, Block)
    return validate(block, DECLARED, BlockRules(what="the source T", unknown=Unknown.LENIENT), problems)


def options(text: str, name: str = "job.conf", *, problems: Problems | None = None, **given: str) -> dict[str, Any]:
    """Return the values of the source's options; nothing may be reported unless ``problems`` collects it."""
    found = problems or Problems(strict=True)
    tree = parse(text, name, Variables(given, {}), found)
    section = tree.get("source")
    assert isinstance(section, Block)
    values = taken(section.get("T"), found).options
    if problems is None:
        assert [str(each) for each in found.found] == []
    return {key: values[key] for key in values if values.is_set(key)}


def source(text: str) -> str:
    return f"source {{ T {{\n{text}\n}} }}"


@pytest.mark.parametrize(
    "text",
    [
        "start_mode = timestamp\nstart_mode.timestamp = 5",
        "start_mode.timestamp = 5\nstart_mode = timestamp",
        "start_mode = earliest\nstart_mode.timestamp = 4\nstart_mode = timestamp\nstart_mode.timestamp = 5",
        "start_mode = timestamp\ntopic = x\nstart_mode { timestamp = 5 }",
        'start_mode = "timestamp"\n"start_mode.timestamp" = 5',
        "start_mode = ${mode}\nstart_mode.timestamp = ${at}",
        "start_mode.timestamp = ${at}\nstart_mode = ${mode}",
        'start_mode = "${mode}"\nstart_mode.timestamp = "${at}"',
        "start_mode { x = 1 }\nstart_mode = null\nstart_mode = timestamp\nstart_mode.timestamp = 5",
    ],
)
def test_both_hold_in_hocon_in_either_order(text: str) -> None:
    found = options(source(text), mode="timestamp", at="5")
    found.pop("topic", None)
    assert found == BOTH


def test_keys_on_both_sides_of_the_value_and_blocks_below_hold() -> None:
    text = "start_mode.timestamp = 5\nstart_mode = specific_offsets\nstart_mode.end_timestamp = 9\n"
    text += 'start_mode.offsets = { "a-0" = 1 }\nstart_mode.offsets { "b.c-0" = 2 }'
    assert options(source(text)) == {
        "start_mode": "specific_offsets",
        "start_mode.timestamp": 5,
        "start_mode.end_timestamp": 9,
        "start_mode.offsets": {"a-0": "1", "b.c-0": "2"},
    }
    assert options(source("names = [a, b]\nnames.first = c")) == {"names": ("a", "b"), "names.first": "c"}


@pytest.mark.parametrize(
    "text",
    [
        "base { start_mode = timestamp }\nsource { T = ${base} { start_mode.timestamp = 5 } }",
        "base { start_mode.timestamp = 5 }\nsource { T = ${base} { start_mode = timestamp } }",
        "base { start_mode = timestamp, start_mode.timestamp = 5 }\nsource { T = ${base} }",
        "base { start_mode.timestamp = 5 }\nsource { T = { start_mode = timestamp } ${base} }",
    ],
)
def test_both_hold_where_one_comes_from_another_block(text: str) -> None:
    assert options(text) == BOTH


def test_both_hold_where_one_is_included(tmp_path: Path) -> None:
    (tmp_path / "mode.conf").write_text("start_mode = timestamp")
    (tmp_path / "at.conf").write_text("start_mode.timestamp = 5")
    for inside in (
        'include "mode.conf"\nstart_mode.timestamp = 5',
        'start_mode = timestamp\ninclude "at.conf"',
        'include "at.conf"\ninclude "mode.conf"',
    ):
        job, problems = tmp_path / "job.conf", Problems(strict=True)
        job.write_text(source(inside))
        section = load(job, Variables({}, {}), problems).get("source")
        assert isinstance(section, Block)
        values = taken(section.get("T"), problems).options
        assert {key: values[key] for key in BOTH} == BOTH
        assert not problems.found


def test_both_hold_in_json_yaml_and_python() -> None:
    json = '{"source": {"T": {"start_mode": "timestamp", "start_mode.timestamp": 5}}}'
    assert options(json, "job.json") == BOTH
    nested = '{"source": {"T": {"start_mode": {"timestamp": 5}, "start_mode": "timestamp"}}}'
    assert options(nested, "job.json") == BOTH
    for lines in (
        ["start_mode: timestamp", "start_mode.timestamp: 5"],
        ["start_mode.timestamp: 5", "start_mode: timestamp"],
    ):
        yaml = "source:\n  T:\n" + "".join(f"    {line}\n" for line in lines)
        assert options(yaml, "job.yaml") == BOTH
    raw = job_from_code({}, [(Kind.SOURCE, "T", BOTH), (Kind.SINK, "Console", {})])
    values = taken(raw.blocks[0].block, raw.problems).options
    assert {key: values[key] for key in BOTH} == BOTH


def test_both_hold_in_blocks_of_texts() -> None:
    found = options(source("config { fs.s3a.endpoint = a, fs.s3a.endpoint.region = b }"))
    assert found == {"config": {"fs.s3a.endpoint": "a", "fs.s3a.endpoint.region": "b"}}


def test_spark_settings_that_begin_alike_warn_of_nothing_in_a_job() -> None:
    problems = Problems(strict=True)
    text = "env { spark.locality.wait = 3s, spark.locality.wait.node = 1s }\nsource { A {} }\nsink { B {} }"
    raw = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
    assert raw.spark_options == {"spark.locality.wait": "3s", "spark.locality.wait.node": "1s"}
    assert not problems.found


@pytest.mark.parametrize(
    ("text", "reports"),
    [
        ("topic = a\ntopic.b = c", ["expected text, found a block", "job.conf:2:9: this value hides the value at"]),
        ("topic.b = c\ntopic = a", ["job.conf:2:7: this value hides the value at"]),
        ("filter { a = 1, a.b = 2 }", ["this value hides the value at"]),
        ("start_mode = timestamp\nstart_mode.timestmap = 5", ["has no option 'start_mode.timestmap'"]),
    ],
)
def test_what_is_no_such_pair_follows_hocon_and_is_reported(text: str, reports: list[str]) -> None:
    problems = Problems()
    options(source(text), problems=problems)
    assert len(problems.found) == len(reports)
    for report in reports:
        assert any(report.rpartition(": ")[2] in str(each) for each in problems.found), report


def test_every_pair_that_a_plugin_declares_holds_in_either_order() -> None:
    checked = set()
    for point in (each for kind in Kind for each in entry_points(group=f"seatunnel.{kind.value}")):
        if point.dist is None or point.dist.name != "seatunnel-core":
            continue
        declared = point.load().declared
        for short, longer in ((a.key, b.key) for a in declared for b in declared if b.key.startswith(f"{a.key}.")):
            for first, second in ((short, longer), (longer, short)):
                block = parse(f"{first} = 1\n{second} = 1", "job.conf", Variables({}, {}), Problems())
                assert {short, longer} <= set(validate(block, declared, BlockRules(what="T"), Problems()).positions)
            checked.add((point.name, short, longer))
    assert ("Kafka", "start_mode", "start_mode.timestamp") in checked
    assert ("DataValidator", "row_error_handle_way", "row_error_handle_way.error_table") in checked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1, a.b = 2, c = ${a}", {"b": 2}),
        ("a.b = 2, a = 1, c = ${a}", 1),
        ("a.b = 2, a = 1, c = [x ${a}]", ["x 1"]),
        ("a = 1, a {}, c = ${a}", {}),
        ("a.b = 1, a = 2, a.b.d = 3, c = ${a.b}", {"d": 3}),
    ],
)
def test_a_substitution_sees_what_hocon_keeps(text: str, expected: Any) -> None:
    tree = parse(text.replace(", c", "\nc"), "job.conf", Variables({}, {}), Problems())
    found = tree.get("c")
    assert found is not None
    assert plain(found) == expected
