"""A real node whose users mean it harm: nothing is served that should not be, and jobs go on.

``python -m pytest tests/server/test_hostile.py -m torture -s`` prints what was tried, with counts.
"""

import base64
import bisect
import contextlib
import http.client
import json
import os
import random
import resource
import secrets
import socket
import statistics
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import define, field

from seatunnel_core.control.signing import read_secret
from tests.planted import plant_link
from tests.runtime.command import fake_source, job, parquet_sink
from tests.server.nodes import ENGINE, Node, a_cluster, free_port, until

pytestmark = [pytest.mark.torture, pytest.mark.timeout(600), pytest.mark.xdist_group("hostile")]

PASSWORD = "correct-horse-battery-staple"
LOGIN = "Basic " + base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
HTML = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"

REST = """    telemetry: {{metric: {{enabled: true}}}}
    http: {{enable-http: true, port: {port}, enable-basic-auth: true, basic-auth-password: {password}}}
"""

NAMES = (
    "../config/cluster.secret", "..%2fconfig%2fcluster.secret", "%2e%2e%2fconfig%2fcluster.secret",
    "%2e%2e/config/cluster.secret", "..%5cconfig%5ccluster.secret", "....//config/cluster.secret",
    "%252e%252e%252fconfig%252fcluster.secret",
    "..%c0%afconfig%c0%afcluster.secret", "/etc/passwd", "%2fetc%2fpasswd",
    "job-1.log%00", "%00", "job-1.log%0d%0aX-Evil:1", ".hidden.log", "notes.txt", "job-linked.log", "job-%2e%2e.log",
    "job-..%2f..%2fetc%2fpasswd", "job-" + "x" * 5000 + ".log", "job-%EF%BC%8F.log", "..", "%2e%2e", "~root",
    "job-*.log",
)  # fmt: skip
PLACES = ("/logs/", "/log/", "/job-info/", "/finished-jobs/", "/loggers/", "/page/", "/help/", "/running-job/")
PATHS = (
    "/overview", "/running-jobs", "/finished-jobs", "/job-info/1", "/submit-job", "/stop-job", "/update-tags", "/logs",
    "/metrics", "/openmetrics", "/loggers/seatunnel", "/internal/v1/members", "/internal/v1/orders",
    "/internal/v1/log-piece", "/hazelcast/rest/maps/overview", "/",
)  # fmt: skip
SHOWN = (
    "/job-info/html", "/finished-jobs", "/running-jobs", "/logs", "/logs/html", "/log", "/logs/job-html.log",
    "/metrics", "/job-info/%3Cscript%3E", "/%3Cscript%3E", "/logs/%3Cscript%3E", "/logs?format=%3Cscript%3E",
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "BREW")


@define
class Attacked:
    """A node, its port of REST, and what was tried."""

    node: Node
    port: int
    tried: Counter[str] = field(factory=Counter)

    def ask(
        self, what: str, method: str, target: str, body: str | bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return what the node answers to a request; with a login unless another one is given."""
        self.tried[what] += 1
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            given = {"authorization": LOGIN, **({} if body is None else {"content-length": str(len(body))}), **headers}
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body.encode() if isinstance(body, str) else body)
            response = connection.getresponse()
            return response.status, {key.lower(): text for key, text in response.getheaders()}, response.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """Give a node with a password, which leads and has run a job."""
    folder, port = tmp_path_factory.mktemp("hostile") / "cluster", free_port()
    with a_cluster(folder) as cluster:
        (folder / "config/seatunnel.yaml").write_text(
            ENGINE.format(folder=folder) + REST.format(port=port, password=PASSWORD)
        )
        secret = folder / "config/cluster.secret"
        secret.write_text(secrets.token_hex(32))
        secret.chmod(0o600)
        cluster.secret = read_secret(secret)
        node = cluster.node()
        node.start()
        node.wait_ready()
        (folder / "logs/notes.txt").write_text("PRIVATE")
        (folder / "logs/job-linked.log").symlink_to(secret)
        found = Attacked(node, port)
        yield found
        until("the node leads", node.leads)  # a lease may run out on a busy machine, which nobody here has a part in
        assert "internal error" not in node.log()
        assert "Traceback" not in node.log()
        assert PASSWORD not in node.log()
        print(f"\ntried: {dict(found.tried)}, {found.tried.total()} in all")


def run_a_job(attacked: Attacked, folder: Path, job_id: str) -> float:
    """Run a small job, and return after how many seconds it had finished."""
    begun = time.monotonic()
    attacked.node.submit(
        job("job.mode = BATCH", [fake_source("n", rows=5)], [parquet_sink("n", folder / job_id)]), job_id
    )
    assert attacked.node.wait_end(job_id)["jobStatus"] == "FINISHED"
    return time.monotonic() - begun


def test_names_lead_nowhere(attacked: Attacked) -> None:
    secret = (attacked.node.cluster.folder / "config/cluster.secret").read_bytes()
    for place in PLACES:
        for name in NAMES:
            for headers in ({}, {"range": "bytes=0-99"}):
                status, answer, body = attacked.ask("names", "GET", place + name, **headers)
                assert status < 500, (place, name, body)
                assert secret not in body
                assert b"PRIVATE" not in body
                assert b"root:" not in body
                assert "x-evil" not in answer
    for node in ("127.0.0.1:22", "169.254.169.254:80", "localhost", "127.0.0.1:0@evil", "[::1]:1"):
        assert attacked.ask("other nodes", "GET", f"/logs/job-1.log?node={node}")[0] == 404


def test_wrong_methods_change_nothing_and_strangers_see_nothing(attacked: Attacked) -> None:
    for path in PATHS:
        for method in METHODS:
            assert attacked.ask("methods", method, path)[0] < 500
            status, _, body = attacked.ask("strangers", method, path, authorization="Basic eDp5")
            assert status in (401, 404, 405), (method, path)
            assert b"127.0.0.1" not in body
    assert attacked.ask("methods", "POST", "/internal/v1/orders", "{}")[0] == 404, "it is of the member port"


def test_bodies_are_bounded_in_size_and_time(attacked: Attacked, tmp_path: Path) -> None:
    """Ten that are too large, ten that never end, and one that says that it is 1 TB; a job runs meanwhile."""
    ends: list[str] = []

    def endless(pause_s: float) -> None:
        head = f"POST /submit-job HTTP/1.1\r\nhost: a\r\nauthorization: {LOGIN}\r\ntransfer-encoding: chunked\r\n\r\n"
        with socket.create_connection(("127.0.0.1", attacked.port), timeout=120) as client:
            client.sendall(head.encode())
            with contextlib.suppress(OSError):
                for _ in range(400):
                    client.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n" if not pause_s else b"1\r\nx\r\n")
                    time.sleep(pause_s)
            with contextlib.suppress(OSError):
                ends.append(client.recv(1000).split(b"\r\n")[0].decode())

    threads = [threading.Thread(target=endless, args=(pause_s,)) for pause_s in (0.0, 0.25) for _ in range(10)]
    for thread in threads:
        thread.start()
    run_a_job(attacked, tmp_path, "bodies")
    for path, length in (("submit-job", 10 * 1024 * 1024 + 1), ("stop-job", 10**12)):
        head = f"POST /{path} HTTP/1.1\r\nhost: a\r\nauthorization: {LOGIN}\r\ncontent-length: {length}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", attacked.port), timeout=20) as client:
            client.sendall(head.encode())
            assert b" 413 " in client.recv(1000), "its stated length is enough to reject it"
    for thread in threads:
        thread.join(150)
        assert not thread.is_alive()
    attacked.tried["bodies"] += len(threads) + 1
    assert set(ends) <= {
        "HTTP/1.1 413 Request Entity Too Large",
        "HTTP/1.1 413 Content Too Large",
        "HTTP/1.1 408 Request Timeout",
    }, ends


def test_a_hundred_slow_clients_hold_nobody_up(attacked: Attacked, tmp_path: Path) -> None:
    """They send their headers byte by byte, and others none, on both ports; a job takes about as long as before."""
    before = statistics.median(run_a_job(attacked, tmp_path, f"before-{number}") for number in range(3))
    leaving = threading.Event()
    closed = Counter[str]()

    def slow(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            with contextlib.suppress(OSError):
                for byte in b"GET /overview HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 10_000:
                    client.sendall(bytes([byte]))
                    if leaving.wait(0.5):
                        return
            closed["closed by the node"] += 1

    threads = [
        threading.Thread(target=slow, args=(attacked.port if number % 2 else attacked.node.port,))
        for number in range(100)
    ]
    for thread in threads:
        thread.start()
    answers = []
    for _ in range(50):
        begun = time.monotonic()
        assert attacked.ask("beside slow clients", "GET", "/overview")[0] == 200
        answers.append(time.monotonic() - begun)
    meanwhile = statistics.median(run_a_job(attacked, tmp_path, f"beside-{number}") for number in range(3))
    for thread in threads:
        thread.join(40)
    leaving.set()
    assert closed["closed by the node"] == 100
    attacked.tried["slow clients"] += 100
    answer_s = statistics.median(answers)
    print(f"\na job alone {before:.2f} s, beside slow clients {meanwhile:.2f} s; /overview {answer_s * 1e3:.1f} ms")
    assert answer_s < 0.25
    assert meanwhile < 2 * before + 2


def test_idle_connections_to_each_port_hold_nobody_up(attacked: Attacked, tmp_path: Path) -> None:
    """More than a port takes, opened as fast as two threads can, while the descriptors of the node are few.

    Jobs are accepted and run, the node leads on in the same term, and its log has no line for each connection.
    """
    idle_s, agent = float(os.environ.get("SEATUNNEL_IDLE_S", "4")), attacked.node.agent
    assert agent is not None
    before, opened = attacked.node.members()["term"], Counter[str]()
    for port in (attacked.port, attacked.node.port):
        leaving = threading.Event()

        def flood(port: int = port, leaving: threading.Event = leaving) -> None:
            held: deque[socket.socket] = deque()
            while not leaving.is_set():
                with contextlib.suppress(OSError):
                    held.append(socket.create_connection(("127.0.0.1", port), timeout=0.2))
                    opened["idle connections"] += 1
                if len(held) > 1_500:
                    held.popleft().close()
            for each in held:
                each.close()

        threads = [threading.Thread(target=flood) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            begun, jobs = time.monotonic(), 0
            while time.monotonic() - begun < idle_s or not jobs:
                run_a_job(attacked, tmp_path, f"idle-{port}-{jobs}")
                jobs += 1
        finally:
            leaving.set()
            for thread in threads:
                thread.join(30)
    attacked.tried += opened
    assert agent.poll() is None
    assert attacked.node.members()["term"] == before
    assert len(attacked.node.log()) < 1_000_000


def test_a_node_without_descriptors_recovers(attacked: Attacked, tmp_path: Path) -> None:
    """Its limit is lowered to what it has open, so that nothing can be opened for a while; then it works as before."""
    agent = attacked.node.agent
    assert agent is not None
    soft, hard = resource.prlimit(agent.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (8, hard))
    try:
        time.sleep(3)
        attacked.tried["seconds without descriptors"] += 3
    finally:
        resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (soft, hard))
    until("the node leads", attacked.node.leads)
    assert agent.poll() is None
    run_a_job(attacked, tmp_path, "recovered")


def test_texts_that_ask_for_too_much_are_refused_by_the_name_of_the_limit(attacked: Attacked) -> None:
    texts = {
        "hocon": ("a=[1]\n" + "a=${a}${a}\n" * 40, "substitutions"),
        "yaml": ("b: &b [" + "1," * 5_000 + "]\na: [" + "*b," * 900 + "]", "substitutions"),
        "json": ("{" + ",".join(f'"k{number}":1' for number in range(510_000)) + "}", "keys"),
    }
    for format, (text, limit) in texts.items():
        status, _, body = attacked.ask("bombs", "POST", f"/submit-job?format={format}", text)
        assert (status, f"limit of {limit} exceeded" in json.loads(body)["message"]) == (400, True), (format, body)
    for name in ("/etc/passwd", "config/cluster.secret", "../config/cluster.secret"):
        for including in (f'include "{name}"', f'include file("{name}")'):
            status, _, body = attacked.ask("includes", "POST", "/submit-job?format=hocon", including)
            assert (status, b"root:" in body) == (400, False), body


def test_links_of_another_user_lead_nothing_elsewhere(
    attacked: Attacked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are planted where the node writes next: at the log of a job, and its checkpoints. Uploads name paths."""
    if os.geteuid():
        pytest.skip("only root can give a link away")
    folder, target = attacked.node.cluster.folder, tmp_path / "elsewhere" / "target"
    target.parent.mkdir()
    target.write_text("untouched")
    plant_link(folder / "logs" / "job-planted-log.log", target, monkeypatch)
    plant_link(folder / "checkpoints" / "planted-state", target.parent, monkeypatch)
    attacked.tried["links"] += 2
    run_a_job(attacked, tmp_path, "planted-log")
    text = job("job.mode = BATCH", [fake_source("n", rows=5)], [parquet_sink("n", tmp_path / "out")])
    attacked.node.submit(text, "planted-state")
    found = attacked.node.wait_end("planted-state")
    assert found["jobStatus"] == "FAILED"
    assert "belongs to another user" in str(found["errorMsg"])
    for name in ("../../planted.conf", "/etc/planted.conf", "..\\planted.conf", "job-x.log\0.conf"):
        form = f'--b\r\ncontent-disposition: form-data; name="config_file"; filename="{name}"\r\n\r\nx {{\r\n--b--\r\n'
        headers = {"content-type": "multipart/form-data; boundary=b"}
        assert attacked.ask("uploads", "POST", "/submit-job/upload", form, **headers)[0] == 400
    assert not list(folder.rglob("*planted.conf"))
    assert [each.name for each in target.parent.iterdir()] == ["target"]
    assert target.read_text() == "untouched"
    for place in ("logs", "checkpoints"):
        (folder / place).chmod(0o700)


def test_html_is_text_everywhere(attacked: Attacked) -> None:
    """In a job's name, its id, its errors and its log."""
    env = {"job.mode": "BATCH", "job.name": HTML}
    sink = [{"plugin_name": "Console", "plugin_input": "f"}]
    unknown = {"env": env, "source": [{"plugin_name": HTML, "plugin_output": "f"}], "sink": sink}
    status, headers, _ = attacked.ask("html", "POST", "/submit-job", json.dumps(unknown))
    assert status == 400
    assert headers["content-type"].startswith("application/json")
    missing = {"plugin_name": "LocalFile", "plugin_output": "f", "path": f"/no/such/{HTML}", "file_format_type": "json"}
    text = json.dumps({"env": env, "source": [{**missing, "schema": {"fields": {"a": "int"}}}], "sink": sink})
    for query in ("?jobId=html", "?jobId=" + "%3Cb%3E", "?format=%3Cb%3E", "?jobName=%3Cb%3E"):
        status, headers, _ = attacked.ask("html", "POST", f"/submit-job{query}", text)
        assert status in (200, 400)
        assert headers["content-type"].startswith("application/json")
    attacked.node.wait_end("html")
    for path in SHOWN:
        _, headers, body = attacked.ask("html", "GET", path)
        assert headers["x-content-type-options"] == "nosniff"
        if headers["content-type"].startswith("text/html"):
            assert b"<script" not in body.replace(b"<script type", b"")
            assert headers["content-security-policy"]


def test_pages_of_other_sites_are_not_let_in(attacked: Attacked) -> None:
    for path in PATHS:
        for method in ("GET", "POST", "DELETE"):
            for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"):
                assert attacked.ask("cross-site", method, path, origin=origin)[0] == 401
            own = attacked.ask("cross-site", method, path, origin=f"http://127.0.0.1:{attacked.port}")
            assert own[0] != 401
    headers = attacked.ask("cross-site", "OPTIONS", "/submit-job", origin="http://evil.example")[1]
    assert not [name for name in headers if name.startswith("access-control")]


def test_the_time_of_an_answer_says_nothing_of_the_password(attacked: Attacked) -> None:
    """One of none right is as often slower than one of all but the last character right as it is faster.

    Also a short and a very long one; in random order, so that none stands behind the same one each time.
    """
    wrong = {"none": "x" * len(PASSWORD), "all but one": PASSWORD[:-1] + "x", "short": "x", "long": "x" * 4000}
    times: dict[str, list[float]] = {each: [] for each in wrong}
    connection = http.client.HTTPConnection("127.0.0.1", attacked.port, timeout=60)
    turns = [*wrong] * 800
    random.Random(7).shuffle(turns)
    for each in turns:
        basic = "Basic " + base64.b64encode(f"admin:{wrong[each]}".encode()).decode()
        begun = time.perf_counter()
        connection.request("GET", "/overview", headers={"authorization": basic})
        response = connection.getresponse()
        response.read()
        times[each].append(time.perf_counter() - begun)
        assert response.status == 401
        attacked.tried["wrong passwords"] += 1
    connection.close()
    slower = {each: how_often_slower(found, times["none"]) for each, found in times.items()}
    print("\nslower than one of none right:", {each: f"{100 * share:.1f} %" for each, share in slower.items()})
    for each in ("all but one", "short"):
        assert abs(slower[each] - 0.5) < 0.06, "which is four standard deviations of chance"


def how_often_slower(these: list[float], those: list[float]) -> float:
    """Return which share of all pairs has the first one slower."""
    ordered = sorted(those)
    return sum(bisect.bisect(ordered, each) for each in these) / (len(these) * len(those))
