"""The body of a file sink's committable, ``{"files": [[name, folder], …]}``, and its validation.

Each file is in the staging folder of the committable's epoch, and is moved to ``folder`` in the target. If a copy keeps
its original name, this name is the third element. A receipt of the file system, if any, is the last.

The body comes from a checkpoint, and the seal of a checkpoint does not prove its origin. Therefore only names that this
sink gives to files of this unit, and folders below the target, are accepted.
"""

import re

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import CommitError, StoredValueError
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.filesystems.staged_name import STAGING
from seatunnel_core.connectors.staging.target import StagedFile, Target


def staged_files(committable: Committable, target: Target) -> list[StagedFile]:
    """Return the files of a committable, in order; raise ``CommitError`` for files that this sink did not stage."""
    return _files(committable, target, parts=2)


def staged_copies(committable: Committable, target: Target) -> list[StagedFile]:
    """Return the files of a committable, for a sink that keeps the original names of files."""
    return _files(committable, target, parts=3)


def _files(committable: Committable, target: Target, *, parts: int) -> list[StagedFile]:
    try:
        return [_file(each, committable, target, parts) for each in stored.items(committable.body, "files")]
    except StoredValueError as error:
        raise CommitError(
            f"{target.who}: the committable {ascii(committable.id)[:60]} of unit {committable.unit} was not created "
            f"by this sink: {error}. None of its files were published. The checkpoint is from another program or "
            "sink; restore an older checkpoint"
        ) from error


def _file(found: object, committable: Committable, target: Target, parts: int) -> StagedFile:
    wanted = ("name", "folder", "published")[:parts] + ("receipt",) * target.files.gives_receipts
    if not isinstance(found, list | tuple) or len(found) != len(wanted):
        raise StoredValueError(f"'files' must be a list of [{', '.join(wanted)}]")
    written = dict(zip(wanted, found, strict=True))
    name, folder = stored.path(written, "name"), stored.path(written, "folder")
    if "/" in name or not _given_by(name, committable, target):
        raise StoredValueError(f"{ascii(name)[:200]} is not the name of a staged file of this sink")
    published = stored.path(written, "published") if parts == 3 else ""
    if parts == 3 and (published in ("", ".", "..") or "/" in published or (not folder and published == STAGING)):
        raise StoredValueError(f"{ascii(published)[:200]} is not a file name")
    folders = folder.split("/") if folder else []
    if STAGING in folders[:1] or {"", ".", ".."}.intersection(folders):
        raise StoredValueError(f"the folder {ascii(folder)[:200]} is not below the target")
    if folders and not _stays_inside(target, folder):
        raise StoredValueError(f"the folder {ascii(folder)[:200]} is a link that leads out of {target.root}")
    receipt = stored.below(written, "receipt") if "receipt" in written else {}
    return StagedFile(committable.epoch, name, folder, published, receipt)


def _given_by(name: str, committable: Committable, target: Target) -> bool:
    """Return True if ``staged_name`` can create this name for the sink, epoch and unit."""
    sink = f"{target.job_id}-p{target.pipeline_id}-s{target.sink_ordinal}-o"
    unit = f"-e{committable.epoch}-u{committable.unit}-a"
    return re.search(re.escape(sink) + "[0-9]+" + re.escape(unit), name) is not None


def _stays_inside(target: Target, folder: str) -> bool:
    return target.files.stays_inside(target.root, folder)
