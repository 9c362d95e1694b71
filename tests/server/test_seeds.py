"""The files and commands of the pages that this cluster follows form one: as they stand, but for hosts and paths.

The secret, the scripts and the template of a job are those of ``seatunnel init --cluster``.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.cli.main import main
from tests.server.nodes import free_port

PAGES = Path(__file__).parents[1] / "foundation" / "seeds"
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.timeout(900)]


class Home:
    """A SEATUNNEL_HOME with a cluster of this machine."""

    def __init__(self, folder: Path, run: Path) -> None:
        self.folder = folder
        self.port = free_port()
        assert main(["init", str(folder), "--cluster"]) == 0
        self._environment = {
            **os.environ,
            "SEATUNNEL_HOME": str(folder),
            "SEATUNNEL_MODE": "cluster",
            "XDG_RUNTIME_DIR": str(run),
            "SPARK_LOCAL_DIRS": str(folder / "spark"),
        }

    def copy(self, page: str, *names: str) -> str:
        """Return files of a page, one below the other, with this machine's hosts and paths."""
        texts = ((PAGES / page / f"{name}.yaml").read_text() for name in names)
        return (
            "\n".join(texts)
            .replace("hostname1", "127.0.0.1")
            .replace("5801", str(self.port))
            .replace("/tmp/seatunnel/imap", str(self.folder / "imap"))
        )

    def sh(self, command: str, *, code: int = 0) -> str:
        """Run a line of a page in a shell, in this folder, and return what it says."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    run = Path(f"/tmp/stc-{os.getpid()}")
    run.mkdir(mode=0o700)
    found = Home(tmp_path / "home", run)
    yield found
    found.sh("./bin/stop-seatunnel-cluster.sh")
    for path in sorted(run.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    run.rmdir()


def test_the_page_on_cluster_mode(home: Home) -> None:
    """Seed 000: 4.3 (LocalFile), 5.2, 5.3 (local), 6.2, 7, and the submit at its end; twice, as the state is kept."""
    config = home.folder / "config"
    namespace = f"\n          namespace: {home.folder}/checkpoints/"
    storage = home.copy("000", "local").replace("plugin-config:", "plugin-config:" + namespace)
    (config / "seatunnel.yaml").write_text(storage)
    (config / "hazelcast.yaml").write_text(home.copy("000", "hazelcast", "map_local"))
    (config / "hazelcast-client.yaml").write_text(home.copy("000", "hazelcast_client"))
    submit = "$SEATUNNEL_HOME/bin/seatunnel.sh --config $SEATUNNEL_HOME/config/v2.batch.config.template"
    assert "cannot be reached" in home.sh(submit + " 2>&1", code=1), "no local run in its place"
    for number in (1, 2):
        home.sh('mkdir -p $SEATUNNEL_HOME/logs\n./bin/seatunnel-cluster.sh -d -DJvmOption="-Xms256M -Xmx512M"')
        assert (home.folder / "logs/seatunnel-engine-server.log").is_file()
        assert f"Mode: cluster 'seatunnel' at 127.0.0.1:{home.port}" in home.sh(submit)
        listed = home.sh("./bin/seatunnel.sh -l").splitlines()[1:]
        assert [line.split()[2] for line in listed] == ["FINISHED"] * number
        assert f"127.0.0.1:{home.port}" in home.sh("./bin/seatunnel-cluster.sh -m")
        assert "has stopped" in home.sh("./bin/stop-seatunnel-cluster.sh")
    assert list((home.folder / "imap/seatunnel-cluster").rglob("*.epoch")) != [], "the state lies where map: says"


def test_a_cluster_of_this_machine_in_three_commands(home: Home) -> None:
    """Those of the README, but for the folder, which ``Home`` writes, and ports that other tests may have."""
    found = re.search(r"<!-- cluster -->\n```shell\nseatunnel init --cluster here\n(.*)\n(.*)\n```", README)
    assert found is not None
    start, submit = (line.replace("here/", "") for line in found.groups())
    for path in (home.folder / "config").glob("hazelcast*.yaml"):
        path.write_text(path.read_text().replace("5801", str(home.port)).replace("5802", str(free_port())))
    home.sh(f"unset SEATUNNEL_MODE; {start}")
    said = home.sh(f"unset SEATUNNEL_MODE; {submit}")
    assert "Mode: cluster 'seatunnel'" in said
    assert ": FINISHED" in said
    assert list((home.folder / "output").rglob("*")) != []
