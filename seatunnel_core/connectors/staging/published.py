"""Search for the published files of a file sink by name, and their removal in a rollback (rule R10)."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from attrs import frozen

from seatunnel_core.connector_api.values import Retraction
from seatunnel_core.connectors.filesystems.staged_name import OWNER, STAGING, committable_id
from seatunnel_core.connectors.staging.naming import own_beginning
from seatunnel_core.connectors.staging.target import Target


@frozen
class NamePattern:
    """Options that determine a sink's file names."""

    expression: str
    """Pattern of the file names, with or without ``${transactionId}``."""

    time_format: str
    """Format of ``${now}`` in the pattern."""


def retract(target: Target, pattern: NamePattern, retraction: Retraction) -> int:
    """Durably remove the files that ``retraction`` selects, and return their number."""
    with target.errors("cannot be rolled back", target.root):
        found = _found(target, [pattern])
        return sum(_retract_in(target, folder, files, retraction) for folder, files in found)


def published(target: Target, patterns: Sequence[NamePattern]) -> Iterator[str]:
    """Yield the IDs of the committables with files in the target that match any of the patterns."""
    with target.errors("cannot be listed", target.root):
        for _, files in _found(target, patterns):
            yield from map(committable_id, files)


def _found(target: Target, patterns: Sequence[NamePattern]) -> Iterator[tuple[str, list[re.Match[str]]]]:
    own = own_name(target, patterns)
    for folder, files in target.files.folders(target.root, without=STAGING):
        yield folder, [found for found in (own.match(file.name) for file in files) if found is not None]


def _retract_in(target: Target, folder: str, mine: Sequence[re.Match[str]], retraction: Retraction) -> int:
    """Remove the selected files of a folder, and sync it even if a killed attempt has already removed them."""
    removed = 0
    for found in mine:
        source, epoch, unit = int(found["source"]), int(found["epoch"]), int(found["unit"])
        if retraction.takes(committable_id(found), source=source, epoch=epoch, unit=unit):
            removed += target.files.remove(os.path.join(folder, found.string))
    with suppress(FileNotFoundError):
        target.files.sync_folder(folder)
    return removed


def own_name(target: Target, patterns: Sequence[NamePattern]) -> re.Pattern[str]:
    """Return a regular expression for the name prefix of files that this sink published for this pipeline."""
    ours = OWNER.pattern.replace(r"(?P<pipeline>\d+)", str(target.pipeline_id)).replace(
        r"(?P<sink>\d+)", str(target.sink_ordinal)
    )
    beginnings = "|".join({own_beginning(each.expression, each.time_format): None for each in patterns})
    return re.compile(f"(?:{beginnings}){re.escape(target.job_id)}{ours}")
