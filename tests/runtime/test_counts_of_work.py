"""What a small job costs in things that can be counted: a change that makes it cost more is seen at once, anywhere."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from seatunnel_storage_hdfs.local import create

from seatunnel_core.reporting.report import JobOutcome
from tests.figures import Figure
from tests.runtime.command import job
from tests.runtime.ground import ground_in, run_through
from tests.runtime.in_process import InProcessBackend

MORE = 7
CALLS = ("fsync", "link", "unlink", "scandir", "mkdir", "rmdir")


def tables(folder: Path, pipelines: int) -> str:
    """So many pipelines, each from a CSV file of three rows into a folder of its own."""
    sources, sinks = [], []
    for number in range(pipelines):
        path = folder / "in" / f"{number}.csv"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("1\n2\n3\n")
        sources.append(
            f'\n  LocalFile {{ plugin_output = t{number}, path = "{path}", file_format_type = csv, '
            "schema { fields { id = bigint } } }"
        )
        sinks.append(
            f'\n  LocalFile {{ plugin_input = t{number}, path = "{folder}/out-{number}", file_format_type = parquet }}'
        )
    return job("job.mode = BATCH", sources, sinks)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What the process did, by the name of the call."""
    seen: Counter[str] = Counter()

    def counted(name: str) -> None:
        original = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            seen[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(os, name, call)

    for name in CALLS:
        counted(name)
    original = InProcessBackend.run

    def run(self: InProcessBackend, batches: Any, tag: str) -> Any:
        seen["Spark jobs"] += 1
        seen["tasks"] += len(batches)
        return original(self, batches, tag)

    of_units = InProcessBackend.run_units

    def run_units(self: InProcessBackend, batch: Any, tag: str, listener: Any) -> Any:
        seen["Spark jobs"] += 1
        seen["tasks"] += 1
        return of_units(self, batch, tag, listener)

    monkeypatch.setattr(InProcessBackend, "run", run)
    monkeypatch.setattr(InProcessBackend, "run_units", run_units)
    return seen


def test_the_calls_of_small_jobs(tmp_path: Path, counts: Counter[str], figure: Figure) -> None:
    """One table, and eight: what a further one costs is what a job of ten thousand pays ten thousand times."""
    seen = {}
    for pipelines in (1, 1 + MORE):
        folder = tmp_path / str(pipelines)
        with ground_in(folder) as ground:
            ground.work.mkdir(parents=True)
            text = tables(folder, pipelines)
            counts.clear()
            report, _ = run_through(ground.run(text))
        assert report.outcome is JobOutcome.FINISHED, report
        seen[pipelines] = Counter(counts)
    one, eight = seen.values()
    with create({"namespace": f"{tmp_path}/looked-at/"}) as storage:
        if not storage.has_nameless_files:
            pytest.skip("here checkpoints have a name in .tmp first, which costs more links and removals")
    assert {name: one[name] for name in ("Spark jobs", "tasks", "fsync", "link", "unlink")} == {
        "Spark jobs": 1,
        "tasks": 1,
        "fsync": 28,  # of these 10 once a job: its storage, its manifests
        "link": 8,
        "unlink": 5,  # all of them once a job
    }
    # Rounded: of the pipelines of a job two may both try to make a folder that they share.
    each = {name: round((eight[name] - one[name]) / MORE) for name in CALLS}
    assert each == {"fsync": 18, "link": 4, "unlink": 0, "scandir": 8, "mkdir": 7, "rmdir": 5}
    assert eight["Spark jobs"] <= 1 + MORE, "units of several pipelines share a job"
    figure(f"a table of a job costs {each['fsync']} fsyncs and {each['link']} links")


def test_no_function_is_called_by_the_square_of_the_number_of_tables(tmp_path: Path) -> None:
    """Four times as many tables call each function about four times as often, and none of ours sixteen times."""
    few, many = 10, 40
    calls = {}
    for pipelines in (few, many):
        folder = tmp_path / str(pipelines)
        with ground_in(folder) as ground:
            ground.work.mkdir(parents=True)
            text = tables(folder, pipelines)
            with counted_calls() as seen:
                report, _ = run_through(ground.run(text))
        assert report.outcome is JobOutcome.FINISHED, report
        calls[pipelines] = seen
    square = {name: (calls[few][name], count) for name, count in calls[many].items() if count > 8 * calls[few][name]}
    assert not {name: counts for name, counts in square.items() if counts[1] >= many * many / 2}


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Count the calls of our functions, in threads that start meanwhile, too."""
    seen: Counter[str] = Counter()

    def count_call(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and "seatunnel_" in code.co_filename:
            seen[f"{code.co_filename.rpartition('seatunnel_')[2]} {code.co_qualname}"] += 1

    threading.setprofile(count_call)
    sys.setprofile(count_call)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
