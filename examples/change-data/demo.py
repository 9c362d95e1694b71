"""The guide to change data capture as one command: ``make cdc-demo``.

It starts a private PostgreSQL server, writes through six connections, copies the tables with a job, kills the job with
``kill -9`` during the copy and again while it follows the log, resumes it each time with the command that it printed,
and compares source and copy row by row.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
OUTPUT = Path("demo-output/change-data")
WAIT_S = 180.0
RESUME = re.compile(r"resume it with:\s+(\S+ .+)")
RUNNING: list["subprocess.Popen[bytes]"] = []


def main() -> int:
    """Run the guide; return the exit code of the comparison."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="seatunnel-change-data-")) / "server"
    folder.parent.chmod(0o755)  # PostgreSQL runs as another user if root starts it
    OUTPUT.mkdir(parents=True, exist_ok=True)
    try:
        return play(folder)
    finally:
        for process in RUNNING:
            if process.poll() is None:
                process.kill()
                process.wait()
        script("server.py", "stop", "--folder", str(folder))
        folder.parent.rmdir()


def play(folder: Path) -> int:
    port = free_port()
    said = script("server.py", "start", "--folder", str(folder), "--port", str(port))
    os.environ.update(re.findall(r"(PG\w+)=(\S+)", said))
    print(f"PostgreSQL runs on port {port}.", flush=True)
    writer = begin("writer.log", [sys.executable, str(HERE / "writer.py")])
    until("the tables are there", lambda: "writing begins" in log("writer.log"))
    job = ["seatunnel", "-c", str(HERE / "copy.conf"), "--set-job-id", f"shop-copy-{os.getpid()}"]
    job += ["--engine-config", str(engine_file())]
    for number, moment in enumerate(("it copies the tables", "it follows the log", ""), 1):
        process = begin(f"job-{number}.log", [str(BIN / job[0]), *job[1:]])
        until("the job runs", lambda number=number: RESUME.search(log(f"job-{number}.log")))  # type: ignore[misc]
        (printed,) = RESUME.findall(log(f"job-{number}.log"))[:1]
        job = shlex.split(printed)
        if moment:
            if number > 1:
                until("the copy has all rows", lambda: ": 0.00\n" in script("compare.py", "--watch", "1", code=1))
                print(script("compare.py", "--watch", "3"), end="", flush=True)
            kill(process, moment)
    writer.terminate()
    writer.wait(WAIT_S)
    print(f"The writer ended: {log('writer.log').splitlines()[-1]}", flush=True)
    compared = subprocess.run([sys.executable, str(HERE / "compare.py"), "--wait", "120"], check=False)
    process.send_signal(signal.SIGINT)
    until("the job has stopped", lambda: process.poll() is not None)
    return compared.returncode or (process.returncode != 130)


def kill(process: "subprocess.Popen[bytes]", moment: str) -> None:
    """Kill a job with ``kill -9``."""
    process.kill()
    process.wait()
    print(f"Killed the job with kill -9 while {moment}; resuming it with the command that it printed.", flush=True)


def engine_file() -> Path:
    file = OUTPUT / "seatunnel.yaml"
    state = (OUTPUT / "state").absolute()
    file.write_text(
        "seatunnel:\n  engine:\n    checkpoint:\n      storage:\n        type: hdfs\n        plugin-config:\n"
        f"          storage.type: hdfs\n          fs.defaultFS: file:///\n          namespace: {state}/\n"
    )
    return file


def script(name: str, *arguments: str, code: int = 0) -> str:
    """Run a program of the guide, and return its output."""
    done = subprocess.run([sys.executable, str(HERE / name), *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, code):
        sys.exit(f"{name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def begin(name: str, command: list[str]) -> "subprocess.Popen[bytes]":
    """Start a process with its output in a file."""
    with (OUTPUT / name).open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    RUNNING.append(process)
    return process


def log(name: str) -> str:
    return (OUTPUT / name).read_text("utf-8", errors="replace")


def until(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline or any(process.poll() not in (None, 0, -9, 130) for process in RUNNING):
            sys.exit(f"not in {WAIT_S:.0f} s, or a process ended: {what}; see {OUTPUT}")
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
