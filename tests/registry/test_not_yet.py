"""A job that names what SeaTunnel has and this engine has not is told so, with what to do until then."""

import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.errors import UsageError
from seatunnel_core.registry import lookup
from seatunnel_core.registry.not_yet import _ALL, all_of_them, not_yet
from tests.connectors.parity_page import PAGE, page


@pytest.mark.parametrize("name", ["Oracle-CDC", "oracle_cdc", "ORACLECDC"])
def test_it_is_known_however_it_is_written(name: str) -> None:
    with pytest.raises(
        UsageError, match=r"the source 'Oracle-CDC' is planned, but not supported yet \(change data capture\)"
    ):
        lookup.source(name)


def test_what_is_not_planned_says_what_to_use() -> None:
    with pytest.raises(UsageError, match=r"'BlackHole' is not supported and not planned .*log\.print\.data = false"):
        lookup.sink("blackhole")
    with pytest.raises(
        UsageError, match=r"'FakeSourceStream' is not supported .*use FakeSource with job\.mode = STREAMING"
    ):
        lookup.source("FakeSourceStream")
    with pytest.raises(UsageError, match=r"'DynamicCompile' is not supported .* with Python \{ … \}"):
        lookup.transform("DynamicCompile")


def test_a_package_of_spark_is_named_where_the_connector_is_there() -> None:
    clickhouse = not_yet("source", "clickhouse")
    assert clickhouse is not None
    assert 'use Spark { format = "clickhouse" }' in clickhouse.message(with_spark=True)
    assert "Spark" not in clickhouse.message(with_spark=False)


@pytest.mark.parametrize("kind", ["source", "sink"])
@pytest.mark.parametrize("name", ["PostgreSQL", "postgres", "Mysql", "MariaDB", "SQLite", "Rds"])
def test_a_database_that_jdbc_knows_is_answered_with_its_url(kind: str, name: str) -> None:
    """They were called planned, with a package of Spark to use until then."""
    with pytest.raises(UsageError, match=rf"there is no {kind} .*: use Jdbc \{{ url = \"jdbc:[a-z]+:.*") as raised:
        getattr(lookup, kind)(name)
    assert "Spark" not in str(raised.value)
    assert "planned" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "name", "instead"),
    [
        ("source", "S3", r"S3File \{ … \}"),
        ("sink", "Csv", r"LocalFile \{ file_format_type = csv \}"),
        ("source", "ParquetFile", r"LocalFile \{ file_format_type = parquet \}"),
        ("source", "Fake", r"FakeSource \{ … \}"),
        ("source", "Rest", r"Http \{ … \}"),
        ("sink", "Stdout", r"Console \{ … \}"),
    ],
)
def test_a_name_that_people_write_for_a_plugin_is_answered_with_it(kind: str, name: str, instead: str) -> None:
    with pytest.raises(UsageError, match=rf"there is no {kind} '{name}': use {instead}"):
        getattr(lookup, kind)(name)


def test_every_name_that_stands_for_a_plugin_names_one_that_exists() -> None:
    plugins = {(plugin.kind, plugin.identifier) for plugin in lookup.plugins()}
    assert {(each.kind, each.served_by) for each in _ALL if each.served_by} <= plugins


def test_a_slip_is_still_reported_as_one() -> None:
    with pytest.raises(UsageError, match="did you mean FakeSource"):
        lookup.source("FakeSorce")


def test_nothing_of_it_is_installed() -> None:
    """What comes is taken out of the list."""
    installed = {(plugin.kind, plugin.identifier.lower()) for plugin in lookup.plugins()}
    assert not {(each.kind, each.name) for each in all_of_them() if (each.kind, each.name.lower()) in installed}


def test_a_job_and_help_say_it(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    job = tmp_path / "job.conf"
    job.write_text("source { Oracle-CDC { base-url = x, schema-changes.enabled = true } }\nsink { Doris { } }")
    assert main(["-c", str(job), "--check"]) == 2
    said = capsys.readouterr().err
    assert f"{job}:1:" in said
    assert "the source 'Oracle-CDC' is planned, but not supported yet" in said
    assert "the sink 'Doris' is not supported and not planned" in said
    assert main(["help", "Oracle"]) == 2
    assert "is planned, but not supported yet" in capsys.readouterr().err


def test_an_option_that_is_planned_is_reported_as_one(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    job = tmp_path / "job.conf"
    job.write_text(
        "source { FakeSource { schema { fields { id = int } }, schema-changes.enabled = true } }\nsink { Console { } }"
    )
    assert main(["-c", str(job), "--check"]) == 0
    said = capsys.readouterr()
    assert "'schema-changes.enabled' has no effect: schema changes at run time are planned" in said.out + said.err


@pytest.mark.parametrize(
    ("kind", "name"),
    [("source", "Vitess-CDC"), ("source", "Mysql"), ("sink", "DB2"), ("source", "Syslog"), ("transform", "Encrypt")],
)
def test_names_of_its_pages(kind: str, name: str) -> None:
    assert not_yet(kind, name) is not None


def test_the_page_lists_them_all() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text)


def test_a_misspelt_option_is_reported_before_the_error_that_it_causes(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    job = tmp_path / "job.conf"
    job.write_text(
        "env { job.mode = BATCH }\nsource { LocalFile { path = /no/such/folder, file_format_type = text,\n"
        "filefilter = a, schema { fields { id = int } } } }\nsink { Console { } }"
    )
    for more in (["--check"], ["-m", "local[1]"]):
        assert main(["-c", str(job), *more]) == 2
        said = capsys.readouterr().err.splitlines()
        assert f"warning: {job}:3:1: the source LocalFile has no option 'filefilter'" in said[0]
        assert f"{job}:2:" in said[1]
        assert "/no/such/folder" in said[1]
