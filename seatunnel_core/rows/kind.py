"""The kinds of rows in a change stream: SeaTunnel's row kinds, with its numbering."""

import enum


class RowKind(enum.IntEnum):
    """The kind of a row of a change stream. A table that is only read has nothing but ``INSERT``."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3
