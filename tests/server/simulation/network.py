"""The network between agents: requests and answers that are lost, late, doubled, or cut off in one direction.

What arrives is answered by the handlers of the real REST interface.
"""

import asyncio
import contextvars
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, field
from starlette.requests import ClientDisconnect

from seatunnel_core import stored
from seatunnel_core.control.node_client import Answer, NoLeaderError
from seatunnel_core.errors import PlatformError, SeaTunnelError, StoredValueError, UsageError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.peers import Line
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.rest import forwarding, internal
from seatunnel_core.server.rest.application import USER_ROUTES
from seatunnel_core.server.rest.forwarding import FORWARDED
from seatunnel_core.server.rest.route import Route
from tests.server.simulation.clock import OWNER

if TYPE_CHECKING:
    from tests.server.simulation.world import Machine, World

CONNECT_S = 2.0

ROUTES: dict[str, Route] = {route.path: route for route in (*USER_ROUTES, *internal.ROUTES)}


@define(eq=False)
class Exchange:
    """A request under way, as its receiver knows it."""

    answer: "asyncio.Future[tuple[int, bytes]]"
    query_params: Mapping[str, str] = field(factory=dict)
    method: str = "POST"
    headers: Mapping[str, str] = field(factory=dict)

    async def is_disconnected(self) -> bool:
        """Return whether its sender has left; the real one knows by the end of the connection."""
        return self.answer.done()

    async def receive(self) -> dict[str, str]:
        """Wait until the sender has left."""
        await asyncio.wait({self.answer})
        return {"type": "http.disconnect"}


class Network:
    """Carries requests from machine to machine."""

    def __init__(self, world: "World") -> None:
        self._world = world

    async def exchange(
        self, sender: str, receiver: str, target: str, body: bytes, answer_s: float
    ) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of its answer.

        Raises:
            PlatformError: it cannot be reached, or does not answer in time.
        """
        world, machine = self._world, self._world.machine(receiver)
        answer: asyncio.Future[tuple[int, bytes]] = world.loop.create_future()
        copies, delay = world.message()
        calm = world.calm_since

        def fail(error: OSError) -> None:
            if not answer.done():
                answer.set_exception(error)

        def arrive() -> None:
            if world.is_cut(sender, receiver) or not machine.powered or calm != world.calm_since:
                return  # what was under way when all was mended is lost
            if not machine.life.alive:
                if not world.is_cut(receiver, sender):
                    world.at(0.001, lambda: fail(ConnectionRefusedError("refused")))
                return
            machine.context.copy().run(self._begin, machine, sender, target, body, answer)

        for _ in range(copies):
            world.at(delay, arrive)
        world.at(answer_s, lambda: fail(TimeoutError("timed out")))
        try:
            return await answer
        except OSError as error:
            raise PlatformError(f"{receiver} cannot be reached: {error}") from error

    def _begin(self, machine: "Machine", sender: str, target: str, body: bytes, answer: Any) -> None:
        """Have a request answered by the process that it has reached, when that runs."""
        call = self._answer
        query = {FORWARDED: "1"} if FORWARDED in target else {}
        arguments = machine, sender, target, body, Exchange(answer, query)
        self._world.loop.call_soon(lambda: self._world.loop.create_task(call(*arguments)))

    async def _answer(self, machine: "Machine", sender: str, target: str, body: bytes, exchange: Exchange) -> None:
        try:
            status, block = await self._handled(machine.agent, target, body, exchange)
        except Exception as error:
            self._world.bug(error, f"{target} of {machine.address}")
            raise
        encoded = json.dumps(block).encode()

        def give() -> None:
            if not exchange.answer.done() and not self._world.is_cut(machine.address, sender):
                exchange.answer.set_result((status, encoded))

        copies, delay = self._world.message()
        if copies:
            self._world.at(delay, give)

    async def _handled(self, agent: Agent, target: str, body: bytes, exchange: Exchange) -> tuple[int, Any]:
        """Do what the endpoint of the REST interface does."""
        path = target.partition("?")[0]
        route = ROUTES[path]
        try:
            if route.to_leader and agent.state is None:
                status, answered, _ = await forwarding.forwarded(agent, exchange, path, body)
                return status, json.loads(answered)
            return 200, await route.handler(agent, exchange, body)
        except ClientDisconnect:
            return 400, {}
        except RequestError as error:
            return error.status, {"message": str(error)}
        except (UsageError, StoredValueError) as error:
            return 400, {"message": str(error)}
        except SeaTunnelError as error:
            return 500, {"message": str(error)}

    async def connect(self, protocol_factory: Callable[[], Any], receiver: str) -> tuple[Any, Any]:
        """Open a connection over which nothing is sent: it breaks when the process at its other end dies.

        Raises:
            OSError: it is refused, or nobody answers.
        """
        world, machine = self._world, self._world.machine(receiver)
        life = OWNER.get()
        assert life is not None
        await asyncio.sleep(0.001)
        if world.is_cut(life.address, receiver) or world.is_cut(receiver, life.address) or not machine.powered:
            await asyncio.sleep(60.0)
            raise TimeoutError("nobody answers")
        if not machine.life.alive:
            raise ConnectionRefusedError("refused")
        protocol, other = protocol_factory(), machine.life
        transport = Transport()
        protocol.connection_made(transport)
        context = contextvars.copy_context()

        def watch_peer() -> None:
            if transport.closed or not life.alive:
                return
            cut = world.is_cut(life.address, receiver) or world.is_cut(receiver, life.address)
            if not other.alive and machine.powered and not cut:
                world.loop.call_soon(protocol.connection_lost, None, context=context)
                return
            world.at(0.25, watch_peer)

        world.at(0.25, watch_peer)
        return transport, protocol


class Transport(asyncio.Transport):
    """One end of a connection over which nothing is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


class Peers:
    """What stands for ``seatunnel_core.server.agent.peers.Peers``."""

    network: Network
    """Of the run."""

    def __init__(self, config: NodeConfig) -> None:
        self._address = f"{config.host}:{config.port}"
        self._lines: dict[tuple[str, Line], asyncio.Lock] = {}

    async def forward(self, member: str, _method: str, target: str, body: bytes, _content_type: str) -> Answer:
        """Return a member's answer to a user's request."""
        status, answered = await self.network.exchange(self._address, member, target, body, Line.FORWARD.answer_s)
        return Answer(status, answered, "application/json")

    async def ask(self, member: str, line: Line, target: str, body: Any, *, method: str = "POST") -> Any:
        """Return a member's answer; each line to it carries one request at a time."""
        async with self._lines.setdefault((member, line), asyncio.Lock()):
            encoded = json.dumps(body).encode()
            status, answered = await self.network.exchange(self._address, member, target, encoded, line.answer_s)
        block = stored.parse(answered)
        if status == 503:
            raise NoLeaderError(f"no leader: {block}")
        if status >= 400:
            raise UsageError(f"refused: {block}")
        return block
