"""The unit of systemd and the lines of cron in ``examples/daemons``, run as those programs run them."""

import configparser
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.signing import read_secret
from seatunnel_core.errors import PlatformError
from tests.plugins.orchestrators.jobs import ROWS, copying
from tests.plugins.orchestrators.player import ROOT
from tests.runtime.command import column
from tests.server.nodes import free_port, kill_session, until

pytestmark = [pytest.mark.orchestrators, pytest.mark.xdist_group("orchestrators")]

EXAMPLES = ROOT / "examples/daemons"
BARE = {"PATH": f"{Path(shutil.which('java') or '/usr/bin/java').parent}:/usr/bin:/bin", "LOGNAME": "seatunnel"}
"""What cron and systemd give to a command, and the way to Java."""


class Unit:
    """The unit, with the folders of this test."""

    def __init__(self, home: Path, run: Path) -> None:
        text = (EXAMPLES / "seatunnel.service").read_text().replace("/opt/seatunnel", str(home))
        self.text = text.replace("/run/seatunnel", str(run)).replace("User=seatunnel\n", "")
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read_string(self.text)
        self.service = parser["Service"]
        pairs = (line.partition("=")[2].partition("=") for line in self.text.splitlines() if line.startswith("Env"))
        self.environment = {name: value for name, _, value in pairs}

    def run(self, key: str, **more: Any) -> "subprocess.Popen[bytes]":
        """Start a command of the unit as systemd does: with its variables and few others."""
        environment = {**BARE, "HOME": self.environment["SEATUNNEL_HOME"], **self.environment}
        folder = self.service["WorkingDirectory"]
        return subprocess.Popen(self.service[key].split(), env=environment, cwd=folder, **more)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``seatunnel init --cluster`` writes, with a port of its own."""
    home = tmp_path_factory.mktemp("daemons") / "opt"
    assert main(["init", str(home), "--cluster"]) == 0
    port = str(free_port())
    for name in ("hazelcast.yaml", "hazelcast-client.yaml"):
        file = home / "config" / name
        text = re.sub(r" +- 127.0.0.1:5802\n", "", file.read_text()).replace("5801", port)
        file.write_text(text.replace("auto-increment: true", "auto-increment: false"))
    return home


@pytest.fixture(scope="module")
def unit(home: Path) -> Iterator[Unit]:
    run = Path("/tmp", f"stu-{os.getpid()}")
    run.mkdir(mode=0o700)
    yield Unit(home, run)
    for name in os.listdir("/proc"):
        if name.isdigit() and str(home).encode() in _of_process(int(name)):
            kill_session(int(name))
    shutil.rmtree(run)


def _of_process(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes() if pid != os.getpid() else b""
    except OSError:
        return b""


def client_of(home: Path) -> ClusterClient:
    port = re.search(r"port: (\d+)", (home / "config/hazelcast.yaml").read_text())
    assert port is not None
    return ClusterClient([f"127.0.0.1:{port[1]}"], "seatunnel", read_secret(home / "config/cluster.secret"))


def members(home: Path) -> dict[str, Any]:
    try:
        return dict(client_of(home).ask("GET", "/internal/v1/members"))
    except PlatformError:
        return {}


def warm_host(home: Path) -> dict[str, Any]:
    host = members(home).get("host") or {}
    return dict(host) if host.get("ready") else {}


def test_systemd_understands_the_unit(unit: Unit, tmp_path: Path) -> None:
    for key in ("ExecStart", "ExecStop"):
        assert os.access(unit.service[key].split()[0], os.X_OK)
    assert unit.service["KillMode"] == "process", "or systemd kills the hosts of an agent that died"
    file = tmp_path / "seatunnel.service"
    file.write_text(unit.text)
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run([verify, "verify", "--man=no", str(file)], capture_output=True, text=True, timeout=60)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "seatunnel" in line]
    assert (done.returncode, said) == (0, [])


def test_the_unit_starts_a_node_again_that_was_killed_and_cron_runs_a_job_once(unit: Unit, home: Path) -> None:
    agent = unit.run("ExecStart", start_new_session=True)
    host = until("the node has a host", lambda: warm_host(home))
    agent.kill()  # and what it started lives on, as KillMode says
    agent.wait()
    agent = unit.run("ExecStart", start_new_session=True)
    adopted = until("the node answers again", lambda: warm_host(home))
    assert adopted["pid"] == host["pid"]

    (home / "jobs/orders.conf").write_text(copying(home / "out"))
    for turn in range(2):
        done = subprocess.run(
            [*("env", "-i"), *(f"{name}={value}" for name, value in cron_environment(home).items()),
             "/bin/sh", "-c", cron_command()],
            cwd="/", capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("already been submitted" in done.stderr) is (turn == 1), done.stderr
        assert column(home / "out", "id") == list(range(1, ROWS + 1))

    stopped = unit.run("ExecStop")
    assert stopped.wait(int(unit.service["TimeoutStopSec"])) == 0
    assert agent.wait(20) == 0
    assert not _of_process(host["pid"]), "its host has ended with it"


def test_a_wrong_configuration_is_not_started_again(unit: Unit, home: Path) -> None:
    engine = home / "config/seatunnel.yaml"
    text = engine.read_text()
    engine.write_text(text.replace("timeout: ", "timeuot: "))
    try:
        node = unit.run("ExecStart", stderr=subprocess.PIPE)
        _, said = node.communicate(timeout=60)
    finally:
        engine.write_text(text)
    assert str(node.returncode) in unit.service["RestartPreventExitStatus"].split(), said


def cron_lines() -> list[str]:
    return [line for line in (EXAMPLES / "seatunnel.crontab").read_text().splitlines() if line and line[0] != "#"]


def cron_environment(home: Path) -> dict[str, str]:
    """Return what cron gives to a command: the variables of the table, and three of its own."""
    pairs = (line.partition("=") for line in cron_lines() if re.match(r"\w+=", line))
    own = {name: value.replace("/opt/seatunnel", str(home)) for name, _, value in pairs}
    return {"HOME": str(home), **BARE, **own, "PYTHONWARNINGS": "ignore"}


def cron_command() -> str:
    (line,) = (line for line in cron_lines() if not re.match(r"\w+=", line))
    return line.split(None, 5)[5].replace(r"\%", "%")
