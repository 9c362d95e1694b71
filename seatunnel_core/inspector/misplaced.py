"""Detection of wrong folders. A folder without checkpoints has no damage, so its verification would succeed."""

import re
from collections.abc import Sequence

from seatunnel_core.inspector.archive import ArchiveStorage
from seatunnel_core.inspector.reference import title
from seatunnel_core.inspector.survey import inventory_of
from seatunnel_core.quantity import pick
from seatunnel_storage_api import layout
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.inventory import SEALED, HoldingKind
from seatunnel_storage_api.storage import CheckpointStorage

_OURS = SEALED | {HoldingKind.MISNAMED, HoldingKind.UNREADABLE}
_MAP = re.compile(r"(?P<above>.*/)?[^/]+/\d{6}/(epochs/\d{10}\.epoch|log/\d{10}-\d{20}\.(segment|snapshot))", re.ASCII)
_MAPS_FOLDER = "map-store/"
_THEIR_NAMESPACE = "use the namespace in which the jobs store checkpoints, or their engine file (*.yaml)"


def misplaced(storage: CheckpointStorage) -> str | None:
    """Return a message about the content of a folder without checkpoints; ``None`` if it has checkpoints."""
    holdings = inventory_of(storage).holdings()
    keys = [holding.key for holding in holdings if holding.kind is HoldingKind.FOREIGN]
    maps = next((found for found in map(_MAP.fullmatch, keys) if found), None)
    if maps is None and any(holding.kind in _OURS for holding in holdings):
        return None
    namespace = storage.namespace if isinstance(storage, BlobStorage) else ""
    if maps is not None:
        above = f"{namespace}{maps['above'] or ''}".removesuffix(_MAPS_FOLDER)
        advice = f"it is a storage of the type map-store: use --from map-store -p namespace={above}"
    elif not keys:
        advice = f"it is empty or does not exist: {_THEIR_NAMESPACE}"
    else:
        advice = (
            f"it contains {pick(len(keys), 'object')} of other programs, such as {keys[0]}: {_instead(storage, keys)}"
        )
    return f"{title(storage)} holds no checkpoints: {advice}"


def _instead(storage: CheckpointStorage, keys: Sequence[str]) -> str:
    namespace = storage.namespace if isinstance(storage, BlobStorage) else ""
    if isinstance(storage, ArchiveStorage):
        return "use the name of a file created by export"
    for levels, inside in ((1, "job/"), (2, "job/000001/")):
        if any(layout.job_of(inside + key) for key in keys):
            above = "/".join(namespace.rstrip("/").split("/")[:-levels])
            return f"this folder belongs to a job; use the namespace above it: {above}/"
    below = next((folder for key in keys if (folder := _folder_with_jobs(key))), None)
    if below is not None:
        return f"the checkpoints are in a subfolder; use that namespace: {namespace}{below}"
    return _THEIR_NAMESPACE


def _folder_with_jobs(key: str) -> str | None:
    parts = key.split("/")
    for depth in range(1, len(parts)):
        if layout.job_of("/".join(parts[depth:])) is not None:
            return "/".join(parts[:depth]) + "/"
    return None
