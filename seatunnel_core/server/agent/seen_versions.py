"""Exchange of the newest versions of the state that masters have seen, before one of them claims the state.

A node reads the state at intervals, so the last leader or another standby may have seen a newer version.
"""

import asyncio
import logging
from collections.abc import Iterable

from seatunnel_core.errors import SeaTunnelError, StoredValueError
from seatunnel_core.server.agent.peers import Line, Peers
from seatunnel_core.server.state.newest_seen import NewestSeenStore, version_in
from seatunnel_core.server.state.store import ClusterStore, Version

logger = logging.getLogger("seatunnel.cluster")

STATE_VERSION = "state_version"
"""Key of the newest version that a master has seen, in its response."""


def newest_seen(store: ClusterStore) -> Version:
    """Return the newest version that this node has seen; empty if it does not remember versions."""
    return store.newest if isinstance(store, NewestSeenStore) else ()


async def learn_versions(store: ClusterStore, peers: Peers, masters: Iterable[str]) -> None:
    """Remember the newest versions that other masters have seen. Masters that do not respond in time are skipped."""
    if isinstance(store, NewestSeenStore):
        for version in await asyncio.gather(*(_version_of(peers, each) for each in masters)):
            store.remember(version)


async def _version_of(peers: Peers, master: str) -> Version:
    try:
        known = await peers.ask(master, Line.STATUS, "/internal/v1/members", None, method="GET")
        return version_in(known, STATE_VERSION)
    except (SeaTunnelError, StoredValueError, ValueError, OSError) as error:
        logger.debug("the newest version that %s has seen is unknown: %s", master, error)
        return ()
