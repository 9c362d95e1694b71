"""Members with hosts as actors, beside the simulated agents: what is decided, ordered, lost, late and doubled.

Real are the election, the scheduling, what a leader knows of a member, and a host's handling of orders. Simulated are
the storage, the network, and what a job does.
"""

import contextlib
import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from attrs import define, evolve, field

from seatunnel_core.server.agent.dispatcher import Ages, encoded
from seatunnel_core.server.agent.host_process import ANSWER_S
from seatunnel_core.server.demand import Demand
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.host.protocol import HostStatus
from seatunnel_core.server.host.warm_spark import SparkStanding
from seatunnel_core.server.member_report import HostReport, MemberReport
from seatunnel_core.server.scheduling.contact import Contact, Question
from seatunnel_core.server.scheduling.decisions import Decisions, End, Record
from seatunnel_core.server.scheduling.schedule import decide
from seatunnel_core.server.scheduling.view import Member, View
from seatunnel_core.server.state.records import SHARED, EndedJob, JobRecord, JobState, Wanted
from tests.server.cluster_invariants import INVARIANTS
from tests.server.simulated_cluster import Agent, Cluster, ViolationError
from tests.server.simulated_jobs import Manifest, Process, SimulatedJob

OWN = frozenset({"3", "7"})
"""Jobs that have a host of their own."""


@define(eq=False)
class Leader:
    """What only a leader has: a copy of the state, and what it knows of members. Lost with the lead."""

    term: int
    jobs: dict[str, JobRecord]
    ended: dict[str, EndedJob]
    contacts: dict[str, Contact] = field(factory=dict)
    ages: Ages = field(factory=Ages)
    changing: bool = False


class HostedCluster(Cluster):
    """A cluster whose agents have hosts, and whose leader has jobs."""

    decides: Callable[[View], Decisions] = staticmethod(decide)

    def __init__(self, seed: int, *, jobs: int = 8, **more: Any) -> None:
        self.manifests: dict[str, Manifest] = {}
        self.records: dict[str, JobRecord] = {}
        self.history: dict[str, list[EndedJob]] = {}
        self.accepted: set[str] = set()
        self.processes: dict[str, dict[str, Process]] = {}
        self.agent_terms: dict[str, int] = {}
        self.leaders: dict[str, Leader] = {}
        self.cut: set[frozenset[str]] = set()
        self.told_end: dict[str, JobState] = {}
        self.orders = self.attempts = 0
        self._boots = itertools.count(1)
        super().__init__(seed, **more)
        self._to_submit = [str(number) for number in range(1, jobs + 1)]
        for agent in self.agents:
            self.processes[agent.address] = {}
            self._watch(agent)

    def at(self, delay: float, action: Callable[[], None]) -> None:
        """Let something happen later."""
        self._at(delay, action)

    # -- hosts ------------------------------------------------------------------------------------------------------

    def _open(self, agent: Agent, name: str, boot: str) -> None:
        process = Process(name, boot)
        process.host = Host(
            lambda record: SimulatedJob(self, process, record),
            pid=1,
            name=name,
            boot=boot,
            offered=0,
            clock=lambda: self.now,
        )
        self.processes[agent.address][name] = process
        self.at(
            self.random.uniform(0.5, 3.0),
            lambda: process.do(lambda: setattr(process.host, "spark", SparkStanding(slots=2))),
        )

    def _watch(self, agent: Agent) -> None:
        """An agent starts the shared host when it is gone, and forgets others that are."""
        if agent.alive and not agent.paused:
            own = self.processes[agent.address]
            for name in [name for name, process in own.items() if not process.alive]:
                del own[name]
            if SHARED not in own:
                self._open(agent, SHARED, f"boot{next(self._boots)}")
        self.at(0.2, lambda: self._watch(agent))

    def _report(self, agent: Agent) -> MemberReport:
        hosts = []
        for name, process in self.processes[agent.address].items():
            if process.alive:
                status = None
                if not process.paused:
                    term = max(self.agent_terms.get(agent.address, 0), 1)
                    status = HostStatus.from_record(process.ask({"do": "status", "term": term}))
                hosts.append(HostReport(name=name, boot=process.boot, status=status))
        return MemberReport(hosts=tuple(hosts))

    def _carry_out(self, agent: Agent, order: Mapping[str, Any]) -> None:
        """What ``OwnHosts.carry_out`` does."""
        self._require_term(agent, order["term"])
        self.orders += 1
        own, name = self.processes[agent.address], order["host"]
        process = own.get(name)
        if order["do"] == "open":
            if process is not None and process.alive and process.boot == order["boot"]:
                return
            if process is not None:
                process.alive = False
            self._open(agent, name, order["boot"])
        elif order["do"] in ("close", "kill"):
            if process is not None and process.boot == order["boot"]:
                process.alive = False
        elif process is None or not process.alive:
            raise ConnectionError("no such host")
        else:
            until = self.now + ANSWER_S
            process.do(lambda: self._pass_on(process, order, until))

    def _pass_on(self, process: Process, order: Mapping[str, Any], until: float) -> None:
        """Give a host an order, unless the agent has closed the connection: the host was paused for too long."""
        if self.now < until:
            with contextlib.suppress(ConnectionError):
                process.ask(order)

    def _require_term(self, agent: Agent, term: int) -> None:
        if term < self.agent_terms.get(agent.address, 0):
            raise ConnectionError("lower term")
        self.agent_terms[agent.address] = term

    # -- the network ------------------------------------------------------------------------------------------------

    def send(
        self,
        sender: Agent,
        receiver: Agent,
        act: Callable[[], Any],
        reply: Callable[[Any], None],
        fail: Callable[[bool], None],
        *,
        answer_s: float,
    ) -> None:
        """Send a request. It may be lost, late or doubled; exactly one of ``reply`` and ``fail`` is called."""
        life, done = sender.life, [False]

        def back(action: Callable[[], None]) -> None:
            if not done[0] and sender.alive and sender.life == life:
                done[0] = True
                self._arrive(sender, action)

        def arrive() -> None:
            if done[0] and not self._is_cut(sender, receiver):
                return  # the sender has closed the connection
            if not receiver.alive:
                self.at(self._delay(), lambda: back(lambda: fail(True)))
                return
            try:
                result = act()
            except ConnectionError:
                self.at(self._delay(), lambda: back(lambda: fail(False)))
            else:
                if not self._is_cut(sender, receiver):
                    self.at(self._delay(), lambda: back(lambda: reply(result)))

        self.at(answer_s, lambda: back(lambda: fail(False)))
        draw = self.random.random()
        if self._is_cut(sender, receiver) or draw < 0.01:
            return
        late = self.random.uniform(1, 40) if draw < 0.03 else 0.0
        for _ in range(2 if draw > 0.98 else 1):
            self.at(self._delay() + late, lambda: self._arrive(receiver, arrive))

    def _arrive(self, agent: Agent, action: Callable[[], None]) -> None:
        if agent.paused and agent.alive:
            agent.inbox.append(action)
        else:
            action()

    def _is_cut(self, one: Agent, other: Agent) -> bool:
        return frozenset((one.address, other.address)) in self.cut

    # -- the leader -------------------------------------------------------------------------------------------------

    def _act(self, agent: Agent) -> None:
        term = agent.election.term
        if not agent.election.may_act(self.clock(agent)):
            self.leaders.pop(agent.address, None)
            return
        self.terms_that_acted.add(term)
        leader = self.leaders.get(agent.address)
        if leader is None or leader.term != term:
            ended = {job_id: ends[-1] for job_id, ends in self.history.items()}
            leader = self.leaders[agent.address] = Leader(term, dict(self.records), ended)
        if leader.changing or self.random.random() > 0.3:
            return
        self._ask_for_something(agent, leader)
        decisions = self.decides(self._view(agent, leader))
        self._give(agent, leader, decisions)
        if decisions.changes and not leader.changing:
            self._change(agent, leader, decisions)

    def _view(self, agent: Agent, leader: Leader) -> View:
        now = self.clock(agent)
        jobs = leader.jobs
        members = {each.address: self._member(agent, leader, each, now) for each in self.agents}
        waiting = {job_id: job.attempt for job_id, job in jobs.items() if not job.host}
        placed = {job_id: (job.attempt, job.process) for job_id, job in jobs.items() if job.host}
        stopping = {job_id: True for job_id, job in jobs.items() if job.wanted is not Wanted.RUN}
        return View(
            jobs=dict(jobs),
            members=members,
            leader=agent.address,
            now=self.now,
            demands={job_id: Demand(own_host=job_id in OWN) for job_id in jobs},
            waits=True,
            stopping_s=leader.ages.note("stopping", stopping, now),
            waiting_s=leader.ages.note("waiting", waiting, now),
            placed_s=leader.ages.note("placed", placed, now),
        )

    def _member(self, agent: Agent, leader: Leader, each: Agent, now: float) -> Member:
        contact = leader.contacts.setdefault(each.address, Contact())
        if each is agent:
            self._require_term(agent, leader.term)
            return Member(report=self._report(agent), busy=contact.ordering)
        if contact.is_due(now):
            self._poll(agent, leader, each, contact, contact.ask(now))
        return contact.member(now, self.timing.timeout_s)

    def _poll(self, agent: Agent, leader: Leader, each: Agent, contact: Contact, question: Question) -> None:
        def act() -> MemberReport:
            self._require_term(each, leader.term)
            return self._report(each)

        self.send(
            agent,
            each,
            act,
            lambda report: self._note(contact, question, report),
            lambda refused: contact.failed(question, refused=refused),
            answer_s=2.0,
        )

    def _note(self, contact: Contact, question: Question, report: MemberReport) -> None:
        contact.answered(question, report)

    def _give(self, agent: Agent, leader: Leader, decisions: Decisions) -> None:
        by_member: dict[str, list[Mapping[str, Any]]] = {}
        for order in decisions.orders:
            by_member.setdefault(order.member, []).append({**encoded(order), "term": leader.term})
        for address, orders in by_member.items():
            contact = leader.contacts[address]
            contact.ordering = True
            receiver = next(each for each in self.agents if each.address == address)
            self._give_next(agent, receiver, contact, orders)

    def _give_next(self, agent: Agent, receiver: Agent, contact: Contact, orders: list[Mapping[str, Any]]) -> None:
        if not orders:
            contact.told()
            return
        first, *rest = orders
        if receiver is agent:
            try:
                self._carry_out(agent, first)
            except ConnectionError:
                rest = []
            self._give_next(agent, receiver, contact, rest)
            return
        self.send(
            agent,
            receiver,
            lambda: self._carry_out(receiver, first),
            lambda _: self._give_next(agent, receiver, contact, rest),
            lambda _: contact.told(),
            answer_s=12.0,
        )

    # -- the state --------------------------------------------------------------------------------------------------

    def _ask_for_something(self, agent: Agent, leader: Leader) -> None:
        """A user submits a job, or cancels one."""
        draw = self.random.random()
        if self._to_submit and draw < 0.06:
            job_id = self._to_submit.pop(0)
            record = JobRecord(job_id=job_id, name="", text="", format="hocon", submitted_at=self.now, since=self.now)
            self._store(agent, leader, [Record(record)], lambda: self.accepted.add(job_id))
        elif draw > 0.99 and leader.jobs:
            job = self.random.choice(list(leader.jobs.values()))
            self._store(agent, leader, [Record(evolve(job, wanted=Wanted.CANCEL))], lambda: None)

    def _change(self, agent: Agent, leader: Leader, decisions: Decisions) -> None:
        self._store(agent, leader, decisions.changes, lambda: None)

    def _store(self, agent: Agent, leader: Leader, changes: Any, then: Callable[[], object]) -> None:
        """Store changes in one step; what an older term than the newest claim stores takes no effect."""
        leader.changing = True

        def effect() -> bool:
            if self.storage.claimed != leader.term:
                return False
            for change in changes:
                if isinstance(change, Record):
                    self._put(change.job)
                elif isinstance(change, End):
                    self._end(change.ended)
            return True

        def confirmed(stored: object) -> None:
            leader.changing = False
            if not stored or self.storage.claimed != leader.term:
                agent.election.deposed(self.clock(agent), "a newer term was claimed")
                return
            for change in changes:
                if isinstance(change, Record):
                    leader.jobs[change.job.job_id] = change.job
                else:
                    leader.jobs.pop(change.ended.job_id, None)
            self.changes += 1
            then()

        def failed() -> None:
            agent.election.deposed(self.clock(agent), "the storage failed")

        self._operate(agent, effect, confirmed, failed)

    def _put(self, job: JobRecord) -> None:
        before = self.records.get(job.job_id)
        if job.job_id in self.history:
            raise ViolationError(f"the job {job.job_id} has ended, and is there again")
        if before is not None and job.attempt < before.attempt:
            raise ViolationError(f"the job {job.job_id} goes back from attempt {before.attempt} to {job.attempt}")
        self.attempts += before is not None and job.attempt > before.attempt
        self.records[job.job_id] = job

    def _end(self, ended: EndedJob) -> None:
        self.records.pop(ended.job_id, None)
        self.history.setdefault(ended.job_id, []).append(ended)
        for invariant in INVARIANTS:
            invariant.at_end(self, ended)

    def committed(self, record: JobRecord) -> None:
        """Take in that an attempt commits, which has the newest claim."""
        for invariant in INVARIANTS:
            invariant.at_commit(self, record)

    # -- faults -----------------------------------------------------------------------------------------------------

    def _break_something(self, end: float) -> None:
        super()._break_something(end)
        draw = self.random.random
        for agent in self.agents:
            for process in list(self.processes[agent.address].values()):
                if process.alive and draw() < self.faults.kill:
                    process.alive = False
                elif process.alive and not process.paused and draw() < self.faults.pause:
                    process.paused = True
                    self.at(self.random.uniform(1, 30), partial(self.wake, process))
            if draw() < self.faults.kill / 4 and agent.alive:
                self._kill(agent)  # with all that it has, as a loss of power
                for process in self.processes[agent.address].values():
                    process.alive = False
                self.at(self.random.uniform(0.1, 30), partial(self._start, agent))
        one, other = self.random.sample(self.agents, 2)
        if draw() < self.faults.pause:
            pair = frozenset((one.address, other.address))
            self.cut.add(pair)
            self.at(self.random.uniform(1, 30), lambda: self.cut.discard(pair))

    def wake(self, process: Process) -> None:
        """Continue a host; what it was told meanwhile is done then."""
        process.paused = False
        waiting, process.inbox = process.inbox, []
        for action in waiting:
            process.do(action)

    def heal(self) -> None:
        super().heal()
        self.cut.clear()
        for own in self.processes.values():
            for process in own.values():
                self.wake(process)

    def _start(self, agent: Agent) -> None:
        if not agent.alive:
            self.agent_terms.pop(agent.address, None)
        super()._start(agent)

    def check_acknowledged(self) -> None:
        for invariant in INVARIANTS:
            invariant.in_the_end(self)
