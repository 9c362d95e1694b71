"""Requests to running jobs of the same user on this machine, such as ``--list``."""

import contextlib
import json
import time
from collections.abc import Sequence

from seatunnel_core import stored
from seatunnel_core.cli.control_arguments import ControlArguments, ControlVerb
from seatunnel_core.cli.terminal.text import table
from seatunnel_core.control import client
from seatunnel_core.errors import UsageError
from seatunnel_core.quantity import count, duration
from seatunnel_core.reporting.open_metrics import Sample, machine_samples, page

_HEADINGS = ("job", "name", "process", "runs for", "pipelines", "read", "committed", "last checkpoint")
_NOTHING = "You have no running jobs on this machine. To list stored jobs: seatunnel checkpoints list"


def control(arguments: ControlArguments) -> None:
    """Send a request to running jobs, and print the responses."""
    match arguments.verb:
        case ControlVerb.LIST:
            found = _answers(arguments.job_ids, "status")
            print(table([_HEADINGS, *map(_row, found)], indent="") if found else _NOTHING)
        case ControlVerb.METRICS if arguments.open_metrics:
            print(_page(_answers(arguments.job_ids, "open-metrics")), end="")
        case ControlVerb.METRICS:
            print(json.dumps(_answers(arguments.job_ids, "metrics"), indent=1))
        case ControlVerb.SAVEPOINT:
            for job_id in arguments.job_ids:
                _savepoint(job_id, arguments)
        case ControlVerb.STOP:
            for job_id in arguments.job_ids:
                outcome = client.ask(job_id, {"do": "stop", "at_once": arguments.at_once})["outcome"]
                print(f"Job {job_id}: {outcome or 'ended'}.")


def _answers(job_ids: Sequence[str], verb: str) -> tuple[client.Status, ...]:
    """Return the responses of these jobs, or of all running jobs; jobs that end in the meantime are skipped."""
    if job_ids:
        return tuple(client.ask(job_id, {"do": verb}) for job_id in job_ids)
    found = client.running()
    if verb == "status":
        return found
    answers = []
    for status in found:
        with contextlib.suppress(UsageError):
            answers.append(client.ask(stored.text(status, "job_id"), {"do": verb}))
    return tuple(answers)


def _page(answers: Sequence[client.Status]) -> str:
    samples = [Sample.from_record(record) for answer in answers for record in stored.items(answer, "samples")]
    processes = [stored.number(answer, "pid") for answer in answers]
    states = [stored.text(answer, "state") for answer in answers]
    return page([*samples, *machine_samples(processes, states)])


def _savepoint(job_id: str, arguments: ControlArguments) -> None:
    print(
        f"Requesting a savepoint of job {job_id}; it is complete when all pipelines have stored their part …",
        flush=True,
    )
    request = {
        "do": "savepoint",
        "name": arguments.savepoint_name,
        "stop": not (arguments.keep_running or arguments.drain),
        "drain": arguments.drain,
    }
    taken = client.ask(job_id, request)
    parts = ", ".join(f"{number} at {epoch}-{id}" for number, (epoch, id) in taken["pipelines"].items())
    ending = "The job has stopped" if taken["stopped"] else "The job continues"
    print(f"Savepoint {taken['name']} of job {job_id} is complete: pipeline {parts}. {ending}.")


def _row(job: client.Status) -> tuple[str, ...]:
    views = job["pipelines"]
    ages = [view["last_checkpoint_age_ms"] for view in views]
    age = f"{duration(max(ages) / 1000)} ago" if ages and None not in ages else "none yet"
    return (
        job["job_id"],
        job["name"],
        str(job["pid"]),
        duration(time.time() - job["started_at"]),
        count(len(views)),
        count(sum(view["rows_read"] for view in views)),
        count(sum(view["rows_committed"] for view in views)),
        age,
    )
