"""Asks H2 for the expected values of the table of functions: ``python tests/transforms/sql/h2.py [--write]``.

Needs Maven and a JDK; run by ``make fuzz``. Without ``--write`` it compares ``functions.tsv`` with H2, and ends
with 1 when something differs.
"""

import base64
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.transforms.sql.cases import read_cases, write_cases

_HERE = Path(__file__).parent
_VERSION = "2.3.232"


def _jar() -> Path:
    """H2 in the local Maven repository, fetched if it is not there."""
    jar = Path.home() / ".m2" / "repository" / "com" / "h2database" / "h2" / _VERSION / f"h2-{_VERSION}.jar"
    if not jar.is_file():
        artifact = f"-Dartifact=com.h2database:h2:{_VERSION}"
        subprocess.run(["mvn", "-q", "dependency:get", artifact, "-Dtransitive=false"], check=True)
    return jar


def ask(expressions: Sequence[str]) -> list[tuple[str, str]]:
    """H2's type and value of each expression; the type ``!`` for one that it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        classpath = f"{_jar()}:{folder}"
        subprocess.run(["javac", "-cp", classpath, "-d", folder, str(_HERE / "Oracle.java")], check=True)
        lines = "".join(base64.b64encode(each.encode()).decode() + "\n" for each in expressions)
        command = ["java", "-Duser.language=en", "-Duser.country=US", "-Duser.timezone=UTC", "-cp", classpath, "Oracle"]
        ran = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE, check=True)
    answers = [line.split("\t", 1) for line in ran.stdout.decode().splitlines()]
    return [(kind, "" if kind == "!" else value) for kind, value in answers]


def main(arguments: Sequence[str]) -> int:
    cases = read_cases()
    asked = [case for case in cases if case.h2 != "-"]
    answers = dict(zip(asked, ask([case.h2 or case.expression for case in asked]), strict=True))
    if "--write" in arguments:
        write_cases([case.answered(*answers[case]) if case in answers else case for case in cases])
        return 0
    different = [case for case, (kind, value) in answers.items() if (case.kind, case.value) != (kind, value)]
    for case in different:
        print(f"{case.expression}: the table says {case.kind} {case.value}, H2 {' '.join(answers[case])}")
    print(f"{len(answers)} expressions asked of H2 {_VERSION}, {len(different)} differ from the table")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
