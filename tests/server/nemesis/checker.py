"""What must hold when all is over: by what clients were told, what lies in the sinks, and what leaders logged."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from attrs import define, field

from tests.server.nemesis.clients import ENDS, NEVER_BEGUN, STOPPED, Clients, last_state
from tests.server.nemesis.ground import Ground, wait_for_leader
from tests.server.nemesis.history import Call
from tests.server.nemesis.work import Target, Work

LEADS = re.compile(r"this node \((\S+)\) leads in term (\d+),")
ENDED = re.compile(r"\bjob (\S+) ended: (\w+)")
STATED = (
    "consecutive worker processes ended while running this job",  # which were killed, one after the other
    NEVER_BEGUN,
)
"""Reasons for which a job may fail here. Who submitted it submits it again, and it has to finish then."""

TAKEN_BACK = "the job was stopped before it started"


@define(eq=False)
class Verdict:
    """What was found.

    ``problems`` are violations of what must hold; the counts say how many jobs of a kind there were.
    """

    problems: list[str] = field(factory=list)
    lost: int = 0
    """Jobs without an end, or without some of their rows."""

    unfinished: int = 0
    """Those of them that still ran when they were judged."""

    doubled: int = 0
    ends: Counter[str] = field(factory=Counter)
    jobs: int = 0
    unacknowledged: int = 0
    slowest_stop_s: float = 0.0
    reasons: list[str] = field(factory=list)
    """Of jobs that failed."""


def judge(ground: Ground, clients: Clients) -> Verdict:
    """Look at everything once all faults are mended and all clients have left."""
    verdict = Verdict(problems=list(clients.bugs))
    for work in clients.works:
        _judge_job(ground, clients, work, verdict)
    verdict.problems += _logs(ground, clients)
    verdict.problems += slots(ground)
    return verdict


def _judge_job(ground: Ground, clients: Clients, work: Work, verdict: Verdict) -> None:
    history = clients.history
    submits = history.of(work.job_id, "submit")
    acknowledged = any(call.acknowledged for call in submits)
    state, error = last_state(clients, work.job_id)
    verdict.jobs += acknowledged
    verdict.unacknowledged += not acknowledged
    verdict.ends[state or "unknown to the cluster"] += 1
    said = f"job {work.job_id} ({work.fate}), which the cluster calls {state or 'unknown'} {error[:200]}"
    if state not in ENDS and (acknowledged or state):
        verdict.lost += 1
        verdict.unfinished += bool(state)
        verdict.problems.append(f"{said}: it has no end, long after the cluster was whole")
        return
    if state == "FAILED":
        verdict.reasons.append(f"{work.job_id}: {error}")
        if not any(reason in error for reason in STATED):
            verdict.problems.append(f"{said}: nothing was played that it may fail of")
    verdict.problems += [f"{said}: {problem}" for problem in ends_of(history.of(work.job_id, "look", "resume"))]
    told = of_last_life(history.of(work.job_id, work.fate, "resume"))
    verdict.problems += [f"{said}: {problem}" for problem in stops(told, work, state, error)]
    whole = state == "FINISHED" or (work.streaming and state in STOPPED and TAKEN_BACK not in error)
    for target in work.targets:
        judge_rows(ground, target, state, said, verdict, whole=whole)
    verdict.slowest_stop_s = max(verdict.slowest_stop_s, _stop_s(clients, work))


def judge_rows(ground: Ground, target: Target, state: str, said: str, verdict: Verdict, *, whole: bool) -> None:
    """Every row once where the sink is to be ``whole``; none twice, and no strange one, anywhere."""
    found = Counter(target.found(ground.database))
    doubled = [row for row, count in found.items() if count > 1]
    strange = [row for row in found if not 1 <= row <= target.rows]
    missing = target.rows - len(found) if whole else 0
    if doubled or strange:
        verdict.doubled += 1
        verdict.problems.append(f"{said}: {target.place} has rows twice: {doubled[:5]}, or strange ones: {strange[:5]}")
    if missing > 0:
        verdict.lost += 1
        verdict.problems.append(f"{said}: {target.place} lacks {missing} of {target.rows} rows")
    if not state and found:
        verdict.problems.append(f"{said}: {target.place} has {len(found)} rows of it")


def ends_of(calls: list[Call]) -> Iterator[str]:
    """Yield what is wrong with the ends that clients saw: each life of a job has one, and it stays."""
    end = ""
    for call in sorted(calls, key=lambda call: call.ended):
        if call.what == "resume":
            end = ""
        elif call.acknowledged:
            if end and call.said != end:
                yield f"it had ended as {end}, and was {call.said or 'unknown'} later"
            end = call.said if call.said in ENDS else end


def of_last_life(calls: list[Call]) -> list[Call]:
    """Return the calls behind the last resume that was acknowledged: a stop ends one life of a job."""
    calls = sorted(calls, key=lambda call: call.began)
    resumes = [number for number, call in enumerate(calls) if call.what == "resume" and call.acknowledged]
    return calls[resumes[-1] + 1 :] if resumes else calls


def stops(stops: list[Call], work: Work, state: str, error: str) -> Iterator[str]:
    """Yield whether a stop that was acknowledged has been forgotten: then the job went on to its natural end."""
    if work.fate == "run" and state in STOPPED:
        yield "nobody told it to stop"
    if work.streaming and state == "FINISHED":
        yield "it ended by itself, and has no end of its own"
    if work.fate == "run" or not any(call.acknowledged for call in stops) or work.resumed:
        return
    seconds = max(target.rows for target in work.targets) / work.rows_per_second
    if state == "FINISHED" and seconds > 100:
        yield "it was to stop, and ran to its natural end"
    if state == "CANCELED" and work.fate == "savepoint" and TAKEN_BACK not in error:
        yield "it was to stop with a savepoint, and was cancelled"


def _stop_s(clients: Clients, work: Work) -> float:
    """Return how long it took until a job that was told to stop had an end."""
    stops = [call.ended for call in clients.history.of(work.job_id, "cancel") if call.acknowledged]
    ends = [call.ended for call in clients.history.of(work.job_id, "look") if call.said in ENDS and call.acknowledged]
    after = [end for end in ends if stops and end >= stops[0]]
    return min(after) - stops[0] if after else 0.0


def _logs(ground: Ground, clients: Clients) -> Iterator[str]:
    """Yield what the logs of agents say that must not be: two leaders of a term, two ends of a life, a bug of ours."""
    ends, logs = Counter[str](), [member.node.log() for member in ground.members]
    for member, log in zip(ground.members, logs, strict=True):
        ends.update(job_id for job_id, _ in ENDED.findall(log))
        if "Traceback (most recent call last)" in log:
            yield f"the agent {member.node.address} logged a traceback: {log.partition('Traceback')[2][:1_500]}"
    yield from led_twice(logs)
    for job_id, count in ends.items():
        lives = 1 + len({call.began for call in clients.history.of(job_id, "resume")})
        if count > lives:
            yield f"the job {job_id} ended {count} times in {lives} lives"


def led_twice(logs: Iterable[str]) -> Iterator[str]:
    """Yield the terms in which more than one node led, by the logs of all agents."""
    leaders = defaultdict[str, set[str]](set)
    for log in logs:
        for address, term in LEADS.findall(log):
            leaders[term].add(address)
    for term, addresses in leaders.items():
        if len(addresses) > 1:
            yield f"{' and '.join(sorted(addresses))} led in term {term}"


def slots(ground: Ground) -> Iterator[str]:
    """Yield what is wrong with the slots: all of them are free in the end, and no job is left."""
    node = wait_for_leader(ground, wait_s=150).node
    overview = node.ask("GET", "/overview")[1]
    if overview["totalSlot"] != overview["unassignedSlot"] or overview["totalSlot"] == "0":
        yield f"{overview['unassignedSlot']} of {overview['totalSlot']} slots are free in the end"
    status, running = node.ask("GET", "/running-jobs")
    if (status, running) != (200, []):
        yield f"jobs are left: {[job['jobId'] for job in running]}"
