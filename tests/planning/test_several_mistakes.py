"""Files with several independent mistakes of different kinds: one report has all of them, the cause first."""

from pathlib import Path

import pytest

from seatunnel_core.cli.arguments import RunArguments, parse
from seatunnel_core.cli.job_files import read_job
from seatunnel_core.config.engine import default_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup

ROWS = "FakeSource { row.num = 3, plugin_output = a, schema { fields { id = bigint, name = string } } }"

FILES = {
    "env, options, a type and the graph": (
        """
        env { job.mode = BATCH, checkpoint.interval = soon, paralelism = 2 }
        source { FakeSource { row.num = many, plugin_output = a, schema { fields { id = bigint, name = strng } } } }
        sink {
          Console { plugin_input = b }
          Console { plugin_input = [a, b], rows_per_unit = few }
        }
        """,
        ("'checkpoint.interval'", "'paralelism'", "'row.num'", "'strng' is not a type", "'b'", "'rows_per_unit'"),
    ),
    "options of one source, one of them only seen by its constructor": (
        """
        source { LocalFile { path = /in, file_format_type = csv, encoding = klingon, skip_header_row_number = one,
          archive_compress_codec = rar, schema { fields { id = bigint, x = "decimal(99,2)" } } } }
        sink { Console {} }
        """,
        ("'klingon' is unknown", "'skip_header_row_number'", "'archive_compress_codec'", "decimal(99, 2)"),
    ),
    "functions, a pattern and a truth value": (
        f"""
        source {{ {ROWS} }}
        transform {{
          Sql {{ plugin_input = a, plugin_output = b, query = "SELECT foo(id) AS f, bar(name) AS g FROM a" }}
          Replace {{ plugin_input = a, plugin_output = c, replace_field = name, pattern = "(", is_regex = true,
            replacement = x, replace_first = perhaps }}
        }}
        sink {{ Console {{ plugin_input = [b, c] }} }}
        """,
        ("no function FOO", "no function BAR", "'(' is not a regular expression", "'replace_first'"),
    ),
    "rules of Assert": (
        f"""
        source {{ {ROWS} }}
        sink {{ Assert {{ rules {{
          row_rules = [ {{ rule_type = MAX_ROWS, rule_value = 3 }}, {{ rule_type = MIN_ROW, rule_value = x }} ]
          field_rules = [
            {{ field_name = id, field_type = bigt, field_value = [ {{ rule_type = NOTNULL }} ] }}
            {{ field_name = name, field_value = [ {{ rule_type = NOT_NULL, rule_value = 1 }} ] }} ]
          tables_configs = [ {{ row_rules = [] }} ]
        }} }} }}
        """,
        ("MAX_ROWS", "found 'x'", "'bigt' is not a type", "NOTNULL", "does not use rule_value", "needs table_path"),
    ),
    "columns in transforms and sinks": (
        f"""
        source {{ {ROWS} }}
        transform {{
          Sql {{ plugin_input = a, plugin_output = b, query = "SELECT nam, ide + 1 AS k FROM a WHERE x = 3" }}
          Filter {{ plugin_input = a, plugin_output = c, include_fields = [zz] }}
        }}
        sink {{
          Assert {{ plugin_input = a, rules {{ field_rules = [
            {{ field_name = idd, field_type = bigint }}, {{ field_name = id, field_type = string }} ] }} }}
          LocalFile {{ plugin_input = a, path = OUT, file_format_type = csv, partition_by = [pp], sink_columns = [ss] }}
          Console {{ plugin_input = [b, c] }}
        }}
        """,
        ("no column nam", "no column ide", "no column x", "no column zz", "'idd'", "expected string", "'pp'", "'ss'"),
    ),
    "an option beside columns": (
        f"""
        source {{ {ROWS} }}
        transform {{ Filter {{ plugin_input = a, plugin_output = c, include_fields = [zz] }} }}
        sink {{
          Console {{ plugin_input = c, rows_per_unit = few }}
          Assert {{ plugin_input = a, rules {{ field_rules = [ {{ field_name = idd }} ] }} }}
          Consol {{ plugin_input = a }}
        }}
        """,
        ("no column zz", "'rows_per_unit'", "'idd'", "Did you mean Console?|did you mean Console?"),
    ),
    "secrets, an address and save modes": (
        f"""
        source {{ {ROWS} }}
        sink {{
          Jdbc {{ url = "jdbc:postgres://h/x", user = u, password = "file:///nowhere/password", table = t,
            generate_sink_sql = true, batch_size = many, schema_save_mode = DROP }}
          Jdbc {{ url = "jdbc:sqlite:/tmp/x.db", generate_sink_sql = true, table = t,
            data_save_mode = CUSTOM_PROCESSING }}
        }}
        """,
        ("jdbc:postgres:", "'password'", "'batch_size'", "'schema_save_mode'", "'custom_sql'"),
    ),
    "save modes that contradict each other, beside a wrong option": (
        f"""
        source {{ {ROWS} }}
        sink {{
          LocalFile {{ plugin_input = a, path = OUT, file_format_type = csv, data_save_mode = DROP_DATA }}
          LocalFile {{ plugin_input = a, path = OUT, file_format_type = csv, write_mode = replace }}
          Console {{ plugin_input = a, rows_per_unit = few }}
        }}
        """,
        ("replaces the content of", "'rows_per_unit'"),
    ),
    "entries of lists": (
        f"""
        source {{ {ROWS}
          LocalFile {{ plugin_output = b, tables_configs = [
            {{ path = /in, file_format_type = csv, encoding = klingon, schema {{ table = x }} }}
            {{ path = /in2, file_format_type = csv, encoding = romulan, schema {{ table = y }} }} ] }}
        }}
        transform {{
          JsonPath {{ plugin_input = a, plugin_output = c, columns = [
            {{ src_field = name, path = "$.a", dest_field = p, dest_type = strng }}
            {{ src_field = name, path = "$.a" }} ] }}
          DataValidator {{ plugin_input = a, plugin_output = d, field_rules = [
            {{ field_name = id, rule_type = NOTNULL }}, {{ field_name = name, rule_type = LENGTHY }} ] }}
          Metadata {{ plugin_input = a, plugin_output = e, metadata_fields {{ Tabel = t, Databse = d }} }}
        }}
        sink {{ Console {{ plugin_input = [a, b, c, d, e] }} }}
        """,
        ("'klingon'", "'romulan'", "'strng'", "needs dest_field", "'NOTNULL'", "'LENGTHY'", "Tabel is", "Databse is"),
    ),
    "two variables that are not set, and options": (
        """
        env { job.mode = "${MODE_THAT_IS_NOT_SET}" }
        source { FakeSource { row.num = "${ROWS_THAT_ARE_NOT_SET}", splt.num = 3, schema { fields { id = bigit } } } }
        sink { Console { rows_per_unit = few } }
        """,
        ("MODE_THAT_IS_NOT_SET", "ROWS_THAT_ARE_NOT_SET", "'splt'", "'bigit'", "'rows_per_unit'"),
    ),
}


def report(path: Path) -> list[str]:
    """Return the lines that a check prints."""
    raw = load_job(path, Variables({}, {}))
    engine = default_engine({"HOME": "/home/me"})
    try:
        check_report(plan_job(raw, lookup, engine, look=True), engine)
    except SeaTunnelError as error:
        return [*map(str, raw.problems.warnings), *str(error).splitlines()]
    raise AssertionError("the job has mistakes, and the check reports none")


@pytest.mark.parametrize(("text", "expected"), FILES.values(), ids=FILES)
def test_one_report_has_every_mistake(text: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "job.conf"
    path.write_text(text.replace("OUT", str(tmp_path / "out")), encoding="utf-8")
    lines = report(path)
    lacking = [each for each in expected if not any(word in line for line in lines for word in each.split("|"))]
    assert not lacking, "\n".join(lines)


def test_a_further_mistake_that_only_follows_from_the_first_is_not_reported(tmp_path: Path) -> None:
    path = tmp_path / "job.conf"
    path.write_text(
        """
        source { LocalFile { path = /in, file_format_type = jsn, schema_sample = 3 } }
        sink { Console {} }
        """,
        encoding="utf-8",
    )
    errors = [line for line in report(path) if "'/in'" not in line]
    assert len(errors) == 1, errors
    assert "'file_format_type': expected one of" in errors[0]


def test_mistakes_of_the_engine_and_of_the_job_are_in_one_report(tmp_path: Path) -> None:
    engine, job = tmp_path / "seatunnel.yaml", tmp_path / "job.conf"
    engine.write_text(
        "seatunnel:\n  engine:\n    slot-num: many\n    checkpoint:\n      intervall: 5\n", encoding="utf-8"
    )
    job.write_text("source { FakeSource { row.num = x } }\nsink { Consol {} }\n", encoding="utf-8")
    arguments = parse(["--check", "-c", str(job), "--engine-config", str(engine)], "1.0")
    assert isinstance(arguments, RunArguments)
    with pytest.raises(SeaTunnelError) as found:
        read_job(arguments)
    for expected in ("'slot-num'", "intervall", "'row.num'", "Console?"):
        assert expected in str(found.value)
