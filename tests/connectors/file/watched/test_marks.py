"""What is remembered of a folder, large or small: exact at any time, and short in each checkpoint."""

import json
import random
from typing import Any

import pytest

from seatunnel_core.connectors.file import marks
from seatunnel_core.connectors.file.watching import Memory, Watch
from seatunnel_core.connectors.filesystems.filesystem import FileVersion
from seatunnel_core.errors import StoredValueError
from seatunnel_core.work.parts import with_parts, without_parts


class Engine:
    """Stores parts as the engine does: once each, by a name."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}
        self.in_checkpoint = 0

    def through_checkpoint(self, value: Any) -> Any:
        def store(part: bytes) -> str:
            digest = next((name for name, known in self.parts.items() if known == part), f"{len(self.parts):064x}")
            self.parts[digest] = part
            return digest

        text = json.dumps(without_parts(value, store))
        self.in_checkpoint = len(text)
        return with_parts(json.loads(text), self.parts.__getitem__)

    @property
    def stored(self) -> int:
        return sum(map(len, self.parts.values()))


def mark(number: int, state: int = 0) -> tuple[bytes, bytes]:
    return number.to_bytes(marks.NAME_BYTES), state.to_bytes(marks.STATE_BYTES)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten marks are too many for a checkpoint."""
    monkeypatch.setattr(marks, "MOST_IN_CHECKPOINT", 10)
    monkeypatch.setattr(marks, "_MOST_BYTES", 160)


@pytest.mark.parametrize("seed", range(30))
def test_a_set_is_exact_and_short_whatever_happens_to_it(small: None, seed: int) -> None:
    """Marks come, go, come back and change; now and then the set is emptied, or an older checkpoint is restored."""
    rng, engine = random.Random(seed), Engine()
    current: dict[bytes, bytes] = {}
    runs: marks.Runs = ()
    earlier: list[tuple[Any, dict[bytes, bytes]]] = []
    for _ in range(150):
        for number in rng.sample(range(300), rng.choice((0, 1, 5, 40))):
            name, state = mark(number, rng.randint(0, 3))
            if rng.random() < 0.4:
                current.pop(name, None)
            else:
                current[name] = state
        if rng.random() < 0.03:
            current = {}
        if earlier and rng.random() < 0.05:
            body, current = rng.choice(earlier)
            current = dict(current)
            runs = marks.read({"set": body}, "set")[1]
        body = engine.through_checkpoint(marks.written(current, runs))
        found, runs = marks.read({"set": body}, "set")
        assert found == current
        assert engine.in_checkpoint < 250 + len(runs) * 90
        assert len(runs) < 8
        earlier.append((body, dict(current)))


def test_nothing_new_is_stored_while_nothing_has_changed(small: None) -> None:
    engine = Engine()
    current = dict(mark(number) for number in range(100))
    body = engine.through_checkpoint(marks.written(current, ()))
    stored = engine.stored
    for _ in range(5):
        found, runs = marks.read({"set": body}, "set")
        body = engine.through_checkpoint(marks.written(found, runs))
    assert engine.stored == stored == 8 + 1_600
    assert engine.in_checkpoint < 150


def test_a_growing_set_writes_each_mark_a_few_times(small: None) -> None:
    engine = Engine()
    current: dict[bytes, bytes] = {}
    runs: marks.Runs = ()
    for number in range(4_000):
        current.update((mark(number),))
        if number % 5 == 0:
            found, runs = marks.read({"set": engine.through_checkpoint(marks.written(current, runs))}, "set")
            assert found == current
    assert engine.stored < 4_000 * 16 * 12, "each one about as often as the set doubled"


def test_a_set_about_as_large_as_the_bound_is_not_stored_each_time(small: None) -> None:
    engine, current = Engine(), dict(mark(number) for number in range(10))
    runs: marks.Runs = ()
    for number in range(100, 400):  # 10 and 11 in turn
        name, state = mark(number // 2)
        current.pop(name) if name in current else current.update({name: state})
        runs = marks.read({"set": engine.through_checkpoint(marks.written(current, runs))}, "set")[1]
    assert engine.stored < 20 * 200


def test_a_small_set_has_the_form_that_earlier_versions_read() -> None:
    current = dict(mark(number) for number in range(marks.MOST_IN_CHECKPOINT))
    assert isinstance(marks.written(current, ()), str)


@pytest.mark.parametrize(
    "body",
    [
        {"runs": ["text"], "rest": ""},
        {"runs": [], "rest": ""},
        {"runs": [b""], "rest": "AAAAAAAAAAA="},
        {"runs": [b"\xff" * 8], "rest": "AAAAAAAAAAA="},
        {"runs": [bytes(8) + b"x"], "rest": "AAAAAAAAAAA="},
        {"runs": []},
        {"rest": ""},
        None,
        5,
    ],
)
def test_what_nobody_wrote_is_refused(body: Any) -> None:
    with pytest.raises(StoredValueError):
        marks.read({"set": body}, "set")


class TestLargeFolder:
    """5,000 files: more than four times as many as a checkpoint holds."""

    files = tuple(FileVersion(path=f"/d/{number:05}", size=5, mtime_ns=number) for number in range(5_000))

    def test_each_file_is_read_once_and_checkpoints_are_short(self) -> None:
        engine, watch, memory, now_ms = Engine(), Watch(interval_ms=10_000, most=1_500), Memory(), 10**9
        read: list[str] = []
        for look in range(12):
            late = (FileVersion(path="/d/late", size=5, mtime_ns=1),) if look > 7 else ()
            found = watch.poll((*self.files, *late), memory, now_ms)
            read += [version.path for version in found.taken]
            memory = Memory.of(engine.through_checkpoint(found.memory.body()))
            assert memory == found.memory
            assert engine.in_checkpoint < 100_000
            now_ms += found.again_ms
        assert sorted(read) == sorted([*(version.path for version in self.files), "/d/late"])

    def test_the_memory_of_an_earlier_version_is_read_and_nothing_is_read_twice(self) -> None:
        seen = {bytes.fromhex(f"{number:024x}"): bytes(4) for number in range(5_000)}
        before = {"seen": marks._packed(seen), "missing": "", "ready": "", "fresh": "", "listed_ms": 5}
        memory = Memory.of(before)
        assert memory.seen == seen
        engine = Engine()
        assert Memory.of(engine.through_checkpoint(memory.body())) == memory
        assert engine.in_checkpoint < 1_000
