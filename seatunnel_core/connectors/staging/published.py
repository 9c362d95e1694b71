"""Finding a file sink's published files by their names alone, and removing them for a retraction (rule R10)."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from seatunnel_core.connectors.filesystems.staged_name import OWNER, STAGING, committable_id
from seatunnel_core.connectors.staging.naming import own_beginning
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.work.retraction import Retraction


def retract(target: Target, expression: str, time_format: str, retraction: Retraction) -> int:
    """Remove the files that ``retraction`` selects, durably, and return how many were removed.

    Args:
        target: the folder of the sink.
        expression: the pattern of the sink's file names, with ``${transactionId}`` or without.
        time_format: the format of ``${now}`` in it.
        retraction: which units to remove.

    Raises:
        SinkError: the message names the folder and the obstacle.
    """
    try:
        found = _found(target, expression, time_format)
        return sum(_retract_in(target, folder, files, retraction) for folder, files in found)
    except OSError as error:
        raise target.failed("cannot be taken back", error, target.root) from error


def published(target: Target, expression: str, time_format: str) -> Iterator[str]:
    """Yield the ids of the committables whose files lie in the target.

    The arguments and errors are those of ``retract``.
    """
    try:
        for _, files in _found(target, expression, time_format):
            yield from map(committable_id, files)
    except OSError as error:
        raise target.failed("cannot be listed", error, target.root) from error


def _found(target: Target, expression: str, time_format: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    """Yield each folder with the matches of the files that this sink published for this pipeline."""
    own = _own_name(target, expression, time_format)
    for folder, files in target.files.folders(target.root, without=STAGING):
        yield folder, [found for found in (own.match(file.name) for file in files) if found is not None]


def _retract_in(target: Target, folder: str, mine: Sequence[re.Match[str]], retraction: Retraction) -> int:
    """Remove the selected files of a folder, and synchronise the folder.

    It is synchronised even if no file is left to remove: a killed attempt may have removed them.
    """
    removed = 0
    for found in mine:
        source, epoch, unit = int(found["source"]), int(found["epoch"]), int(found["unit"])
        if retraction.takes(committable_id(found), source=source, epoch=epoch, unit=unit):
            removed += target.files.remove(os.path.join(folder, found.string))
    with suppress(FileNotFoundError):
        target.files.sync_folder(folder)
    return removed


def _own_name(target: Target, expression: str, time_format: str) -> re.Pattern[str]:
    """Return a regular expression for the beginning of each file that this sink published for this pipeline."""
    ours = OWNER.pattern.replace(r"(?P<pipeline>\d+)", str(target.pipeline_id)).replace(
        r"(?P<sink>\d+)", str(target.sink_ordinal)
    )
    return re.compile(own_beginning(expression, time_format) + re.escape(target.job_id) + ours)
