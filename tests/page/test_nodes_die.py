"""Nodes die while somebody looks: the page says so, keeps what it knew, and goes on when anybody answers again."""

import secrets
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seatunnel_core.control.signing import read_secret
from tests.page.browsing import chromium, watched
from tests.server.nodes import MEMBERS, Node, a_cluster, free_port, until
from tests.server.test_single_node import slow_job

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(600), pytest.mark.xdist_group("browser")]

LOGIN = ("admin", "a-long-password")
VIEWER = ("eve", "another-password")


@contextmanager
def two_nodes(
    folder: Path, *, beside: str = "master_and_worker", asks: bool = False
) -> Iterator[list[tuple[Node, str]]]:
    """Give a master and another node that run, with the addresses of their pages.

    Args:
        folder: of the cluster.
        beside: the role of the other node.
        asks: whether users need a password.
    """
    with a_cluster(folder) as cluster:
        nodes = [cluster.node(), cluster.node(beside)]
        (folder / "config/hazelcast.yaml").write_text(MEMBERS.format(members=[node.address for node in nodes]))
        if asks:
            secret = folder / "config/cluster.secret"
            secret.write_text(secrets.token_hex(32))
            secret.chmod(0o600)
            cluster.secret = read_secret(secret)
            file = folder / "config/seatunnel.yaml"
            user, password = LOGIN
            keys = f"enable-basic-auth: true, basic-auth-username: {user}, basic-auth-password: {password}"
            keys += f", users: [{{username: {VIEWER[0]}, password: {VIEWER[1]}, permissions: [look]}}]"
            file.write_text(f"{file.read_text()}    http: {{{keys}}}\n")
        found = []
        for node in nodes:
            port = free_port()
            node.start("--http-port", str(port))
            found.append((node, f"http://127.0.0.1:{port}"))
        cluster.leader()
        yield found


def test_the_node_one_looks_at_dies_and_comes_back(tmp_path: Path) -> None:
    with two_nodes(tmp_path / "nodes") as nodes, chromium() as browser:
        (first, origin), (second, other) = nodes
        with watched(browser, origin) as seen, watched(browser, other) as beside:
            seen.open("#/")
            seen.settle()
            beside.open("#/")
            beside.settle()
            first.kill()
            seen.wait_text("does not answer")
            seen.wait_text("What you see is of")
            assert seen.page.get_by_text("Finished").is_visible(), "what was known stays"
            assert seen.findings() == []
            until("the other one leads", second.leads)
            beside.page.locator(".trouble.shown").wait_for(state="detached")
            assert beside.page.get_by_role("heading", name="Current jobs").is_visible()
            first.start("--http-port", origin.rpartition(":")[2])
            seen.page.locator(".trouble.shown").wait_for(state="detached")
            assert not seen.dialogs
            beside.unharmed()


def test_the_only_leader_dies_while_one_looks_at_another_node(tmp_path: Path) -> None:
    with two_nodes(tmp_path / "nodes", beside="query") as nodes, chromium() as browser:
        (leader, _), (_, origin) = nodes
        with watched(browser, origin) as seen:
            seen.open("#/jobs/finished")
            seen.settle()
            seen.wait_text("No job has ended so")
            leader.kill()
            seen.wait_text("no leader at this moment")
            assert seen.page.get_by_text("No job has ended so").is_visible(), "what was known stays"
            leader.start()
            seen.page.locator(".trouble.shown").wait_for(state="detached")
            seen.unharmed()


def test_a_wrong_password_lets_nobody_in(tmp_path: Path) -> None:
    with two_nodes(tmp_path / "nodes", asks=True) as nodes, chromium() as browser:
        origin = nodes[0][1]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{origin}/", timeout=30)
        with refused.value:
            assert refused.value.code == 401
        with watched(browser, origin, login=(LOGIN[0], "wrong")) as seen:
            answer = seen.page.goto(origin)
            assert answer.status == 401
            assert "<html" not in answer.text()


def test_a_viewer_is_offered_nothing_that_he_may_not_do(tmp_path: Path) -> None:
    with two_nodes(tmp_path / "nodes", asks=True) as nodes, chromium() as browser:
        node, origin = nodes[0]
        node.submit(slow_job(tmp_path / "out", rows_per_second=1), "held")
        for login, offered in ((LOGIN, True), (VIEWER, False)):
            with watched(browser, origin, login=login) as seen:
                seen.open("#/job/held")
                seen.settle()
                seen.wait_text("held")
                seen.page.locator(".who", has_text=login[0]).wait_for()
                if offered:
                    seen.page.get_by_role("button", name="Stop at once").wait_for()
                else:
                    seen.page.wait_for_timeout(2_000)  # longer than any answer takes
                assert seen.page.get_by_role("button", name="Stop at once").is_visible() is offered
                assert seen.page.get_by_role("link", name="Submit").is_visible() is offered
                seen.unharmed()
        with watched(browser, origin, login=LOGIN) as seen:
            seen.open("#/")
            seen.settle()
            assert seen.page.get_by_role("heading", name="Nodes").is_visible()
            seen.unharmed()
