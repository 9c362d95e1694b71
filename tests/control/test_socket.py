"""A running job is reached by its owner alone, and whatever reaches it gets an answer."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.control import client
from seatunnel_core.control.server import ControlServer, answer
from seatunnel_core.control.sockets import control_folder, socket_of, sockets
from seatunnel_core.errors import PlatformError, UsageError

JOB = "a-job"


def status(job_id: str = JOB, version: int = 1, started_at: float = 1.0) -> dict[str, Any]:
    return {"job_id": job_id, "manifest_version": version, "started_at": started_at, "pipelines": []}


def refuse(_request: Mapping[str, Any]) -> Any:
    raise UsageError("not now")


def break_down(_request: Mapping[str, Any]) -> Any:
    raise RuntimeError("a bug")


VERBS = {"status": lambda _: status(), "echo": lambda request: request["text"], "refuse": refuse, "break": break_down}


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """pytest's folders have names that are too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="st-") as folder:
        yield {"XDG_RUNTIME_DIR": folder}


@pytest.fixture
def server(environment: dict[str, str]) -> Iterator[ControlServer]:
    server = ControlServer(JOB, VERBS, environment)
    server.start()
    yield server
    server.close()


def test_who_asks_is_answered(server: ControlServer, environment: dict[str, str]) -> None:
    assert client.ask(JOB, {"do": "echo", "text": "é"}, environment) == "é"
    assert client.running(environment) == (status(),)


def test_the_socket_and_its_folder_are_the_owners_alone(server: ControlServer, environment: dict[str, str]) -> None:
    folder = control_folder(environment)
    (path,) = sockets(folder, JOB)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    server.close()
    assert not path.exists()
    server.close()


def test_what_it_refuses_and_what_breaks_is_reported(server: ControlServer, environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="not now"):
        client.ask(JOB, {"do": "refuse"}, environment)
    with pytest.raises(UsageError, match="a bug in the job's process; see its log: RuntimeError: a bug"):
        client.ask(JOB, {"do": "break"}, environment)
    with pytest.raises(
        UsageError, match="this version does not support the request 'fly'; it supports break, echo, refuse, status"
    ):
        client.ask(JOB, {"do": "fly"}, environment)


def test_a_request_that_breaks_is_not_written_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """An order to start a job contains its text, with passwords, and users may read the log."""
    assert "a bug" in answer(b'{"job": "password = geheim", "do": "break"}', VERBS)["error"]
    assert "the request 'break' failed" in caplog.text
    assert "geheim" not in caplog.text


@pytest.mark.parametrize("line", [b"", b"\n", b"[]", b"{", b"\xff", b'{"do": 1}', b'{"do": "' + b"x" * 70_000, b"7"])
def test_whatever_the_bytes_are_it_is_an_answer(line: bytes) -> None:
    assert answer(line, VERBS).keys() == {"error"}


def test_a_job_that_does_not_run_is_answered_with_where_to_look(environment: dict[str, str]) -> None:
    assert client.running(environment) == ()
    with pytest.raises(UsageError, match=r"is not running as your user.*seatunnel -l"):
        client.ask(JOB, {"do": "status"}, environment)


def test_what_a_killed_process_left_is_removed(environment: dict[str, str]) -> None:
    left = socket_of(control_folder(environment), JOB, 999_999)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(left))
    assert client.running(environment) == ()
    assert not left.exists()


def test_of_two_processes_the_one_that_claimed_the_job_last_is_asked(environment: dict[str, str]) -> None:
    folder = control_folder(environment)
    older, newer = ControlServer(JOB, {}, environment), ControlServer(JOB, {}, environment)
    try:
        for server, version in ((older, 1), (newer, 2)):
            server._verbs = {"status": lambda _, v=version: status(version=v), "who": lambda _, v=version: v}  # type: ignore[misc]
            server.start()
            (own,) = sockets(folder, JOB) if version == 1 else (socket_of(folder, JOB, os.getpid()),)
            server._path = own.rename(socket_of(folder, JOB, version))
        assert client.ask(JOB, {"do": "who"}, environment) == 2
        assert len(client.running(environment)) == 2
    finally:
        older.close()
        newer.close()


def test_only_the_given_processes_are_asked(environment: dict[str, str]) -> None:
    """A node sent a request to the job of another cluster of the same user, which had claimed its job more often."""
    folder = control_folder(environment)

    def serving(version: int) -> ControlServer:
        answers = {"status": lambda _: status(version=version), "who": lambda _: version}
        return ControlServer(JOB, answers, environment)

    own, foreign = serving(1), serving(2)
    try:
        for server, pid in ((own, 1), (foreign, 2)):
            server.start()
            server._path = socket_of(folder, JOB, os.getpid()).rename(socket_of(folder, JOB, pid))
        assert client.ask(JOB, {"do": "who"}, environment) == 2
        assert client.ask(JOB, {"do": "who"}, environment, pids=(1, 3)) == 1
        with pytest.raises(UsageError, match=f"the job {JOB} is not running in a worker process of this node"):
            client.ask(JOB, {"do": "who"}, environment, pids=())
    finally:
        own.close()
        foreign.close()


def test_a_long_id_has_a_short_socket_and_others_do_not_answer_for_it(environment: dict[str, str]) -> None:
    long = "x" * 128
    server = ControlServer(long, {"status": lambda _: status(long)}, environment)
    server.start()
    try:
        assert client.running(environment, long) == (status(long),)
        assert client.running(environment, long[:-1]) == ()
    finally:
        server.close()


def test_where_the_users_folder_has_a_long_name_it_is_one_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("seatunnel_core.control.sockets._LONGEST", len(str(tmp_path)) + 60)
    folder = control_folder({"HOME": "/" + "long/" * 30})
    assert folder == tmp_path / f"seatunnel-{os.getuid()}"
    folder.chmod(0o777)
    with pytest.raises(PlatformError, match="only you can read and write"):
        control_folder({"HOME": "/" + "long/" * 30})


def test_where_that_one_has_a_long_name_as_well_it_is_one_that_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / ("long" * 30)))
    assert control_folder({"HOME": "/" + "long/" * 30}) == Path("/tmp", f"seatunnel-{os.getuid()}")


def test_a_job_that_cannot_listen_runs_all_the_same(
    environment: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    Path(environment["XDG_RUNTIME_DIR"], "seatunnel").write_text("in the way")
    server = ControlServer(JOB, VERBS, environment)
    server.start()
    server.close()
    assert "this job cannot accept requests" in caplog.text


def test_who_asked_for_the_end_is_answered_before_the_end(environment: dict[str, str]) -> None:
    asked, over = threading.Event(), threading.Event()

    def stop(_request: Mapping[str, Any]) -> Any:
        asked.set()
        assert over.wait(60)
        time.sleep(0.1)
        return "stopped"

    server = ControlServer(JOB, {"status": lambda _: status(), "stop": stop}, environment)
    server.start()
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(client.ask(JOB, {"do": "stop"}, environment)))
    asking.start()
    assert asked.wait(60)
    over.set()
    server.close()
    asking.join(60)
    assert answers == ["stopped"]


_SLEEPER = """
import sys, time
from seatunnel_core.control.server import ControlServer
server = ControlServer("asleep", {"status": lambda _: {}}, {"XDG_RUNTIME_DIR": sys.argv[1]})
server.start()
print("listens", flush=True)
time.sleep(240)
"""


def test_a_process_that_stands_still_is_left_out(
    environment: dict[str, str], server: ControlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_CONNECT_S", 2)  # in which the living one surely answers
    command = [sys.executable, "-c", _SLEEPER, environment["XDG_RUNTIME_DIR"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sleeper:
        try:
            assert sleeper.stdout is not None
            assert sleeper.stdout.readline() == "listens\n"
            sleeper.send_signal(signal.SIGSTOP)
            assert client.running(environment) == (status(),)
            assert len(sockets(control_folder(environment))) == 2, "it may wake up"
        finally:
            sleeper.kill()


def test_an_answer_that_is_none_is_none(environment: dict[str, str]) -> None:
    path = socket_of(control_folder(environment), JOB, 1)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def talk() -> None:
            for line in (b"nonsense\n", json.dumps([1]).encode() + b"\n", b""):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(line)

        talking = threading.Thread(target=talk)
        talking.start()
        assert [client.running(environment) for _ in range(3)] == [(), (), ()]
        talking.join(60)
