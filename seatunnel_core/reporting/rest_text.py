"""Values in the notation of SeaTunnel's REST API, where all of them are strings."""

from typing import Any

from seatunnel_core.config.option import Options


def text_of(value: Any) -> str:
    """Return a value as a string: ``true``, and ``3`` for 3.0."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def env_in_texts(env: Options) -> dict[str, str]:
    """Return the non-secret options that are set in a job's ``env``."""
    return {
        option.key: text_of(env[option])
        for option in env.declared
        if env.is_set(option) and not option.secret and env[option] is not None
    }
