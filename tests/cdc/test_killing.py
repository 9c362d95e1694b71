"""A process that is killed at a named step, as ``killing/sitecustomize.py`` does it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cdc.job import KILLING
from tests.cdc.steps import Step
from tests.torture.process import process_of

PROGRAM = """
import os, sys, time
import numbered

def say(text):
    print(text, flush=True)

child = os.fork() if "fork" in sys.argv else None
if child:
    os.waitpid(child, 0)
    say("the child has ended")
    sys.exit(0)
for number in range(5):
    numbered.Counted().one(number)
    say(f"one {number}")
for number in numbered.Counted().all(3):
    say(f"item {number}")
say("end")
time.sleep(60 if child == 0 else 0)
"""
NUMBERED = """
class Counted:
    def one(self, number):
        print("in", number, flush=True)

    def all(self, most):
        yield from range(most)
"""


@pytest.mark.parametrize(
    ("path", "side", "nth", "pattern", "last"),
    [
        ("Counted.one", "before", 2, "", "one 0"),
        ("Counted.one", "after", 2, "", "in 1"),
        ("Counted.one", "before", 1, " 3$", "one 2"),
        ("Counted.all", "before", 1, "", "one 4"),
        ("Counted.all", "within", 2, "", "item 0"),
        ("Counted.all", "after", 1, "", "item 2"),
    ],
)
def test_a_process_is_killed_at_its_step(
    tmp_path: Path, path: str, side: str, nth: int, pattern: str, last: str
) -> None:
    step = Step(name="x", phase="x", at=f"numbered:{path}", side=side, nth=nth, pattern=pattern)
    done = run(tmp_path, step)
    assert (done.returncode, done.stdout.split("\n")[-2]) == (-9, last)
    assert (tmp_path / "told").exists()


def test_a_step_that_is_not_reached_kills_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, Step(name="x", phase="x", at="numbered:Counted.one", nth=6))
    assert (done.returncode, done.stdout.split("\n")[-2]) == (0, "end")
    assert not (tmp_path / "told").exists()


@pytest.mark.parametrize(
    ("victim", "code", "child_lives"), [("driver", -9, True), ("worker", 0, False), ("session", -9, False)]
)
def test_who_is_killed(tmp_path: Path, victim: str, code: int, child_lives: bool) -> None:
    step = Step(name="x", phase="x", at="numbered:Counted.one", victim=victim)
    done = run(tmp_path, step, "fork")
    assert done.returncode == code
    assert ("the child has ended" in done.stdout) == (code == 0)
    pid = int((tmp_path / "told").read_text())
    deadline = time.monotonic() + 10
    while not child_lives and (seen := process_of(pid)) and seen.state != "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    seen = process_of(pid)
    assert (seen is not None and seen.state != "Z") == child_lives
    if child_lives:
        os.kill(pid, 9)


def run(folder: Path, step: Step, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "numbered.py").write_text(NUMBERED)
    path = os.pathsep.join([str(KILLING), str(folder)])
    environment = {**os.environ, "PYTHONPATH": path, "CDC_KILL": json.dumps(step.order(folder / "told"))}
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(folder / "program.py"), *arguments],
            env=environment,
            stdout=output,
            start_new_session=True,
        )
        code = process.wait(60)
    return subprocess.CompletedProcess(process.args, code, (folder / "output").read_text(), "")
