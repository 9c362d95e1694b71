"""``seatunnel --async``: runs the job in a separate process that outlives this command and its terminal."""

import json
import os
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.cli.arguments import RunArguments
from seatunnel_core.cli.job_files import begun_before_this, read_job
from seatunnel_core.cli.resume import program, resume_command
from seatunnel_core.control.private_files import open_private, private_folder
from seatunnel_core.spark.starting.log_folder import log_folder


def run_in_background(arguments: RunArguments) -> int:
    """Start the job in a separate process, and return as soon as the job can be resumed by its ID.

    The job writes its output to a file. If the process ends before the job has started, print that file and return its
    exit code.
    """
    request = read_job(arguments)
    begun_before = begun_before_this(arguments, request)
    job_id = arguments.restore or arguments.set_job_id or begun_before or new_job_id()
    output = log_folder(os.environ) / f"{job_id}.out"
    private_folder(output.parent)
    reads, writes = os.pipe()
    with open(reads, "rb") as begun:
        try:
            job = _start(_command(arguments, job_id, begun_before, begun_to=writes), output, keep=writes)
        finally:
            os.close(writes)
        try:
            runs = bool(begun.read(1))  # empty if the process ended before the job started
        except KeyboardInterrupt:
            job.terminate()
            job.wait()
            raise
    if not runs:
        code = job.wait()
        print(output.read_text(encoding="utf-8", errors="replace"), end="")
        return code
    print(_summary(arguments, job_id, job.pid, output, request.secrets))
    job.returncode = 0  # the process is detached; Popen must not warn that it still runs
    return 0


def _command(arguments: RunArguments, job_id: str, begun_before: str | None, *, begun_to: int) -> list[str]:
    typed = [argument for argument in arguments.typed if argument != "--async"]
    how = "--set-job-id" if begun_before is None else "-r"
    named = [] if arguments.restore or arguments.set_job_id else [how, job_id]
    return [*program(), *typed, *named, "--begun-to", str(begun_to)]


def _start(command: Sequence[str], output: Path, *, keep: int) -> "subprocess.Popen[bytes]":
    with open_private(output, "wb") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            pass_fds=[keep],
            start_new_session=True,  # neither Ctrl-C nor the end of this terminal affects it
        )


def _summary(arguments: RunArguments, job_id: str, pid: int, output: Path, secrets: Collection[str]) -> str:
    resume = resume_command(arguments.typed, job_id, secrets)
    if arguments.log_format == "json":
        return json.dumps({"job": job_id, "process": pid, "output": str(output), "resume": resume})
    seatunnel = program()[-1] if len(program()) == 1 else " ".join(program())
    return (
        f"Job {job_id} runs in the background, in process {pid}. If it stops, resume it with:\n"
        f"  {resume}\n"
        f"Status: {seatunnel} -j {job_id}    stop: {seatunnel} -can {job_id}\n"
        f"Output: {output}"
    )
