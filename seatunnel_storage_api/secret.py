"""Secrets in a configuration: keys that contain secrets, references to secrets, and masking of output.

A value may be a reference instead of the secret itself::

    fs.s3a.secret.key: ${S3_SECRET}                 # an environment variable
    fs.s3a.secret.key: file:///run/secrets/s3       # the content of a file, without a trailing line end
    fs.s3a.secret.key: secret://vault/kv/s3#key     # an entry of a secret store, see ``secret_store``

``${NAME}`` is supported for every key. ``file:///`` and ``secret://`` are resolved only for keys that contain a secret:
``fs.defaultFS: file:///`` and paths keep their literal meaning. The value of a reference is never resolved again: a
caller that has resolved a value itself marks the result as ``Resolved``.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.secret_store import SCHEME, fetched

HIDDEN = "***"
"""Replacement for a secret in all output."""

SHORTEST_MASKED = 4
"""Minimum length of a masked secret, in characters. A shorter one may occur by chance, and masking would then reveal
it.
"""


class Resolved(str):
    """A string that is never a reference, even if it looks like one: the value of a variable, or a string from code."""

    __slots__ = ()


_SPEAKS_OF_ONE = re.compile(
    r"pass|pwd|secret|token|credential|auth|key|signature|(?<![a-z])sas(?![a-z])|connection[._-]?string", re.IGNORECASE
)
_NAMES_SOMETHING_ELSE = re.compile(
    r"keytab|provider|enable|author(?!i)|keyspace|(primary|partition|unique|foreign|sort|row)[._-]?key"
    r"|(path|file|location|folder|dir)$",
    re.IGNORECASE,
)
_NAME_OF_ONE = r"""(?i:pass|pwd|secret|token|credential|auth|key)[\w.-]*["']?\s*[=:]\s*["']?"""
"""Pattern of a name that precedes a secret, for example in ``password=x`` and ``"token": "x"``."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]+)\s*[=:]")
"""Pattern of the name in an assignment. Matches start at word boundaries only, so long strings take linear time."""

_FILE = "file:///"
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
_MOST_BYTES = 64 * 1024


def holds_secret(key: str) -> bool:
    """Return True if the value of a key is a secret, judging by the key's name: passwords, keys, tokens, credentials.

    If the name is ambiguous, the result is ``True``. The names of classes, locations and columns
    (``…credentials.provider``, ``kerberosKeytab``, ``primary_key``) do not denote secrets.
    """
    return _SPEAKS_OF_ONE.search(key) is not None and _NAMES_SOMETHING_ELSE.search(key) is None


def shown(key: str, value: str) -> str:
    """Return a value for output: a secret as ``***``, a login in an address as ``//***@host``, references unchanged."""
    if _refers(value, secret=holds_secret(key)):
        return value
    if holds_secret(key) or _assigns_secret(value):
        return HIDDEN
    return _LOGIN.sub(f"{HIDDEN}@", value)


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a string, such as a driver's message, with ``***`` in place of each secret.

    The longest secret is replaced first, so that no part of it remains if it contains another secret. A secret of fewer
    than four characters is replaced only where the context marks it as a secret: in a login, and after a name such as
    ``password=``. Replacing it elsewhere would reveal its letters.
    """
    for secret in sorted(set(filter(None, secrets)), key=len, reverse=True):
        if len(secret) >= SHORTEST_MASKED:
            text = text.replace(secret, HIDDEN)
        else:
            text = re.sub(rf"({_NAME_OF_ONE}){re.escape(secret)}(?!\w)|(?<=:){re.escape(secret)}(?=@)", _marked, text)
    return text


def _marked(place: re.Match[str]) -> str:
    return f"{place[1] or ''}{HIDDEN}"


def resolved(configuration: Mapping[str, str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a copy of the configuration with every reference replaced by its value.

    Args:
        configuration: The unresolved keys and values.
        environment: Environment to use instead of the process's.

    Raises:
        StorageConfigurationError: A variable is not set, or a file is missing, unreadable or empty. The message has
            the key and the variable or file, never a value.
    """
    return {  # a null, as in YAML, is validated by the storage
        key: resolve(key, value, environment) if isinstance(value, str) else value
        for key, value in configuration.items()
    }


def resolve(key: str, value: str, environment: Mapping[str, str] | None = None, *, secret: bool | None = None) -> str:
    """Return a value, resolved if it is a reference.

    Args:
        key: Key of the value; its name decides whether the value may be a reference to a file.
        value: Unresolved value; a ``Resolved`` is returned unchanged.
        environment: Environment to use instead of the process's.
        secret: True if the value is a secret; ``None`` to decide by the key's name.

    Raises:
        StorageConfigurationError: As ``resolved``.
    """
    if not _refers(value, secret=holds_secret(key) if secret is None else secret):
        return value
    variable = _VARIABLE.fullmatch(value)
    if variable is None and value.startswith(SCHEME):
        return fetched(key, value)
    if variable is None:
        return _content(key, value)
    known = (os.environ if environment is None else environment).get(variable[1])
    if not known:
        raise StorageConfigurationError(
            f"the value of {key!r} is the environment variable {variable[1]}, which is "
            f"{'not set' if known is None else 'empty'}. Set it where this process starts"
        )
    return known


def begins_reference(text: str) -> bool:
    """Return True if a string starts like a reference to a file or to a secret store; variables may follow."""
    return text.startswith((_FILE.removesuffix("/"), SCHEME))


def refers(value: str) -> bool:
    """Return True if a string is a reference to a file or a secret store. The caller checks that the key allows it."""
    return not isinstance(value, Resolved) and value.startswith((_FILE, SCHEME))


def _refers(value: str, *, secret: bool) -> bool:
    if isinstance(value, Resolved):
        return False
    return _VARIABLE.fullmatch(value) is not None or (secret and refers(value))


def _assigns_secret(value: str) -> bool:
    """Return True if a string contains an assignment of a secret, such as ``-Djavax.net.ssl.trustStorePassword=x``."""
    return any(holds_secret(word) for word in _ASSIGNED.findall(value))


def _content(key: str, reference: str) -> str:
    path = Path(reference.removeprefix("file://"))
    source = f"the value of {key!r} is the content of the file {path}"
    try:
        if not path.is_file():
            problem = "is not a file" if path.exists() else "does not exist"
            raise StorageConfigurationError(
                f"{source}, which {problem}. Check that the secret is mounted where this process runs"
            )
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode()
    except OSError as cause:
        raise StorageConfigurationError(
            f"{source}, which cannot be read: {cause.strerror}. Make it readable for the user of this process"
        ) from cause
    except UnicodeDecodeError:  # chaining it would reveal the content
        raise StorageConfigurationError(f"{source}, which is not UTF-8 text. Store the secret itself in it") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text or len(content) > _MOST_BYTES:
        problem = f"has more than {_MOST_BYTES} bytes" if text else "is empty"
        raise StorageConfigurationError(f"{source}, which {problem}. Store the secret itself in it")
    return text
