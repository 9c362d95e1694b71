"""The text of a job without its secrets, whatever notation has them."""

import time

import pytest

from seatunnel_core.planning.masked_job import LONGEST, masked_job


def in_source(options: str) -> str:
    return masked_job(f"source {{ Http {{ {options} }} }}\nsink {{ Console {{ }} }}", "job.conf")


@pytest.mark.parametrize(
    "options",
    [
        'password = "hunter2"',
        "password = hunter2, # or hunter2",
        'headers { Authorization = "Bearer hunter2" }',
        'url = "jdbc:mysql://u:hunter2@db/x"',
        'url = "http://u:hunter2@db/x"',
        'url = "http://db/x?password=hunter2"',
        "options = [{ a = 1, api_key = hunter2 }]",
        'kafka.config { sasl.jaas.config = "x required username=u password=hunter2;" }',
        '"secret_key" = ["hunter2"]',
        "password = 2 hunter2",
        'token = "a${X}hunter2"',
        'webhook = "https://hooks.example.org/hunter2"',
    ],
)
def test_no_secret_is_shown(options: str) -> None:
    assert "hunter2" not in in_source(options)


@pytest.mark.parametrize(
    "written",
    [
        "debezium { column.mask.hash.v2.SHA-256.with.salt.pepper = a }",
        "debezium.column.mask.hash.v2.SHA-256.with.salt.pepper.and.pepper = a",
        'debezium { "COLUMN.mask.hash.v2.SHA-256.WITH.SALT.pepper" = a }',
        "debezium { column.mask.hash.v2.SHA-256 { With.Salt { pepper = a } } }",
        'debezium { "column.mask.hash.v2.SHA-256.with.salt.pepper\\nand.pepper" = a }',
        'debezium { column.mask { hash.v2.SHA-256 { with.salt { pepper = a, "pepper 2" = b } } } }',
    ],
)
def test_a_salt_in_a_key_is_not_shown(written: str) -> None:
    """A property of Debezium has its salt in its name."""
    found = in_source(written)
    assert "pepper" not in found
    assert "***" in found


def test_names_of_variables_and_places_are_shown() -> None:
    found = in_source(
        'password = ${DB_PASSWORD}, token = "secret://vault/x", query = "select \'a\'", n = 3, l = [1, 2]'
    )
    for line in (
        'password = "${DB_PASSWORD}"',
        'token = "secret://vault/x"',
        "query = \"select 'a'\"",
        "n = 3",
        "l = [1, 2]",
    ):
        assert line in found


@pytest.mark.parametrize(("text", "name"), [("{", "job.json"), ("a: [", "job.yaml"), ("source {", "job.conf")])
def test_what_cannot_be_parsed_is_not_shown(text: str, name: str) -> None:
    assert masked_job(text, name) == ""


def test_other_formats_are_shown_as_hocon() -> None:
    text = '{"env": {"job.mode": "BATCH"}, "source": [{"plugin_name": "Http", "password": "hunter2", "url": null}]}'
    found = masked_job(text, "job.json")
    assert "hunter2" not in found
    assert 'plugin_name = "Http"' in found
    assert "url = null" in found


def test_a_long_text_is_quick_or_not_shown() -> None:
    """Searching a long word for names of secrets once took quadratic time."""
    begun = time.process_time()
    assert "x" * 50_000 in in_source(f'query = "{"x" * 50_000}"')
    assert time.process_time() - begun < 5
    assert in_source(f'query = "{"x" * LONGEST}"') == ""
