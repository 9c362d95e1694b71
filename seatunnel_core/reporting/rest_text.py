"""Values as strings, in the notation of SeaTunnel's REST API."""

import time
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from seatunnel_core.config.option import Options


def text_of(value: Any) -> str:
    """Return a value as a string: ``true`` for a boolean, ``3`` for 3.0."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def env_in_texts(env: Options) -> dict[str, str]:
    """Return the options that are set in a job's ``env``, without secrets."""
    return {
        option.key: text_of(env[option])
        for option in env.declared
        if env.is_set(option) and not option.secret and env[option] is not None
    }


def milliseconds(seconds: float) -> int:
    """Return a time in milliseconds since 1970."""
    return round(seconds * 1000)


def moment(seconds: float) -> str:
    """Return a time as ``yyyy-MM-dd HH:mm:ss`` in the time zone of this machine."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def failure_entry(failure: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of ``failures`` for a pipeline's failure in the form of ``RecentFailure.record``."""
    at = milliseconds(failure["at"])
    return {"pipelineId": failure["pipeline"], "timestamp": at, "message": failure["message"], "code": failure["code"]}


@cache
def project_version() -> str:
    """Return the version of this engine."""
    try:
        return version("seatunnel-core")
    except PackageNotFoundError:  # the package runs from a folder, without an installation
        return "unknown"
