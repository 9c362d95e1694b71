"""A parsed job: ``env`` as typed options, and the blocks of its vertices in order."""

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.config.document import CODE, Block, Entry, Items, Position, Scalar, Value, from_code
from seatunnel_core.config.engine_options import ENGINE
from seatunnel_core.config.env import ENV, SHADE_IDENTIFIER, SHADE_OPTIONS, SHADE_PROPERTIES, refuse_master
from seatunnel_core.config.file import load
from seatunnel_core.config.option import Options
from seatunnel_core.config.problem import Problems, nearest
from seatunnel_core.config.shade import Shading, shading
from seatunnel_core.config.validation import BlockRules, Validated, validate
from seatunnel_core.config.variables import KeptValues, Variables
from seatunnel_core.errors import UsageError


class Kind(enum.Enum):
    """Kind of a vertex; the value is the name of its section."""

    SOURCE = "source"
    TRANSFORM = "transform"
    SINK = "sink"


@frozen(kw_only=True)
class RawBlock:
    """An entry of ``source``, ``transform`` or ``sink``."""

    kind: Kind
    identifier: str
    """Name of the plugin as written."""

    block: Block = field(repr=False)
    """Options of the plugin; may contain decrypted secrets."""

    position: Position


@frozen(kw_only=True)
class RawJob:
    """A job from a file or from code, not yet validated by its plugins."""

    origin: str
    """Path of the file; empty for a job built in Python."""

    env: Options
    spark_options: Mapping[str, str] = field(repr=False)
    storage: Value | None = field(default=None, repr=False)
    """The ``checkpoint.storage`` block of ``env``, if present."""

    blocks: tuple[RawBlock, ...] = field(repr=False)
    problems: Problems = field(repr=False)
    """Problems found so far. The planner adds more, so that the user sees all of them together."""


_SECTIONS = ("env", *(kind.value for kind in Kind))
_ENV_RULES = BlockRules(
    what="env",
    free=("spark.",),
    noted={
        "flink.": "this engine runs on Spark",
        "execution.": "it is a Flink option",
        "metalake_": "this version has no data source service; set the options in the job file",
        "openlineage_": "no lineage is reported in this version",
    },
    elsewhere={option.key: "seatunnel.yaml, under seatunnel.engine" for option in ENGINE},
)


def load_job(path: Path, variables: Variables | None = None, *, strict: bool = False) -> RawJob:
    """Read a job file. Variables may also be set in a file next to it or in a keyring.

    Raises:
        ConfigError: The file cannot be read or parsed. Problems with single keys are in ``problems`` of the result.
    """
    problems = Problems(strict=strict)
    kept = KeptValues(path.parent, problems)
    tree = load(path, evolve(variables or Variables(), elsewhere=kept.value), problems)
    return read_job(tree, str(path), problems)


def job_from_code(
    env: Mapping[str, Any], nodes: Sequence[tuple[Kind, str, Mapping[str, Any]]], *, strict: bool = True
) -> RawJob:
    """Return a job built in code; options are given by name, with Python objects as values."""
    problems = Problems(strict=strict)
    blocks = tuple(Entry("", from_code(options), CODE) for _, _, options in nodes)
    raw = tuple(
        RawBlock(kind=kind, identifier=identifier, block=_as_block(entry.value), position=CODE)
        for (kind, identifier, _), entry in zip(nodes, blocks, strict=True)
    )
    env_block = _as_block(from_code(env))
    return _raw_job(env_block, raw, str(CODE), problems)


def read_job(tree: Block, origin: str, problems: Problems) -> RawJob:
    """Return the job described by a tree."""
    env, blocks = read_sections(tree, origin, problems)
    return _raw_job(env, blocks, origin, problems)


def read_sections(tree: Block, origin: str, problems: Problems) -> tuple[Block, tuple[RawBlock, ...]]:
    """Return ``env`` unchanged, and the blocks of all vertices in order."""
    env = Block((), tree.position)
    blocks: list[RawBlock] = []
    by_kind: dict[Kind, list[RawBlock]] = {}
    for entry in tree:
        if entry.key == "env":
            env = entry.value if isinstance(entry.value, Block) else env
            if not isinstance(entry.value, Block):
                problems.error("env must be a block of options", entry.position)
        elif entry.key in _SECTIONS:
            by_kind[Kind(entry.key)] = _entries(Kind(entry.key), entry.value, problems)
        else:
            _unknown_section(entry, problems)
    for kind in Kind:
        blocks += by_kind.get(kind, [])
    for kind in (Kind.SOURCE, Kind.SINK):
        if not by_kind.get(kind) and not problems.errors:
            problems.error(f"the job has no {kind.value}", Position(origin), f"Add {kind.value} {{ … }}")
    return env, tuple(blocks)


def _raw_job(env: Block, blocks: tuple[RawBlock, ...], origin: str, problems: Problems) -> RawJob:
    validated = read_env(env, problems)
    refuse_master(env.get("spark.master") or _below(env, ("spark", "master")), problems)
    try:
        found = read_shading(validated.options)
        blocks = blocks if found is None else decrypted(blocks, found, problems)
    except UsageError as error:
        named = env.get("shade.identifier") or _below(env, ("shade", "identifier")) or env
        problems.error(str(error), named.position)
    return RawJob(
        origin=origin,
        env=validated.options,
        spark_options=validated.free,
        storage=env.get("checkpoint.storage") or _below(env, ("checkpoint", "storage")),
        blocks=blocks,
        problems=problems,
    )


def read_env(env: Block, problems: Problems) -> Validated:
    """Return the options of ``env``, and its Spark configuration."""
    return validate(env, ENV, _ENV_RULES, problems)


def read_shading(env: Options) -> Shading | None:
    """Return the encryption configured in ``env``, or ``None``; raises the errors of ``shading``."""
    return shading(env[SHADE_IDENTIFIER], tuple(env[SHADE_OPTIONS] or ()), env[SHADE_PROPERTIES] or {})


def shaded(raw: RawBlock) -> bool:
    """Return True if the block may have encrypted options, that is, if it is a source or a sink."""
    return raw.kind is not Kind.TRANSFORM


def decrypted(blocks: tuple[RawBlock, ...], found: Shading, problems: Problems) -> tuple[RawBlock, ...]:
    """Return the blocks with their encrypted options decrypted."""

    def problem(key: str, scalar: Scalar) -> None:
        problems.error(
            f"{key!r} is not encrypted with the shade {found.shade.identifier!r} (the value is not shown)",
            scalar.position,
            "Encrypt the file with seatunnel --encrypt -c FILE, and the values of its variables, or remove "
            "shade.identifier",
        )

    return tuple(evolve(raw, block=found.decrypted(raw.block, problem)) if shaded(raw) else raw for raw in blocks)


def _below(block: Block, path: tuple[str, ...]) -> Value | None:
    found: Value | None = block
    for key in path:
        found = found.get(key) if isinstance(found, Block) else None
    return found


def _unknown_section(entry: Entry, problems: Problems) -> None:
    """Report an unknown section if it looks like a mistake. Other keys may be referenced by ``${…}``."""
    close = nearest(entry.key, _SECTIONS)
    message = f"a job file has no section {entry.key!r}"
    if any(entry.key == option.key or option.key.startswith(f"{entry.key}.") for option in ENV):
        problems.error(message, entry.position, "It belongs in env")
    elif close:
        problems.error(message, entry.position, f"Did you mean {close!r}?")
    elif isinstance(entry.value, Block):
        problems.lenient(message, entry.position, f"The sections of a job file are {', '.join(_SECTIONS)}")


def _entries(kind: Kind, section: Value, problems: Problems) -> list[RawBlock]:
    """Return the plugins of a section: repeated ``Name { … }`` blocks, or a list with ``plugin_name``."""
    if isinstance(section, Items):
        return [raw for item in section.values if (raw := _listed(kind, item, problems)) is not None]
    if isinstance(section, Block):
        return [raw for entry in section if (raw := _named(kind, entry, problems)) is not None]
    if section.value is not None:
        problems.error(f"{kind.value} takes blocks: {kind.value} {{ Name {{ … }} }}", section.position)
    return []


def _named(kind: Kind, entry: Entry, problems: Problems) -> RawBlock | None:
    value = entry.value
    if isinstance(value, Scalar) and value.value is None:
        value = Block((), entry.position)
    if not isinstance(value, Block):
        problems.error(
            f"{kind.value} {entry.key!r} must be a block of options", entry.position, f"Use {entry.key} {{ … }}"
        )
        return None
    return RawBlock(kind=kind, identifier=entry.key, block=value, position=entry.position)


def _listed(kind: Kind, item: Value, problems: Problems) -> RawBlock | None:
    """Return the plugin in ``{plugin_name: X, …}``, or in YAML ``X: {…}``."""
    if not isinstance(item, Block):
        problems.error(f"each entry of the list {kind.value!r} must be a block with plugin_name", item.position)
        return None
    name = item.get("plugin_name")
    if isinstance(name, Scalar) and name.value is not None:
        rest = Block(tuple(entry for entry in item if entry.key != "plugin_name"), item.position)
        return RawBlock(kind=kind, identifier=name.text, block=rest, position=item.position)
    if len(item.entries) == 1 and isinstance(item.entries[0].value, Block | Scalar):
        return _named(kind, item.entries[0], problems)
    problems.error(f"this {kind.value} has no plugin name", item.position, "Add plugin_name")
    return None


def _as_block(value: Value) -> Block:
    assert isinstance(value, Block)
    return value
