"""Which variables of a job are secrets, by where they stand and by what they are worth."""

import pytest

from seatunnel_core.config.problem import Problems
from seatunnel_core.planning.variable_uses import refuse_secrets, uses

JOB = "env {{ }}\nsource {{ Http {{ plugin_output = a\n  {0} }} }}\nsink {{ Console {{ plugin_input = a }} }}\n"


def secrets(line: str, name: str = "job.conf", **given: str) -> set[str]:
    return {use.name for use in uses(JOB.format(line), name, given or {"X": "hunter2"}, {}) if use.is_secret}


@pytest.mark.parametrize(
    "line",
    [
        "password = ${X}",
        'password = "${X}"',
        'password = "a-${X}"',
        "api_key = ${?X}",
        "nested { deeper { access_token = ${X} } }",
        'headers { Authorization = "Bearer ${X}" }',
        "headers { X-Day = ${X} }",
        "webhooks_url = ${X}",
        'url = "https://me:${X}@host/path"',
        'url = "https://${X}@host/path"',
        'url = "jdbc:postgresql://h/db?user=me&password=${X}"',
        'url = "https://h/x?access_token="${X}"&page=1"',
        """body = "{\\"day\\": 1, \\"token\\": \\"${X}\\"}" """,
        'kafka.config { sasl.jaas.config = "Login required username=\\"u\\" password=\\"${X}\\";" }',
        'list = [{ secret = "${X}" }]',
    ],
)
def test_a_variable_is_a_secret_where_it_stands_in_one(line: str) -> None:
    assert secrets(line) == {"X"}


@pytest.mark.parametrize(
    "line",
    [
        "path = ${X}",
        'url = "https://${X}:8080/path?day=1"',
        'url = "https://h/${X}?password=lit"',
        'url = "jdbc:postgresql://h/db?password=lit&schema=${X}"',
        """query = "SELECT * FROM t WHERE token_id = ${X} AND key = 1" """,
        "primary_keys = [${X}]",
        'body = "{\\"token\\": \\"lit\\", \\"day\\": \\"${X}\\"}"',
        "params { day = ${X} }",
        "path = x",
        'path = "${now}"',
    ],
)
def test_and_elsewhere_it_is_none(line: str) -> None:
    assert secrets(line) == set()


@pytest.mark.parametrize("value", ["https://me:hunter2@host/x", "jdbc:mysql://h/db?user=me&password=hunter2"])
def test_a_value_with_a_password_in_it_is_a_secret_wherever_it_stands(value: str) -> None:
    assert secrets("url = ${X}", X=value) == {"X"}
    assert secrets("url = ${X}", X="https://host/x?day=1") == set()


def test_a_value_that_goes_through_another_key_of_the_file_is_one_too() -> None:
    found = uses("pw = ${X}\nsource { Http { password = ${pw} } }", "job.conf", {"X": "1"}, {})
    assert [use.keys for use in found if use.is_secret] == ["source.Http.password"]


def test_other_formats_and_a_text_that_cannot_be_read() -> None:
    sql = "CREATE TABLE a WITH ('connector' = 'Jdbc', 'type' = 'source', 'password' = '${X}', 'query' = '${Y}');"
    found = uses(sql, "job.sql", {"X": "1", "Y": "2"}, {})
    assert {(use.name, use.is_secret) for use in found} == {("X", True), ("Y", False)}
    yaml = "source:\n  - Http:\n      headers:\n        Cookie: 'a=${X}'\n"
    (only,) = uses(yaml, "job.yaml", {"X": "1"}, {})
    assert (only.is_secret, only.keys, str(only.position)) == (True, "source.Http.headers.Cookie", "job.yaml:4:17")
    assert uses("source { {", "job.conf", {"X": "1"}, {}) == ()


def test_the_environment_counts_for_what_neither_the_command_nor_the_file_gives() -> None:
    text = 'day = 1, source { Http { path = "${a}", b = ${day}, c = ${given}, d = "${none}" } }'
    found = uses(text, "job.conf", {"given": "1"}, {"a": "1", "day": "2", "given": "3", "other": "4"})
    assert {use.name for use in found} == {"a", "given"}


def test_the_message_names_place_and_remedy_and_not_the_value() -> None:
    problems = Problems()
    refuse_secrets(JOB.format("password = ${PW}"), "job.conf", {"PW": "hunter2"}, problems)
    (error,) = map(str, problems.errors)
    assert error.startswith("job.conf:3:14: ${PW} is used in the secret source.Http.password")
    assert "Set PW in the environment of the nodes" in error
    assert "hunter2" not in error
