"""Parser of ``kylin.metadata.url`` and ``cluster.metadata-url``: a database in Kylin's one-line format."""

import re
from collections.abc import Mapping

from seatunnel_core.errors import UsageError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9_]*)@jdbc((?:,.*)?)", re.DOTALL)
_KEYS = {"url": "url", "username": "user", "user": "user", "password": "password"}
_EXAMPLE = "kylin_metadata@jdbc,url=jdbc:postgresql://host:5432/database,username=kylin,password=…"


def map_properties(metadata_url: str) -> Mapping[str, str]:
    """Return the equivalent properties of a ``map-store`` block with ``type: jdbc``.

    Keys of Kylin's connection pool, such as ``maxActive``, and of the Java driver are ignored.

    Raises:
        UsageError: The URL is invalid. The message does not contain it, because it may include a password.
    """
    found = _URL.fullmatch(metadata_url.strip())
    pairs = [part.partition("=") for part in found[2].split(",")[1:]] if found else []
    written = {key.strip(): value.strip() for key, _, value in pairs}
    if found is None or not written.get("url"):
        raise UsageError(f"cluster.metadata-url or kylin.metadata.url is not a database address: expected {_EXAMPLE}")
    if written.get("password", "").startswith("ENC("):
        raise UsageError(
            "the password in kylin.metadata.url is encrypted by Kylin and cannot be decrypted: set the unencrypted "
            "password"
        )
    known = {_KEYS[key]: value for key, value in written.items() if key in _KEYS}
    return {"type": "jdbc", "table-prefix": found[1], **known}
