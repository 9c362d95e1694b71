"""A whole job beside SeaTunnel 2.3.8: a table of 50,000 rows is copied from MySQL to MySQL, then 40,000 updates.

``python -m tests.cdc.peers.seatunnel HOME``: HOME is an installation with the connectors for MySQL-CDC and Jdbc. The
time of both is the processor time of all their processes, with and without that of the start.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from tests.cdc.captured import COPY, CapturedMySQLWithGtids
from tests.cdc.job import CopyJob
from tests.cdc.usage import Usage

DATABASE = "shop"
ROWS, UPDATES, AT_ONCE = 50_000, 40_000, 1_000
LAYOUT = "(id bigint PRIMARY KEY, a int, name varchar(40), note varchar(300), price decimal(12,2), made datetime(6))"
PATIENCE_S = 300.0

_JOB = """
env {{ parallelism = 1, job.mode = "STREAMING", checkpoint.interval = 1000 }}
source {{ MySQL-CDC {{
  base-url = "{source}", username = "{user}", password = "{password}", table-names = ["{database}.bench"]
  exactly_once = false, server-id = 7700, startup.mode = "initial"
}} }}
sink {{ Jdbc {{
  url = "{target}", user = "{user}", password = "{password}", driver = "com.mysql.cj.jdbc.Driver"
  database = "{copy}", table = "bench", generate_sink_sql = true, primary_keys = ["id"]
}} }}
"""


def prepare(captured: CapturedMySQLWithGtids) -> None:
    captured.recreate(DATABASE)
    captured.recreate(COPY)
    captured.run(COPY, f"CREATE TABLE bench {LAYOUT}")
    with closing(captured.connect(DATABASE)) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE bench {LAYOUT}")
        for start in range(0, ROWS, AT_ONCE):
            rows = (f"({n}, {n}, 'name {n}', 'a note of the row {n}', {n}.25, '2024-02-29 12:13:14.123456')"
                    for n in range(start, start + AT_ONCE))  # fmt: skip
            cursor.execute("INSERT INTO bench VALUES " + ", ".join(rows))


def update(captured: CapturedMySQLWithGtids) -> None:
    with closing(captured.connect(DATABASE)) as connection, connection.cursor() as cursor:
        for start in range(0, UPDATES, AT_ONCE):
            cursor.execute(f"UPDATE bench SET a = -1 WHERE id >= {start} AND id < {start + AT_ONCE}")


def measured(name: str, captured: CapturedMySQLWithGtids, start: Callable[[], int]) -> str:
    """Return a line with what a job took; ``start`` returns the session of its processes."""
    prepare(captured)
    began = time.monotonic()
    usage = Usage(start())
    try:
        _wait(captured, f"SELECT count(*) FROM {COPY}.bench", 1)
        usage.sample()
        started_s, started_cpu_s = time.monotonic() - began, usage.cpu_s
        _wait(captured, f"SELECT count(*) FROM {COPY}.bench", ROWS)
        usage.sample()
        copied_s, copied_cpu_s = time.monotonic() - began, usage.cpu_s
        update(captured)
        _wait(captured, f"SELECT count(*) FROM {COPY}.bench WHERE a = -1", UPDATES)
        usage.sample()
        whole_s = time.monotonic() - began
    finally:
        usage.close()
    peak = sum(each.peak_mib for each in usage.seen.values())
    return (
        f"{name:10} first row {started_s:5.1f} s ({started_cpu_s:5.1f} cpu)  copied {copied_s:5.1f} s "
        f"({copied_cpu_s:5.1f} cpu)  updated {whole_s:5.1f} s ({usage.cpu_s:5.1f} cpu)  {peak:,.0f} MiB"
    )


def _wait(captured: CapturedMySQLWithGtids, asked: str, least: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while int(captured.run(COPY, asked)[0][0]) < least:
        assert time.monotonic() < deadline, f"{asked}: not {least} in {PATIENCE_S:.0f} s"
        time.sleep(0.2)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc.peers.seatunnel", description=__doc__)
    parser.add_argument("home", type=Path)
    arguments = parser.parse_args(argv)
    captured = CapturedMySQLWithGtids()
    with tempfile.TemporaryDirectory(prefix="seatunnel-peer-") as name:
        folder = Path(name)
        job = CopyJob(
            folder=folder / "ours",
            captured=captured,
            database=DATABASE,
            tables=("bench",),
            slot="bench",
            interval_ms=1_000,
            parallelism=1,
        )
        job.write()
        try:
            print(measured("ours", captured, lambda: job.start().pid), flush=True)
        finally:
            job.end()
        peers: list[subprocess.Popen[bytes]] = []

        def start() -> int:
            peers.append(_seatunnel(arguments.home, captured, folder))
            return peers[0].pid

        try:
            print(measured("SeaTunnel", captured, start), flush=True)
        finally:
            for process in peers:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return 0


def _seatunnel(home: Path, captured: CapturedMySQLWithGtids, folder: Path) -> "subprocess.Popen[bytes]":
    options = captured.server.options(DATABASE)
    source = options["url"] + "?useSSL=false&allowPublicKeyRetrieval=true&rewriteBatchedStatements=true"
    job = _JOB.format(
        source=source,
        target=source.replace(DATABASE, COPY),
        user=options["user"],
        password=options["password"],
        database=DATABASE,
        copy=COPY,
    )
    file = folder / "theirs.conf"
    file.write_text(job, "utf-8")
    command = [str(home / "bin" / "seatunnel.sh"), "--config", str(file), "-m", "local"]
    log = (folder / "theirs.log").open("wb")
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


if __name__ == "__main__":
    sys.exit(main())
