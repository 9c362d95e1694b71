"""What becomes of rows that do not fit the columns: a contract for tables, columns and types, with dlt's words."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from attrs import fields_dict, frozen

C = TypeVar("C")

EVOLVE, FREEZE, DISCARD_ROW, DISCARD_VALUE = WORDS = ("evolve", "freeze", "discard_row", "discard_value")


@frozen(kw_only=True)
class SchemaContract:
    """One of ``WORDS`` for each thing that a row may have beyond what is known.

    ``evolve`` takes it in while rows are looked at, before the job moves any; once the columns are fixed it is an
    error, as with ``freeze``.
    """

    tables: str = EVOLVE
    """Of a list that would be a child table; where lists are arrays, one that is no column follows ``columns``."""

    columns: str = EVOLVE
    """Of a field that is no column."""

    data_type: str = EVOLVE
    """Of a value that the type of its column cannot hold."""

    @classmethod
    def of(cls, written: Any) -> "SchemaContract":
        """Return the contract that a job writes: a word for everything, or a block with a word for each.

        Raises:
            ValueError: says what was expected.
        """
        return contract_of(cls, written, WORDS)


def contract_of(kind: type[C], written: Any, words: Sequence[str]) -> C:
    """Return the contract of a kind that a job writes: one of ``words`` for everything, or a block.

    Raises:
        ValueError: says what was expected.
    """
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
