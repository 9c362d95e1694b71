"""Messages of Spark errors, and checks whether a retry may succeed."""

import builtins
import re

from seatunnel_core.errors import PacketLostError, PlatformError, SeaTunnelError

_IN_PYTHON = re.compile(r"^(?!org\.|java\.|py4j\.|Traceback )[\w.]*(?:Error|Exception)\b.*", re.MULTILINE)
_STATE = re.compile(r"SQLSTATE: (\w{2})\w{3}")
_LASTING_STATES = frozenset({"0A", "21", "22", "23", "39", "42"})
"""SQLSTATE classes of permanent errors: an unsupported feature, an invalid value such as a division by zero, a cast or
an overflow, and an invalid statement."""

_VERSIONS = re.compile(r"Python in worker has different version:? *\(?([\d.]+)\)?.*?driver:? *\(?([\d.]+)", re.DOTALL)
_PASSING = (OSError, MemoryError, EOFError, RuntimeError)
_PASSING_NAMES = re.compile("Connection|Timeout|Memory|Unavailable|Temporar|Interrupt|Retry")


def spark_says(error: Exception) -> str:
    """Return the message of a Spark error without the JVM stack, but with the last line of a Python traceback."""
    lines = [line.strip() for line in _text(error).splitlines() if line.strip() and not line.strip().startswith("at ")]
    summary = " ".join(lines[:3])[:1000] or type(error).__name__
    raised = _raised_in_python(error)
    return f"{summary.partition('Traceback (most recent')[0].strip()} {raised[:500]}" if raised else summary


def lasts(error: BaseException | None) -> bool:
    """Return True if another attempt at a task would fail with the same error, as for deterministic Python errors."""
    name = _python_error(error)
    return is_rejected(error) or (bool(name) and _is_lasting(name))


def is_rejected(error: BaseException | None) -> bool:
    """Return True if Spark rejected a plan, a value could not be cast or divided, or a module is missing.

    Other errors of a target's Python code during a write may be transient.
    """
    from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException

    if error is None:
        return False
    if isinstance(error, AnalysisException | IllegalArgumentException | ParseException):
        return True
    if any(state in _LASTING_STATES for state in _STATE.findall(_text(error))):
        return True
    return _python_error(error) in ("ImportError", "ModuleNotFoundError")


def lost_task(error: Exception) -> SeaTunnelError:
    """Convert an error that Spark raised while it ran tasks to a platform error or a lost-task error."""
    if said := other_python(error):
        return PlatformError(said)
    lost = PacketLostError(spark_says(error))
    lost.retryable = not lasts(error)
    return lost


def other_python(error: BaseException) -> str:
    """Return the remedy if the tasks' Python version differs from the driver's; otherwise an empty string."""
    found = _VERSIONS.search(_text(error))
    if found is None:
        return ""
    workers, drivers = (version.rstrip(".") for version in found.groups())
    return (
        f"the tasks run with Python {workers} and the driver with Python {drivers}, but Spark needs the same "
        f"version with the same packages. Set spark.pyspark.python, or PYSPARK_PYTHON, to a Python {drivers} on "
        "every node"
    )


def _is_lasting(name: str) -> bool:
    short = name.rpartition(".")[2]
    kind = getattr(builtins, name, None)
    if isinstance(kind, type):
        return (issubclass(kind, Exception) and not issubclass(kind, _PASSING)) or kind in _FOR_GOOD
    known = name.startswith(("decimal.", "pyarrow.", "pandas.", "json.")) or short.startswith("PySpark")
    return known and not _PASSING_NAMES.search(short)


_FOR_GOOD = (NotImplementedError, RecursionError, FileNotFoundError, PermissionError, NotADirectoryError)
"""Classes of permanent errors that are subclasses of transient errors."""


def _python_error(error: BaseException | None) -> str:
    """Return the class name of the exception that Python code raised; empty if none."""
    return "" if error is None else _raised_in_python(error).partition(":")[0].strip()


def _raised_in_python(error: BaseException) -> str:
    """Return the last line of the Python traceback in an error; empty if there is none."""
    raised = _IN_PYTHON.findall(_text(error).partition("Traceback (most recent call last)")[2])
    return str(raised[-1]) if raised else ""


def _text(error: BaseException) -> str:
    return str(getattr(error, "java_exception", None) or error)
