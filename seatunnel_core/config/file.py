"""Reader of configuration files in all formats."""

import difflib
import json
import os
from pathlib import Path

from seatunnel_core.config.document import Block, Position, Value
from seatunnel_core.config.hocon import parse_hocon
from seatunnel_core.config.limits import LOCAL, SUBMITTED, Budget
from seatunnel_core.config.problem import Problem, Problems
from seatunnel_core.config.sql_file import parse_sql
from seatunnel_core.config.substitution import resolve
from seatunnel_core.config.variables import Variables, filled
from seatunnel_core.config.yaml_file import parse_yaml
from seatunnel_core.errors import ConfigError

MAX_BYTES = 64 * 1024 * 1024


def read_text(path: Path) -> str:
    """Return the content of a text file; raise ``ConfigError`` if it does not exist or is not UTF-8 text."""
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise _unreadable(path, f"it is larger than {MAX_BYTES} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise _unreadable(path, f"the file does not exist{_near(path)}") from error
    except IsADirectoryError as error:
        raise _unreadable(path, "it is a folder; specify a file in it") from error
    except PermissionError as error:
        raise _unreadable(path, "this user has no permission to read it") from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"it is not UTF-8 text (byte {error.start})") from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(error)) from error


def _near(path: Path) -> str:
    """Return a hint that names a similar file, or the folder that was searched."""
    folder = path.absolute().parent
    close = difflib.get_close_matches(path.name, _names(folder), n=1, cutoff=0.75)
    return f"; did you mean {path.with_name(close[0])}?" if close else f" in {folder}"


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return []


def _unreadable(path: Path, why: str) -> ConfigError:
    return ConfigError(f"cannot read the configuration file {path}: {why}")


def load(path: Path, variables: Variables, problems: Problems) -> Block:
    """Read, parse and resolve a file; raise ``ConfigError`` if this fails.

    The file extension determines the format: ``.json`` is JSON, ``.yaml`` and ``.yml`` are YAML, ``.sql`` is SQL, and
    any other file is HOCON.
    """
    return parse(read_text(path), str(path), variables, problems, folder=path.parent)


def parse(
    text: str, name: str, variables: Variables, problems: Problems, *, folder: Path | None = None, like: str = ""
) -> Block:
    """Parse and resolve a string; as in ``load``, the extension of ``like`` (or of ``name``) determines the format."""
    ending = Path(like or name).suffix.lower()
    problems.budget = Budget(SUBMITTED if variables.of_node else LOCAL)
    problems.budget.text(text, Position(name, 1, 1))
    variables = variables.of_file(text)
    try:
        if ending in (".yaml", ".yml"):
            tree: Value = filled(parse_yaml(text, name, problems), variables, problems)
        elif ending == ".sql":
            tree = parse_sql(text, name, variables, problems)
        else:
            if ending == ".json":
                _require_json(text, name)
            tree = resolve(parse_hocon(text, name, problems, folder), variables, problems)
    except RecursionError:
        raise ConfigError(f"{name}: nested too deeply") from None
    if not isinstance(tree, Block):
        raise ConfigError(str(Problem("expected keys and values at the top of the file", Position(name, 1, 1))))
    return tree


def _require_json(text: str, name: str) -> None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        place = Position(name, error.lineno, error.colno)
        raise ConfigError(str(Problem(f"this is not JSON: {error.msg}", place))) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: this is not JSON: {error}") from error
