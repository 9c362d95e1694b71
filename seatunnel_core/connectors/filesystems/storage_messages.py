"""Messages of the checkpoint storages' clients, with the option names of the connectors that share a client."""

import re
from collections.abc import Mapping

from seatunnel_storage_api.errors import CheckpointStorageError


def with_option_names(error: CheckpointStorageError, names: Mapping[str, str]) -> str:
    """Return the message of an error, with each key of ``names`` replaced by its value."""
    return re.sub("|".join(map(re.escape, names)), lambda found: names[found[0]], str(error))
