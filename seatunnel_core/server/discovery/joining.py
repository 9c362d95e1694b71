"""What a node and the living members say to each other before the node takes part in the cluster.

The node *asks* every address that it knows; a member *answers*. Both look at the same things, and on both sides the
first that differs is an error that names the setting: the cluster's name, the secret, the times of the election, and
the storages, each of which both have to read as the other one writes it.
"""

import json
import logging
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import asdict, evolve, frozen

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
"""A member that does not answer for so long may be paused, and holds up no node that starts."""

_PROBE_S = 20.0
_AT_ONCE = 32


class JoinRefusedError(UsageError):
    """A living member is not of this node's cluster, or this node not of the member's."""


@frozen(kw_only=True)
class Introduction(Stored):
    """What a member says of itself."""

    address: str
    role: str
    boot: str
    """Of the process, by which a node notices that it asks itself under another address."""

    signed: bool
    """Whether it has a secret."""

    leads: bool
    """Whether it may be elected."""

    alone: bool
    """Whether no other member may be."""

    beat_s: float
    timeout_s: float
    storages: tuple[str, ...]
    """The names of the storages that all who may lead have to share."""

    leader: str = ""
    """As far as it knows; empty if it knows of none."""

    members: tuple[str, ...] = ()
    """The masters that it knows."""

    version: Version = added(())
    """The newest version of the cluster's state that it has seen; empty if it keeps none, or is an earlier version."""


def difference(here: Introduction, there: Introduction) -> str | None:
    """Return why the node ``here`` and the member ``there`` cannot be of one cluster; ``None`` if they can."""
    if here.signed != there.signed:
        has, lacks = (there, here) if there.signed else (here, there)
        return _one_has_no_secret(has.address, lacks.address)
    if not (here.leads and there.leads):
        return None
    if here.alone or there.alone:
        one = here if here.alone else there
        return (
            f"cluster.leader-race.enabled is false on {one.address}, so no other node may lead: leave it out, or stop "
            f"{there.address}"
        )
    if (here.beat_s, here.timeout_s) != (there.beat_s, there.timeout_s):
        return (
            f"the leader of {there.address} beats each {there.beat_s:g} s and is replaced after {there.timeout_s:g} s, "
            f"that of {here.address} each {here.beat_s:g} s and after {here.timeout_s:g} s: write the same "
            "cluster.leader-race.heart-beat-interval and heart-beat-timeout for all nodes"
        )
    if here.storages != there.storages:
        has, lacks = (here, there) if len(here.storages) > len(there.storages) else (there, here)
        return (
            f"{has.address} keeps the state where a map: block of its hazelcast.yaml, or metadata-url, says, and "
            f"{lacks.address} has no such block: copy the same file to all nodes"
        )
    return None


class Joining:
    """One node's part in meetings, whether it asks or answers. Blocks; may be called from any thread.

    Args:
        config: of the node.
        address: of the node, as ``host:port``.
        probes: the storages of a node that may lead, by names that are the same on all nodes.
    """

    def __init__(self, config: NodeConfig, address: str, probes: Mapping[str, StorageProbe]) -> None:
        self._config = config
        self._probes = probes
        self.knows: Callable[[], Mapping[str, Any]] = lambda: {"leader": "", "members": []}
        """Gives what the node knows of the cluster, when it has an agent."""

        self.version: Callable[[], Version] = tuple
        """Gives the newest version of the cluster's state that the node has seen."""

        self._comparing: dict[str, threading.Lock] = {}
        """By member: held while it is asked what it sees, because who has asked clears away."""

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
        """Of this node."""
        return self._self.address

    # -- the node that joins ------------------------------------------------------------------------------------------

    def ask_all(self, addresses: Sequence[str]) -> tuple[Introduction, ...]:
        """Meet all members that live at these addresses and those that they know, and return them.

        Where nobody listens, or something does not answer in time, nothing is known, and nothing is wrong.

        Raises:
            JoinRefusedError: one of them and this node are not of one cluster; says why and what to write.
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
        """Meet members that were found later, and log what comes of it; this node stays what it is."""
        logger.info("the members in ZooKeeper are %s", ", ".join(addresses) or "none")
        try:
            self.ask_all(addresses)
        except JoinRefusedError as error:
            logger.error("a member that was found is not of this cluster: %s", error)

    def _meet(self, address: str) -> Introduction | None:
        try:
            found = Introduction.from_record(self._ask(address, MEET, asdict(self._self), _MEET_S))
        except PlatformError as error:
            logger.debug("nothing is known of %s: %s", address, error)
            return None
        except StoredValueError as error:
            logger.warning("what listens at %s is no node of this version: %s", address, error)
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
        """Return what a member answers.

        Raises:
            JoinRefusedError: it refuses: it is of another cluster, or has another secret.
            PlatformError: it does not answer, or fails.
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
                f"the member {member} refuses this node: {reason}. Nodes of one cluster have the same cluster-name in "
                f"hazelcast.yaml and the same {SECRET_FILE}; nodes of two clusters do not list each other, and have "
                "other ports"
            )
        raise PlatformError(f"{member} answers HTTP {answer.status}: {reason}")

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
            logger.warning("%s did not say whether it has the same storage: %s", member, error)
        finally:
            for probe in self._probes.values():
                probe.remove(own, member)

    # -- the member that answers --------------------------------------------------------------------------------------

    def meet(self, body: bytes) -> dict[str, Any]:
        """Answer a node that introduces itself.

        Raises:
            StoredValueError: the body is not an introduction.
        """
        visitor = Introduction.from_record(stored.parse(body))
        reason = difference(visitor, self._self)
        if reason is not None:
            logger.warning("the node %s cannot join this cluster: %s", visitor.address, reason)
        known = self.knows()
        members = tuple(known["members"])
        return asdict(evolve(self._self, leader=known["leader"], members=members, version=self.version()))

    def probe(self, body: bytes) -> dict[str, str]:
        """Read what a node has left in its storages, and leave something for it: the digests, empty where it is not.

        Raises:
            StoredValueError: the body is not a probe.
            RequestError: a storage does not answer.
        """
        block = stored.parse(body)
        writer, left = stored.text(block, "writer"), stored.below(block, "left")
        try:
            return self._probe(writer, {name: stored.text(left, name) for name in left})
        except CheckpointStorageError as error:
            raise RequestError(f"the storage of {self.address} does not answer: {error}", status=503) from error

    def _probe(self, writer: str, left: Mapping[str, str]) -> dict[str, str]:
        own, answer = self.address, {}
        for name in left:
            probe = self._probes.get(name)
            seen = probe is not None and probe.sees(writer, own, left[name])
            if probe is not None and seen:
                answer[name] = probe.leave(writer, own)
            else:
                answer[name] = ""
                where = "nowhere" if probe is None else probe.where
                logger.warning("the node %s cannot join this cluster: its %s is not in %s", writer, name, where)
        return answer


def _one_has_no_secret(has: str, lacks: str) -> str:
    return f"{has} has a cluster.secret and {lacks} has none: copy the same file to all nodes and clients"


def _not_shared(probe: StorageProbe, *, reader: str, writer: str, other: str) -> str:
    return (
        f"{reader} cannot read what {writer} writes, so this node and {other} do not share a storage, and would be two "
        f"clusters. This node has {probe.where}, as {probe.setting} says: name there what all nodes reach: a shared "
        "folder, HDFS, S3, OSS, or a database"
    )


def named_in(observation: Observation) -> tuple[str, ...]:
    """Return the leader and the members that the newest beat names; none of one that cannot be read."""
    try:
        block = stored.parse(observation.body or b"{}")
        named = (stored.text(block, "leader"), *stored.texts(block, "members")) if block else ()
    except StoredValueError as error:
        logger.warning("the newest beat cannot be read: %s", error)
        return ()
    return tuple(dict.fromkeys(filter(None, named)))
