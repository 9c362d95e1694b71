"""What a file sink has published, told by the names of the files alone, and how it takes that back (rule R10)."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress

from seatunnel_core.checkpoint.retraction import Retraction
from seatunnel_core.connectors.file.filesystem import Entry
from seatunnel_core.connectors.file.naming import moment_pattern
from seatunnel_core.connectors.file.staged_name import OWNER, STAGING, committable_id
from seatunnel_core.connectors.file.staging import Target

_ID = "A-Za-z0-9._-"
"""Of what ids of jobs are made: ``job`` is the end of ``another-job``, whose files are not its own."""


def retract(target: Target, expression: str, time_format: str, retraction: Retraction) -> int:
    """Remove the files that ``retraction`` takes, so that they stay away when the machine crashes, and count them.

    Args:
        expression: of the sink's file names, with ``${transactionId}`` or without.
        time_format: what ``${now}`` in it looks like.

    Raises:
        SinkError: names the folder and what stands in the way.
    """
    own = _own_name(target, expression, time_format)
    try:
        return sum(
            _retract_in(target, folder, files, own, retraction)
            for folder, files in target.files.folders(target.root, without=STAGING)
        )
    except OSError as error:
        raise target.failed("cannot be taken back", error, target.root) from error


def _retract_in(
    target: Target, folder: str, files: Sequence[Entry], own: re.Pattern[str], retraction: Retraction
) -> int:
    """The folder is made durable also when nothing goes: an attempt that was killed may have removed what it held."""
    removed = 0
    mine = [found for found in (own.match(file.name) for file in files) if found is not None]
    for found in mine:
        source, epoch, unit = int(found["source"]), int(found["epoch"]), int(found["unit"])
        if retraction.takes(committable_id(found), source=source, epoch=epoch, unit=unit):
            removed += target.files.remove(os.path.join(folder, found.string))
    with suppress(FileNotFoundError):
        target.files.sync_folder(folder)
    return removed


def _own_name(target: Target, expression: str, time_format: str) -> re.Pattern[str]:
    """The beginning of the name of each file that this sink published for this pipeline, whatever stands before its id:
    nothing, what the option says now, or what said it apart from the id when the option was another."""
    before = expression.partition("${transactionId}")[0] if "${transactionId}" in expression else ""
    said = re.escape(before).replace(re.escape("${now}"), moment_pattern(time_format))
    said = said.replace(re.escape("${uuid}"), "[0-9a-f]{32}")
    ours = OWNER.pattern.replace(r"(?P<pipeline>\d+)", str(target.pipeline_id)).replace(
        r"(?P<sink>\d+)", str(target.sink_ordinal)
    )
    return re.compile(f"(?:{said}|.*[^{_ID}]|){re.escape(target.job_id)}{ours}")
