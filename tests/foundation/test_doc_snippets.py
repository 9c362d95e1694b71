"""What the page on connectors tells people to write: put together as it says, it works."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.variables import Variables
from seatunnel_core.connectors import registry
from seatunnel_core.runtime.plan import plan_job

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(folder: Path, *arguments: str) -> str:
    """What Python prints, with the packages in ``folder`` importable."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def entry_points(toml: str) -> str:
    """An ``entry_points.txt``, as pip writes it from this part of a ``pyproject.toml``."""
    groups = tomllib.loads(toml)["project"]["entry-points"]
    return "\n".join(
        f"[{group}]\n{name} = {value}" for group, points in groups.items() for name, value in points.items()
    )


def test_options_are_declared_as_the_page_says() -> None:
    (declared,) = (block for block in blocks("connectors.md", "python") if block.startswith("COUNT"))
    program = f"from seatunnel_core.config.option import *\n{declared}\nprint(COUNT.key, COUNT.required)"
    assert run(ROOT, "-c", program) == "count True\n"


def test_the_entry_point_of_the_page_is_the_one_of_the_example() -> None:
    example = (EXAMPLES / "minimal_source" / "pyproject.toml").read_text(encoding="utf-8")
    assert entry_points(blocks("connectors.md", "toml")[0]) == entry_points(example)


def test_the_transforms_of_the_page_are_blocks_of_a_job(tmp_path: Path) -> None:
    job = tmp_path / "job.conf"
    (transforms,) = (block for block in blocks("connectors.md", "hocon") if block.startswith("transform"))
    job.write_text(transforms + "source { FakeSource { } }\nsink { Console { } }\n")
    assert [block.identifier for block in load_job(job).blocks] == ["FakeSource", "Python", "DataFrame", "Console"]


@pytest.mark.parametrize("begins", ["schema", "source {\n  FakeSource"])
def test_the_schemas_and_the_made_up_rows_of_the_page_are_a_job(begins: str, tmp_path: Path) -> None:
    (block,) = (block for block in blocks("connectors.md", "hocon") if block.startswith(begins))
    source = block if begins.startswith("source") else f"source {{ FakeSource {{\n{block}\n}} }}\n"
    job = tmp_path / "job.conf"
    job.write_text(source + "sink { Console { } }\n", encoding="utf-8")
    engine = load_engine(environment={"HOME": str(tmp_path)}, folder=tmp_path)
    planned = plan_job(load_job(job), registry, engine)
    (schema,) = planned.pipelines[0].sources[0].source.planned_schemas() or ()
    assert schema.columns.names[0] == "id"
    assert list(planned.warnings) == []


def test_the_iceberg_sink_of_the_page_is_part_of_a_job(tmp_path: Path) -> None:
    (block,) = (block for block in blocks("connectors.md", "hocon") if block.startswith("sink {\n  Iceberg"))
    job = tmp_path / "job.conf"
    job.write_text("source { FakeSource { schema { fields { id = bigint } } } }\n" + block, encoding="utf-8")
    planned = plan_job(load_job(job), registry, load_engine(environment={"HOME": str(tmp_path)}, folder=tmp_path))
    assert planned.pipelines[0].sinks[0].sink.identifier == "Iceberg"
    assert list(planned.warnings) == []


def test_the_tables_of_databases_of_the_page_are_a_job(tmp_path: Path) -> None:
    (block,) = (block for block in blocks("connectors.md", "hocon") if block.startswith("source {\n  Jdbc"))
    job = tmp_path / "job.conf"
    job.write_text(block, encoding="utf-8")
    engine = load_engine(environment={"HOME": str(tmp_path)}, folder=tmp_path)
    planned = plan_job(load_job(job, Variables({"PASSWORD": "x"}, {})), registry, engine, master="spark://far:7077")
    assert planned.pipelines[0].sinks[0].sink.identifier == "Jdbc"
    assert list(planned.warnings) == []


def test_the_job_in_sql_of_the_page_on_compatibility_is_a_job(tmp_path: Path) -> None:
    job = tmp_path / "job.sql"
    (text,) = blocks("compatibility.md", "sql")
    job.write_text(text, encoding="utf-8")
    engine = load_engine(environment={"HOME": str(tmp_path)}, folder=tmp_path)
    planned = plan_job(load_job(job), registry, engine)
    assert [pipeline.title for pipeline in planned.pipelines] == ["people -> Console-sink-people"]
    assert list(planned.warnings) == []
