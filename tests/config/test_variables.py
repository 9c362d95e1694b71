from typing import Any

import pytest

from seatunnel_core.config.document import plain
from seatunnel_core.config.file import parse
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import RESERVED, Variables
from seatunnel_core.errors import ConfigError, UsageError
from tests.config.reading import read


def test_what_a_variable_holds_is_not_looked_at_again() -> None:
    """A password with ``${`` in it was another one afterwards, and a part of it stood in a warning."""
    variables, problems = Variables({"secret": "s${HOME}t${nope}"}, {"HOME": "/root"}), Problems()
    for name, text in {
        "job.conf": 'alone = ${secret}\nquoted = "${secret}"\nafter = ${alone}',
        "job.json": '{"alone": "${secret}", "quoted": "${secret}", "after": "${secret}"}',
        "job.yaml": "alone: ${secret}\nquoted: '${secret}'\nafter: ${secret}",
    }.items():
        tree = parse(text, name, variables, problems)
        assert [entry.value.text for entry in tree] == ["s${HOME}t${nope}"] * 3, name  # type: ignore[union-attr]
    assert problems.found == []


def test_they_come_from_the_command_line_before_the_environment_and_the_default() -> None:
    variables = Variables({"a": "given"}, {"a": "environment", "b": "environment"})
    tree = parse("x = ${a}\ny = ${b}\nz = ${c:default}", "j.conf", variables, Problems())
    assert plain(tree) == {"x": "given", "y": "environment", "z": "default"}
    quoted = parse('x = "-${a}-${b}-${c:default}-"', "j.conf", variables, Problems())
    assert plain(quoted) == {"x": "-given-environment-default-"}


@pytest.mark.parametrize("name", ["j.conf", "j.json", "j.yaml"])
def test_they_work_inside_texts_of_every_format(name: str) -> None:
    text = '{"path": "/data/${day}/${hour:00}"}'
    assert plain(read(text, name, day="monday")) == {"path": "/data/monday/00"}


@pytest.mark.parametrize(
    "placeholder",
    [*sorted(RESERVED), "k0", "v12", "kn", "now", "uuid", "transactionId"],
)
def test_what_sinks_fill_in_stays_as_it_is(placeholder: Any) -> None:
    problems = Problems()
    text = f'a = "${{{placeholder}}}"\nb = "x_${{{placeholder}}}"'
    tree = (
        read(text, problems=problems, **{placeholder: "wrong"})
        if placeholder == "k0"
        else read(text, problems=problems)
    )
    assert plain(tree) == {"a": f"${{{placeholder}}}", "b": f"x_${{{placeholder}}}"}
    assert problems.found == []


@pytest.mark.parametrize("text", ["a = ${missing}", 'a = "${missing}"', "a = 1\nb = ${missing}"])
def test_a_missing_one_is_an_error_that_says_what_to_do(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)
    assert "the variable ${missing} is not set. Pass -i missing=VALUE" in str(raised.value)


def test_all_missing_ones_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as raised:
        read("a = ${one}\nb = ${two}")
    assert str(raised.value).count("is not set") == 2


def test_a_misspelt_one_is_suggested() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean \$\{table\}"):
        read("a = ${tabel}", table="t")


def test_inside_a_text_a_missing_one_stays_with_a_warning() -> None:
    problems = Problems()
    assert plain(read('a = "x ${y}"', problems=problems)) == {"a": "x ${y}"}
    assert "so the placeholder remains in the value" in str(problems.warnings[0])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('sink { Http { url = "https://${y}/rows" } }', "sink.Http.url"),
        ('sink { Http { headers { X = "a ${y}" } } }', "sink.Http.headers.X"),
        ('sink { Jdbc { password = "a-${y}" } }', "sink.Jdbc.password"),
        (
            'sink { Kafka { config { sasl.jaas.config = "x ${y};" } } }',
            "sink.Kafka.config.sasl.jaas.config",
        ),
        ('source { Kafka { bootstrap.servers = "a:9092,${y}:9092" } }', "source.Kafka.bootstrap.servers"),
        ('source { LocalFile { path = ["s3a://${y}/x"] } }', "source.LocalFile.path"),
    ],
)
def test_inside_a_secret_an_address_or_a_header_a_missing_one_is_an_error(text: str, key: str) -> None:
    """Was a warning: the service was asked with ``${y}`` in its address, and answered 401 or not at all."""
    problems = Problems()
    read(text, problems=problems)
    assert f"{key}: the variable ${{y}} is not set. Pass -i y=VALUE" in str(problems.errors[0])
    read(text, y="1")


def test_definitions_are_name_and_value() -> None:
    assert Variables.parse(["a=1", "b=x=y", "c="], {}).given == {"a": "1", "b": "x=y", "c": ""}
    assert Variables.parse(["a=1"]).environment
    for wrong in ("a", "=1", ""):
        with pytest.raises(UsageError, match="use -i name=value"):
            Variables.parse([wrong])
