"""Users of the simulated cluster: they submit, submit again, stop and kill jobs, and remember what was acknowledged."""

import asyncio
import json
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from attrs import define, field

from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.state.records import DesiredState

if TYPE_CHECKING:
    from tests.server.simulation.world import World

KINDS = ("batch",) * 6 + ("own",) * 2 + ("stream",) * 2 + ("hang", "poison", "wide")

_ENVS: Mapping[str, Mapping[str, Any]] = {"batch": {}, "own": {"isolation": "process"}, "wide": {"parallelism": 5}}
TEXTS = {
    kind: json.dumps(
        {
            "env": {"job.mode": "BATCH", **env},
            "source": [{"plugin_name": "FakeSource", "row.num": 1, "schema": {"fields": {"id": "bigint"}}}],
            "sink": [{"plugin_name": "Console"}],
        }
    )
    for kind, env in _ENVS.items()
}
OTHER_TEXT = TEXTS["batch"].replace('"row.num": 1', '"row.num": 2')
RANK = {DesiredState.RUN: 0, DesiredState.CANCEL: 1, DesiredState.SAVEPOINT: 1, DesiredState.CANCEL_AT_ONCE: 2}
RECENT_S = 30.0

FIRST = 8
EACH_S = 10.0
"""So many jobs may come at once in the beginning, and one more after each so many seconds."""


def block_of(block: Mapping[str, Any]) -> bytes:
    """Return the body of a request."""
    return json.dumps(block).encode()


@define
class Asked:
    """What users asked of one job."""

    kind: str
    at: float
    """When it was submitted first, in virtual seconds."""

    submitted: bool = False
    """Whether that was acknowledged."""

    wanted: DesiredState = DesiredState.RUN
    """What was acknowledged last."""

    attempted: set[DesiredState] = field(factory=set)
    """What was asked for, acknowledged or not."""


class Users:
    """All users.

    Args:
        world: in which they are.
        jobs: so many are submitted at most.
        has_rival: whether one of them submits other jobs under the ids of active ones.
    """

    def __init__(self, world: "World", jobs: int, *, has_rival: bool = False) -> None:
        self.has_rival = has_rival
        self.asked: dict[str, Asked] = {}
        self.calm = False
        """Whether all jobs are to come to an end."""

        self.asking = 0
        """How many wait for an answer."""

        self._world = world
        self._jobs = jobs

    async def run(self) -> None:
        """Ask for something again and again."""
        random = self._world.random
        while True:
            await asyncio.sleep(random.uniform(0.3, 6.0) if not self.calm else 1.0)
            if self.calm:
                await self._stop_the_endless()
                continue
            draw = random.random()
            if draw < 0.55 and len(self.asked) < min(self._jobs, FIRST + self._world.now / EACH_S):
                number = str(len(self.asked) + 1)
                self.asked[number] = Asked(random.choice(KINDS), self._world.loop.now)
                await self._submit(number)
            elif draw < 0.65 and (recent := [each for each, asked in self.asked.items() if self._is_recent(asked)]):
                await self._submit(random.choice(recent))
            elif draw < 0.85 and self.asked:
                wanted = random.choice(
                    (DesiredState.CANCEL, DesiredState.CANCEL, DesiredState.SAVEPOINT, DesiredState.CANCEL_AT_ONCE)
                )
                await self._stop(random.choice(list(self.asked)), wanted)

    async def rival(self) -> None:
        """Submit another job under the id of an active one again and again: it must be refused.

        The users' own moves stay as they are without it, so that seeds play as before.
        """
        draw = Random(self._world.random.random())
        while not self.calm:
            await asyncio.sleep(draw.uniform(0.5, 4.0))
            active = [each for each in self._world.records if each in self.asked and self.asked[each].submitted]
            if not active:
                continue
            job_id = draw.choice(active)
            before = self._world.records[job_id]
            block = {**self._block(job_id), "text": OTHER_TEXT}
            try:
                target = draw.choice(self._world.addresses)
                status, _ = await self._world.network.exchange("", target, "/internal/v1/submit", block_of(block), 20.0)
            except SeaTunnelError:
                continue
            now = self._world.records.get(job_id)
            if now is not None and now.submitted_at == before.submitted_at:
                assert status in (409, 503), f"another job under the active id {job_id} got {status}"
                assert now.text == before.text, f"another job took the place of {job_id}"
                self._world.counts["rivals refused"] += status == 409

    def _is_recent(self, asked: Asked) -> bool:
        """Return whether the history cannot have forgotten the job, which would make it another one."""
        return self._world.loop.now - asked.at < RECENT_S

    async def _stop_the_endless(self) -> None:
        for job_id, asked in tuple(self.asked.items()):
            if job_id not in self._world.records:
                continue  # it has ended, or nobody knows it
            if asked.kind in ("stream", "hang") and asked.wanted is DesiredState.RUN:
                await self._stop(job_id, DesiredState.CANCEL)
            elif asked.kind == "hang" and asked.wanted is DesiredState.SAVEPOINT:
                await self._stop(job_id, DesiredState.CANCEL_AT_ONCE)

    async def _ask(self, target: str, block: Any) -> bool:
        """Ask one node after the other, and return whether one has acknowledged it."""
        self.asking += 1
        try:
            return await self._ask_all(target, block)
        finally:
            self.asking -= 1

    async def _ask_all(self, target: str, block: Any) -> bool:
        addresses = list(self._world.addresses)
        self._world.random.shuffle(addresses)
        for address in addresses:
            try:
                status, answered = await self._world.network.exchange("", address, target, block_of(block), 20.0)
            except SeaTunnelError:
                continue
            if status == 200:
                return True
            assert status != 400, answered  # what is asked here is well formed
            if status != 503:
                return False
        return False

    async def _submit(self, job_id: str) -> None:
        """Submit a job, perhaps not for the first time: then it is the same job."""
        if await self._ask("/internal/v1/submit", self._block(job_id)):
            self.asked[job_id].submitted = True
            self._world.counts["acknowledged submits"] += 1

    def _block(self, job_id: str) -> dict[str, Any]:
        asked = self.asked[job_id]
        return {
            "job_id": job_id,
            "name": f"{asked.kind}-{job_id}",
            "text": TEXTS.get(asked.kind, TEXTS["batch"]),
            "format": "json",
            "variables": {},
            "restore": False,
        }

    async def _stop(self, job_id: str, wanted: DesiredState) -> None:
        asked = self.asked[job_id]
        if not (asked.submitted or self.calm) or RANK[wanted] <= RANK[asked.wanted]:
            return
        if not self.calm and asked.attempted - {wanted} and wanted is not DesiredState.CANCEL_AT_ONCE:
            return  # what two users want differently is not told apart here
        known = asked.submitted
        asked.attempted.add(wanted)
        block = {
            "jobId": job_id,
            "isStopWithSavePoint": wanted is DesiredState.SAVEPOINT,
            "force": wanted is DesiredState.CANCEL_AT_ONCE,
        }
        if await self._ask("/stop-job", block) and known and RANK[wanted] >= RANK[asked.wanted]:
            asked.wanted = wanted
            self._world.counts["acknowledged stops"] += 1
