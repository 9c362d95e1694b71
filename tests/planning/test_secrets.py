"""No secret is in anything that a whole run writes: its output, logs, checkpoints, manifest, and Spark's files."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live_folder import content_of, paths_below
from tests.runtime.command import published

pytestmark = pytest.mark.xdist_group("commands")

CANARIES = {
    "variable": "canary-of-a-variable-7f3a",
    "environment": "canary-of-the-environment-91bc",
    "file": "canary-of-a-file-c04d",
    "shade": "canary-behind-the-shade-5e2f",
    "literal": "canary-in-the-clear-8a6b",
    "spark": "canary-for-spark-2d9e",
    "login": "canary-in-an-address-44aa",
}

ENGINE = """
seatunnel:
  engine:
    checkpoint:
      interval: 1000
      storage:
        type: hdfs
        plugin-config:
          storage.type: hdfs
          fs.defaultFS: file:///
          namespace: {folder}/state/
          fs.s3a.access.key: ${{S3_ACCESS}}
          fs.s3a.secret.key: {file}
          fs.oss.accessKeySecret: {literal}
          fs.s3a.proxy: http://me:{login}@proxy:8080
"""

JOB = """
env {{
  job.mode = BATCH
  job.name = "no secrets"
  shade.identifier = base64
  spark.hadoop.fs.s3a.secret.key = "{spark}"
  spark.ssl.keyPassword = "{file}"
}}
source {{
  FakeSource {{
    plugin_output = rows, row.num = 100, password = "{shaded}", api_token = ${{db_password}}
    schema {{ fields {{ id = bigint, text = string }} }}
  }}
}}
transform {{
  Filter {{ plugin_input = rows, plugin_output = some, include_fields = [id], secret = ${{db_password}} }}
}}
sink {{
  LocalFile {{ plugin_input = some, path = "{folder}/out", file_format_type = {format}, secret_key = "{shaded}" }}
}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "secret").write_text(CANARIES["file"] + "\n")
    values = {
        **CANARIES,
        "folder": tmp_path / "run",
        "file": (inputs / "secret").as_uri(),
        "shaded": base64.b64encode(CANARIES["shade"].encode()).decode(),
    }
    (inputs / "seatunnel.yaml").write_text(ENGINE.format(**values))
    (inputs / "job.conf").write_text(JOB.format(format="json", **values))
    (inputs / "wrong.conf").write_text(JOB.format(format="jsn", **values))
    (tmp_path / "run").mkdir()
    return tmp_path


def run(folder: Path, name: str, *arguments: str, job: str = "job.conf") -> int:
    """Everything that it writes, by whatever way, lands below ``run``."""
    place = folder / "run"
    with (place / f"{name}.log").open("wb") as output:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "seatunnel_core.cli", "-c", str(folder / "inputs" / job)),
                *("--engine-config", str(folder / "inputs" / "seatunnel.yaml"), "--log-level", "DEBUG"),
                *("-i", f"db_password={CANARIES['variable']}", *arguments),
            ],
            env={
                **os.environ,
                "S3_ACCESS": CANARIES["environment"],
                "HOME": str(place / "home"),
                "XDG_STATE_HOME": "",
                "XDG_CACHE_HOME": "",
                "SPARK_LOCAL_DIRS": str(place / "spark"),
                "TMPDIR": str(place),
            },
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=110,
        )
    return done.returncode


def told_in(folder: Path) -> list[str]:
    """Each secret that is in a file below ``run``, or in its name, also as base64 has it."""
    found = []
    for path in paths_below(folder / "run"):
        content = content_of(path) if path.is_file() and not path.is_symlink() else b""
        for name, canary in CANARIES.items():
            encoded = base64.b64encode(canary.encode()).rstrip(b"=")[:-2]
            if canary.encode() in content or encoded in content or canary in path.name:
                line = next((line for line in content.splitlines() if canary.encode() in line or encoded in line), b"")
                found.append(f"{name} in {path.relative_to(folder)}: {line[:300]!r}")
    return found


@pytest.mark.spark
def test_a_run_shows_no_secret(folder: Path) -> None:
    code = run(folder, "first", "--set-job-id", "one", "--log-format", "json")
    output = (folder / "run" / "first.log").read_text()
    assert code == 0, output
    assert published(folder / "run" / "out")
    assert list(folder.glob("run/state/one/000001/*.ckpt")), "there is a stored checkpoint to look into"
    assert list(folder.glob("run/home/.local/state/seatunnel/**/one.log")), "and what Spark said"
    assert "fs.s3a.secret.key" in output, "the run had something to say about the keys"
    assert "db_password=***" in output, "the command that goes on is printed without the secret"
    assert told_in(folder) == []


def test_a_check_shows_no_secret(folder: Path) -> None:
    assert run(folder, "check", "--check") == 0
    output = (folder / "run" / "check.log").read_text()
    assert "plugin-config.fs.s3a.access.key = ***" in output
    assert "plugin-config.fs.oss.accessKeySecret = ***" in output
    assert "plugin-config.fs.s3a.proxy = http://***@proxy:8080" in output
    assert f"plugin-config.fs.s3a.secret.key = file://{folder}" in output, "where it lies is no secret"
    assert "spark.hadoop.fs.s3a.secret.key = ***" in output
    assert told_in(folder) == []


def test_a_check_misses_a_secret_of_the_storage(folder: Path) -> None:
    engine = folder / "inputs" / "seatunnel.yaml"
    engine.write_text(engine.read_text().replace("inputs/secret", "inputs/nowhere"))
    assert run(folder, "check", "--check") == 2
    said = (folder / "run" / "check.log").read_text()
    *warnings, error = said.splitlines()
    assert all(line.startswith("warning: ") for line in warnings), said
    assert error.startswith("the value of 'fs.s3a.secret.key' is the content of the file ")
    assert error.endswith(
        "inputs/nowhere, which does not exist. Check that the secret is mounted where this process runs"
    )


def test_a_refusal_shows_no_secret(folder: Path) -> None:
    assert run(folder, "wrong", job="wrong.conf") == 2
    assert "found 'jsn'" in (folder / "run" / "wrong.log").read_text()
    (folder / "inputs" / "secret").unlink()
    assert run(folder, "missing") == 2
    said = (folder / "run" / "missing.log").read_text()
    assert f"the value of 'spark.ssl.keyPassword' is the content of the file {folder}/inputs/secret, which does" in said
    assert told_in(folder) == []
