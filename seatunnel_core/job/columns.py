"""Options that define the columns of a source, stored in the manifest.

The columns are fixed when the source is first read, so later changes to these options are rejected.
"""

import json
from collections.abc import Mapping
from typing import Any

from seatunnel_core.config.option import SCHEMA, Options

_BESIDE_SCHEMAS = ("read_columns", "file_format_type")

Columns = Mapping[str, str]
"""Options with their JSON values, in the order of the job file."""


def column_options(options: Options) -> Columns:
    """Return the options of a source that are set and determine its columns."""
    deciding = [
        option
        for option in options.declared
        if option.type is SCHEMA or option.key in _BESIDE_SCHEMAS or option.decides_columns
    ]
    return {option.key: _text(options[option]) for option in deciding if options[option] not in (None, option.default)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
