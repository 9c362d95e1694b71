"""What a play is played on: the members of a cluster, their networks, their storage and their database."""

import contextlib
import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.signing import read_secret
from seatunnel_core.errors import SeaTunnelError
from tests.server.nemesis import interposer as interposing
from tests.server.nemesis import network as networking
from tests.server.nemesis import storage as disks
from tests.server.nemesis.database import SERVERS, Database
from tests.server.nemesis.interposer import Interposer
from tests.server.nemesis.network import Network, a_network
from tests.server.nemesis.storage import Disk, a_disk
from tests.server.nodes import ENGINE as ON_FILES
from tests.server.nodes import MEMBERS, Node, Nodes, a_cluster, free_port, until
from tests.server.test_masters_on_a_database import ENGINE as ON_DATABASE

SLOTS = 8
MORE = """    slot-service: {{dynamic-slot: false, slot-num: {slots}}}
    job-schedule-strategy: WAIT
    cluster:
      worker-grace-seconds: 30
"""


@frozen(kw_only=True)
class Plan:
    """Of which members a cluster is made, and where it keeps its state."""

    masters: int
    workers: int = 0
    database: str = ""
    """The kind of server that keeps everything; empty: it lies in files."""


PLANS = {
    "files": Plan(masters=2),
    "postgres": Plan(masters=2, database="postgres"),
    "mariadb": Plan(masters=3, database="mariadb"),
    "workers": Plan(masters=2, workers=2),
}


@define(eq=False)
class Member:
    """A node, with one who starts its agent again when it has ended by itself, as systemd would."""

    node: Node
    interposer: Interposer | None = None
    down: bool = True
    """Whether it is meant to be down now."""

    ended_by_itself: int = 0
    _changing: threading.RLock = field(factory=threading.RLock)

    def start(self) -> None:
        """Start the agent, unless it runs."""
        with self._changing:
            self.down = False
            if not self.runs():
                self.node.start()

    def runs(self) -> bool:
        """Return whether there is an agent."""
        return self.node.agent is not None and self.node.agent.poll() is None

    def leads(self) -> bool:
        """Return whether the node says that it leads; one that stands still is not waited for."""
        node = self.node
        client = ClusterClient([node.address], "seatunnel", node.cluster.secret, connect_s=1.0, answer_s=2.0)
        try:
            return not self.down and bool(client.ask("GET", "/internal/v1/members").get("leads"))
        except SeaTunnelError:
            return False

    def keep(self) -> None:
        """Start the agent again if it has ended and was not meant to."""
        with self._changing:
            if not self.down and not self.runs():
                self.ended_by_itself += 1
                self.node.start()

    def kill_agent(self) -> None:
        """Kill the agent, and leave its children."""
        with self._changing:
            self.down = True
            self.node.kill_agent()

    def kill(self) -> None:
        """Kill all processes of the node, as a loss of power would."""
        with self._changing:
            self.down = True
            self.node.kill_agent()
            end = time.monotonic() + 20
            while (pids := list(self.node.processes())) and time.monotonic() < end:
                send(pids, signal.SIGKILL)
                time.sleep(0.02)

    def end(self) -> None:
        """Let the node end as one that is stopped by its user, for at most 60 s."""
        with self._changing:
            self.down = True
            if self.runs() and self.node.agent is not None:
                self.node.agent.terminate()
                with contextlib.suppress(TimeoutError):
                    until_gone(self.node, 60)
        self.kill()


def until_gone(node: Node, within_s: float) -> None:
    """Wait until the agent has ended.

    Raises:
        TimeoutError: it has not.
    """
    end = time.monotonic() + within_s
    while node.agent is not None and node.agent.poll() is None:
        if time.monotonic() > end:
            raise TimeoutError(f"{node.address} does not end")
        time.sleep(0.05)


def send(pids: list[int], number: int) -> None:
    """Send a signal to processes, some of which may be gone."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@define(eq=False)
class Ground:
    """A cluster that is played with.

    Args:
        plan: of which members it is made.
        cluster: its nodes.
        members: the same, masters first.
        sinks: a folder for what its jobs write.
        database: that it keeps everything in, if it does.
        network: of its nodes, if each of them has a network of its own.
        disk: that the state, or the data of the database, lies on.
        sink_disk: that the files of the sinks lie on.
    """

    plan: Plan
    cluster: Nodes
    members: list[Member]
    sinks: Path
    database: Database | None = None
    network: Network | None = None
    disk: Disk | None = None
    sink_disk: Disk | None = None
    name: str = "seatunnel"
    _over: threading.Event = field(factory=threading.Event)

    @property
    def masters(self) -> list[Member]:
        """The members that may lead."""
        return [member for member in self.members if member.node.role != "worker"]

    @property
    def workers(self) -> list[Member]:
        """The members that only run tasks."""
        return [member for member in self.members if member.node.role == "worker"]

    @property
    def can_cut_storage(self) -> bool:
        """Whether one node alone can lose what the state lies in."""
        if self.database is not None:
            return self.network is not None
        return all(member.interposer for member in self.members)

    def leader(self) -> Member | None:
        """Return the member that leads, as far as it says so now."""
        for member in self.masters:
            if member.leads():
                return member
        return None

    def watch_over(self) -> None:
        """Start agents again that have ended by themselves, until ``over``."""
        while not self._over.wait(1.0):
            for member in self.members:
                member.keep()

    def begin(self) -> None:
        """Start all nodes, and wait until jobs can run."""
        for member in self.members:
            member.start()
        for member in self.masters:
            member.node.wait_ready()
        threading.Thread(target=self.watch_over, name="watch", daemon=True).start()

    def mend(self) -> None:
        """Mend whatever may be broken still, and wait until all masters are warm."""
        if self.network is not None:
            self.network.heal_all()
        for disk in filter(None, (self.disk, self.sink_disk)):
            disk.thaw()
            disk.empty()
        if self.database is not None:
            self.database.start_again()
        for member in self.members:
            if member.interposer is not None:
                member.interposer.tell(**dict.fromkeys(("seconds", "delay_ms", "error", "hangs", "reads"), 0))
            send(list(member.node.processes()), signal.SIGCONT)
            member.start()
        for member in self.masters:
            member.node.wait_ready()

    def over(self) -> None:
        """Start nothing again any more."""
        self._over.set()
        for member in self.members:
            member.down = True


@contextmanager
def a_ground(folder: Path, plan: Plan) -> Iterator[Ground]:
    """Give a cluster that has not begun; in the end everything that it started is killed."""
    with contextlib.ExitStack() as resources:
        network = resources.enter_context(a_network()) if networking.can_be_had() else None
        folder.mkdir(parents=True)
        kept, sinks = folder / ("data" if plan.database else "checkpoints"), folder / "sinks"
        disk, sink_disk = (
            resources.enter_context(a_disk(each, folder / f"disk-of-{each.name}")) if disks.can_be_had() else None
            for each in (kept, sinks)
        )
        database = resources.enter_context(a_database(plan, kept, network)) if plan.database else None
        cluster = resources.enter_context(a_cluster(folder))
        _configure(folder, cluster, plan, database)
        library = interposing.built(folder) if interposing.can_be_had() else None
        members = [_member(cluster, plan, number, network, library) for number in range(plan.masters + plan.workers)]
        addresses = [node.address for node in cluster.nodes[: plan.masters]]
        (folder / "config/hazelcast.yaml").write_text(MEMBERS.format(members=addresses))
        ground = Ground(
            plan=plan,
            cluster=cluster,
            members=members,
            sinks=sinks,
            database=database,
            network=network,
            disk=disk,
            sink_disk=sink_disk,
        )
        try:
            yield ground
        finally:
            ground.over()


def _member(cluster: Nodes, plan: Plan, number: int, network: Network | None, library: Path | None) -> Member:
    """Add a node to a cluster, masters first, and return it."""
    role = "worker" if number >= plan.masters else "master" if plan.workers else "master_and_worker"
    node = Node(cluster, 5801 if network else free_port(), role)
    if network is not None:
        node.ip = network.add(number + 1)
        node.inside = network.inside(node.ip)
    cluster.nodes.append(node)
    if library is None:
        return Member(node)
    interposer = Interposer(library, cluster.folder / f"interposer-{number}", cluster.folder / "checkpoints")
    node.variables = interposer.variables()
    return Member(node, interposer)


@contextmanager
def a_database(plan: Plan, folder: Path, network: Network | None) -> Iterator[Database]:
    """Give a server that was started, with its data in a folder."""
    server: Any = SERVERS[plan.database](folder=folder, host=network.gateway if network else "127.0.0.1")
    server.start()
    try:
        yield Database(server)
    finally:
        server.kill()


def _configure(folder: Path, cluster: Nodes, plan: Plan, database: Database | None) -> None:
    engine = ON_FILES.format(folder=folder)
    if database is not None:
        engine = ON_DATABASE.format(name="nemesis", **database.options())
    (folder / "config/seatunnel.yaml").write_text(engine + MORE.format(slots=SLOTS), "utf-8")
    secret = folder / "config/cluster.secret"
    secret.write_text(secrets.token_hex(32))
    secret.chmod(0o600)
    cluster.secret = read_secret(secret)


def wait_for_leader(ground: Ground, *, wait_s: float = 15.0) -> Member:
    """Wait until a member leads, and return it.

    Raises:
        AssertionError: none leads for so long, as when the storage fails as well.
    """
    found: Member = until("a node leads", ground.leader, wait_s=wait_s)
    return found
