"""Keys of tables under a storm: each kind maps numbers to different keys, in an order of its own."""

import hashlib
import uuid
from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any


class Keys(ABC):
    """One kind of keys."""

    @abstractmethod
    def columns(self, database: str) -> dict[str, str]:
        """Return the key columns with their SQL types."""

    @abstractmethod
    def of(self, number: int) -> tuple[Any, ...]:
        """Return the key of a number."""


class WholeNumbers(Keys):
    """The numbers themselves."""

    def columns(self, database: str) -> dict[str, str]:
        return {"id": "bigint"}

    def of(self, number: int) -> tuple[Any, ...]:
        return (number,)


class Texts(Keys):
    """Words with accents and both cases, which a collation of a language orders otherwise than their code points.

    The database compares without case and accents, but no two keys are equal in it.
    """

    def columns(self, database: str) -> dict[str, str]:
        collation = 'COLLATE "und-x-icu"' if database == "postgres" else "COLLATE utf8mb4_general_ci"
        return {"id": f"varchar(40) {collation}"}

    def of(self, number: int) -> tuple[Any, ...]:
        letters = "aÄbBéEzZßøñ"
        first = letters[int(hashlib.sha256(str(number).encode()).hexdigest(), 16) % len(letters)]
        return (f"{first}-{number}",)


class Uuids(Keys):
    """Random UUIDs."""

    def columns(self, database: str) -> dict[str, str]:
        return {"id": "uuid" if database == "postgres" else "char(36)"}

    def of(self, number: int) -> tuple[Any, ...]:
        return (str(uuid.UUID(hashlib.md5(str(number).encode()).hexdigest())),)


class Pairs(Keys):
    """Keys of two columns."""

    def columns(self, database: str) -> dict[str, str]:
        return {"part": "varchar(10)", "id": "int"}

    def of(self, number: int) -> tuple[Any, ...]:
        return (f"P{number % 7}", number)


class Decimals(Keys):
    """Decimal numbers below and above zero."""

    def columns(self, database: str) -> dict[str, str]:
        return {"id": "decimal(20, 3)"}

    def of(self, number: int) -> tuple[Any, ...]:
        return (Decimal(number if number % 2 else -number).scaleb(-3),)


class Moments(Keys):
    """Moments without a zone, with microseconds."""

    def columns(self, database: str) -> dict[str, str]:
        return {"id": "timestamp(6)" if database == "postgres" else "datetime(6)"}

    def of(self, number: int) -> tuple[Any, ...]:
        minutes, rest = divmod(number, 60)
        day, hour, minute = 1 + minutes % 28, minutes // 28 % 24, minutes // 672 % 60
        return (f"2024-05-{day:02d} {hour:02d}:{minute:02d}:{rest:02d}.000{number % 997:03d}",)


KEYS: dict[str, Keys] = {
    "numbers": WholeNumbers(),
    "texts": Texts(),
    "uuids": Uuids(),
    "pairs": Pairs(),
    "decimals": Decimals(),
    "moments": Moments(),
}
"""The kinds of keys by name."""
