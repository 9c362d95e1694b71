"""OpenSSH's server on loopback, for SFTP: one user, who is the one that runs the tests, and one key."""

import getpass
import os
import shutil
import socket
import subprocess
from pathlib import Path

from attrs import define, field

from tests.servers.process import ServerProcess, free_port, require, unavailable

PROGRAM = "/usr/sbin/sshd"


def build() -> Path:
    """Its program, which comes with Debian's openssh-server."""
    require("ssh-keygen")
    if not os.access(PROGRAM, os.X_OK):
        unavailable(f"{PROGRAM} is not there: apt-get install openssh-server")
    return Path(PROGRAM)


@define
class Sshd:
    """A server whose keys and log are in a folder; it shows the whole file system."""

    folder: Path
    port: int = field(factory=free_port)
    process: ServerProcess = field(init=False)

    def __attrs_post_init__(self) -> None:
        program = build()
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # where it locks itself in before a login
        for name in ("host_key", "user_key"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(command, check=True)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        settings = {
            "Port": str(self.port),
            "ListenAddress": "127.0.0.1",
            "HostKey": str(self.folder / "host_key"),
            "AuthorizedKeysFile": str(self.folder / "authorized_keys"),
            "PidFile": "none",
            "UsePAM": "no",
            "StrictModes": "no",
            "PermitRootLogin": "prohibit-password",
            "PasswordAuthentication": "no",
            "Subsystem": "sftp internal-sftp",
        }
        config = self.folder / "sshd_config"
        config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        self.process = ServerProcess(
            command=[str(program), "-D", "-e", "-f", str(config)], ready=self._is_up, log=self.folder / "sshd.log"
        )

    def configuration(self, namespace: str) -> dict[str, str]:
        """The plugin's keys."""
        return {
            "storage.type": "sftp",
            "namespace": namespace,
            "single-writer": "true",
            "fs.sftp.host": "127.0.0.1",
            "fs.sftp.port": str(self.port),
            "fs.sftp.username": getpass.getuser(),
            "fs.sftp.key_filename": str(self.folder / "user_key"),
        }

    def _is_up(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as probe:
            return probe.recv(4) == b"SSH-"
