"""Secret stores: ``secret://STORE/NAME`` is the secret with that name, and ``secret://STORE/NAME#KEY`` a part of it.

A store is a distribution with an entry point in the group ``seatunnel.secret_store``. The entry point's name is
``STORE`` in references, and its value a module (or object) with one hook::

    from seatunnel_storage_api.discovery import hookimpl

    @hookimpl
    def seatunnel_secret_store() -> SecretStore:
        return MyStore()

The process that needs a secret requests it from the store when it reads its configuration. It caches the response in
memory only, for ``KEPT_S`` seconds, so that a job with a thousand tables requests it once.
"""

import json
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from seatunnel_storage_api.errors import StorageConfigurationError

if TYPE_CHECKING:  # importing pluggy and the discovery of plugins costs more than the rest of this module
    from importlib.metadata import EntryPoint

GROUP = "seatunnel.secret_store"
SCHEME = "secret://"
"""Prefix of a reference to a secret store."""

KEPT_S = 30.0

_lock = threading.Lock()
_kept: dict[str, tuple[float, str]] = {}


class SecretStore(ABC):
    """Store that returns secrets by name to authorized processes."""

    @abstractmethod
    def get(self, name: str) -> str:
        """Return the secret with the given name. Called from any thread of the process that needs the secret.

        Raises:
            LookupError: No secret with this name exists; the message contains the remedy.
            Exception: Any other failure. Its class and message are shown, so neither may contain a secret.
        """


def fetched(key: str, reference: str) -> str:
    """Return the secret for a reference.

    Args:
        key: The key of the reference, for messages.
        reference: ``secret://STORE/NAME``, followed by ``#KEY`` for a member of a secret that is a JSON object.

    Raises:
        StorageConfigurationError: The store is not installed or cannot be queried, or does not contain the secret. The
            message contains the key and the reference, never a secret.
    """
    with _lock:
        moment, known = _kept.get(reference, (0.0, ""))
        if known and time.monotonic() - moment < KEPT_S:
            return known
    found = _asked(key, reference)
    with _lock:
        _kept[reference] = (time.monotonic(), found)
    return found


def _asked(key: str, reference: str) -> str:
    what = f"the value of {key!r} is {reference}"
    store, _, named = reference.removeprefix(SCHEME).partition("/")
    name, _, member = named.partition("#")
    if not store or not name:
        raise StorageConfigurationError(
            f"{what}, which does not refer to a secret: write {SCHEME}STORE/NAME, or …/NAME#KEY"
        )
    try:
        found = _store(store).get(name)
    except StorageConfigurationError as error:
        raise StorageConfigurationError(f"{what}: {error}") from error
    except ImportError as error:
        raise StorageConfigurationError(
            f"{what}, but the package {error.name} is not installed: "
            f"in a clone of this project, run pip install '.[secrets-{store}]'"
        ) from error
    except LookupError as error:
        said = error.args[0] if error.args else name
        raise StorageConfigurationError(f"{what}, which does not exist: {said}") from None
    except Exception as error:  # a store is third-party code and may raise any error
        raise StorageConfigurationError(
            f"{what}, but {store} cannot be queried: {type(error).__name__}: {_first_line(error)}"
        ) from None
    found = _member(what, found, member) if member else found
    if not found:
        raise StorageConfigurationError(f"{what}, which is empty")
    return found


def _member(what: str, text: str, member: str) -> str:
    try:
        block: Any = json.loads(text)
    except ValueError:  # chaining it would reveal the content
        block = None
    if not isinstance(block, dict):
        raise StorageConfigurationError(f"{what}, but the secret is not a JSON object: remove #{member}")
    value = block.get(member)
    if value is None or isinstance(value, dict | list):
        raise StorageConfigurationError(f"{what}, but the secret has no string {member!r}; it has {', '.join(block)}")
    return value if isinstance(value, str) else json.dumps(value)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def _store(name: str) -> SecretStore:
    from importlib.metadata import entry_points

    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        installed = ", ".join(sorted({point.name for point in entry_points(group=GROUP)})) or "none"
        raise StorageConfigurationError(
            f"there is no secret store {name!r}; installed: {installed}. A custom secret store is a package with an "
            f"entry point in the group {GROUP}"
        )
    if len(points) > 1:
        raise StorageConfigurationError(f"two secret stores are named {name!r}: {', '.join(sorted(points))}")
    return _loaded(next(iter(points.values())))


def _loaded(point: "EntryPoint") -> SecretStore:
    from seatunnel_storage_api.hooks import hooks_of

    try:
        store: object = hooks_of(point).seatunnel_secret_store()
    except Exception as cause:  # a plugin is third-party code: it may raise anything
        raise StorageConfigurationError(
            f"the secret store {point.name!r} cannot be loaded: {type(cause).__name__}: {cause}"
        ) from cause
    if not isinstance(store, SecretStore):
        raise StorageConfigurationError(
            f"{point.value} does not return a secret store: it must have the hook seatunnel_secret_store, which "
            "returns the store"
        )
    return store
