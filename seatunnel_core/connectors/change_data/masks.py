"""Masks of columns, which replace values of a database before a source emits them."""

from abc import ABC, abstractmethod
from hashlib import sha256

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of
from attrs import field, frozen


class Mask(ABC):
    """Replacement of the values of a column by strings. Null stays null."""

    @property
    def fingerprint(self) -> str:
        """Digest of the settings that the mask's name does not show; empty if there are none."""
        return ""

    @abstractmethod
    def problem(self, values: pa.DataType) -> str:
        """Return which types the mask accepts; an empty string if it accepts this one."""

    @abstractmethod
    def applied(self, values: pa.Array) -> pa.Array:
        """Return the masked values, as strings."""


@frozen
class Asterisks(Mask):
    """A constant number of asterisks."""

    length: int

    def problem(self, values: pa.DataType) -> str:
        return ""

    def applied(self, values: pa.Array) -> pa.Array:
        return pc.if_else(values.is_null(), pa.scalar(None, pa.string()), pa.scalar("*" * self.length))


@frozen
class Truncation(Mask):
    """The first characters of a text."""

    length: int

    def problem(self, values: pa.DataType) -> str:
        return "" if of.is_string(values) else "only text can be truncated"

    def applied(self, values: pa.Array) -> pa.Array:
        return pc.utf8_slice_codeunits(values, 0, self.length)


@frozen
class SaltedHash(Mask):
    """SHA-256 of the salt and the value, in hexadecimal digits, as version 2 of Debezium's hash."""

    salt: str = field(repr=False)

    @property
    def fingerprint(self) -> str:
        return f"#{sha256(f'fingerprint of {self.salt}'.encode()).hexdigest()[:8]}"

    def problem(self, values: pa.DataType) -> str:
        is_plain = of.is_string(values) or of.is_integer(values)
        return "" if is_plain else "only text and integers have one form that can be hashed"

    def applied(self, values: pa.Array) -> pa.Array:
        salted = sha256(self.salt.encode())

        def hashed(value: object) -> str:
            found = salted.copy()
            found.update(str(value).encode())
            return found.hexdigest()

        return pa.array((None if each is None else hashed(each) for each in values.to_pylist()), pa.string())
