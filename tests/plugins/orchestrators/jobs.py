"""The jobs that orchestrators are given, and what the page about them shows."""

from pathlib import Path

from tests.foundation.snippets import snippets
from tests.runtime.command import fake_source, job, parquet_sink

ROWS = 40


def copying(target: Path, *, rows_per_second: int = 100_000, mode: str = "BATCH") -> str:
    """Return a job that copies rows, as fast as it says; in the mode ``STREAMING`` it never ends by itself."""
    env = f"job.mode = {mode}, checkpoint.interval = 200, read_limit.rows_per_second = {rows_per_second}"
    return job(env, [fake_source("numbers", rows=ROWS, splits=8)], [parquet_sink("numbers", target)])


def loading(source: Path, target: Path) -> str:
    """Return a job that loads a file of numbers."""
    schema = "schema { fields { id = bigint } }"
    files = f'LocalFile {{ plugin_output = "numbers", path = "{source}", file_format_type = csv, {schema} }}'
    return job("job.mode = BATCH", [files], [parquet_sink("numbers", target)])


def failing(target: Path) -> str:
    """Return one that has a rule which its rows break."""
    rule = 'Assert { plugin_input = "numbers", rules { row_rules = [{rule_type = MAX_ROW, rule_value = 3}] } }'
    return copying(target).replace("sink {", f"sink {{ {rule}", 1)


def shown(file: str) -> str:
    """Return a file that the page on orchestrators shows."""
    (found,) = (each.text for each in snippets() if each.page == "docs/guides/orchestrators.md" and each.file == file)
    return found
