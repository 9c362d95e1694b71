"""Introduction of a starting node to running members, before it takes part in the cluster.

The node and each member compare cluster name, secret, election timing and storages (each must be able to read data
that the other one wrote). The first difference causes an error that names the setting.
"""

import json
import logging
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import evolve, frozen

from seatunnel_core import stored
from seatunnel_core.control.cluster import ClusterClient, UnsignedAnswerError
from seatunnel_core.control.signing import SECRET_FILE
from seatunnel_core.errors import PlatformError, StoredValueError, UsageError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.discovery.storage_probe import StorageProbe
from seatunnel_core.server.errors import RequestError
from seatunnel_core.server.state.store import Observation, Version
from seatunnel_core.stored_fields import Stored, added
from seatunnel_storage_api.errors import CheckpointStorageError

logger = logging.getLogger("seatunnel.cluster")

MEET = "/internal/v1/meet"
PROBE = "/internal/v1/probe"

_CONNECT_S = 2.0
_MEET_S = 5.0
"""Time limit for a member's response, in seconds; a paused member must not delay a starting node."""

_PROBE_S = 20.0
_AT_ONCE = 32


class JoinRefusedError(UsageError):
    """Error for a live member that belongs to a different cluster than this node."""


@frozen(kw_only=True)
class Introduction(Stored):
    """Introduction of a node to a member."""

    address: str
    role: str
    boot: str
    """Unique ID of the process. With this ID, a node recognizes itself under another address."""

    signed: bool
    """True if the member has a secret."""

    leads: bool
    """True if the member can be elected."""

    alone: bool
    """True if no other member can be elected."""

    beat_s: float
    timeout_s: float
    storages: tuple[str, ...]
    """Names of the storages that all members that can lead must share."""

    leader: str = ""
    """Leader known to the member; empty if there is none."""

    members: tuple[str, ...] = ()
    """Masters known to the member."""

    version: Version = added(())
    """Newest version of the state that the member has seen; empty if no state is stored, and for earlier versions."""


def difference(here: Introduction, there: Introduction) -> str | None:
    """Return the reason why two nodes cannot belong to the same cluster; ``None`` if they can."""
    if here.signed != there.signed:
        has, lacks = (there, here) if there.signed else (here, there)
        return _one_has_no_secret(has.address, lacks.address)
    if not (here.leads and there.leads):
        return None
    if here.alone or there.alone:
        one = here if here.alone else there
        return (
            f"cluster.leader-race.enabled is false on {one.address}, so no other node may lead: remove this option, "
            f"or stop {there.address}"
        )
    if (here.beat_s, here.timeout_s) != (there.beat_s, there.timeout_s):
        return (
            f"{there.address} uses a heartbeat interval of {there.beat_s:g} s and a timeout of {there.timeout_s:g} "
            f"s, but {here.address} uses {here.beat_s:g} s and {here.timeout_s:g} s: set the same "
            "cluster.leader-race.heart-beat-interval and heart-beat-timeout for all nodes"
        )
    if here.storages != there.storages:
        has, lacks = (here, there) if len(here.storages) > len(there.storages) else (there, here)
        return (
            f"{has.address} stores the state at the location that a map: block in hazelcast.yaml or metadata-url "
            f"sets, but {lacks.address} has neither: copy the same files to all nodes"
        )
    return None


class Joining:
    """Client and server side of introductions. Blocking, thread-safe. ``probes`` have the same names on all nodes."""

    def __init__(self, config: NodeConfig, address: str, probes: Mapping[str, StorageProbe]) -> None:
        self._config = config
        self._probes = probes
        self.knows: Callable[[], Mapping[str, Any]] = lambda: {"leader": "", "members": []}
        """Function that returns the node's view of the cluster; replaced once the node has an agent."""

        self.version: Callable[[], Version] = tuple
        """Function that returns the newest version of the state that the node has seen."""

        self._comparing: dict[str, threading.Lock] = {}
        """Locks for checks of shared storage, by member. Each check removes its probe objects when it ends."""

        self._self = Introduction(
            address=address,
            role=config.role.value,
            boot=secrets.token_hex(8),
            signed=config.secret is not None,
            leads=config.role.leads,
            alone=config.alone,
            beat_s=config.timing.beat_s,
            timeout_s=config.timing.timeout_s,
            storages=tuple(sorted(probes)),
        )

    @property
    def address(self) -> str:
        """Address of this node."""
        return self._self.address

    # -- the node that joins ------------------------------------------------------------------------------------------

    def ask_all(self, addresses: Sequence[str]) -> tuple[Introduction, ...]:
        """Introduce this node to all running members at these addresses and to the members that they know; return them.

        Addresses without a listener or a response in time are skipped.

        Raises:
            JoinRefusedError: A member belongs to another cluster. The message contains the reason and the remedy.
        """
        asked = {self._self.address}
        met: dict[str, Introduction] = {}
        new = [each for each in dict.fromkeys(addresses) if each not in asked]
        while new:
            asked.update(new)
            with ThreadPoolExecutor(min(_AT_ONCE, len(new)), "meet") as pool:
                found = [each for each in pool.map(self._meet, new) if each is not None]
            met |= {each.address: each for each in found}
            known = [*met, *(address for each in found for address in each.members)]
            new = [each for each in dict.fromkeys(known) if each and each not in asked and each not in met]
        return tuple(met.values())

    def meet_newcomers(self, addresses: Sequence[str]) -> None:
        """Introduce this node to members that were found later. Differences are logged, and this node keeps running."""
        logger.info("members found in ZooKeeper: %s", ", ".join(addresses) or "none")
        try:
            self.ask_all(addresses)
        except JoinRefusedError as error:
            logger.error("a discovered member does not belong to this cluster: %s", error)

    def _meet(self, address: str) -> Introduction | None:
        try:
            found = Introduction.from_record(self._ask(address, MEET, self._self.record(), _MEET_S))
        except PlatformError as error:
            logger.debug("no response from %s: %s", address, error)
            return None
        except StoredValueError as error:
            logger.warning("the process at %s is not a node of this version: %s", address, error)
            return None
        if found.boot == self._self.boot:
            return None
        reason = difference(self._self, found)
        if reason is not None:
            raise JoinRefusedError(f"this node cannot join the cluster {self._config.cluster!r}: {reason}")
        if self._self.leads and found.leads:
            self._compare_storages(found.address)
        return found

    def _ask(self, member: str, target: str, block: Mapping[str, Any], answer_s: float) -> Any:
        """Send a request to a member; return the response.

        Raises:
            JoinRefusedError: The member rejects the request, because it has a different cluster name or secret.
            PlatformError: The member does not respond, or fails.
        """
        client = ClusterClient(
            [member], self._config.cluster, self._config.secret, connect_s=_CONNECT_S, answer_s=answer_s
        )
        try:
            answer = client.exchange("POST", target, json.dumps(block).encode(), "application/json")
        except UnsignedAnswerError as error:
            reason = _one_has_no_secret(self.address, member)
            raise JoinRefusedError(f"this node cannot join the cluster {self._config.cluster!r}: {reason}") from error
        if answer.status == 200:
            return answer.json()
        reason = stored.text(answer.json(), "message")
        if answer.status == 401:
            raise JoinRefusedError(
                f"member {member} rejects this node: {reason}. All nodes of a cluster need the same cluster-name in "
                f"hazelcast.yaml and the same {SECRET_FILE}; nodes of different clusters must not list each other, "
                "and need different ports"
            )
        raise PlatformError(f"{member} responds with HTTP {answer.status}: {reason}")

    def _compare_storages(self, member: str) -> None:
        with self._comparing.setdefault(member, threading.Lock()):
            self._compare_storages_now(member)

    def _compare_storages_now(self, member: str) -> None:
        own = self._self.address
        left = {name: probe.leave(own, member) for name, probe in self._probes.items()}
        try:
            answer = self._ask(member, PROBE, {"writer": own, "left": left}, _PROBE_S)
            for name, probe in self._probes.items():
                digest = stored.text(answer, name)
                if not digest:
                    raise JoinRefusedError(_not_shared(probe, reader=member, writer=own, other=member))
                if not probe.sees(own, member, digest):
                    raise JoinRefusedError(_not_shared(probe, reader=own, writer=member, other=member))
        except PlatformError as error:
            logger.warning("cannot compare the storage with %s: %s", member, error)
        finally:
            for probe in self._probes.values():
                probe.remove(own, member)

    # -- the member --------------------------------------------------------------------------------------------------

    def meet(self, body: bytes) -> dict[str, Any]:
        """Handle the introduction of a node."""
        visitor = Introduction.from_record(stored.parse(body))
        reason = difference(visitor, self._self)
        if reason is not None:
            logger.warning("the node %s cannot join this cluster: %s", visitor.address, reason)
        known = self.knows()
        members = tuple(known["members"])
        return evolve(self._self, leader=known["leader"], members=members, version=self.version()).record()

    def probe(self, body: bytes) -> dict[str, str]:
        """Read a node's probe objects and write new ones. Return the new digests; empty for objects not found."""
        block = stored.parse(body)
        writer, left = stored.text(block, "writer"), stored.below(block, "left")
        try:
            return self._probe(writer, {name: stored.text(left, name) for name in left})
        except CheckpointStorageError as error:
            raise RequestError(f"the storage of {self.address} does not respond: {error}", status=503) from error

    def _probe(self, writer: str, left: Mapping[str, str]) -> dict[str, str]:
        own, answer = self.address, {}
        for name in left:
            probe = self._probes.get(name)
            seen = probe is not None and probe.sees(writer, own, left[name])
            if probe is not None and seen:
                answer[name] = probe.leave(writer, own)
            else:
                answer[name] = ""
                where = "any storage of this node" if probe is None else probe.where
                logger.warning(
                    "the node %s cannot join this cluster: its probe of %s was not found in %s", writer, name, where
                )
        return answer


def _one_has_no_secret(has: str, lacks: str) -> str:
    return f"{has} has a cluster.secret, but {lacks} has none: copy the same file to all nodes and clients"


def _not_shared(probe: StorageProbe, *, reader: str, writer: str, other: str) -> str:
    return (
        f"{reader} cannot read what {writer} writes, so this node and {other} do not share a storage, and would "
        f"form two clusters. This node uses {probe.where}, from {probe.setting}: configure a storage that all nodes "
        "can reach, such as a shared folder, HDFS, S3, OSS, or a database"
    )


def named_in(observation: Observation) -> tuple[str, ...]:
    """Return the leader and the members named in the newest heartbeat; empty if it cannot be read."""
    try:
        block = stored.parse(observation.body or b"{}")
        named = (stored.text(block, "leader"), *stored.texts(block, "members")) if block else ()
    except StoredValueError as error:
        logger.warning("cannot read the latest heartbeat: %s", error)
        return ()
    return tuple(dict.fromkeys(filter(None, named)))
