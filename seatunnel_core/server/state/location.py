"""Location of the cluster's state: the ``map:`` block of ``hazelcast.yaml``, or else the checkpoint storage."""

from collections.abc import Mapping
from pathlib import Path

import yaml
from seatunnel_storage_mapstore.map_config import MapConfig, parse
from seatunnel_storage_mapstore.maps import CLUSTER_NAME, TYPE, storage_configuration

from seatunnel_core.config.engine import EngineConfig
from seatunnel_core.config.file import read_text
from seatunnel_core.errors import UsageError
from seatunnel_core.server.state.logged_store import MAP, LoggedStore
from seatunnel_core.server.state.metadata_url import map_properties
from seatunnel_core.server.state.store import ClusterStore
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api import secret
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.discovery import load_factory, open_storage
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.layout import require_job_id
from seatunnel_storage_api.storage import CheckpointStorage

JDBC = "jdbc"
"""Type of a storage or ``map-store`` that keeps the state in database tables."""

FOLDER = "cluster"
"""Default folder of the state, inside the checkpoint namespace."""


def open_store(
    engine: EngineConfig,
    hazelcast_file: Path | None,
    cluster_name: str,
    *,
    metadata_url: str | None = None,
    answer_s: float = 5.0,
) -> ClusterStore:
    """Open the store of a cluster's state without claiming it.

    ``metadata_url`` is the database to use if the cluster file has no ``map:`` block. ``answer_s`` is the time limit of
    a database request, in seconds; a heartbeat that takes longer would be stored after its lease has expired.

    Raises:
        UsageError: The configuration is invalid.
        CheckpointStorageError: The storage fails or does not respond.
    """
    properties = _properties(hazelcast_file, cluster_name, metadata_url)
    if properties is not None:
        return _of_map(properties, answer_s)
    _require_folder_name(cluster_name)
    if engine.storage.type == JDBC:
        configuration = secret.resolved(engine.storage.effective)
        return _in_database(configuration, f"{shared.namespace(configuration)}{FOLDER}/{cluster_name}", answer_s)
    made = open_storage(engine.storage.type, engine.storage.effective)
    return _logged(made, engine.storage.type, f"{FOLDER}/{cluster_name}/")


def open_map_storage(
    hazelcast_file: Path | None, cluster_name: str, metadata_url: str | None
) -> CheckpointStorage | None:
    """Open the storage of the ``map:`` block or of the metadata URL; return ``None`` if there is neither."""
    properties = _properties(hazelcast_file, cluster_name, metadata_url)
    if properties is None:
        return None
    if properties.get(TYPE) == JDBC:
        return load_factory(JDBC).create(storage_configuration({**properties, TYPE: ""}))
    return load_factory("hdfs").create(storage_configuration(properties))


def _properties(hazelcast_file: Path | None, cluster_name: str, metadata_url: str | None) -> dict[str, str] | None:
    """Return the properties of the ``map:`` block or of the metadata URL; ``None`` if there is neither."""
    config = None if hazelcast_file is None else _map_config(hazelcast_file)
    if config is not None and config.enabled:
        return {CLUSTER_NAME: cluster_name, **secret.resolved(config.properties)}
    return None if metadata_url is None else {CLUSTER_NAME: cluster_name, **map_properties(metadata_url)}


def _of_map(properties: dict[str, str], answer_s: float) -> ClusterStore:
    if properties.get(TYPE) != JDBC:
        return _logged(load_factory("hdfs").create(storage_configuration(properties)), "hdfs", "")
    beneath = storage_configuration({**properties, TYPE: ""})  # resolves namespace and name
    return _in_database(beneath, beneath[shared.NAMESPACE].removesuffix("/"), answer_s)


def _in_database(configuration: Mapping[str, str], name: str, answer_s: float) -> ClusterStore:
    shared.warn(load_factory(JDBC).idle_keys(configuration).values())
    from seatunnel_storage_jdbc.factory import open_database, table_prefix

    database = open_database(configuration, answer_s=max(1, round(answer_s)))
    from seatunnel_core.server.state.sql_store import SqlStore  # needs SQLAlchemy

    try:
        store = SqlStore(database, table_prefix(configuration), name)
        shared.warn(store.attempt(database.weaknesses))
        return store
    except BaseException:
        database.close()
        raise


def _logged(made: CheckpointStorage, kind: str, prefix: str) -> ClusterStore:
    if not isinstance(made, BlobStorage):
        made.close()
        raise UsageError(
            f"a checkpoint storage of type {kind!r} cannot store the cluster's state: "
            "set type: hdfs or jdbc, or a map-store block for engine* in hazelcast.yaml"
        )
    return LoggedStore(made, prefix)


def _map_config(path: Path) -> MapConfig | None:
    document = yaml.safe_load(read_text(path))
    if not isinstance(document, Mapping):
        return None
    at_top = document.get("map")  # next to ``hazelcast:``, as in SeaTunnel's documentation, or below it
    try:
        return parse(document if at_top is None else {"map": at_top}).of(MAP)
    except StorageConfigurationError as error:
        raise UsageError(f"{path}: {error}") from error


def _require_folder_name(cluster_name: str) -> None:
    try:
        require_job_id(cluster_name)
    except ValueError as error:
        raise UsageError(
            f"cluster-name {cluster_name!r} is invalid: use 1 to 128 characters from A-Z a-z 0-9 . _ -"
        ) from error
