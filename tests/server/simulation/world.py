"""The world of one simulated run: nodes with the real agents, hosts, a storage, a network, clocks, users and faults.

Real are the election and what carries it out, the stores and the state, the scheduling, the dispatcher, what a leader
knows of members, the watching and adoption of hosts, the handling of orders and requests. Simulated are the operating
system, the machines of the storage, the network, Spark, and what a job does.
"""

import asyncio
import contextvars
import logging
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from unittest import mock

import seatunnel_storage_mapstore.journal as journal_module
from attrs import define, field

import seatunnel_core.server.agent.dispatcher as dispatcher_module
import seatunnel_core.server.agent.host_process as host_process_module
import seatunnel_core.server.agent.leadership as leadership_module
import seatunnel_core.server.agent.members as members_module
import seatunnel_core.server.agent.node_agent as agent_module
import seatunnel_core.server.agent.own_hosts as own_hosts_module
import seatunnel_core.server.agent.requests as requests_module
import seatunnel_core.server.rest.submitting as submitting_module
import seatunnel_core.server.state.sql_store as sql_store_module
from seatunnel_core.config.engine import load_engine
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.state.newest_seen import NewestSeenStore
from seatunnel_core.server.state.records import HISTORY_PREFIX, JOB_PREFIX, DesiredState, EndedJob, JobRecord
from seatunnel_storage_api.retry import Backoff
from tests.server.simulation import faults as kinds
from tests.server.simulation import threads
from tests.server.simulation.clock import OWNER, Life, VirtualLoop
from tests.server.simulation.faults import CALM, Faults
from tests.server.simulation.hosts import SLOTS, Hosts, Manifest, Process, SimulatedHostProcess
from tests.server.simulation.invariants import INVARIANTS, Invariant
from tests.server.simulation.ledger import Ledger, ViolationError, WatchedStore
from tests.server.simulation.network import Network, Peers
from tests.server.simulation.planning import PlayedPlanner
from tests.server.simulation.storage import SharedFiles, SharedTables
from tests.server.simulation.users import Asked, Users

BEGAN_AT = 1_700_000_000.0
"""The wall clock's beginning."""


@define(eq=False)
class Machine:
    """A node: what it is through all lives of its agent."""

    address: str
    rate: float
    config: NodeConfig
    life: Life
    powered: bool = True
    wall_offset_s: float = 0.0
    gone_since: float | None = None
    storage_cut: int = 0
    context: contextvars.Context = field(factory=contextvars.Context)
    agent: Any = None
    task: "asyncio.Task[Any] | None" = None


class World:
    """One run. Use it as a context: on entry the cluster starts, at the end nothing of it is left.

    Args:
        seed: of everything that happens by chance.
        nodes: how many.
        faults: what goes wrong.
        database: whether the state lies in a database instead of files.
        jobs: so many are submitted at most.
        history_s: for so long ended jobs are kept.
        fixed_slots: whether slots are counted.
        rivals: whether a user submits other jobs under the ids of active ones.
    """

    def __init__(
        self,
        seed: int,
        *,
        nodes: int = 3,
        faults: Faults = CALM,
        database: bool = False,
        jobs: int = 14,
        history_s: float = 86_400.0,
        fixed_slots: bool = True,
        rivals: bool = False,
    ) -> None:
        self.random = random.Random(seed)
        random.seed(seed)
        self.faults = faults
        self.counts: Counter[str] = Counter()
        self.offered, self.history_s = SLOTS if fixed_slots else 0, history_s
        self.loop = VirtualLoop()  # type: ignore[abstract]
        self.manifests: dict[str, Manifest] = {}
        self.records: dict[str, JobRecord] = {}
        self.ends: dict[str, list[EndedJob]] = {}
        self.unfenced_ends: set[str] = set()
        self.cancelled_at: dict[str, float] = {}
        self.savepoints_wanted: set[str] = set()
        self.hosts: dict[int, Process] = {}
        self.killed_with: Counter[str] = Counter()
        self.calm_since: float | None = None
        self.ledger = Ledger(self._changed)
        self.shared: SharedFiles | SharedTables = SharedTables(self) if database else SharedFiles(self)
        self.network = Network(self)
        self.addresses = tuple(f"10.0.0.{number + 1}:5801" for number in range(nodes))
        self.machines = {address: self._machine(address) for address in self.addresses}
        self.users = Users(self, jobs, has_rival=rivals)
        self._processes = Hosts(self)
        self._invariants: tuple[Invariant, ...] = tuple(invariant() for invariant in INVARIANTS)
        self._outside = contextvars.Context()
        self._cuts: Counter[tuple[str, str]] = Counter()
        self._storage: Counter[str] = Counter()
        self._patches = ExitStack()
        self._violation: ViolationError | None = None

    def _machine(self, address: str) -> Machine:
        rate = 1 + self.random.uniform(-0.01, 0.01)
        engine = load_engine(environment={}, folder=Path("/nonexistent"))
        config = NodeConfig(
            cluster="simulated",
            engine=engine,
            engine_file=None,
            hazelcast_file=None,
            host=address.partition(":")[0],
            port=5801,
            members=(),
            secret=None,
            logs=Path("/nonexistent"),
            slots=2,
            offered=self.offered,
            waits=True,
            history_s=self.history_s,
        )
        return Machine(address, rate, config, Life(address, rate, 0.0, alive=False))

    # -- the run ----------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        for patch in _patches(self):
            self._patches.enter_context(patch)
        asyncio._set_running_loop(self.loop)
        VirtualLoop.running = self.loop
        self.loop.connect = self.network.connect
        for machine in self.machines.values():
            self.at(self.random.uniform(0, 1.0), partial(self.start, machine))
        for user in (*(self.users.run() for _ in range(3)), *((self.users.rival(),) if self.users.has_rival else ())):
            task = self._outside.copy().run(self.loop.create_task, user)
            task.add_done_callback(self._user_ended)
        self.at(0.5, self._break_something)
        self.at(1.0, self._each_second)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.loop.finish()
        finally:
            asyncio._set_running_loop(None)
            VirtualLoop.running = None
            self._patches.close()
            self.shared.close()

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.loop.now

    @property
    def asked(self) -> dict[str, Asked]:
        """What users asked for, by job."""
        return self.users.asked

    def at(self, delay: float, action: Callable[[], object]) -> None:
        """Let something happen later, whoever lives then."""
        self.loop.call_later(delay, action, context=self._outside)

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        self.loop.run_until(self.now + seconds, self._after_each)

    def heal(self) -> None:
        """Mend everything, and break nothing more."""
        self.faults = CALM
        self._cuts.clear()
        self._storage.clear()
        self.users.calm = True
        for machine in self.machines.values():
            machine.storage_cut = 0
            self.go_on(machine)
            self.power_on(machine)
        for process in self.hosts.values():
            process.wake()
        self.calm_since = self.now

    def is_idle(self) -> bool:
        """Return whether all jobs that were ever accepted have ended, and hosts have forgotten them."""
        accepted = {job_id for job_id, asked in self.asked.items() if asked.submitted}
        living = [process for process in self.hosts.values() if process.alive]
        running = any(process.name or process.real._jobs or not process.real.spark.slots for process in living)
        idle = not running and len(living) == len(self.machines)
        asked = self.users.asking or self.records or not accepted <= set(self.ends)
        return idle and not asked and bool(self.acting())

    def finish(self, patience_s: float = 300.0) -> None:
        """Wait until all is idle, and look whether everything is as it has to be then."""
        until, idle_s = self.now + patience_s, 0
        long_s = 5 if self.history_s > 1_000 else self.history_s + 25  # the history expires, too
        while idle_s < long_s and self.now < until:
            self.run(1.0)
            idle_s = idle_s + 1 if self.is_idle() else 0
        for invariant in self._invariants:
            invariant.in_the_end(self)

    # -- what the parts of the world ask ----------------------------------------------------------------------------

    def machine(self, address: str) -> Machine:
        """Return the machine of an address."""
        return self.machines[address]

    def is_cut(self, sender: str, receiver: str) -> bool:
        """Return whether nothing gets from one machine to another; users are everywhere."""
        return self._cuts[sender, receiver] > 0

    def message(self) -> tuple[int, float]:
        """Return how often a message arrives, and after how many seconds."""
        draw, faults = self.random.random(), self.faults
        delay = self.random.expovariate(1 / 0.002)
        if draw < faults.lost:
            self.counts["lost"] += 1
            return 0, delay
        if draw < faults.lost + faults.late:
            self.counts["late"] += 1
            return 1, self.random.uniform(0.5, 40.0) if self.random.random() < 0.2 else self.random.uniform(0.02, 1.0)
        if draw < faults.lost + faults.late + faults.doubled:
            self.counts["doubled"] += 1
            return 2, delay
        return 1, delay

    def delay(self) -> float:
        """Return how long one way to the storage takes."""
        slow = 100.0 if self._storage["storage_slow"] > 0 else 1.0
        if self.random.random() < self.faults.operation_slow:
            self.counts["operation_slow"] += 1
            return self.random.uniform(0.1, 3.0)
        return self.random.expovariate(1 / 0.003) * slow

    def fault(self, life: Life | None, operation: str) -> str:
        """Return what goes wrong with an operation of the storage."""
        draw, writes = self.random.random(), operation in ("put", "delete")
        if life is not None and self.machines[life.address].storage_cut > 0:
            return "lost"
        if self._storage["storage_fails"] > 0 and draw < 0.7:
            return "doubt" if draw < 0.1 else "lost"
        if operation == "put" and self._storage["storage_full"] > 0:
            return "lost"
        if writes and self._storage["storage_read_only"] > 0:
            return "refused"
        if draw > 1 - self.faults.operation_lost:
            self.counts["operation_lost"] += 1
            return "lost"
        if draw > 1 - self.faults.operation_lost - self.faults.operation_in_doubt:
            self.counts["operation_in_doubt"] += 1
            return "doubt"
        return ""

    def bug(self, error: BaseException, where: str) -> None:
        """Take in that something was raised which is a bug."""
        if not self.loop.over and self._violation is None:
            self._violation = ViolationError(f"a bug in {where}: {type(error).__name__}: {error}")
            self._violation.__cause__ = error

    def _user_ended(self, task: "asyncio.Task[Any]") -> None:
        if not self.loop.over and (error := task.exception()) is not None:
            self.bug(error, "the users")

    def committed(self, process: Process, record: JobRecord) -> None:
        """Take in that an attempt commits, which has the newest claim."""
        for invariant in self._invariants:
            invariant.at_commit(self, process, record)

    def ordered(self, process: Process, request: Mapping[str, Any]) -> None:
        """Take in that a host has carried out an order."""
        for invariant in self._invariants:
            invariant.at_order(self, process, request)

    # -- invariants -------------------------------------------------------------------------------------------------

    def acting(self) -> list[Any]:
        """Return the machines whose agents may act as the leader now."""
        found = []
        for machine in self.machines.values():
            life, agent = machine.life, machine.agent
            if not life.alive or life.paused or agent.leadership.state is None:
                continue
            if agent.leadership.election.may_act(life.clock(self.now)):
                found.append(machine)
        return found

    def _after_each(self) -> None:
        if self._violation is not None:
            raise self._violation
        self._invariants[0].after_each(self)

    def _each_second(self) -> None:
        for invariant in self._invariants:
            invariant.each_second(self)
        if self.acting():
            self.counts["seconds led"] += 1
        self.at(1.0, self._each_second)

    def _changed(self, term: int, key: str, before: bytes | None, after: bytes | None) -> None:
        if key.startswith(JOB_PREFIX):
            if after is None:
                record = self.records.pop(key.removeprefix(JOB_PREFIX), None)
                if record is not None and record.unfenced:
                    self.unfenced_ends.add(record.job_id)
                return
            record = JobRecord.from_bytes(after)
            earlier = self.records.get(record.job_id)
            self.records[record.job_id] = record
            if record.wanted in (DesiredState.CANCEL, DesiredState.CANCEL_AT_ONCE):
                self.cancelled_at.setdefault(record.job_id, self.now)
            elif record.wanted is DesiredState.SAVEPOINT:
                self.savepoints_wanted.add(record.job_id)
            if earlier is not None and record.attempt > earlier.attempt:
                self.counts["attempts"] += 1
                dead = (each.boot for each in self.hosts.values() if not each.alive)
                self.killed_with[record.job_id] += record.process in dead  # when it was given to that host
            for invariant in self._invariants:
                invariant.at_record(self, earlier, record)
        elif key.startswith(HISTORY_PREFIX) and after is not None:
            ended = EndedJob.from_bytes(after)
            self.ends.setdefault(ended.job_id, []).append(ended)
            self.counts[f"ended {ended.state.value}"] += 1
            for invariant in self._invariants:
                invariant.at_end(self, ended)

    # -- agents -----------------------------------------------------------------------------------------------------

    def start(self, machine: Machine) -> None:
        """Start an agent, as a supervisor does."""
        if machine.life.alive or not machine.powered:
            return
        machine.life = Life(machine.address, machine.rate, self.now)
        self.loop.lives.append(machine.life)
        machine.context = contextvars.Context()
        machine.context.run(OWNER.set, machine.life)
        machine.context.run(self._begin, machine)
        machine.gone_since = None

    def _begin(self, machine: Machine) -> None:
        store = NewestSeenStore(WatchedStore(self.shared.open(), self.ledger))
        machine.agent = Agent(machine.config, store, machine.address)
        machine.agent.planner = PlayedPlanner(machine.config)
        machine.task = self.loop.create_task(machine.agent.run())
        life = machine.life

        def ended(task: "asyncio.Task[Any]") -> None:
            if life.alive and not self.loop.over and not task.cancelled() and (error := task.exception()) is not None:
                self.bug(error, f"the agent {machine.address}")

        machine.task.add_done_callback(ended)

    def kill(self, machine: Machine) -> None:
        """Kill an agent at once; its hosts go on."""
        life = machine.life
        if life.alive:
            life.alive, life.paused = False, False
            self.shared.died(life)
            machine.gone_since = self.now if machine.gone_since is None else machine.gone_since

    def kill_host(self, process: Process) -> None:
        """Kill a host at once, not with its node, and count that for each of its jobs."""
        if process.alive:
            process.alive = False
            here = (process.address, process.name)
            placed = (each.job_id for each in self.records.values() if (each.host, each.host_name) == here)
            self.killed_with.update({*process.real._jobs, *placed})

    def pause(self, machine: Machine) -> None:
        """Stop an agent as SIGSTOP does."""
        machine.life.paused = True
        machine.gone_since = self.now

    def go_on(self, machine: Machine) -> None:
        """Continue an agent as SIGCONT does."""
        if machine.life.paused:
            machine.life.paused = False
            machine.gone_since = None
            self.loop.go_on(machine.life)

    def power_off(self, machine: Machine) -> None:
        """Let a machine lose its power."""
        self.kill(machine)
        machine.powered = False
        for process in self.hosts.values():
            if process.address == machine.address:
                process.alive = False

    def power_on(self, machine: Machine) -> None:
        """Give a machine its power again; its agent starts."""
        machine.powered = True
        self.start(machine)

    # -- faults -----------------------------------------------------------------------------------------------------

    def _break_something(self) -> None:
        if self.faults == CALM:
            return
        self.at(0.5, self._break_something)
        for machine in self.machines.values():
            for kind, action in _OF_NODES.items():
                if self.random.random() < kinds.rate(self.faults, kind) / 2 and action(self, machine):
                    self.counts[kind] += 1
        for process in tuple(self.hosts.values()):
            if process.alive and self.random.random() < self.faults.kill_host / 2:
                self.kill_host(process)
                self.counts["kill_host"] += 1
            elif process.alive and not process.paused and self.random.random() < self.faults.pause_host / 2:
                process.paused = True
                self.counts["pause_host"] += 1
                self.at(self._lasts(0.5, 40.0), process.wake)
        for kind in ("storage_fails", "storage_full", "storage_read_only", "storage_slow"):
            if self.random.random() < kinds.rate(self.faults, kind) / 2:
                self.counts[kind] += 1
                self._for_a_while(self._storage, kind)

    def _lasts(self, least: float, most: float) -> float:
        """Return for how long something is broken: most times shorter than what others wait for, sometimes longer."""
        return least + (most - least) * self.random.random() ** 2

    def _for_a_while(self, counter: Counter[Any], *keys: Any) -> None:
        """Count something, and no more after a while; ``heal`` may have forgotten it by then."""
        counter.update(keys)
        self.at(self._lasts(0.5, 30.0), lambda: counter.subtract({key: min(1, counter[key]) for key in keys}))

    def _kill_for_a_while(self, machine: Machine) -> bool:
        if machine.life.alive:
            self.kill(machine)
            self.at(self._lasts(0.1, 30.0), partial(self.start, machine))
            return True
        return False

    def _lose_power(self, machine: Machine) -> bool:
        if machine.powered:
            self.power_off(machine)
            self.at(self._lasts(1.0, 60.0), partial(self.power_on, machine))
            return True
        return False

    def _pause_agent(self, machine: Machine) -> bool:
        if machine.life.alive and not machine.life.paused:
            self.pause(machine)
            self.at(self._lasts(0.1, 60.0), partial(self.go_on, machine))
            return True
        return False

    def _pause_node(self, machine: Machine) -> bool:
        if not self._pause_agent(machine):
            return False
        for process in self.hosts.values():
            if process.address == machine.address and process.alive and not process.paused:
                process.paused = True
                self.at(self._lasts(0.1, 60.0), process.wake)
        return True

    def _cut(self, machine: Machine, *, ways: int = 1, others: int = 1) -> bool:
        addresses = [address for address in self.addresses if address != machine.address]
        chosen = self.random.sample(addresses, min(others, len(addresses)))
        pairs = [(machine.address, other) for other in chosen]
        if ways == 2:
            pairs += [(other, machine.address) for other in chosen]
        elif self.random.random() < 0.5:
            pairs = [(other, here) for here, other in pairs]
        self._for_a_while(self._cuts, *pairs)
        return True

    def _cut_storage(self, machine: Machine) -> bool:
        machine.storage_cut += 1

        def mend() -> None:
            machine.storage_cut = max(0, machine.storage_cut - 1)

        self.at(self._lasts(0.5, 40.0), mend)
        return True

    def _jump(self, machine: Machine) -> bool:
        machine.wall_offset_s = self.random.uniform(-3_600.0, 3_600.0)
        return True


_OF_NODES: Mapping[str, Callable[[World, Machine], bool]] = {
    "kill_agent": World._kill_for_a_while,
    "power": World._lose_power,
    "pause_agent": World._pause_agent,
    "pause_node": World._pause_node,
    "cut": World._cut,
    "cut_both": partial(World._cut, ways=2),
    "isolate": partial(World._cut, ways=2, others=99),
    "cut_storage": World._cut_storage,
    "jump": World._jump,
}


def _patches(world: World) -> list[Any]:
    """Return what replaces the operating system below the real parts."""

    def monotonic() -> float:
        life = OWNER.get()
        return world.now if life is None else life.clock(world.now)

    def wall_clock() -> float:
        life = OWNER.get()
        return BEGAN_AT + world.now + (0.0 if life is None else world.machines[life.address].wall_offset_s)

    clock = SimpleNamespace(monotonic=monotonic, sleep=threads.sleep)
    hosts = world._processes
    clocks = [
        mock.patch.object(module, "time", clock)
        for module in (leadership_module, members_module, dispatcher_module, own_hosts_module, host_process_module)
    ]
    walls = [
        mock.patch.object(module, "wall_clock", wall_clock)
        for module in (dispatcher_module, requests_module, submitting_module, leadership_module)
    ]
    logger = logging.getLogger("seatunnel.cluster")
    return [
        *clocks,
        *walls,
        mock.patch.object(leadership_module, "ThreadPoolExecutor", threads.Pool),
        mock.patch.object(own_hosts_module, "ThreadPoolExecutor", threads.Pool),
        mock.patch.object(own_hosts_module, "WATCH_S", 1.0),
        mock.patch.object(dispatcher_module, "EXPIRE_EVERY_S", 10.0),
        mock.patch.object(dispatcher_module, "SCHEDULE_S", 0.25),
        mock.patch.object(journal_module, "threading", SimpleNamespace(Lock=threads.Lock)),
        mock.patch.object(journal_module, "_Compaction", threads.Started),
        mock.patch.object(sql_store_module, "_PATIENCE", Backoff(attempts=6, sleep=threads.sleep)),
        mock.patch.object(agent_module, "Peers", Peers),
        mock.patch.object(Peers, "network", world.network, create=True),
        mock.patch.object(own_hosts_module, "HostProcess", SimulatedHostProcess),
        mock.patch.object(SimulatedHostProcess, "hosts", hosts, create=True),
        mock.patch.object(SimulatedHostProcess, "world", world, create=True),
        mock.patch.object(own_hosts_module, "host_sockets", hosts.sockets),
        mock.patch.object(host_process_module, "host_sockets", hosts.sockets),
        mock.patch.object(logger, "disabled", True),
        mock.patch.object(logging.getLogger("seatunnel.storage"), "disabled", True),
    ]
