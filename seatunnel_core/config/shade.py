"""Encrypted values in job files, as in SeaTunnel: a *shade* encrypts and decrypts some options of each connector.

::

    env { shade.identifier = base64 }      # the shade to use; `default` means none
    env { shade.options = [api_key] }      # options in addition to the usual ones; nested ones with dots
    env { shade.properties { salt = x } }  # the shade's own configuration

A custom shade is a subclass of ``Shade`` with an entry point in the group ``seatunnel.config_shade``, named after its
identifier. ``base64`` is built in, because existing files use it, but does not protect anything.
"""

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, ClassVar

from attrs import evolve, frozen

from seatunnel_core.config.document import Block, Entry, Items, Scalar, Value, dotted
from seatunnel_core.config.variables import has_variable
from seatunnel_core.errors import UsageError
from seatunnel_storage_api.secret import Resolved, refers

GROUP = "seatunnel.config_shade"
NO_SHADE = "default"
SENSITIVE = ("username", "password", "auth", "token", "access_key", "secret_key")
"""Options that every shade encrypts."""


class Shade(ABC):
    """Encryption of strings; base class for plugins."""

    identifier: ClassVar[str]
    """Value of ``shade.identifier``, equal to the name of the entry point."""

    sensitive_options: ClassVar[tuple[str, ...]] = ()
    """Options that the shade encrypts in addition to ``SENSITIVE`` and ``shade.options``."""

    def open(self, properties: Mapping[str, str]) -> None:
        """Receive ``shade.properties``; called once, before any other method.

        Raises:
            ValueError: A property is missing or invalid; the message is shown.
        """

    @abstractmethod
    def encrypt(self, text: str) -> str:
        """Return the encrypted form of ``text``, which replaces it in the file."""

    @abstractmethod
    def decrypt(self, text: str) -> str:
        """Return the decrypted text.

        Raises:
            ValueError: The text was not encrypted by this shade. The message is not shown because it may contain the
                text.
        """


class Base64Shade(Shade):
    """Base64 encoding, for existing files. It provides no protection: anyone who can read the file can decode it."""

    identifier = "base64"

    def encrypt(self, text: str) -> str:
        return base64.b64encode(text.encode()).decode("ascii")

    def decrypt(self, text: str) -> str:
        return base64.b64decode(text, validate=True).decode()


@frozen(kw_only=True)
class Shading:
    """An opened shade, with the options that it encrypts."""

    shade: Shade
    options: frozenset[str]

    def encrypted(self, block: Block, left: Callable[[str, Scalar, str], None]) -> Block:
        """Return a connector's block with its sensitive options encrypted.

        ``left`` is called with the key, value and reason for each option that is left unchanged.
        """

        def encrypt(key: str, scalar: Scalar) -> Scalar:
            if has_variable(scalar.text):
                left(key, scalar, "it contains a variable; the value of the variable must be encrypted")
            elif self._is_encrypted(scalar.text):
                left(key, scalar, f"it is already encrypted with the shade {self.shade.identifier!r}")
            else:
                return _text(scalar, self.shade.encrypt(scalar.text))
            return scalar

        return _changed(block, "", self.options, encrypt)

    def decrypted(self, block: Block, problem: Callable[[str, Scalar], None]) -> Block:
        """Return a connector's block with its sensitive options decrypted, except variables without a value.

        ``problem`` is called with the key and value of each option that is not encrypted with this shade.
        """

        def decrypt(key: str, scalar: Scalar) -> Scalar:
            if not isinstance(scalar.value, Resolved) and has_variable(scalar.text):
                return scalar
            try:
                clear = self.shade.decrypt(scalar.text)
                return _text(scalar, clear if refers(clear) else Resolved(clear))
            except (ValueError, binascii.Error):
                problem(key, scalar)
                return scalar

        return _changed(block, "", self.options, decrypt)

    def _is_encrypted(self, text: str) -> bool:
        try:
            clear = self.shade.decrypt(text)
        except (ValueError, binascii.Error):
            return False
        return all(letter.isprintable() or letter.isspace() for letter in clear)  # many words are valid base64


def shading(identifier: str, options: tuple[str, ...], properties: Mapping[str, str]) -> Shading | None:
    """Return the opened shade that is configured in a job's ``env``, if any; raise ``UsageError`` if this fails."""
    if identifier.lower() in (NO_SHADE, "null", ""):
        return None
    shade = _find(identifier)()
    try:
        shade.open(properties)
    except ValueError as error:
        raise UsageError(f"the shade {identifier!r} rejects shade.properties: {error}") from error
    return Shading(shade=shade, options=frozenset((*SENSITIVE, *shade.sensitive_options, *options)))


def _find(identifier: str) -> type[Shade]:
    if identifier.lower() == Base64Shade.identifier:
        return Base64Shade
    points = {point.name: point for point in entry_points(group=GROUP)}
    point = points.get(identifier)
    if point is None:
        known = ", ".join(sorted({Base64Shade.identifier, NO_SHADE, *points}))
        raise UsageError(
            f"there is no shade {identifier!r}; available: {known}. To add a shade, install a package with an entry "
            f"point in the group {GROUP}"
        )
    try:
        found: Any = point.load()
    except Exception as error:  # plugin code may raise any exception
        raise UsageError(f"the shade {identifier!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, type) or not issubclass(found, Shade) or getattr(found, "identifier", "") != identifier:
        raise UsageError(f"the shade {identifier!r} is not a subclass of Shade with this identifier: {point.value}")
    return found


def _changed(block: Block, prefix: str, options: frozenset[str], change: Callable[[str, Scalar], Scalar]) -> Block:
    def entry(each: Entry) -> Entry:
        key = dotted(prefix, each.key)
        if key in options and not isinstance(each.value, Block):
            return evolve(each, value=_each_scalar(each.value, lambda scalar: change(key, scalar)))
        if isinstance(each.value, Block):
            return evolve(each, value=_changed(each.value, f"{key}.", options, change))
        return each

    return Block(tuple(map(entry, block)), block.position)


def _each_scalar(value: Value, change: Callable[[Scalar], Scalar]) -> Value:
    """Apply a function to a string, or to each string in a list. Blocks and ``null`` remain unchanged."""
    if isinstance(value, Items):
        return Items(tuple(_each_scalar(part, change) for part in value.values), value.position)
    return change(value) if isinstance(value, Scalar) and value.value is not None else value


def _text(scalar: Scalar, text: str) -> Scalar:
    return Scalar(text, text, scalar.position)
