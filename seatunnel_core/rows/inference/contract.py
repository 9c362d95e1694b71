"""Schema contract: handling of rows that do not match the tables, columns and types, in dlt's terminology."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from attrs import fields_dict, frozen

C = TypeVar("C")

EVOLVE, FREEZE, DISCARD_ROW, DISCARD_VALUE = WORDS = ("evolve", "freeze", "discard_row", "discard_value")


@frozen(kw_only=True)
class SchemaContract:
    """Handling of each way in which a row can deviate from the schema: one of ``WORDS``.

    ``evolve`` extends the schema during inference, before rows are moved; after that, it is equivalent to ``freeze``.
    """

    tables: str = EVOLVE
    """Handling of unknown lists that would become child tables. If lists are arrays, ``columns`` applies instead."""

    columns: str = EVOLVE
    """Handling of a field without a column."""

    data_type: str = EVOLVE
    """Handling of a value that does not match the type of its column."""

    @classmethod
    def of(cls, written: Any) -> "SchemaContract":
        """Parse the contract: one word for all deviations, or a block. Raise ValueError if it is invalid."""
        return contract_of(cls, written, WORDS)


def contract_of(kind: type[C], written: Any, words: Sequence[str]) -> C:
    """Parse the contract: one of ``words`` for all deviations, or a block. Raise ValueError if it is invalid."""
    keys = list(fields_dict(kind))  # type: ignore[arg-type]
    if not isinstance(written, Mapping):
        return kind(**dict.fromkeys(keys, _word(written, words)))
    unknown = [str(key) for key in written if key not in keys]
    if unknown:
        raise ValueError(f"expected {', '.join(keys)}, found {unknown[0]!r}")
    return kind(**{key: _word(word, words) for key, word in written.items()})


def _word(written: Any, words: Sequence[str]) -> str:
    word = str(written).strip().lower()
    if word not in words:
        raise ValueError(f"expected one of {', '.join(words)}, found {written!r}")
    return word
