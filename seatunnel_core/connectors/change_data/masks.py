"""Column masks, which replace values from a database before a source emits them."""

from abc import ABC, abstractmethod
from hashlib import sha256

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of
from attrs import field, frozen


class Mask(ABC):
    """Mask that replaces the values of a column with strings. Null stays null."""

    @property
    def fingerprint(self) -> str:
        """Digest of settings that the name of the mask does not contain, such as a salt; empty if there are none."""
        return ""

    @abstractmethod
    def problem(self, values: pa.DataType) -> str:
        """Return an empty string if the mask supports this type; otherwise a description of the supported types."""

    @abstractmethod
    def applied(self, values: pa.Array) -> pa.Array:
        """Return the masked values as strings."""


@frozen
class Asterisks(Mask):
    """Mask that replaces each value with a constant number of asterisks."""

    length: int

    def problem(self, values: pa.DataType) -> str:
        return ""

    def applied(self, values: pa.Array) -> pa.Array:
        return pc.if_else(values.is_null(), pa.scalar(None, pa.string()), pa.scalar("*" * self.length))


@frozen
class Truncation(Mask):
    """Mask that truncates text to its first characters."""

    length: int

    def problem(self, values: pa.DataType) -> str:
        return "" if of.is_string(values) else "only strings can be truncated"

    def applied(self, values: pa.Array) -> pa.Array:
        return pc.utf8_slice_codeunits(values, 0, self.length)


@frozen
class SaltedHash(Mask):
    """SHA-256 of the salt and the value, in hexadecimal digits, like version 2 of Debezium's hash."""

    salt: str = field(repr=False)

    @property
    def fingerprint(self) -> str:
        return f"#{sha256(f'fingerprint of {self.salt}'.encode()).hexdigest()[:8]}"

    def problem(self, values: pa.DataType) -> str:
        is_plain = of.is_string(values) or of.is_integer(values)
        return "" if is_plain else "only strings and integers can be hashed"

    def applied(self, values: pa.Array) -> pa.Array:
        salted = sha256(self.salt.encode())

        def hashed(value: object) -> str:
            found = salted.copy()
            found.update(str(value).encode())
            return found.hexdigest()

        return pa.array((None if each is None else hashed(each) for each in values.to_pylist()), pa.string())
