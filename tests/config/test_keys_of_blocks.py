"""Keys inside of an option's blocks that nobody looks at: warnings, as they are for the keys of a plugin's block."""

from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.config.job_file import read_env
from seatunnel_core.config.problem import Problems, Severity
from seatunnel_core.config.validation import BlockRules, Unknown, validate
from seatunnel_core.connectors.assertion.sink import AssertSink
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.connectors.file.ftp import SftpFileSource
from seatunnel_core.transforms.data_validator import DataValidator
from seatunnel_core.transforms.json_path import JsonPath
from seatunnel_core.transforms.table_rename import TableRename
from tests.config.reading import read

PRIMARY = "schema { fields { a = int }, primaryKey { name = k, columnNames = [a], order = 1 } }"
CASES = [
    (AssertSink, "rules { number_rules = [] }", "1:9: the plugin: rules has no 'number_rules'"),
    (AssertSink, "rules { row_rule = [] }", "rules has no 'row_rule'. Did you mean 'row_rules'?"),
    (
        AssertSink,
        "rules { field_rules = [ { field_name = a, field_values = [] } ] }",
        "rules.field_rules has no 'field_values'",
    ),
    (
        AssertSink,
        "rules { field_rules = [ { field_name = a, field_value = [ { rule_type = NULL, equal_to = 1 } ] } ] }",
        "rules.field_rules.field_value has no 'equal_to'. Did you mean 'equals_to'?",
    ),
    (
        AssertSink,
        "rules { row_rules = [ { rule_type = MIN_ROW, rule_value = 1, table = a } ] }",
        "rules.row_rules has no 'table'",
    ),
    (AssertSink, "rules { tables_configs = [ { table_path = a, field_rule = [] } ] }", "rules.tables_configs has no"),
    (AssertSink, "rules { catalog_table_rule { columns = [] } }", "rules.catalog_table_rule has no 'columns'"),
    (
        AssertSink,
        "rules { catalog_table_rule { table_identifier_rule { table = a, schema = b } } }",
        "rules.catalog_table_rule.table_identifier_rule has no 'schema'",
    ),
    (FakeSource, "schema { feilds { a = int }, fields { a = int } }", "schema has no 'feilds'. Did you mean 'fields'?"),
    (
        FakeSource,
        "schema { columns = [ { name = a, type = int, nulable = false } ] }",
        "schema.columns has no 'nulable'",
    ),
    (FakeSource, PRIMARY, "schema.primaryKey has no 'order'"),
    (FakeSource, f"tables_configs = [ {{ {PRIMARY} }} ]", "schema.primaryKey has no 'order'"),
    (JsonPath, 'columns = [ { src_field = a, path = "$", dest_field = b, type = int } ]', "columns has no 'type'"),
    (
        DataValidator,
        "field_rules = [ { field_name = a, rule_type = NOT_NULL, minimum = 1 } ]",
        "field_rules has no 'minimum'",
    ),
    (TableRename, "replacements_with_regex = [ { replace_from = a, replace_too = b } ]", "has no 'replace_too'"),
]


def problems_of(plugin: Any, text: str, *, strict: bool) -> tuple[Problems, Any]:
    problems = Problems(strict=strict)
    block = read(text, problems=problems)
    validated = validate(block, plugin.declared, BlockRules(what="the plugin", unknown=Unknown.LENIENT), problems)
    return problems, validated.options


@pytest.mark.parametrize(("plugin", "text", "message"), CASES)
def test_a_key_that_nobody_looks_at_is_reported_and_left_out(plugin: Any, text: str, message: str) -> None:
    """They were errors, and SeaTunnel's jobs that have such keys did not run."""
    problems, options = problems_of(plugin, text, strict=False)
    assert [message in str(problem) for problem in problems.found] == [True]
    if "tables_configs" not in options or not options["tables_configs"]:
        plugin(options)
    said = [evolve(problem, severity=Severity.ERROR) for problem in problems.found]
    assert problems_of(plugin, text, strict=True)[0].found == said


def test_keys_that_are_known_or_free_are_not_reported() -> None:
    value = "field_type = { x = int }, field_value = [ { equals_to { x = 1 } } ]"
    free = f"rules {{ field_rules = [ {{ field_name = a, {value} }} ] }}"
    assert problems_of(AssertSink, free, strict=True)[0].found == []
    named = "schema { fields { anything = int, more { x = int } }, comment = c }"
    assert problems_of(FakeSource, named, strict=True)[0].found == []


def test_seatunnels_name_of_the_file_of_a_key() -> None:
    """``keyfile`` was unknown: with the warning passed over, the login went without the key."""
    problems, options = problems_of(SftpFileSource, "keyfile = k", strict=False)
    assert options["private_key_path"] == "k"
    assert "'keyfile' is an older name" in str(problems.warnings[0])


def test_leftovers_of_env_are_reported() -> None:
    """``min-pause`` is SeaTunnel's own name in ``env``; what concerns its services has no effect here."""
    problems = Problems(strict=True)
    text = "min-pause = 7, metalake_enabled = true, openlineage_url = u"
    options = read_env(read(text), problems).options
    assert options["checkpoint.min-pause"] == 7
    assert not problems.errors
    said = str(problems.warnings)
    assert "'metalake_enabled' has no effect" in said
    assert "'openlineage_url' has no effect" in said
