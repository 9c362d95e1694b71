"""Ending code between two of its lines must leave behind what a dead process leaves behind, and no more."""

import importlib.util
from pathlib import Path

from seatunnel_core.connector_api.testing.killing import Killing

CODE = """
import threading

LOCK, OTHER, done = threading.Lock(), threading.Lock(), []

def work():
    for number in range(2):
        with LOCK:
            done.append(number)
        with (
            LOCK as one,
            OTHER as other,
        ):
            done.append(-number)
        with LOCK:
            if number:
                return done
"""


def test_a_lock_is_given_back_wherever_the_code_is_ended(tmp_path: Path) -> None:
    """Python comes back to the line of a ``with`` to leave it. Ended there, a lock of the module stayed taken, and the
    next process of the story, which is the same one, waited for it without end."""
    file = tmp_path / "locked.py"
    file.write_text(CODE)
    spec = importlib.util.spec_from_file_location("locked", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with Killing([file], None) as whole:
        assert module.work() == [0, 0, 1, -1]
    ended = set()
    for moment in range(1, whole.lines + 1):
        with Killing([file], moment) as killing:
            module.work()
        ended.add(killing.place)
        assert not module.LOCK.locked(), killing.place
        assert not module.OTHER.locked(), killing.place
    assert len(ended) >= 8, "nearly every line was the last one"
