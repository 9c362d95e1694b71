"""What is not covered, or not compared, is never left out in silence."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COVERED = ("seatunnel_storage_api", "seatunnel_core/job", "seatunnel_core/checkpoint")


def test_no_line_is_excluded_from_coverage() -> None:
    """In full and in short form, and under the names that coverage gives to branches."""
    excluding = re.compile(r"#.*\b(pragma\s*:|no[ -]?cover|no[ -]?branch)", re.IGNORECASE)
    files = [file for folder in COVERED for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 30
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if excluding.search(line)
    ]
    assert not found


def test_coverage_is_configured_to_leave_nothing_out() -> None:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]
    assert configured["run"]["branch"] is True
    assert configured["run"]["source"] == [folder.replace("/", ".") for folder in COVERED]
    assert configured["report"]["fail_under"] == 100
    excluding = ("omit", "include", "exclude_lines", "exclude_also", "partial_branches", "partial_also")
    assert not [key for part in configured.values() for key in excluding if part.get(key)]
    assert not [name for name in (".coveragerc", "setup.cfg", "tox.ini") if (ROOT / name).exists()]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_fuzz_without_maven_says_loudly_what_it_did_not_compare(tmp_path: Path) -> None:
    make = str(shutil.which("make"))
    command = [make, "-f", str(ROOT / "Makefile"), "-o", "dev", f"RUN={sys.executable}", "PYTEST=:", "fuzz"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    heading, reason = done.stdout.splitlines()
    assert re.fullmatch(r"!{10,} THE HOCON ORACLE DID NOT RUN !{10,}", heading)
    assert "Maven and a JDK are not installed" in reason
