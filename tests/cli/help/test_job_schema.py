"""The JSON Schema of job files, against every job that this project shows, and against jobs that are wrong."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from seatunnel_core.cli.help.job_schema import job_schema
from seatunnel_core.cli.main import main
from seatunnel_core.config.document import plain
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_sections
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables

ROOT = Path(__file__).parents[3]
LANGUAGES = {"hocon": "job.conf", "json": "job.json", "yaml": "job.yaml"}


def jobs() -> dict[str, str]:
    """Every job in examples, in templates and on the pages: where it stands, and its text."""
    folders = ("examples", "seatunnel_core/cli/templates", "tests/cli/documented")
    files = [file for folder in folders for file in ROOT.glob(f"{folder}/**/*.con*")]
    wrong = ("seatunnel.yaml", "variables.conf")  # no job, and one of SeaTunnel's whose sink has no such options
    found = {
        str(file.relative_to(ROOT)): file.read_text("utf-8")
        for file in files
        if not any(each in file.name for each in wrong)
    }
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        blocks = re.findall(r"^```(hocon|json|yaml)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for number, (language, text) in enumerate(blocks):
            if "LogLines {" in text:  # a source of the reader's
                continue
            if re.search(r"^ *\"?source\b", text, re.MULTILINE) and re.search(r"^ *\"?sink\b", text, re.MULTILINE):
                found[f"{page.relative_to(ROOT)}-{number}.{LANGUAGES[language]}"] = text
    return found


def as_json(text: str, name: str) -> Any:
    """The job as JSON has it: plugins as a list, with ``plugin_name``."""
    problems = Problems()
    name = name if name.endswith((".json", ".yaml")) else "job.conf"
    env, blocks = read_sections(parse(text, name, Variables({}, {}), problems), name, problems)
    job: dict[str, Any] = {"env": plain(env)}
    for raw in blocks:
        job.setdefault(raw.kind.value, []).append({"plugin_name": raw.identifier, **plain(raw.block)})
    return job


SCHEMA = job_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def problems_of(job: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(job)]


def test_it_is_a_schema_and_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert main(["help", "--json-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_there_are_jobs_to_try() -> None:
    assert len(jobs()) > 12


@pytest.mark.parametrize(("name", "text"), jobs().items(), ids=jobs())
def test_the_jobs_that_we_show_are_valid(name: str, text: str) -> None:
    assert problems_of(as_json(text, name)) == []


GOOD = """
env: {job.mode: BATCH, parallelism: 2, spark.executor.memory: 1g}
source:
  - fakesource: {schema: {fields: {id: bigint}}, row.num: "${rows}", plugin_output: made}
transform:
  - {plugin_name: Filter, plugin_input: [made], include_fields: id}
sink:
  Console: {rows_per_unit: 3, log.print.data: yes}
  LOCALFILE: {path: /tmp/out, file_format: JSON}
unused: 3
"""


def test_yaml_as_people_write_it_is_valid() -> None:
    assert problems_of(yaml.safe_load(GOOD)) == []
    nested = {"row": {"num": 3}, "schema": {"fields": {"id": "int"}}}
    assert (
        problems_of({"env": None, "source": {"FakeSource": nested}, "transform": None, "sink": {"Console": None}}) == []
    )


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("sink:", "sinks:"),
        ("BATCH", "BACH"),
        ("parallelism: 2", "parallelism: 0"),
        ("parallelism: 2", "parallelism: two"),
        ("job.mode", "job.mod"),
        ("fakesource", "fakesuorce"),
        ("plugin_name: Filter", "plugin_name: Filtre"),
        ("include_fields: id", "include_felds: id"),
        ("rows_per_unit: 3", "rows_per_unit: -3"),
        ("log.print.data: yes", "log.print.data: perhaps"),
        ("path: /tmp/out, ", ""),
        ("JSON", "JSONS"),
        ("schema: {fields: {id: bigint}}", "schema: bigint"),
        ("plugin_output: made", "plugin_output: {made: 1}"),
        ("unused: 3", "unused: {a: 3}"),
    ],
)
def test_a_wrong_job_is_not_valid(right: str, wrong: str) -> None:
    assert GOOD.count(right) == 1
    assert problems_of(yaml.safe_load(GOOD.replace(right, wrong)))


def test_every_option_is_offered_with_its_meaning() -> None:
    sink = SCHEMA["definitions"]["sink.LocalFile"]["properties"]
    assert sink["path"]["description"].startswith("Folder to write to")
    assert {"csv", "json", "parquet"} <= set(sink["file_format_type"]["anyOf"][0]["enum"])
    assert sink["file_format"]["description"].startswith("An older name of file_format_type.")
