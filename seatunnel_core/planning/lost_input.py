"""Rejection of jobs with a sink that clears a source's folder, or that writes into a folder watched by a source."""

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

from seatunnel_core.config.problem import Problems
from seatunnel_core.planning.plan import PlannedPipeline


def refuse_lost_input(pipelines: Iterable[PlannedPipeline], problems: Problems) -> None:
    """Report every sink that clears a folder which a source of any pipeline of the job reads."""
    known = list(pipelines)
    for sink in (sink for pipeline in known for sink in pipeline.sinks):
        mode = sink.sink.save_mode
        emptied = None if mode is None else mode.emptied_folder
        if emptied is None:
            continue
        keep = "mode = append" if "mode" in sink.sink.options else "data_save_mode = APPEND_DATA"
        for source in (source for pipeline in known for source in pipeline.sources):
            for read in (path for path in source.source.read_paths if overlap(emptied, path)):
                problems.error(
                    f"the sink {sink.name!r} empties {emptied} when the job starts, and the source {source.name!r} "
                    f"reads {read}: it would delete its own input",
                    suggestion=f"Write to another folder, or set {keep}",
                )


def refuse_endless_input(pipelines: Iterable[PlannedPipeline], problems: Problems) -> None:
    """Report every sink that writes into a folder which a source of any pipeline of the job watches for new files."""
    known = list(pipelines)
    watching = [source for pipeline in known for source in pipeline.sources if not source.source.bounded]
    for sink in (sink for pipeline in known for sink in pipeline.sinks if watching):
        written = sink.sink.target_folder
        for source in watching:
            for read in (path for path in source.source.read_paths if written and overlap(written, path)):
                problems.error(
                    f"the sink {sink.name!r} writes to {written}, and the source {source.name!r} watches {read}: "
                    "the job would endlessly read its own output",
                    suggestion="Write to another folder",
                )


def overlap(folder: str, pattern: str) -> bool:
    """Return True if a folder equals, contains or is inside a path, which may contain ``*``, ``?`` and ``[…]``."""
    for name, part in zip(_names(folder), _names(pattern), strict=False):
        if part == "**":
            return True
        if name != part and not fnmatchcase(name, part):
            return False
    return True


def _names(path: str) -> list[str]:
    """Return the components of a path from the root; links are followed as far as the path exists."""
    return [name for name in os.path.realpath(path).split(os.sep) if name]
