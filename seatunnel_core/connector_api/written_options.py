"""Options as strings that may be stored and displayed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from seatunnel_core.config.option import Option, Options
from seatunnel_storage_api.secret import holds_secret, shown

__all__ = ["written_options"]

_LONGEST = 200
"""Maximum length of a value in characters. A longer value is truncated, and a hash is appended."""


def written_options(options: Options, *chosen: Option[Any]) -> dict[str, str]:
    """Return the options that differ from their defaults, as strings.

    Secrets and values that only code can express are omitted.
    """
    texts = {
        option.key: _text(option.key, options[option])
        for option in chosen
        if not option.secret and not holds_secret(option.key) and options[option] != option.default
    }
    return {key: text for key, text in texts.items() if text is not None}


def _text(key: str, value: Any) -> str | None:
    try:
        text = shown(key, value) if isinstance(value, str) else json.dumps(_without_secrets(value), sort_keys=True)
    except (TypeError, ValueError):
        return None
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _member(str(key), each) for key, each in value.items()}
    return [_without_secrets(each) for each in value] if isinstance(value, list | tuple) else value


def _member(key: str, value: Any) -> Any:
    return shown(key, value) if isinstance(value, str) else _without_secrets(value)
