"""Nodes of a cluster with a secret: when records are encrypted, and when a record of another secret is in the way."""

import asyncio
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.control.signing import AUTHORIZATION, BOOT, DIGEST, Secret, digest_of
from seatunnel_core.errors import UsageError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.state.cluster_state import SEALED
from tests.live_folder import content_of, files_below
from tests.server.state.stores import local_store
from tests.server.test_rest import JOB, ask, config_of, leading

OWN, NEIGHBOUR = "127.0.0.1:1", "127.0.0.1:2"
_NUMBERS = itertools.count(1)


def with_secret(folder: Path, value: str = "s" * 32, old: str | None = None) -> NodeConfig:
    """Return the configuration of a node with these secrets."""
    config = folder / "config"
    config.mkdir(exist_ok=True)
    for name, text in (("cluster.secret", value), ("cluster.secret.old", old)):
        (config / name).unlink(missing_ok=True)
        if text is not None:
            (config / name).write_text(text)
            (config / name).chmod(0o600)
    return config_of(folder)


def post(agent: Agent, target: str, block: Mapping[str, Any]) -> tuple[int, str]:
    """Send a signed request as another node does, and return the status and the answer."""
    assert agent.config.secret is not None
    body, keeper, nonce = json.dumps(block), agent.authenticator, f"me-{next(_NUMBERS)}"
    digest = digest_of(body.encode())
    signature = agent.config.secret.sign(
        boot=keeper.boot, nonce=nonce, cluster=agent.config.cluster, method="POST", target=target, digest=digest
    )
    headers = {BOOT: keeper.boot, DIGEST: digest, AUTHORIZATION: f"{nonce} {signature}"}
    status, answer, _ = ask(agent, "POST", target, body, signed=True, **headers)
    return status, json.dumps(answer)


def submitted(agent: Agent, job_id: str) -> tuple[int, str]:
    """Submit a job as a node does, and return the status and the answer."""
    block = {"job_id": job_id, "name": "", "text": JOB, "format": "json", "variables": {}, "restore": False}
    return post(agent, "/internal/v1/submit", block)


def leading_again(folder: Path, config: NodeConfig, *others: str) -> Agent:
    """Return an agent that leads after its node led before, with other masters that were known then."""
    beat = {"leader": OWN, "acting": True, "members": [OWN, *others]}
    local_store(folder).claim().renew(0, json.dumps(beat).encode())
    return leading(folder, config)


def stored(folder: Path, job_id: str = "7") -> bytes:
    return local_store(folder).read()[f"job/{job_id}"]


def protect(agent: Agent) -> None:
    """Do what the leader does each second."""
    asyncio.run(agent.leadership._protect_once(agent.require_state()))


def test_the_first_job_of_a_new_cluster_is_encrypted_already(tmp_path: Path) -> None:
    agent = leading(tmp_path, with_secret(tmp_path))
    assert submitted(agent, "7")[0] == 200
    assert b"FakeSource" not in b"".join(content_of(path) for path in files_below(tmp_path) if path.suffix == ".log")
    assert stored(tmp_path).startswith(b'{"sealed":1,')


def test_a_master_of_an_earlier_version_gets_plain_records_until_it_is_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = leading(tmp_path, with_secret(tmp_path))
    submitted(agent, "7")
    join = {"address": NEIGHBOUR, "works": True}
    for block, plain in ((join, True), ({**join, "unseals": True}, False), (join, True)):
        assert post(agent, "/internal/v1/join", block)[0] == 200
        protect(agent)
        assert (b"FakeSource" in stored(tmp_path), SEALED in local_store(tmp_path).read()) == (plain, not plain)
    assert f"stored unencrypted: {NEIGHBOUR} runs an earlier version" in caplog.text
    submitted(agent, "8")
    assert b"FakeSource" in stored(tmp_path, "8")


def test_a_leader_after_one_of_an_earlier_version_waits_until_its_members_have_joined(tmp_path: Path) -> None:
    agent = leading_again(tmp_path, with_secret(tmp_path), NEIGHBOUR)
    submitted(agent, "7")
    protect(agent)
    assert b"FakeSource" in stored(tmp_path)
    agent.leadership.joined(NEIGHBOUR, works=True, unseals=True)
    protect(agent)
    assert b"FakeSource" not in stored(tmp_path)


def test_a_job_whose_key_is_unknown_is_not_overwritten_and_is_there_again_with_the_old_secret(tmp_path: Path) -> None:
    submitted(leading(tmp_path, with_secret(tmp_path)), "7")
    before = stored(tmp_path)
    agent = leading_again(tmp_path, with_secret(tmp_path, "t" * 32))
    status, answer = submitted(agent, "7")
    assert (status, stored(tmp_path)) == (409, before)
    assert "it is encrypted with the key" in answer
    assert "config/cluster.secret.old" in answer
    assert submitted(agent, "8")[0] == 200
    agent = leading_again(tmp_path, with_secret(tmp_path, "t" * 32, "s" * 32))
    assert {job.job_id for job in agent.require_state().running()} == {"7", "8"}
    protect(agent)
    agent = leading_again(tmp_path, with_secret(tmp_path, "t" * 32))
    assert {job.job_id for job in agent.require_state().running()} == {"7", "8"}, "all were written again"


def test_the_old_secret_is_a_secret_too(tmp_path: Path) -> None:
    config = with_secret(tmp_path, old="o" * 32)
    assert config.old_secret == Secret(b"o" * 32)
    assert "oooo" not in repr(config)
    (tmp_path / "config/cluster.secret.old").chmod(0o644)
    with pytest.raises(UsageError, match=r"chmod 600 .*cluster\.secret\.old"):
        config_of(tmp_path)
    assert evolve(config, old_secret=None).secret == config.secret
