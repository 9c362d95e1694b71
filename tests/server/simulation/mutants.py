"""Breaks of one line of the real code each, which the simulation has to find.

Left out, because 40 seeds did not find them:

- any term is accepted by an agent: the host refuses the order once more;
- a job is started twice by the same order: the host's next check refuses an attempt that has not ended there;
- a fenced job is told to have failed, a new attempt has the number of the one before, a cancelled job ends at once
  though a host that cannot be reached may run it: why nothing finds them is not known.

Not played to the end: what was decided is not stored, the same orders are given again at once, and reports that are
older than orders count.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import frozen
from seatunnel_storage_mapstore.folder import Folder
from seatunnel_storage_mapstore.journal import Journal

from seatunnel_core.server.agent.dispatcher import Dispatcher
from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.own_hosts import OwnHosts
from seatunnel_core.server.agent.requests import UserRequests
from seatunnel_core.server.election import Election
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.scheduling import following, placing
from seatunnel_core.server.scheduling.member_link import MemberLink
from seatunnel_core.server.state import cluster_state
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.logged_store import LoggedLease
from seatunnel_core.server.state.sql_store import SqlLease


@frozen
class Mutant:
    """One line that is another one."""

    name: str
    function: Callable[..., Any]
    old: str
    new: str

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Break the code for a while."""
        function: Any = self.function
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.old) == 1, f"{self.name}: {self.old!r} is not there once"
        namespace: dict[str, Any] = {}
        broken = compile(source.replace(self.old, self.new), f"<{self.name}>", "exec", dont_inherit=True)
        exec(broken, function.__globals__ | {"__name__": function.__module__}, namespace)  # noqa: S102 -- our own code, with one line changed
        before, function.__code__ = function.__code__, namespace[function.__name__].__code__
        try:
            yield
        finally:
            function.__code__ = before


MUTANTS = (
    Mutant("no lease", Election.may_act, "self._act_from <= now < self._lease_until", "self._act_from <= now"),
    Mutant("late beat", Election.claimed, "now if same and over else now + self.timing.lease_s", "now"),
    Mutant(
        "lease from a wish",
        Election.beat_acknowledged,
        "sent + self.timing.lease_s",
        "sent + 3 * self.timing.timeout_s",
    ),
    Mutant("impatient", Election._is_due, ">= self.timing.timeout_s + pause_s", ">= self.timing.timeout_s / 4"),
    Mutant("unfenced files", Folder.require_newest, "if newest != epoch:", "if False:"),
    Mutant("unfenced tables", SqlLease._updated, "clusters.c.term == self._term, when", "when"),
    Mutant("acknowledged before durable", ClusterState.put, "self._commit(changes)", "pass"),
    Mutant(
        "overwritten wish", ClusterState.update, "evolve(record, wanted=self._jobs[record.job_id].wanted)", "record"
    ),
    Mutant("record stays", ClusterState.end, ", JOB_PREFIX + ended.job_id: None", ""),
    Mutant("history stays", cluster_state._expired, "number >= most or each.ended_at < before", "False"),
    Mutant("nobody expires", Dispatcher.run, "await self._leadership.change(state.expire, wall_clock())", "pass"),
    Mutant("no compaction", Journal._compact_if_due, "self._compaction is None and (", "False and ("),
    Mutant("leads on without state", Leadership.change, "self._lose(lease, str(error))", "pass"),
    Mutant("any term, host", Host._require_term, "if term < self._term:", "if False:"),
    Mutant(
        "orphaned jobs stay", following.orders_to_orphans, "found.append(Close(address, host.name, host.boot))", "pass"
    ),
    Mutant("never started", following.follow, "return Start(record.host, host.name, record)", "return None"),
    Mutant("hangs for ever", following._late, "> KILL_AFTER_S", "> 1e9"),
    Mutant("deaths do not count", following._of_dead_host, "record.deaths + seen", "record.deaths"),
    Mutant("nobody is lost", MemberLink.member, "failing is not None and now - failing > timeout_s", "False"),
    Mutant("slots do not count", placing._Room.note, "counts.get(record.host, 0) + more", "0"),
    Mutant(
        "stop is forgotten", UserRequests.want, "state.put(evolve(present, wanted=wanted, since=wall_clock()))", "pass"
    ),
    Mutant("submit is forgotten", UserRequests.submit, "state.put(accepted)", "pass"),
    Mutant("beats stay", LoggedLease._remove_beats_before, "self._beats.delete(names)", "pass"),
    Mutant("no fence of a lost host", following._of_lost_member, "evolve(released, unfenced=True)", "released"),
    Mutant("left is cancelled", following._of_end, "left or unsaved or hosted.fenced", "unsaved or hosted.fenced"),
    Mutant("poison is shared", placing._placed, "record.deaths >= SUSPECT_DEATHS", "False"),
    Mutant("no adoption", OwnHosts._adopt, "if not await host.ask(host.process.adopt, pid, path):", "if True:"),
)
