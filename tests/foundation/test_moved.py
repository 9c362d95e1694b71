"""Import paths and names of the version before: what a plugin imports by them is what has moved, with a warning."""

import importlib
import sys
import warnings

import pytest

from seatunnel_core.moved import MOVED
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split

RENAMED = {
    ("seatunnel_core.connectors.source", "News"): "PollResult",
    ("seatunnel_core.connectors.sink", "SinkPlace"): "SinkContext",
    ("seatunnel_core.connectors.sink", "StagingPlace"): "WriterContext",
    ("seatunnel_core.inspector", "Place"): "StorageReference",
    ("seatunnel_storage_api.inventory", "all_that_can_be_listed"): "holdings_despite_refusals",
    ("seatunnel_storage_api.retry", "sort_out"): "as_storage_errors",
}
"""The new names, by an old one in its module."""

IMPORTED = {
    "seatunnel_core.checkpoint.split": "Split WorkUnit Committable",
    "seatunnel_core.config.option": "Option STRING",
    "seatunnel_core.config.shade": "Shade",
    "seatunnel_core.connectors.sink": "Sink SinkWriter Staged SinkPlace StagingPlace",
    "seatunnel_core.connectors.source": "Enumeration Source News",
    "seatunnel_core.connectors.testing": "SinkConformance SourceConformance TransformConformance",
    "seatunnel_core.errors": "CommitError SourceChangedError SourceError",
    "seatunnel_core.inspector": "Place",
    "seatunnel_core.rows.batch": "Batch TableSchema",
    "seatunnel_core.transforms.transform": "Transform",
    "seatunnel_storage_api": "CheckpointStorageFactory StorageAccessError StorageConfigurationError configuration "
    "StorageUnavailableError",
    "seatunnel_storage_api.blob": "Blob BlobStorage",
    "seatunnel_storage_api.credentials": "Credentials CredentialsProvider GROUP load_provider provider_names",
    "seatunnel_storage_api.discovery": "hookimpl",
    "seatunnel_storage_api.envelope": "",
    "seatunnel_storage_api.errors": "CheckpointCorruptedError CheckpointStorageError InvalidIdError NamespaceError "
    "StaleEpochError StorageAccessError StorageClosedError StorageConfigurationError StorageFailureError "
    "StorageUnavailableError StorageUsageError UnsupportedFormatError",
    "seatunnel_storage_api.inventory": "Holding HoldingKind all_that_can_be_listed",
    "seatunnel_storage_api.layout": "TEMPORARY_FOLDER require_job_id",
    "seatunnel_storage_api.mapstore": "MapStore MapStoreFactory",
    "seatunnel_storage_api.retry": "Backoff sort_out",
    "seatunnel_storage_api.secret": "HIDDEN holds_secret",
    "seatunnel_storage_api.state": "PipelineListing PipelineState",
    "seatunnel_storage_api.storage": "CheckpointStorage CheckpointStorageFactory MOST_LISTINGS vanishing",
    "seatunnel_storage_api.testing": "Backdoor CheckpointStorageConformance",
}
"""What the documentation, the examples and the storage plugins of the version before imported, by module."""


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_leads_to_modules_that_are_there(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is {MOVED[old][0]}"):
        importlib.import_module(old)
    for home in MOVED[old]:
        importlib.import_module(home)


@pytest.mark.parametrize("module", IMPORTED)
def test_what_plugins_of_the_version_before_import_is_there(module: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = importlib.import_module(module)
        assert [name for name in IMPORTED[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize(("module", "old"), RENAMED)
def test_an_old_name_is_the_new_one_and_warns(module: str, old: str) -> None:
    home, new = importlib.import_module(module), RENAMED[module, old]
    with pytest.warns(DeprecationWarning, match=f"{old} is {new} now; the old name goes") as warned:
        assert getattr(home, old) is getattr(home, new)
    assert warned[0].filename == __file__


def test_the_names_are_the_same_objects_as_in_their_new_places() -> None:
    sys.modules.pop("seatunnel_core.checkpoint.split", None)
    with pytest.warns(DeprecationWarning, match="goes with the next version"):
        split = importlib.import_module("seatunnel_core.checkpoint.split")
    assert split.Split is Split
    assert split.Committable is Committable
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = split.nothing


def test_a_path_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("seatunnel_core.checkpoint.nothing")
