"""A whole job with ``Sql``, through the command line, in Spark's tasks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """
env {{ job.mode = BATCH, parallelism = 1 }}
source {{ FakeSource {{
  plugin_output = fake
  schema {{ fields {{ id = bigint, name = string, age = int, more {{ city = string }}, born = date }} }}
  rows = [
    {{ kind = INSERT, fields = [1, "Joy Ding", 20, ["Bonn"], "2004-02-29"] }}
    {{ kind = INSERT, fields = [2, "Kin Dom", {age}, null, null] }}
    {{ kind = INSERT, fields = [3, "Al", 30, ["Ulm"], "1994-12-31"] }}
  ]
}} }}
transform {{ Sql {{
  plugin_input = fake
  plugin_output = changed
  query = \"\"\"
    SELECT id, UPPER(name) AS name, more.city, 100 / age AS part, DATEADD(born, 1, 'YEAR') AS next,
           FORMATDATETIME(born, 'dd.MM.yyyy') AS written
    FROM fake WHERE name LIKE '%D%'
  \"\"\"
}} }}
sink {{ LocalFile {{ plugin_input = changed, path = "{folder}/out", file_format_type = json }} }}
"""


def run(folder: Path, age: int) -> subprocess.CompletedProcess[str]:
    job = folder / "job.conf"
    job.write_text(JOB.format(age=age, folder=folder))
    command = [sys.executable, "-m", "seatunnel_core.cli", "-c", str(job), "-m", "local[2]"]
    environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.spark
def test_a_job_runs_to_its_end(tmp_path: Path) -> None:
    done = run(tmp_path, age=10)
    assert done.returncode == 0, done.stderr
    lines = [line for file in tmp_path.glob("out/**/*.json") for line in file.read_text().splitlines()]
    assert sorted((json.loads(line) for line in lines), key=lambda row: row["id"]) == [
        {"id": 1, "name": "JOY DING", "city": "Bonn", "part": 5, "next": "2005-02-28", "written": "29.02.2004"},
        {"id": 2, "name": "KIN DOM", "city": None, "part": 10, "next": None, "written": None},
    ]


@pytest.mark.spark
@pytest.mark.torture
def test_a_row_without_a_result_ends_the_job_and_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, age=0)
    assert done.returncode == 1
    assert "100 / age at line 2, column 48 has no result for 100, 0: divide by zero" in done.stdout + done.stderr
