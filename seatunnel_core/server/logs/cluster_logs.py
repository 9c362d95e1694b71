"""Access to the log files of all nodes: local files directly, and files of other nodes through their agents."""

import asyncio
import json
from collections.abc import Callable, Iterable

from seatunnel_core import stored
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.peers import Peers
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.logs.log_reading import LogFile, Piece, log_files, read_piece

NAMES = "/internal/v1/log-names"
PIECE = "/internal/v1/log-piece"


class ClusterLogs:
    """Reader of the log files of all nodes. ``knows`` returns the addresses of the nodes."""

    def __init__(self, config: NodeConfig, address: str, peers: Peers, knows: Callable[[], Iterable[str]]) -> None:
        self._folder = config.logs
        self._address = address
        self._peers = peers
        self._knows = knows
        self.followed = 0
        """Number of files that clients currently follow through this node."""

    def nodes(self) -> tuple[str, ...]:
        """Return the addresses of all nodes, this one first."""
        return tuple(dict.fromkeys((self._address, *self._knows())))

    def require_node(self, node: str) -> str:
        """Return the address of a known node; raise ``RequestError`` for any other."""
        if node not in self.nodes():
            raise RequestError(f"this cluster has no node {node[:200]!a}", status=404)
        return node

    async def own_files(self) -> list[LogFile]:
        """Return the files of this node."""
        return await asyncio.to_thread(log_files, self._folder)

    async def files(self) -> dict[str, list[LogFile] | None]:
        """Return the files of all nodes by address; ``None`` for a node that does not respond."""
        nodes = self.nodes()
        found = await asyncio.gather(*map(self._files_of, nodes))
        return dict(zip(nodes, found, strict=True))

    async def _files_of(self, node: str) -> list[LogFile] | None:
        if node == self._address:
            return await self.own_files()
        try:
            answer = await self._peers.read(node, NAMES, b"{}")
            return [LogFile.from_record(each) for each in stored.items(answer.json(), "files")]
        except SeaTunnelError:
            return None

    async def where(self, name: str) -> str:
        """Return the node that last wrote to a file with this name."""
        found = await self.files()
        times = {node: each.written_at for node, files in found.items() for each in files or () if each.name == name}
        if not times:
            silent = [node for node, files in found.items() if files is None]
            more = f"; {', '.join(silent)} did not respond" if silent else ""
            raise RequestError(f"no node has a log {name[:200]!a}{more}", status=404)
        return max(times, key=lambda node: times[node])

    async def piece(self, node: str, name: str, offset: int, length: int) -> Piece:
        """Return a part of a node's log file, as ``read_piece`` does."""
        if node == self._address:
            return await asyncio.to_thread(read_piece, self._folder, name, offset, length)
        body = json.dumps({"name": name, "offset": offset, "length": length}).encode()
        try:
            answer = await self._peers.read(node, PIECE, body)
            if answer.status != 200:
                raise RequestError(stored.text(answer.json(), "message"), status=answer.status)
            return Piece.from_bytes(answer.body)
        except RequestError:
            raise
        except (SeaTunnelError, ValueError) as error:
            raise RequestError(f"cannot read the log of node {node}: {error}", status=503) from error
