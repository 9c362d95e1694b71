"""Row kinds of a change stream, with SeaTunnel's numbering."""

import enum


class RowKind(enum.IntEnum):
    """Kind of a row of a change stream. Rows read from a table are ``INSERT``."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3
