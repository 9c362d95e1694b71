"""Jobs as JSON values, with secrets encrypted or decrypted by the shade in their ``env``.

Variables are not substituted, so that values from ``-i`` or the environment are not stored in the file.
"""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import evolve

from seatunnel_core.config.document import Block, Items, Scalar, Value
from seatunnel_core.config.job_file import (
    Kind,
    RawBlock,
    decrypted,
    read_env,
    read_sections,
    read_shading,
    shaded,
)
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.shade import Shading
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import UsageError

Read = Callable[[Variables, Problems], Block]
"""Function that parses a job file: ``file.load`` or ``file.parse`` with the first arguments bound."""

Left = Callable[[str, Scalar, str], None]
"""Callback that receives the key, the value and the reason for each option that is left unchanged."""


def encrypted_job(read: Read, origin: str, variables: Variables, left: Left = lambda *_: None) -> dict[str, Any]:
    """Return a job with its secrets encrypted; raise ``UsageError`` if the file is invalid or has no shade.

    ``variables`` are used for the shade's options; ``left`` is called for each option that is left unchanged.
    """
    problems = Problems()
    shading, env, blocks = _read(read, origin, variables, problems)
    changed = [evolve(raw, block=shading.encrypted(raw.block, left)) if shaded(raw) else raw for raw in blocks]
    problems.raise_errors()
    return _job(env, changed)


def decrypted_job(read: Read, origin: str, variables: Variables) -> dict[str, Any]:
    """Return a job with its secrets decrypted; raise ``UsageError`` if they are not encrypted with its shade."""
    problems = Problems()
    shading, env, blocks = _read(read, origin, variables, problems)
    changed = decrypted(blocks, shading, problems)
    problems.raise_errors()
    return _job(env, changed)


def _read(
    read: Read, origin: str, variables: Variables, problems: Problems
) -> tuple[Shading, Block, tuple[RawBlock, ...]]:
    """Return the shade in the file's ``env`` with variables substituted, and the sections unchanged."""
    env, _ = read_sections(read(variables, Problems()), origin, Problems())
    shading = read_shading(read_env(env, problems).options)
    if shading is None:
        raise UsageError(
            f"{origin} does not configure encryption: set shade.identifier = base64 in env, or use a custom shade "
            "(base64 does not protect secrets)"
        )
    return shading, *read_sections(read(Variables(kept=True), problems), origin, problems)


def _job(env: Block, blocks: Iterable[RawBlock]) -> dict[str, Any]:
    sections: dict[str, list[Any]] = {kind.value: [] for kind in Kind}
    for raw in blocks:
        sections[raw.kind.value].append({"plugin_name": raw.identifier, **_json(raw.block)})
    return {"env": _json(env), **sections}


def _json(value: Value) -> Any:
    """Return a value as JSON. A number that JSON would change, such as ``007``, remains a string."""
    if isinstance(value, Block):
        return {entry.key: _json(entry.value) for entry in value}
    if isinstance(value, Items):
        return [_json(part) for part in value.values]
    plain = isinstance(value.value, bool | None) or str(value.value) == value.text
    return value.value if plain else value.text
