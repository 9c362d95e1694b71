"""Machines as network namespaces that a bridge connects, and packets that are dropped between them."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

TABLE = "nemesis"
CHAINS = f"""table inet {TABLE} {{
  chain cuts {{ type filter hook input priority 0; policy accept; }}
}}
"""
NEEDED = ("ip", "nft", "nsenter")


def can_be_had() -> bool:
    """Return whether this process may make namespaces, and has the commands for that."""
    return os.geteuid() == 0 and all(shutil.which(command) for command in NEEDED)


@define(eq=False)
class Network:
    """One network of this machine, ``10.77.<number>.0/24``; this process is in it, too.

    Args:
        number: from 1 to 250, which no other network has.
    """

    number: int
    _names: dict[str, str] = field(factory=dict, init=False)
    """The namespaces, by address."""

    @property
    def gateway(self) -> str:
        """The address of this process, and of the servers that it started."""
        return f"10.77.{self.number}.254"

    def _name(self, place: int) -> str:
        return f"stn{self.number}-{place}"

    def add(self, place: int) -> str:
        """Make a machine, and return its address."""
        name, ip = self._name(place), f"10.77.{self.number}.{place}"
        inner, outer = f"e{self.number}-{place}i", f"e{self.number}-{place}o"
        run("ip", "netns", "add", name)
        self._names[ip] = name
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
        run("ip", "link", "set", inner, "netns", name)
        run("ip", "link", "set", outer, "master", f"stn{self.number}", "up")
        run("ip", "-n", name, "addr", "add", f"{ip}/24", "dev", inner)
        for device in ("lo", inner):
            run("ip", "-n", name, "link", "set", device, "up")
        run(*self.inside(ip), "nft", "-f", "-", given=CHAINS)
        return ip

    def inside(self, ip: str) -> tuple[str, ...]:
        """Return the command that runs what follows it on a machine."""
        return ("nsenter", f"--net=/var/run/netns/{self._names[ip]}")

    def cut(self, at: str, sender: str, port: int = 0) -> None:
        """Drop what arrives at a machine from another one; if a port is given, only what was sent from that."""
        rule = ["ip", "saddr", sender, *(["tcp", "sport", str(port)] if port else []), "drop"]
        run(*self.inside(at), "nft", "add", "rule", "inet", TABLE, "cuts", *rule)

    def heal(self, at: str) -> None:
        """Let everything arrive at a machine again."""
        run(*self.inside(at), "nft", "flush", "chain", "inet", TABLE, "cuts")

    def heal_all(self) -> None:
        """Let everything arrive everywhere again."""
        for ip in self._names:
            self.heal(ip)

    def open(self) -> None:
        """Make the bridge.

        Raises:
            FileExistsError: another network has this number.
        """
        made = subprocess.run(["ip", "link", "add", f"stn{self.number}", "type", "bridge"], capture_output=True)
        if made.returncode:
            raise FileExistsError(made.stderr.decode())
        for device in os.listdir("/sys/class/net"):
            if device.startswith(f"e{self.number}-"):  # of one that was killed
                subprocess.run(["ip", "link", "del", device], check=False, capture_output=True)
        run("ip", "addr", "add", f"{self.gateway}/24", "dev", f"stn{self.number}")
        run("ip", "link", "set", f"stn{self.number}", "up")

    def close(self) -> None:
        """Remove everything; processes in it must be gone."""
        for name in self._names.values():
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", f"stn{self.number}"], check=False, capture_output=True)


@contextmanager
def a_network() -> Iterator[Network]:
    """Give a network of its own."""
    for number in range(1, 251):
        network = Network(number)
        with contextlib.suppress(FileExistsError):
            network.open()
            break
    else:
        raise OSError("no number of a network is free")
    try:
        yield network
    finally:
        network.close()


def run(*command: str, given: str = "") -> None:
    """Run a command that has to succeed."""
    subprocess.run(command, check=True, capture_output=True, text=True, input=given or None)
