"""Member discovery with ZooKeeper: each member registers its address as an ephemeral node.

ZooKeeper is not used for the election. While it is unreachable, the last known members are kept. Discovered members
must still authenticate with the cluster's signature.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from seatunnel_core.errors import PlatformError, UsageError
from seatunnel_core.installing import install_command
from seatunnel_core.server.agent.node_config import NodeConfig

logger = logging.getLogger("seatunnel.cluster")

SESSION_S = 10.0
"""Session timeout, in seconds, after which a crashed member is removed."""

FIRST_S = 15.0
"""Time limit for ZooKeeper's first response, in seconds, after which the node starts without ZooKeeper."""


@contextmanager
def registered(
    config: NodeConfig, address: str, changed: Callable[[tuple[str, ...]], None]
) -> "Iterator[tuple[str, ...]]":
    """Register in ZooKeeper until exit, if it is configured, and yield the registered members."""
    if config.zookeeper is None:
        yield ()
        return
    register = Register(config.zookeeper, config.cluster, address, changed=changed)
    try:
        register.start()
        yield register.members
    finally:
        register.close()


class Register:
    """Registration of a node in ZooKeeper. After a change, its thread calls ``changed`` with all addresses."""

    def __init__(
        self,
        servers: str,
        cluster: str,
        address: str,
        *,
        changed: Callable[[tuple[str, ...]], None] = lambda _: None,
        session_s: float = SESSION_S,
    ) -> None:
        try:
            from kazoo.client import KazooClient
            from kazoo.retry import KazooRetry
        except ImportError as error:
            raise PlatformError(
                f"cluster.zookeeper-connect-string needs another package ({error}): {install_command('cluster')}"
            ) from error
        self._address = address
        self._folder = f"/seatunnel/{cluster}/members"
        self._changed = changed
        self._members: tuple[str, ...] = ()
        self._named = threading.Event()
        try:
            self._client: Any = KazooClient(
                hosts=servers,
                timeout=session_s,
                connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=2.0),
                logger=logging.getLogger("seatunnel.cluster.zookeeper"),
            )
        except ValueError as error:
            raise UsageError(
                f"cluster.zookeeper-connect-string {servers!r} is not a list of host:port: {error}"
            ) from error
        self._wanted = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._register_again, name="zookeeper", daemon=True)

    @property
    def members(self) -> tuple[str, ...]:
        """Last known addresses; kept while ZooKeeper is unreachable."""
        return self._members

    def start(self) -> bool:
        """Register this node. Return True if ZooKeeper responded; otherwise retry in the background."""
        logging.getLogger("seatunnel.cluster.zookeeper").setLevel(logging.WARNING)
        self._client.add_listener(self._heard)
        self._client.start_async()
        self._thread.start()
        answered = self._named.wait(FIRST_S)
        if not answered:
            logger.warning("ZooKeeper does not respond: this node continues with the members from other sources")
        return answered

    def close(self) -> None:
        """Remove this node's registration, if ZooKeeper is reachable."""
        self._stopped = True
        self._wanted.set()
        self._client.stop()
        self._client.close()
        if self._thread.is_alive():
            self._thread.join(5)

    def _heard(self, state: str) -> None:
        """Handle a change of the connection state. Runs in kazoo's thread, so it must not block."""
        if state == "CONNECTED":
            self._wanted.set()
        elif not self._stopped:
            logger.warning("ZooKeeper: the connection is %s; the known members are kept", state.lower())

    def _register_again(self) -> None:
        """Register again after each reconnection, because the entry is removed when the session ends."""
        from kazoo.exceptions import KazooException

        while True:
            self._wanted.wait()
            if self._stopped:
                return
            self._wanted.clear()
            try:
                self._register()
                self._look()
            except (KazooException, OSError) as error:
                logger.warning("ZooKeeper: %s: %s", type(error).__name__, error)
                if not self._stopped and self._client.connected:
                    threading.Timer(1.0, self._wanted.set).start()

    def _woken(self, _event: Any) -> None:
        self._wanted.set()

    def _register(self) -> None:
        """Create the entry of this session. If there is an entry of an earlier run, the watch detects its removal."""
        from kazoo.exceptions import NodeExistsError

        self._client.ensure_path(self._folder)
        try:
            self._client.create(f"{self._folder}/{self._address}", b"", ephemeral=True)
        except NodeExistsError:
            logger.debug("ZooKeeper already has an entry %s", self._address)

    def _look(self) -> None:
        """Read the registered members, and watch for changes."""
        found = tuple(sorted(self._client.get_children(self._folder, watch=self._woken)))
        if self._address not in found:
            self._wanted.set()
        if found != self._members:
            self._members = found
            self._changed(found)
        self._named.set()
