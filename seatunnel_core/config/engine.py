"""Configuration of the engine in ``seatunnel.yaml``: file search, parsing and defaults."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.config.cluster_options import MODE
from seatunnel_core.config.document import Block, Position, Scalar, Value, dotted
from seatunnel_core.config.engine_options import (
    ENGINE,
    ENGINE_OF_NODES,
    MAX_RETAINED,
    PLUGIN_CONFIG,
    STORAGE,
    STORAGE_TYPE,
)
from seatunnel_core.config.env import ENV
from seatunnel_core.config.file import load, read_text
from seatunnel_core.config.hazelcast import CLIENT, CLUSTER, note_cluster
from seatunnel_core.config.option import Option, Options
from seatunnel_core.config.problem import Problem, Problems, nearest
from seatunnel_core.config.validation import BlockRules, validate
from seatunnel_core.config.variables import Variables
from seatunnel_storage_api import configuration
from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.errors import CheckpointStorageError

_NOTED = {
    **dict.fromkeys(
        ("classloader-cache-mode", "jar-storage."),
        "connectors are Python packages, which a process imports only once",
    ),
    "telemetry.logs.": "the activity of a job is in its output and log",
    **dict.fromkeys(
        ("metrics-fetch-timeout-ms", "job-metrics-partition-count", "state-cleanup-delay-ms", "stain-trace-"),
        "the metrics and state of a job are kept by its own process",
    ),
    **dict.fromkeys(
        ("coordinator-service.", "slot-service.slot-allocate-strategy", "timer-flush-pool-size"),
        "Spark places the tasks and runs them",
    ),
    "health-metrics-timeout-seconds": "Spark watches its executors",
    "checkpoint.schema-change-timeout": "in this version, the columns of a running job cannot change",
    "metadata.": "this version has no data source service; set the options in the job file",
    **dict.fromkeys(
        ("http.upload-max-file-size-mb", "http.upload-max-request-size-mb"),
        "the body of a request is limited to 10 MiB",
    ),
    "http.log-response-max-size-mb": "logs of any size are sent in pieces",
}
"""Prefixes of SeaTunnel's keys for components that this engine does not have."""

_PLUGIN_KEYS = ("namespace", "storage.type", "fs.defaultFS", "s3.bucket", "oss.bucket", "fs.s3a.endpoint")
"""Storage keys that are often put into the wrong block. Plugins declare their own keys."""


@frozen(kw_only=True)
class StorageConfig:
    """The configured checkpoint storage."""

    type: str
    """Identifier of the storage plugin."""

    max_retained: int
    plugin_config: Mapping[str, str] = field(repr=False)
    """Keys for the plugin; may contain secrets."""

    origin: str
    """File and line of the setting, or ``built-in defaults``."""

    typed: bool = True
    """True if the file sets the type explicitly."""

    idle: frozenset[str] = frozenset()
    """Keys of ``plugin_config`` that have no effect and were already reported with their lines."""

    @property
    def effective(self) -> dict[str, str]:
        """Configuration of the plugin without the ineffective keys, which the plugin would report again."""
        keys = {key: text for key, text in self.plugin_config.items() if key not in self.idle}
        return {**keys, configuration.MAX_RETAINED: str(self.max_retained)}


@frozen(kw_only=True)
class EngineConfig:
    """Options of the engine, which apply to every job."""

    options: Options
    """The options declared in ``ENGINE``."""

    storage: StorageConfig
    file: Path | None
    """Path of the file; ``None`` for built-in defaults."""

    warnings: tuple[Problem, ...] = field(default=(), repr=False)


def find_engine_file(explicit: Path | None, environment: Mapping[str, str], folder: Path) -> Path | None:
    """Return the path of the engine's file; ``None`` if none exists.

    The first of these is used: ``--engine-config``, ``SEATUNNEL_CONFIG``, and ``seatunnel.yaml`` in
    ``$SEATUNNEL_HOME/config/``, ``./config/`` and ``./``. A file specified by one of the first two is returned even if
    it does not exist, so that reading it reports the error.
    """
    named = explicit or (Path(environment["SEATUNNEL_CONFIG"]) if environment.get("SEATUNNEL_CONFIG") else None)
    if named is not None:
        return named
    home = environment.get("SEATUNNEL_HOME")
    places = [Path(home, "config", "seatunnel.yaml")] if home else []
    places += [folder / "config" / "seatunnel.yaml", folder / "seatunnel.yaml"]
    return next((place for place in places if place.is_file()), None)


def load_engine(
    explicit: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    strict: bool = False,
    of_node: bool = False,
) -> EngineConfig:
    """Find and read the engine's file, or use the built-in defaults.

    ``strict`` reports unknown keys in ``plugin-config`` as errors. ``of_node`` is True if a cluster node reads the
    file, because some keys affect only nodes.

    Raises:
        ConfigError: The file cannot be read or is invalid; the message lists every problem with its line.
    """
    known = dict(os.environ if environment is None else environment)
    path = find_engine_file(explicit, known, folder or Path())
    if path is None:
        return default_engine(known)
    problems = Problems(strict=strict)
    tree = load(path, Variables({}, known, by_argument=False), problems)
    config = read_engine(tree, path, problems, ENGINE_OF_NODES if of_node else ENGINE)
    if not of_node and (idle := idle_client_options(path.parent)):
        problems.warn(idle)
    problems.raise_errors()
    return evolve(config, storage=_own_place(config.storage, known), warnings=problems.warnings)


def idle_client_options(folder: Path) -> str:
    """Return a warning if a folder contains ``jvm_client_options``, which only SeaTunnel reads; otherwise ``""``."""
    path = folder / "jvm_client_options"
    lines = [line.strip() for line in read_text(path).splitlines()] if path.is_file() else []
    if not any(line and not line.startswith("#") for line in lines):
        return ""
    return (
        f'{path} has no effect: a client of a cluster has no JVM. Set JAVA_OPTS or -DJvmOption="…" for a job that '
        "runs in this process, and jvm_options for the nodes of a cluster"
    )


def engine_mode(explicit: Path | None, environment: Mapping[str, str], folder: Path) -> str:
    """Return ``mode`` in the engine's file, or ``local`` if no file exists; raise ``ConfigError`` if it is invalid."""
    path = find_engine_file(explicit, environment, folder)
    if path is None:
        return "local"
    problems = Problems()
    below: Value | None = load(path, Variables({}, environment, by_argument=False), Problems())
    for key in ("seatunnel", "engine"):
        below = below.get(key) if isinstance(below, Block) else None
    entries = tuple(entry for entry in below if entry.key == MODE.key) if isinstance(below, Block) else ()
    block = Block(entries, Position(str(path)))
    options = validate(block, (MODE,), BlockRules(what="seatunnel.engine"), problems).options
    problems.raise_errors()
    return str(options[MODE])


def read_engine(
    tree: Block, path: Path | None, problems: Problems, declared: tuple[Option[Any], ...] = ENGINE
) -> EngineConfig:
    """Return the engine configuration that a tree describes."""
    engine = _descend(tree, ("seatunnel", "engine"), problems)
    general, storage = _without_storage(engine)
    rules = BlockRules(what="seatunnel.engine", noted=_NOTED, elsewhere=_ELSEWHERE)
    options = validate(general, declared, rules, problems).options
    return EngineConfig(options=options, storage=read_storage(storage, problems), file=path)


def default_engine(
    environment: Mapping[str, str] | None = None, declared: tuple[Option[Any], ...] = ENGINE
) -> EngineConfig:
    """Return the default configuration, used without an engine file."""
    known = dict(os.environ if environment is None else environment)
    return EngineConfig(options=Options({}, declared), storage=default_storage(known), file=None)


def default_storage(environment: Mapping[str, str]) -> StorageConfig:
    """Return the default storage: local files in the user's state directory."""
    return StorageConfig(
        type="hdfs",
        max_retained=MAX_RETAINED.default or 3,
        plugin_config={"storage.type": "local", "namespace": _state_folder(environment)},
        origin="built-in defaults",
    )


def _state_folder(environment: Mapping[str, str]) -> str:
    state = environment.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path(environment.get("HOME") or Path.home(), ".local", "state")
    return f"{base}/seatunnel/checkpoint/"


def _own_place(storage: StorageConfig, environment: Mapping[str, str]) -> StorageConfig:
    """Return the storage with the path of the built-in default, if the file sets neither a type nor a path.

    Only root could create the plugin's own default path, ``/seatunnel/checkpoint/``.
    """
    if storage.typed or "namespace" in storage.plugin_config:
        return storage
    return evolve(storage, plugin_config={**storage.plugin_config, "namespace": _state_folder(environment)})


def read_storage(block: Block, problems: Problems, *, base: StorageConfig | None = None) -> StorageConfig:
    """Return the storage configured in a ``storage`` block. Missing keys are taken from ``base`` or the defaults."""
    options = validate(block, STORAGE, BlockRules(what="checkpoint.storage"), problems).options
    config = options[PLUGIN_CONFIG] or {}
    kind = options[STORAGE_TYPE] if base is None or options.is_set(STORAGE_TYPE) else base.type
    written = block.get("plugin-config")
    idle = _check_plugin_config(kind, written if isinstance(written, Block) else Block((), block.position), problems)
    if base is not None and not options.is_set(STORAGE_TYPE):
        config = {**base.plugin_config, **config}
        idle |= base.idle
    return StorageConfig(
        type=kind,
        max_retained=options[MAX_RETAINED] if base is None or options.is_set(MAX_RETAINED) else base.max_retained,
        plugin_config=config,
        origin=str(block.position) or "the job's env",
        typed=base is not None or options.is_set(STORAGE_TYPE),
        idle=idle,
    )


def override_storage(engine: EngineConfig, written: Value | None, problems: Problems) -> StorageConfig:
    """Return the storage of a job; ``checkpoint.storage`` in its ``env`` overrides the engine's."""
    if not isinstance(written, Block):
        return engine.storage
    return read_storage(written, problems, base=engine.storage)


def _check_plugin_config(kind: str, written: Block, problems: Problems) -> frozenset[str]:
    """Report an invalid namespace, and keys that have no effect; return the latter."""
    found = _dotted(written, "")
    texts = {key: value.text for key, value, _ in found if isinstance(value, Scalar) and value.value is not None}
    idle = _idle_keys(kind, texts)
    for key, _, position in found:
        if key == "namespace" and not texts.get(key, "/").endswith("/"):
            problems.error(f"the namespace {texts[key]!r} must end with '/'", position, f"Use {texts[key] + '/'!r}")
        elif key in idle:
            problems.lenient(idle[key], position)
    return frozenset(idle)


def _idle_keys(kind: str, configuration: Mapping[str, str]) -> Mapping[str, str]:
    """Return the plugin's notes on ineffective keys. A plugin that cannot be loaded is reported when it is used."""
    try:
        return load_factory(kind).idle_keys(configuration)
    except CheckpointStorageError:
        return {}


def _dotted(block: Block, prefix: str) -> "list[tuple[str, Value, Position]]":
    found: list[tuple[str, Value, Position]] = []
    for entry in block:
        if isinstance(entry.value, Block):
            found += _dotted(entry.value, f"{prefix}{entry.key}.")
        else:
            found.append((dotted(prefix, entry.key), entry.value, entry.position))
    return found


def _descend(tree: Block, path: tuple[str, ...], problems: Problems) -> Block:
    """Return the block at ``path``, and report all other keys as unknown."""
    for depth, wanted in enumerate(path):
        where = ".".join(path[:depth]) or "the engine's file"
        below: Value | None = None
        for entry in tree:
            if entry.key == wanted:
                below = entry.value
            elif depth == 0 and entry.key in (CLUSTER, CLIENT):
                note_cluster(entry, problems)
            elif depth == 0 and entry.key == "map":
                problems.warn("'map' has no effect here: it configures the map store of a cluster", entry.position)
            else:
                hint = (
                    f"Did you mean {wanted!r}?"
                    if nearest(entry.key, [wanted])
                    else (f"The only valid key is {wanted!r}")
                )
                problems.error(f"{where} has no key {entry.key!r}", entry.position, hint)
        if isinstance(below, Block):
            tree = below
        else:
            if below is not None and not (isinstance(below, Scalar) and below.value is None):
                problems.error(f"{wanted!r} takes a block", below.position)
            return Block((), tree.position)
    return tree


def _without_storage(engine: Block) -> tuple[Block, Block]:
    """Return the engine's block without ``checkpoint.storage``, and that block separately."""
    storage = Block((), engine.position)
    general = []
    for entry in engine:
        if entry.key == "checkpoint" and isinstance(entry.value, Block):
            below = entry.value.get("storage")
            if isinstance(below, Block):
                storage = below
                kept = tuple(each for each in entry.value if each.key != "storage")
                entry = type(entry)(entry.key, Block(kept, entry.value.position), entry.position)
        general.append(entry)
    return Block(tuple(general), engine.position), storage


_ELSEWHERE = {option.key: "env of the job file" for option in ENV if option.key not in {o.key for o in ENGINE}} | {
    "storage": "seatunnel.engine.checkpoint",
    **dict.fromkeys(_PLUGIN_KEYS, "seatunnel.engine.checkpoint.storage.plugin-config"),
    **{
        option.key.removeprefix("checkpoint."): "seatunnel.engine.checkpoint"
        for option in ENGINE
        if option.key.startswith("checkpoint.")
    },
}
