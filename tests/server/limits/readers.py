"""``python -m tests.server.limits.readers``: whether people who look hold up the scheduler.

A job is submitted to a node to which 200 requests a second are sent, and then to the same node while they are sent to
a node of another, idle cluster beside it, in turns. Measured is the time from the submit until rows stand in the sink.
``--times FILE`` keeps the figures of several runs together: the medians that are printed are those of all of them. The
two times of a turn stand beside each other: what else the machine does holds up both, so their ratio is what counts.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.server.limits.short_jobs import names, short_job
from tests.server.nodes import ENGINE, Node, a_cluster, free_port, until

RATE = 200
"""Requests a second."""

CONNECTIONS = 20
TARGETS = ("/overview", "/running-jobs", "/finished-jobs", "/job-info/1", "/metrics", "/logs?format=json")
WARM = 3


@contextlib.contextmanager
def a_node(folder: Path) -> Iterator[tuple[Node, int]]:
    """Give a node of a cluster of its own that is ready, and its port of REST."""
    port = free_port()
    with a_cluster(folder) as cluster:
        more = f"    telemetry: {{metric: {{enabled: true}}}}\n    http: {{enable-http: true, port: {port}}}\n"
        (folder / "config/seatunnel.yaml").write_text(ENGINE.format(folder=folder) + more)
        node = cluster.node()
        node.start()
        node.wait_ready()
        yield node, port


@contextlib.contextmanager
def read(port: int) -> Iterator[list[int]]:
    """Send requests to a port from a process of its own, which has begun with them.

    In the end the list has how many were answered, how many of them with an error, and in how many milliseconds.
    """
    command = [sys.executable, "-m", "tests.server.limits.readers", "--read", str(port)]
    counted: list[int] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "reading\n"
            time.sleep(0.5)
            yield counted
        finally:
            told, _ = reader.communicate("\n", timeout=30)
            counted += json.loads(told)


async def _read(port: int) -> None:
    """Send requests until a line comes in; then print what ``read`` gives."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, ended.set)
    begun = time.monotonic()
    print("reading", flush=True)
    answers = await asyncio.gather(*(_reader(port, number, ended) for number in range(CONNECTIONS)))
    answered, wrong = (sum(each) for each in zip(*answers, strict=True))
    print(json.dumps([answered, wrong, int(1000 * (time.monotonic() - begun))]))


async def _reader(port: int, number: int, ended: asyncio.Event) -> tuple[int, int]:
    """Ask again and again over one connection, each time when it is due and the answer before it has come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answered = wrong = 0
    pause_s = CONNECTIONS / RATE
    due = time.monotonic() + pause_s * number / CONNECTIONS
    while not ended.is_set():
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        due += pause_s
        target = TARGETS[(answered + number) % len(TARGETS)]
        writer.write(f"GET {target} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
        answered += 1
        wrong += not head.startswith(b"http/1.1 200")
    writer.close()
    return answered, wrong


def until_rows_s(port: int, folder: Path) -> float:
    """Return how many seconds it took from the submit of a job until rows stand in its sink."""
    (job_id,) = names(1)
    target = folder / job_id
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    begun = time.perf_counter()
    connection.request("POST", f"/submit-job?jobId={job_id}&format=hocon", short_job(target))
    assert connection.getresponse().read()
    while not any(target.glob("*.parquet")):
        assert time.perf_counter() - begun < 60, "no row came"
        time.sleep(0.002)
    connection.close()
    return time.perf_counter() - begun


def measure(folder: Path, turns: int) -> dict[str, list[float]]:
    """Return the seconds of each turn, under requests to the node itself and to an idle one beside it."""
    found: dict[str, list[float]] = {"node": [], "beside": []}
    with a_node(folder / "busy") as (node, port), a_node(folder / "idle") as (_, other):
        for number in range(WARM):
            until_rows_s(port, folder / "warm" / str(number))
        for turn in range(turns):
            for where, read_port in sorted((("node", port), ("beside", other)), reverse=bool(turn % 2)):
                with read(read_port) as counted:
                    found[where].append(until_rows_s(port, folder / "out" / where))
                answered, wrong, reading_ms = counted
                rate = 1000 * answered / reading_ms
                print(f"turn {turn}, {where}: {found[where][-1]:.3f} s; {rate:.0f} requests a second, {wrong} not 200")
                until("no job runs", lambda: node.ask("GET", "/running-jobs") == (200, []))
    return found


def main() -> None:
    """Measure, and print the medians."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the nodes end too
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--times", type=Path)
    parser.add_argument("--read", type=int, metavar="PORT")
    values = parser.parse_args()
    if values.read is not None:
        asyncio.run(_read(values.read))
        return
    before = json.loads(values.times.read_text()) if values.times and values.times.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="readers-", dir="/tmp") as folder:
        measured = measure(Path(folder), values.turns)
    every = {where: [*before.get(where, []), *times] for where, times in measured.items()}
    if values.times:
        values.times.write_text(json.dumps(every))
    medians = {where: statistics.median(times) for where, times in every.items()}
    ratio = statistics.median(here / there for here, there in zip(every["node"], every["beside"], strict=True))
    print(
        f"medians of {len(every['node'])} turns: {medians['node']:.3f} s, and {medians['beside']:.3f} s where the "
        f"other node is read; median of the ratios of each turn: {ratio:.3f}"
    )


if __name__ == "__main__":
    main()
