"""What the parts of an agent do when something is not as it should be. No processes."""

import asyncio
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.config.engine import load_engine
from seatunnel_core.server.agent import host_process, own_hosts
from seatunnel_core.server.agent.dispatcher import encoded
from seatunnel_core.server.agent.host_process import HostProcess
from seatunnel_core.server.agent.host_spark import HostSpark
from seatunnel_core.server.agent.leadership import Leadership
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.own_hosts import OwnHosts, _Watched
from seatunnel_core.server.agent.peers import LARGEST_BODY, Peers, bodies, order_bytes
from seatunnel_core.server.agent.workers import Workers
from seatunnel_core.server.errors import HostError
from seatunnel_core.server.host import __main__ as host_main
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.scheduling.decisions import Start
from seatunnel_core.server.state.records import JobRecord
from seatunnel_core.server.state.store import ClusterStore, Lease, Observation


def config(folder: Path) -> NodeConfig:
    return NodeConfig(
        cluster="test",
        engine=load_engine(None, environment={}, folder=folder),
        engine_file=None,
        hazelcast_file=None,
        host="127.0.0.1",
        port=1,
        members=(),
        secret=None,
        logs=folder,
        slots=1,
    )


class _Broken(ClusterStore):
    """A store with a bug."""

    def describe(self) -> str:
        return "nowhere"

    def claim(self) -> Lease:
        raise NotImplementedError

    def observe(self) -> Observation:
        raise ZeroDivisionError("a bug")

    def read(self) -> dict[str, bytes]:
        raise NotImplementedError

    def close(self) -> None:
        pass


def test_a_bug_in_a_look_ends_the_agent_and_leaves_no_node_that_never_looks_again(tmp_path: Path) -> None:
    async def run() -> None:
        node = config(tmp_path)
        leadership = Leadership(node, _Broken(), "127.0.0.1:1", Peers(node))
        try:
            await asyncio.wait_for(leadership.run(), 10)
        finally:
            await leadership.close()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


def test_orders_of_a_leader_are_refused_once_a_newer_claim_was_seen(tmp_path: Path) -> None:
    seen = [3]
    hosts = OwnHosts(config(tmp_path), "127.0.0.1:1", HostSpark(), Workers(), lambda: seen[0])
    hosts.require_term(3)
    seen[0] = 4
    with pytest.raises(HostError, match="command of term 3 is rejected, because a node leads in the newer term 4"):
        hosts.require_term(3)
    hosts.require_term(5)
    with pytest.raises(HostError, match="term 5"):
        hosts.require_term(4)


def test_orders_behind_one_that_took_until_a_newer_leader_came_are_refused(tmp_path: Path) -> None:
    hosts = OwnHosts(config(tmp_path), "127.0.0.1:1", HostSpark(), Workers(), lambda: 0)
    given: list[Any] = []

    def ask(request: Any) -> None:
        given.append(request)
        hosts.require_term(4)  # meanwhile a newer leader asks for a report

    process = SimpleNamespace(pid=1, name="", boot="b", ask=ask, status=lambda _term: None)
    host = _Watched(process)  # type: ignore[arg-type]
    hosts._hosts[""] = host
    orders = [{"do": "stop", "host": "", "job_id": job_id, "how": "cancel"} for job_id in ("1", "2")]
    with pytest.raises(HostError, match="command of term 3"):
        asyncio.run(hosts.carry_out(3, orders, time.monotonic()))
    assert [(each["job_id"], each["term"]) for each in given] == [("1", 3)]
    host.thread.shutdown()


def test_a_host_that_is_gone_when_its_order_was_carried_out_is_asked_nothing(tmp_path: Path) -> None:
    """It had ended meanwhile, and was forgotten with the thread that asks it: the order led to a traceback."""
    hosts = OwnHosts(config(tmp_path), "127.0.0.1:1", HostSpark(), Workers(), lambda: 0)

    def kill() -> None:
        host.thread.shutdown(wait=False)
        del hosts._hosts["7"]

    process = SimpleNamespace(pid=1, name="7", boot="b", kill=kill, begin_to_leave=None, status=lambda _term: None)
    host = hosts._hosts["7"] = _Watched(process)  # type: ignore[arg-type]
    asyncio.run(hosts.carry_out(3, [{"do": "kill", "host": "7", "boot": "b"}], time.monotonic()))
    assert not hosts._hosts


def adopting(folder: Path, monkeypatch: pytest.MonkeyPatch, host: Host) -> OwnHosts:
    """Return the hosts of an agent that was started again and has adopted one."""

    def ask(_: HostProcess, request: Any, timeout_s: float = 0.0) -> Any:
        return host.verbs()[request["do"]](request)

    monkeypatch.setattr(HostProcess, "ask", ask)
    monkeypatch.setattr(HostProcess, "is_alive", lambda _: True)
    monkeypatch.setattr(own_hosts, "host_sockets", lambda *_: {42: folder / "42.sock"})
    hosts = OwnHosts(config(folder), "127.0.0.1:1", HostSpark(), Workers(), lambda: 0)
    asyncio.run(hosts._adopt())
    return hosts


def a_host() -> Host:
    return Host(lambda _: pytest.fail("no job is started"), pid=42, name="", boot="b", offered=0)


def test_an_agent_that_knows_no_term_yet_is_answered_by_the_host_that_it_adopts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage did not answer when the agent was started again. Its host refused to answer to term 0, and was killed
    with all jobs after 20 s, as one that does not answer."""
    host = a_host()
    host.verbs()["status"]({"term": 7})
    hosts = adopting(tmp_path, monkeypatch, host)
    shared = hosts.shared()
    assert shared is not None
    assert shared.term == 7
    with pytest.raises(HostError, match="command of term 6"):
        hosts.require_term(6)


def test_a_host_that_ends_while_its_agent_watches_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = adopting(tmp_path, monkeypatch, a_host())
    before = hosts.report()
    monkeypatch.setattr(HostProcess, "is_alive", lambda _: False)
    asyncio.run(hosts._refresh(hosts._hosts[""]))
    after = hosts.report()
    assert before is not None
    assert after is not None
    assert [each.boot for each in before.hosts] == ["b"]
    assert (before.ended, after.hosts, after.ended) == ((), (), ("b",))
    assert MemberReport.from_record(after.record()) == after
    of_earlier_version = {key: value for key, value in after.record().items() if key != "ended"}
    assert MemberReport.from_record(of_earlier_version).ended == ()


def test_orders_that_reach_a_node_too_late_are_refused(tmp_path: Path) -> None:
    """It stood still, or was cut off, and its jobs may be with others; the order lay in its socket meanwhile."""
    node = config(tmp_path)
    hosts = OwnHosts(node, "127.0.0.1:1", HostSpark(), Workers(), lambda: 0)
    given: list[Any] = []
    process = SimpleNamespace(pid=1, name="", boot="b", ask=given.append, status=lambda _term: None)
    host = hosts._hosts[""] = _Watched(process)  # type: ignore[arg-type]
    hosts._adopted = True
    orders = [{"do": "stop", "host": "", "job_id": "1", "how": "cancel"}]
    report = hosts.report()
    assert report is not None
    asked = MemberReport.from_record(report.record())
    with pytest.raises(HostError, match=r"issued 1[0-9]\.. s ago and reached this node too late"):
        asyncio.run(hosts.carry_out(3, orders, asked.clock - node.timing.timeout_s - 0.5))
    assert not given
    asyncio.run(hosts.carry_out(3, orders, asked.clock))
    assert len(given) == 1
    host.thread.shutdown()


def test_orders_of_many_jobs_are_given_in_requests_that_a_member_takes() -> None:
    """A member refuses a larger body: no job would start there, and the orders would be given again for ever."""
    text = 'source { FakeSource { "größe" = "x" } }\n' * 10_000
    jobs = [
        JobRecord(job_id=str(number), name="n", text=text, format="hocon", submitted_at=1.0, since=1.0)
        for number in range(40)
    ]
    orders = [encoded(Start("m:1", "", job)) for job in jobs]
    found = list(bodies(orders))
    assert [order for some in found for order in some] == orders
    assert 1 < len(found) < len(orders)
    assert all(len(json.dumps({"term": 10**9, "orders": some})) <= LARGEST_BODY for some in found)
    assert order_bytes(jobs[0]) > len(jobs[0].text.encode()), "what is measured is the order, not the text"
    assert list(bodies([])) == []


def test_a_job_id_that_begins_with_a_hyphen_is_no_option_of_its_worker_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker process of the job ended at once, with a message about its arguments."""
    commands: list[list[str]] = []

    def popen(command: list[str], **_: Any) -> Any:
        commands.append(command)
        return SimpleNamespace(pid=42)

    monkeypatch.setattr(host_process, "subprocess", SimpleNamespace(Popen=popen))
    HostProcess(evolve(config(tmp_path), cluster="--test"), "127.0.0.1:1", "-abc").start("-abc-1")
    ((_python, _m, _module, *arguments),) = commands
    monkeypatch.setattr(sys, "argv", ["seatunnel-host", *arguments])
    values = host_main._arguments()
    assert (values.name, values.boot, values.cluster) == ("-abc", "-abc-1", "--test")
    assert (values.address, values.slots, values.logs) == ("127.0.0.1:1", 1, tmp_path)
