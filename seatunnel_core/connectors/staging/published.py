"""What a file sink has published, told by the names of the files alone, and how it takes that back (rule R10)."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from seatunnel_core.connectors.filesystems.staged_name import OWNER, STAGING, committable_id
from seatunnel_core.connectors.staging.naming import own_beginning
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.work.retraction import Retraction


def retract(target: Target, expression: str, time_format: str, retraction: Retraction) -> int:
    """Remove the files that ``retraction`` takes, so that they stay away when the machine crashes, and count them.

    Args:
        expression: of the sink's file names, with ``${transactionId}`` or without.
        time_format: what ``${now}`` in it looks like.

    Raises:
        SinkError: names the folder and what stands in the way.
    """
    try:
        found = _found(target, expression, time_format)
        return sum(_retract_in(target, folder, files, retraction) for folder, files in found)
    except OSError as error:
        raise target.failed("cannot be taken back", error, target.root) from error


def published(target: Target, expression: str, time_format: str) -> Iterator[str]:
    """The ids of the committables whose files lie in the target; as for ``retract``."""
    try:
        for _, files in _found(target, expression, time_format):
            yield from map(committable_id, files)
    except OSError as error:
        raise target.failed("cannot be listed", error, target.root) from error


def _found(target: Target, expression: str, time_format: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    """By folder: the names of the files that this sink published for this pipeline."""
    own = _own_name(target, expression, time_format)
    for folder, files in target.files.folders(target.root, without=STAGING):
        yield folder, [found for found in (own.match(file.name) for file in files) if found is not None]


def _retract_in(target: Target, folder: str, mine: Sequence[re.Match[str]], retraction: Retraction) -> int:
    """The folder is made durable also when nothing goes: an attempt that was killed may have removed what it held."""
    removed = 0
    for found in mine:
        source, epoch, unit = int(found["source"]), int(found["epoch"]), int(found["unit"])
        if retraction.takes(committable_id(found), source=source, epoch=epoch, unit=unit):
            removed += target.files.remove(os.path.join(folder, found.string))
    with suppress(FileNotFoundError):
        target.files.sync_folder(folder)
    return removed


def _own_name(target: Target, expression: str, time_format: str) -> re.Pattern[str]:
    """The beginning of the name of each file that this sink published for this pipeline."""
    ours = OWNER.pattern.replace(r"(?P<pipeline>\d+)", str(target.pipeline_id)).replace(
        r"(?P<sink>\d+)", str(target.sink_ordinal)
    )
    return re.compile(own_beginning(expression, time_format) + re.escape(target.job_id) + ours)
