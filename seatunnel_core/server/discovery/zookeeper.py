"""Members that find each other by ZooKeeper: each writes its address as a node that lives as long as its session.

ZooKeeper decides nothing: who leads is decided by the cluster's state. While it cannot be reached, the members that it
named last stay known. Whoever may write there can name members, and each of them is asked for the cluster's signature.
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
"""A node that is gone without a word is removed after so long."""

FIRST_S = 15.0
"""So long a node waits at its start for ZooKeeper to answer; then it goes on without."""


@contextmanager
def registered(
    config: NodeConfig, address: str, changed: Callable[[tuple[str, ...]], None]
) -> "Iterator[tuple[str, ...]]":
    """Stand in ZooKeeper for as long as the context lasts, if it is configured; give the members that stand there.

    Raises:
        PlatformError, UsageError: as ``Register`` does.
    """
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
    """One node's entry in ZooKeeper, and the members that stand there.

    Args:
        servers: ZooKeeper's, as ``host:port,host:port/path``.
        cluster: the name of the cluster.
        address: of the node, as ``host:port``.
        changed: called with all addresses, from a thread of this object, whenever they have changed.

    Raises:
        PlatformError: kazoo is not installed.
        UsageError: the servers are not written as ZooKeeper takes them.
    """

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
                f"cluster.zookeeper-connect-string needs more ({error}): {install_command('cluster')}"
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
                f"cluster.zookeeper-connect-string {servers!r} is no list of host:port: {error}"
            ) from error
        self._wanted = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._register_again, name="zookeeper", daemon=True)

    @property
    def members(self) -> tuple[str, ...]:
        """The addresses that ZooKeeper named last; they stay while it cannot be reached."""
        return self._members

    def start(self) -> bool:
        """Write this node's address, and return whether ZooKeeper answered; if not yet, that goes on behind this."""
        logging.getLogger("seatunnel.cluster.zookeeper").setLevel(logging.WARNING)
        self._client.add_listener(self._heard)
        self._client.start_async()
        self._thread.start()
        answered = self._named.wait(FIRST_S)
        if not answered:
            logger.warning("ZooKeeper does not answer: this node goes on with the members that it knows otherwise")
        return answered

    def close(self) -> None:
        """Remove this node's address, if ZooKeeper can be reached."""
        self._stopped = True
        self._wanted.set()
        self._client.stop()
        self._client.close()
        if self._thread.is_alive():
            self._thread.join(5)

    def _heard(self, state: str) -> None:
        """Take in that the connection changed. Runs in kazoo's thread, which must not wait for anything."""
        if state == "CONNECTED":
            self._wanted.set()
        elif not self._stopped:
            logger.warning("ZooKeeper: the connection is %s; the members stay as they are", state.lower())

    def _register_again(self) -> None:
        """Write the address whenever a connection comes about: the entry is gone when the session has ended."""
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
        """Write the entry of this session. One of an earlier life goes with its session, which the watch notices."""
        from kazoo.exceptions import NodeExistsError

        self._client.ensure_path(self._folder)
        try:
            self._client.create(f"{self._folder}/{self._address}", b"", ephemeral=True)
        except NodeExistsError:
            logger.debug("ZooKeeper has %s already", self._address)

    def _look(self) -> None:
        """Take in who stands there, and be woken when that changes."""
        found = tuple(sorted(self._client.get_children(self._folder, watch=self._woken)))
        if self._address not in found:
            self._wanted.set()
        if found != self._members:
            self._members = found
            self._changed(found)
        self._named.set()
