"""What the stand-in of OSS is set to do, and what it keeps in memory."""

import time
from typing import Any

from attrs import define, field, frozen

METADATA = "/latest/meta-data/ram/security-credentials/"
REGION = "cn-stand-in"


@define(kw_only=True)
class Settings:
    """What a test can change while the server runs."""

    credentials: dict[str, dict[str, Any]] = field(factory=dict)
    """By access key id: the fields of ``oss_signatures.Credentials``."""

    buckets: list[str] = field(factory=list)
    versioned: list[str] = field(factory=list)
    """Buckets on which versioning is on, where ``x-oss-forbid-overwrite`` has no effect."""

    denied: dict[str, list[str]] = field(factory=dict)
    """By access key id: the actions, such as ``PutObject``, that are refused."""

    faults: list[str | int] = field(factory=list)
    """Eaten one by a request: a status to answer; ``drop`` (unread), ``drop-after`` (done, but the answer is lost)."""

    clock_ahead_s: float = 0.0
    """How wrong the server's clock is."""

    role: dict[str, str] = field(factory=dict)
    """What the metadata service gives."""

    rules: dict[str, list[str]] = field(factory=dict)
    """By bucket: the rules of its lifecycle, as XML."""


@frozen(kw_only=True)
class Stored:
    """One object."""

    body: bytes
    modified: float = field(factory=time.time)
    etag: str
    meta: dict[str, str] = field(factory=dict)
    """The headers ``x-oss-meta-…``."""


@define(kw_only=True)
class Upload:
    """One that is on its way."""

    bucket: str
    key: str
    meta: dict[str, str]
    parts: dict[int, tuple[str, bytes]] = field(factory=dict)
    """ETag and bytes, by number."""
