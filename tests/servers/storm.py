"""A storm: engines store without a pause while servers and engines are killed, and then everything is counted.

Each engine is a process with a pipeline of its own: it has its own connections, shares no lock with the others, and can
itself be killed. Every second one keeps three checkpoints, so that deletions meet the kills; the others keep all, so
that every single acknowledgement can be checked at the end.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from attrs import define, field

from seatunnel_storage_api import layout, lineage
from seatunnel_storage_api.errors import CheckpointConflictError, StorageUnavailableError
from seatunnel_storage_api.state import PipelineState
from seatunnel_storage_api.storage import CheckpointStorage
from tests.servers.storm_writer import JOB, patiently, state, storage_of

FEW, ALL = 3, 10**6
LONGEST_DOWN_S = 4.0


class Victim(Protocol):
    """A server as a process."""

    def kill(self) -> bool:
        """``kill -9``; whether it died of it."""

    def start(self) -> None:
        """Start it on the same data."""


@define
class Engine:
    """One writer, from the outside."""

    configuration: Mapping[str, str]
    pipeline_id: int
    last: int
    log: Path
    acknowledged: int = 0
    """The largest id; they come in order."""

    refused: int = 0
    kills: int = 0
    """So many of its processes ended by ``kill -9``."""

    process: subprocess.Popen[str] | None = None
    _doomed: subprocess.Popen[str] | None = None
    """The last one that was killed."""

    @property
    def retained(self) -> int:
        return FEW if self.pipeline_id % 2 else ALL

    def run(self, on_acknowledged: Callable[[], object]) -> None:
        """Runs it to its end, and again after each kill, and after nothing else."""
        while self.acknowledged < self.last:
            self._live(on_acknowledged)

    def kill(self) -> bool:
        """Whether it died of it: it may be between two lives, or just come to its end."""
        process = self.process
        if process is None or process.poll() is not None:
            return False
        self._doomed = process
        process.kill()
        died = process.wait() == -signal.SIGKILL
        self.kills += died
        return died

    def _live(self, on_acknowledged: Callable[[], object]) -> None:
        order = {
            "configuration": {**self.configuration, "max-retained": str(self.retained)},
            "pipeline_id": self.pipeline_id,
            "last": self.last,
        }
        command = [sys.executable, "-m", "tests.servers.storm_writer", json.dumps(order)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        with self.process as process:
            assert process.stdout is not None
            for line in process.stdout:
                _, number, refused = (int(word) for word in line.split())
                self.acknowledged = number
                self.refused += refused
                on_acknowledged()
        if process.returncode == 0:
            self.acknowledged = self.last  # killed between its last store and its line, it finds nothing to do
        elif process.returncode != -signal.SIGKILL or process is not self._doomed:
            raise AssertionError(
                f"engine {self.pipeline_id} ended with {process.returncode}:\n{self.log.read_text()[-4_000:]}"
            )


@define(kw_only=True)
class Storm:
    """What happens, and to whom.

    Args:
        configuration: of the plugin that ``type`` names, ``hdfs`` without it; without ``max-retained``.
        folder: for logs.
        victims: servers that are killed with ``kill -9`` and started again, at moments spread over the storm.
        kills: of servers, in all.
        engine_kills: of engines, in all.
    """

    configuration: Mapping[str, str]
    folder: Path
    victims: Sequence[Victim] = ()
    kills: int = 0
    engine_kills: int = 0
    stores: int = 1_000
    engines: int = 8
    seed: int = 1
    _fleet: list[Engine] = field(init=False, factory=list)
    _stored: threading.Semaphore = field(init=False, factory=lambda: threading.Semaphore(0))
    _over: threading.Event = field(init=False, factory=threading.Event)
    _seconds: float = field(init=False, default=0.0)
    _reads: int = field(init=False, default=0)
    _servers_killed: int = field(init=False, default=0)

    def rage(self) -> None:
        """Stores everything. A reader looks on all the time, and must never see less than was acknowledged."""
        per_engine = self.stores // self.engines
        self._fleet = [
            Engine(self.configuration, number, per_engine, self.folder / f"engine-{number}.log")
            for number in range(1, self.engines + 1)
        ]
        started = time.monotonic()
        with ThreadPoolExecutor(self.engines + 2) as threads:
            engines = [threads.submit(engine.run, self._stored.release) for engine in self._fleet]
            others = [threads.submit(self._kill), threads.submit(self._watch)]
            try:
                for each in engines:
                    each.result()
            finally:
                self._over.set()
            for each in others:
                each.result()
        self._seconds = time.monotonic() - started
        due = (self.kills * bool(self.victims), self.engine_kills)
        assert (self._servers_killed, self._engines_killed) == due, "fewer servers and engines died than were to"

    def settle(self, paths: Callable[[], Iterable[str]], configuration: Mapping[str, str] | None = None) -> None:
        """In calm: one more store per pipeline, and then exactly what must be there is there.

        Args:
            paths: all keys below the namespace, seen from outside.
            configuration: another way to the same place, past a bad network.
        """
        known: set[str] = set()
        for engine in self._fleet:
            calm = {**(configuration or self.configuration), "max-retained": str(engine.retained)}
            with storage_of(calm) as storage:
                known |= self._settle(storage, engine)
        left = {path for path in paths() if path.startswith(f"{JOB}/")} - known
        assert not left, f"nobody knows these: {sorted(left)}"

    @property
    def _engines_killed(self) -> int:
        return sum(engine.kills for engine in self._fleet)

    def __str__(self) -> str:
        return (
            f"{sum(engine.acknowledged for engine in self._fleet)} stores of {self.engines} engines in "
            f"{self._seconds:.0f} s, {self._servers_killed} servers and {self._engines_killed} engines killed, "
            f"{sum(engine.refused for engine in self._fleet)} stores made again, {self._reads} reads meanwhile: "
            "nothing lost, nothing partial, retention exact"
        )

    def _settle(self, storage: CheckpointStorage, engine: Engine) -> set[str]:
        pipeline = engine.pipeline_id
        latest = storage.get_latest_checkpoint(JOB, pipeline)
        assert latest is not None
        assert latest.checkpoint_id == engine.last
        epoch = storage.acquire_epoch(JOB, pipeline, 1)
        storage.store_checkpoint(state(pipeline, epoch, engine.last + 1, latest.ref))
        assert not storage.prune_failures
        infos = storage.list_checkpoints(JOB, pipeline)
        alive = lineage.live(infos)
        ids = [info.checkpoint_id for info in infos if info.ref in alive]
        assert ids == list(range(1, engine.last + 2))[-engine.retained :]
        assert len(infos) - len(ids) <= engine.kills, "only a killed engine leaves a void checkpoint"
        for info in infos:
            stored = storage.load(info)
            assert stored == state(pipeline, info.epoch, info.checkpoint_id, info.base)
        assert storage.scan(JOB, pipeline).epochs == (epoch,)
        return {*map(layout.checkpoint_key, infos), layout.epoch_key(JOB, pipeline, epoch)}

    def _kill(self) -> None:
        """After every so many stores: the storm is as long as the storage is slow, and so are its pauses."""
        draw = random.Random(self.seed)
        deaths = [self._kill_server] * self.kills * bool(self.victims) + [self._kill_engine] * self.engine_kills
        draw.shuffle(deaths)
        for death in deaths:
            for _ in range(self.stores // (len(deaths) + 1)):
                while not self._stored.acquire(timeout=0.1):
                    if self._over.is_set():
                        return
            death(draw)

    def _kill_server(self, draw: random.Random) -> None:
        victim = draw.choice(self.victims)
        self._servers_killed += victim.kill()
        self._over.wait(draw.uniform(0, LONGEST_DOWN_S))
        victim.start()

    def _kill_engine(self, draw: random.Random) -> None:
        """One that runs: those that are between two lives are passed over."""
        while not self._over.is_set():
            unfinished = [engine for engine in self._fleet if engine.acknowledged < engine.last]
            if unfinished and draw.choice(unfinished).kill():
                return
            self._over.wait(0.01)

    def _watch(self) -> None:
        with _patient_storage(self.configuration) as storage:
            while not self._over.is_set():
                for engine in self._fleet:
                    self._look(storage, engine)

    def _look(self, storage: CheckpointStorage, engine: Engine) -> None:
        said = engine.acknowledged
        try:
            latest = storage.get_latest_checkpoint(JOB, engine.pipeline_id)
        except StorageUnavailableError:
            return
        self._reads += 1
        number = latest.checkpoint_id if latest else 0
        assert number >= said, f"pipeline {engine.pipeline_id} shows {number} after {said} was acknowledged"
        if latest is not None:
            assert latest == state(engine.pipeline_id, latest.epoch, number, latest.base)


def contest(configuration: Mapping[str, str], *, rounds: int, rivals: int = 4) -> str:
    """Rivals store different states under one id, round after round, each until it is told yes or no: one yes each."""
    with ExitStack() as opened:
        storages = [opened.enter_context(_patient_storage(configuration)) for _ in range(rivals)]
        epoch, _ = patiently(lambda: storages[0].acquire_epoch(JOB, 1, 1))
        threads = opened.enter_context(ThreadPoolExecutor(rivals))
        refused = 0
        for number in range(rounds):
            states = [state(1, epoch, number, None, author) for author in "abcdefghijklmnop"[:rivals]]
            answers = list(threads.map(_claim_id, storages, states))
            winners = [stored for stored, (won, _) in zip(states, answers, strict=True) if won]
            assert len(winners) == 1, f"round {number}: {len(winners)} won"
            kept, _ = patiently(lambda number=number: storages[0].get_checkpoint(JOB, 1, number))  # type: ignore[misc]
            assert kept == winners[0]
            refused += sum(times for _, times in answers)
    return f"{rounds} rounds of {rivals} rivals for one id, {refused} stores made again: one winner each"


def _patient_storage(configuration: Mapping[str, str]) -> CheckpointStorage:
    storage, _ = patiently(lambda: storage_of({**configuration, "max-retained": str(ALL)}))
    return storage


def _claim_id(storage: CheckpointStorage, mine: PipelineState) -> tuple[bool, int]:
    try:
        _, refused = patiently(lambda: storage.store_checkpoint(mine))
    except CheckpointConflictError:
        return False, 0
    return True, refused
