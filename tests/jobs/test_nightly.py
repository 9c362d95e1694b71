"""The nightly load of ``examples/daemons``: the line of cron and the unit of systemd, as those programs run them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from seatunnel_core.cli.main import main
from tests.runtime.command import published

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.timeout(300)]

EXAMPLES = Path(__file__).parents[2] / "examples/daemons"
BARE = {"PATH": f"{Path(shutil.which('java') or '/usr/bin/java').parent}:/usr/bin:/bin", "LOGNAME": "seatunnel"}
"""What cron and systemd give to a command, and the way to Java."""

JOB = """
env {{ job.name = nightly, job.mode = BATCH }}
source {{
  LocalFile {{
    path = "{home}/inbox", file_format_type = json, incremental {{ column = modified, lag = 1d }}
    schema {{ fields {{ id = bigint }} }}
  }}
}}
sink {{ LocalFile {{ path = "{home}/out", file_format_type = json }} }}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """What ``seatunnel init`` writes, with the nightly job and a first file."""
    home = tmp_path / "opt"
    assert main(["init", str(home)]) == 0
    (home / "inbox").mkdir()
    (home / "jobs/nightly.conf").write_text(JOB.format(home=home))
    return home


def put(home: Path, number: int) -> None:
    (home / f"inbox/{number}.json").write_text(json.dumps({"id": number}) + "\n")


def loaded(home: Path) -> list[int]:
    return sorted(json.loads(line)["id"] for file in published(home / "out") for line in file.read_text().splitlines())


def run(command: list[str], home: Path, **more: str) -> None:
    environment = [f"{name}={value}" for name, value in {"HOME": str(home), **BARE, **more}.items()]
    done = subprocess.run(["env", "-i", *environment, *command], capture_output=True, text=True, timeout=120, cwd=home)
    assert done.returncode == 0, done.stdout + done.stderr


def test_cron_and_systemd_load_what_is_new_each_night(home: Path) -> None:
    lines = (EXAMPLES / "nightly.crontab").read_text().replace("/opt/seatunnel", str(home)).splitlines()
    table = [line for line in lines if line and line[0] != "#"]
    variables = {name: value for name, _, value in (line.partition("=") for line in table if re.match(r"\w+=", line))}
    (line,) = (line for line in table if not re.match(r"\w+=", line))
    put(home, 1)
    run([variables["SHELL"], "-c", line.split(None, 5)[5]], home, **variables)
    assert loaded(home) == [1]
    unit = (EXAMPLES / "seatunnel-nightly.service").read_text().replace("/opt/seatunnel", str(home))
    (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    put(home, 2)
    run(command.split(), home, **dict(re.findall(r"^Environment=(\w+)=(.*)$", unit, re.MULTILINE)))
    assert loaded(home) == [1, 2]


def test_systemd_understands_the_unit_and_its_timer(home: Path) -> None:
    for name in ("seatunnel-nightly.service", "seatunnel-nightly.timer"):
        text = (EXAMPLES / name).read_text().replace("/opt/seatunnel", str(home)).replace("User=seatunnel\n", "")
        (home / name).write_text(text)
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    for name in ("seatunnel-nightly.service", "seatunnel-nightly.timer"):
        done = subprocess.run(
            [verify, "verify", "--man=no", str(home / name)], capture_output=True, text=True, timeout=60
        )
        said = [line for line in (done.stdout + done.stderr).splitlines() if "seatunnel" in line]
        assert (done.returncode, said) == (0, [])
