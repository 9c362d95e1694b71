"""``seatunnel --encrypt`` and ``--decrypt``: the job file as JSON, with its secrets encrypted or in the clear.

Variables stay as they are written: what the environment holds, or ``-i``, was kept out of the file on purpose.
"""

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from seatunnel_core.config.document import Block, Items, Scalar, Value
from seatunnel_core.config.file import load
from seatunnel_core.config.job_file import Kind, decrypted, read_env, read_sections, read_shading, shaded
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.shade import Shading
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import UsageError

if TYPE_CHECKING:
    from seatunnel_core.cli.arguments import ShadeArguments


def shade(arguments: "ShadeArguments") -> None:
    """Print the job file with its secrets encrypted or decrypted.

    Raises:
        UsageError: The file is wrong, names no shade, or (for ``--decrypt``) is not encrypted with it.
    """
    every_letter = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
    print(json.dumps(_shaded(arguments), indent=2, ensure_ascii=not every_letter))


def _shaded(arguments: "ShadeArguments") -> dict[str, Any]:
    problems = Problems()
    origin = str(arguments.config)
    shading = _shading(arguments, problems)
    env, blocks = read_sections(load(arguments.config, Variables(kept=True), problems), origin, problems)
    left: list[str] = []
    if arguments.encrypt:
        note = partial(_note, left)
        blocks = tuple(evolve(raw, block=shading.encrypted(raw.block, note)) if shaded(raw) else raw for raw in blocks)
    else:
        blocks = decrypted(blocks, shading, problems)
    problems.raise_errors()
    for line in left:
        print(line, file=sys.stderr)
    sections = {
        kind.value: [{"plugin_name": raw.identifier, **_json(raw.block)} for raw in blocks if raw.kind is kind]
        for kind in Kind
    }
    return {"env": _json(env), **sections}


def _shading(arguments: "ShadeArguments", problems: Problems) -> Shading:
    """Return the shade of the file's ``env`` with its variables substituted; variables of the nodes need no value."""
    origin = str(arguments.config)
    env, _ = read_sections(load(arguments.config, Variables(arguments.variables), Problems()), origin, Problems())
    shading = read_shading(read_env(env, problems).options)
    if shading is None:
        raise UsageError(
            f"{origin} does not say with what: write shade.identifier = base64 into env, or a shade of your "
            "own (base64 hides nothing from anybody who looks)"
        )
    return shading


def _note(left: list[str], key: str, scalar: Scalar, reason: str) -> None:
    left.append(f"{scalar.position}: {key!r} stays as it is written: {reason}")


def _json(value: Value) -> Any:
    """Return a value as JSON; a number that JSON would write differently (``007``) stays text."""
    if isinstance(value, Block):
        return {entry.key: _json(entry.value) for entry in value}
    if isinstance(value, Items):
        return [_json(part) for part in value.values]
    plain = isinstance(value.value, bool | None) or str(value.value) == value.text
    return value.value if plain else value.text
