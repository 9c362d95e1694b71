"""Compares our HOCON parser with Lightbend's, and repeated plugin blocks with SeaTunnel's, on random files.

Needs Maven and a JDK; run by ``make fuzz``. Prints differences, and ends with 1 if more than one file in a
thousand differs: now and then Lightbend's loses a key below a list. Differences that are meant are counted apart:

- Lightbend drops an unquoted text beside a block or a list without a word; we say that they cannot be joined.
- SeaTunnel's forgets a section that stands twice; we refuse the second one.
- It refuses tabs in quoted texts.
- SeaTunnel's does not split keys at dots, so that it takes ``a..b`` for a key.
- Lightbend's refuses ``+=`` inside a list, as a limitation of its own.
- It refuses the white space that an undefined ``${?x}`` leaves beside a block or a list, and looks at hidden values.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from seatunnel_core.config import substitution
from seatunnel_core.config.document import Block, Items, Value, by_hocon, plain
from seatunnel_core.config.hocon import parse_hocon
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.substitution import resolve
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError
from tests.config.oracle.generate import Text, mutated

_HERE = Path(__file__).parent
_LIGHTBEND = ("com.typesafe.config", ["com.typesafe:config:1.4.3"])
_SEATUNNEL = (
    "org.apache.seatunnel.shade.com.typesafe.config",
    ["org.apache.seatunnel:seatunnel-config-shade:2.3.8", "org.apache.seatunnel:seatunnel-config-base:2.3.8"],
)
_STRICTER = (
    "a block, a list and a string cannot be combined",
    "a dot in a key must separate two names",
    "this section occurs twice",
)
_THEIRS = (
    "Due to current limitations",
    "Cannot concatenate object or list with a non-object-or-list",
    "JSON does not allow unescaped",
    "BugOrBroken",
)
_SECTIONS = ("source", "transform", "sink")


def _jar(coordinates: str) -> Path:
    """The path of an artifact in the local Maven repository, fetched if it is not there."""
    group, artifact, version = coordinates.split(":")
    folder = Path.home() / ".m2" / "repository" / group.replace(".", "/") / artifact / version
    jar = folder / f"{artifact}-{version}.jar"
    if not jar.is_file():
        get = ["mvn", "-q", "dependency:get", f"-Dartifact={coordinates}", "-Dtransitive=false"]
        subprocess.run(get, check=True)
    return jar


def _ask(oracle: tuple[str, list[str]], files: list[Path], folder: Path) -> list[str]:
    """The oracle's answer to each file: JSON, or ``! error``."""
    package, jars = oracle
    classpath = ":".join([*(str(_jar(each)) for each in jars), str(folder)])
    source = folder / "Oracle.java"
    source.write_text((_HERE / "Oracle.java").read_text().replace("PACKAGE", package))
    subprocess.run(["javac", "-cp", classpath, "-d", str(folder), str(source)], check=True)
    names = "".join(f"{file}\n" for file in files)
    ran = subprocess.run(
        ["java", "-Xss16m", "-cp", classpath, "Oracle"], input=names.encode(), stdout=subprocess.PIPE, check=True
    )
    return ran.stdout.decode().splitlines()


substitution.filled_scalar = lambda scalar, _variables, _problems, _keys: scalar  # type: ignore[assignment, attr-defined, misc]


def _ours(file: Path) -> Any:
    """Our answer: plain values, or the error.

    Inside quotes ``${…}`` is a variable to us and to SeaTunnel's command, and text to HOCON, which is compared here.
    """
    problems = Problems()
    try:
        text = file.read_bytes().decode("utf-8-sig")
        tree = resolve(parse_hocon(text, file.name, problems, file.parent), Variables({}, {}), problems)
        problems.raise_errors()
    except ConfigError as error:
        return error
    found = by_hocon(tree, problems.warn)
    assert isinstance(found, Block)
    return _as_seatunnel(found)


def _as_seatunnel(tree: Block) -> Any:
    """Plain values, with the entries of ``source``, ``transform`` and ``sink`` as a list with ``plugin_name``."""
    return {entry.key: _section(entry.key, entry.value) for entry in tree}


def _section(key: str, value: Value) -> Any:
    if key in _SECTIONS and isinstance(value, Block):
        return [{"plugin_name": each.key, **_with_options(each.value)} for each in value]
    return plain(value)


def _with_options(value: Value) -> dict[str, Any]:
    if isinstance(value, Items) or not isinstance(value, Block):
        return {"": plain(value)}
    return plain(value)


def _write(folder: Path, count: int, seed: int, *, plugins: bool) -> list[Path]:
    files = []
    for number in range(count):
        text = Text(seed + number, plugins=plugins).make()
        if number % 4 == 3:
            text = mutated(text, seed + number)
        file = folder / f"{'p' if plugins else 'g'}{number}.conf"
        file.write_text(text, encoding="utf-8")
        files.append(file)
    return files


def _compare(name: str, oracle: tuple[str, list[str]], files: list[Path], folder: Path, show: int) -> int:
    answers = _ask(oracle, files, folder)
    agreed = refused = meant = differ = 0
    for file, answer in zip(files, answers, strict=True):
        ours = _ours(file)
        failed = isinstance(ours, ConfigError)
        if answer.startswith("!") and failed:
            refused += 1
        elif not answer.startswith("!") and not failed and _flat(json.loads(answer)) == _flat(ours):
            agreed += 1
        elif any(words in str(ours) for words in _STRICTER) or any(words in answer for words in _THEIRS):
            meant += 1
        else:
            differ += 1
            if differ <= show:
                print(f"--- {file.name}\n{file.read_text()}\n--- {name}: {answer}\n--- ours: {ours}\n", flush=True)
    print(
        f"{name}: {len(files)} files, {agreed} read equally, {refused} refused by both, "
        f"{meant} differ as is meant, {differ} differ"
    )
    return differ


def _flat(value: Any) -> Any:
    """Blocks with dotted keys instead of blocks below: SeaTunnel's parser does not split keys at dots, and need not."""
    if isinstance(value, list):
        return [_flat(part) for part in value]
    if not isinstance(value, dict) or not value:
        return value
    found: dict[str, Any] = {}
    for key, part in value.items():
        below = _flat(part)
        if isinstance(below, dict):
            found |= {f"{key}.{each}": inner for each, inner in below.items()}
        else:
            found[key] = below
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=4_000, help="random files per oracle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="differences to print")
    arguments = parser.parse_args()
    corpus = sorted((_HERE.parent / "corpus").glob("*.conf"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        general = [path for path in corpus if not path.name.startswith("job")]
        general += _write(folder, arguments.files, arguments.seed, plugins=False)
        jobs = [path for path in corpus if path.name.startswith("job")]
        jobs += _write(folder, arguments.files, arguments.seed, plugins=True)
        differ = _compare("com.typesafe:config", _LIGHTBEND, general, folder, arguments.show)
        differ += _compare("seatunnel-config-shade", _SEATUNNEL, jobs, folder, arguments.show)
    return 1 if differ > (len(general) + len(jobs)) // 1_000 else 0


if __name__ == "__main__":
    sys.exit(main())
