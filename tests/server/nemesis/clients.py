"""Who uses the cluster while it breaks: each client submits jobs, stops some of them, and looks how they stand."""

import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from attrs import define, field

from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.errors import PlatformError
from tests.server.nemesis.ground import Ground
from tests.server.nemesis.history import Call, History, answered, now
from tests.server.nemesis.work import Work, draw_work

ENDS = frozenset({"FINISHED", "CANCELED", "SAVEPOINT_DONE", "FAILED"})
STOPPED = frozenset({"CANCELED", "SAVEPOINT_DONE"})
NEVER_BEGUN = "in the checkpoint storage to resume from"
"""Of a job that was resumed and had been stopped before it had anything to go on with."""

INTRUDERS = 0.2
"""The share of jobs whose id another client uses, too."""

ANSWER_S = 10.0
LOOK_S = 0.5
COUNT_S = 2.0
"""Between two looks at the rows of a streaming job, on average."""


@define(eq=False)
class Clients:
    """A few clients as threads, each with one job at a time, and all that they did.

    Args:
        ground: whose cluster they use.
        history: gets their calls.
        seed: of what they draw.
    """

    ground: Ground
    history: History
    seed: int
    works: list[Work] = field(factory=list, init=False)
    open: dict[str, str] = field(factory=dict, init=False)
    """The states of the jobs that have not ended, as they were last seen."""

    bugs: list[str] = field(factory=list, init=False)
    _enough: threading.Event = field(factory=threading.Event, init=False)
    _leaving: threading.Event = field(factory=threading.Event, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)
    _changing: threading.Lock = field(factory=threading.Lock, init=False)

    def begin(self, count: int) -> None:
        """Begin with so many clients."""
        for number in range(count):
            thread = threading.Thread(target=self._live, args=(number,), name=f"client {number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit_no_more(self) -> None:
        """Let the clients wait for the ends of what they have submitted, and leave."""
        self._enough.set()

    def have_left(self, within_s: float) -> bool:
        """Return whether all have seen the ends of their jobs in time; then nobody asks for anything any more."""
        end = now() + within_s
        for thread in self._threads:
            thread.join(max(0.0, end - now()))
        left = not any(thread.is_alive() for thread in self._threads)
        self._leaving.set()
        return left

    def _live(self, number: int) -> None:
        draw = random.Random(f"{self.seed}-{number}")
        count = 0
        try:
            while not self._enough.is_set():
                count += 1
                job_id = f"{number}{count:03}"
                work = draw_work(draw, job_id, self.ground.sinks, self.ground.database)
                with self._changing:
                    self.works.append(work)
                Errand(self, work, draw).run(self._leaving)
                self._enough.wait(draw.uniform(0, 2))
        except Exception as error:
            self.bugs.append(f"client {number} ended with {error!r}")
            raise

    def seen(self, job_id: str, state: str) -> None:
        """Take in how a job stands."""
        with self._changing:
            if state and state not in ENDS:
                self.open[job_id] = state
            else:
                self.open.pop(job_id, None)

    def states(self) -> dict[str, str]:
        """Return the states of the jobs that have not ended."""
        with self._changing:
            return dict(self.open)


@define(eq=False)
class Errand:
    """One job on its way, in the hands of one client."""

    clients: Clients
    work: Work
    draw: random.Random

    def run(self, leaving: threading.Event) -> None:
        """Submit the job, do with it what is to be done, and wait for its end."""
        text = self.work.text(self.clients.ground.database)
        if not self._submit(text, "submit", leaving):
            return
        if self.draw.random() < INTRUDERS:
            self._intrude(text)
        state, error = self._watch(self._first_stop(), leaving)
        if self.work.resumed and state in STOPPED and self._submit(text, "resume", leaving):
            state, error = self._watch(self._last_stop(), leaving)
        while state == "FAILED" and NEVER_BEGUN not in error and self._submit(text, "resume", leaving):
            state, error = self._watch(self._last_stop(), leaving)

    def _intrude(self, text: str) -> None:
        """Submit another job under the same id, as a second client would: it must not be acknowledged."""
        target = f"/submit-job?jobId={self.work.job_id}&format=hocon"
        if self._call("intrude", "POST", target, f"{text}\n# another job".encode(), lambda _: ("", "")).acknowledged:
            self.clients.bugs.append(f"another job was accepted under the active id {self.work.job_id}")

    def _first_stop(self) -> Callable[[], bool]:
        """Return what says that the job is to be stopped now: it is at a random moment, unless that is for good."""
        if self.work.fate == "run" or (self.work.streaming and not self.work.resumed):
            return self._last_stop()
        stop_at = now() + self.draw.uniform(0, 15)
        return lambda: now() >= stop_at

    def _last_stop(self) -> Callable[[], bool]:
        """Return the same for the last time: a streaming job is stopped when it has nothing to do any more."""
        if not self.work.streaming:
            return lambda: False
        return lambda: self.draw.random() < LOOK_S / COUNT_S and self.work.is_complete(self.clients.ground.database)

    def _submit(self, text: str, what: str, leaving: threading.Event) -> bool:
        """Submit the job; return whether that was acknowledged. Who is patient repeats it under the same id."""
        target = f"/submit-job?jobId={self.work.job_id}&format=hocon"
        if what == "resume":
            target += "&isStartWithSavePoint=true"
        while not leaving.is_set():
            call = self._call(what, "POST", target, text.encode(), lambda _: ("taken", ""))
            if call.acknowledged:
                return True
            if not self.work.patient and what == "submit":
                return False
            leaving.wait(self.draw.uniform(0.1, 1))
        return False

    def _watch(self, is_due: Callable[[], bool], leaving: threading.Event) -> tuple[str, str]:
        """Look until the job has ended, stop it when its time has come, and return its last state and its error."""
        state, error, stopped = "", "", False
        while not leaving.wait(LOOK_S):
            if not stopped and is_due():
                stopping = {"jobId": self.work.job_id, "isStopWithSavePoint": self.work.fate == "savepoint"}
                call = self._call(
                    self.work.fate, "POST", "/stop-job", json.dumps(stopping).encode(), lambda _: ("", "")
                )
                if not call.acknowledged:
                    continue
                stopped = True
            call = self._call("look", "GET", f"/job-info/{self.work.job_id}", b"", answered)
            if call.acknowledged:
                state, error = call.said, call.error
                self.clients.seen(self.work.job_id, state)
                if state in ENDS:
                    break
        return state, error

    def _call(
        self, what: str, method: str, target: str, body: bytes, read: Callable[[dict[str, Any]], tuple[str, str]]
    ) -> Call:
        """Ask one member that is drawn, and note what came of it."""
        ground = self.clients.ground
        member = self.draw.choice(ground.members).node.address
        client = ClusterClient([member], ground.name, ground.cluster.secret, connect_s=2.0, answer_s=ANSWER_S)
        began, status, said, error = now(), 0, "", ""
        try:
            answer = client.exchange(method, target, body, "application/json")
            status = answer.status
            said, error = read(answer.json()) if status == 200 else (answer.body.decode("utf-8", "replace")[:300], "")
        except PlatformError as problem:
            status, said = 0, str(problem)[:300]
        return self.clients.history.note(
            Call(job_id=self.work.job_id, what=what, began=began, ended=now(), status=status, said=said, error=error)
        )


def last_state(clients: Clients, job_id: str, *, within_s: float = 30.0) -> tuple[str, str]:
    """Return how the cluster says, when all is over, that a job has ended; nothing if it knows no such job."""
    end = time.monotonic() + within_s
    while True:
        for member in clients.ground.members:
            try:
                status, answer = member.node.ask("GET", f"/job-info/{job_id}")
            except (OSError, ValueError):
                continue
            if status == 200:
                return answered(answer)
        if time.monotonic() > end:
            return "", "nobody answers"
        time.sleep(0.5)
