"""Paging by page number, or by a cursor in the previous page."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connectors.http import options as opt
from seatunnel_core.connectors.http.content import checked_path
from seatunnel_core.connectors.http.request import Request
from seatunnel_core.rows.json_document import found, keys_of

_SPLITS_PER_TASK = 16
GUESSED_ROWS = 100
_NO_MORE = frozenset(("false", "f", "no", "n", "off", "none", "null", "0", "0.0", ""))
"""Strings that mean False in a flag that states whether more pages follow."""


@frozen(kw_only=True)
class Paging:
    """Settings of the block ``pageing``."""

    by_cursor: bool
    name: str
    """Name of the page number or cursor in the request."""

    start: int
    last: int
    """Number of the last page; 0 if unknown."""

    rows: int | None
    """Number of rows per page. A page with fewer rows is the last one."""

    cursor_path: str
    follows: bool
    """True to request the URL in the cursor without changes."""

    by_link: bool = False
    """True if the ``Link`` header contains the URL of the next page."""

    more_path: str = ""
    """JSONPath of the flag that is true if more pages follow; empty if there is no flag."""

    placeholder: bool
    as_param: bool

    @classmethod
    def of(cls, options: Options) -> "Paging | None":
        """Return the paging settings, or ``None`` if the options have no ``pageing`` block."""
        blocks: Sequence[Options] = options[opt.PAGEING] or ()
        if len(blocks) > 1:
            raise UsageError("option 'pageing': expected one block, found a list")
        if not blocks:
            return None
        (block,) = blocks
        by_link = block[opt.PAGE_TYPE] == opt.LINK
        by_cursor = by_link or block[opt.PAGE_TYPE] == opt.CURSOR
        path, more = block[opt.CURSOR_RESPONSE] or "", block[opt.HAS_MORE] or ""
        if by_cursor and not by_link and not path:
            raise UsageError(
                "option 'pageing': cursor_response_field is missing; set it to the JSONPath of the next cursor"
            )
        for each in filter(None, (path, more)):
            checked_path("pageing", each)
        if more and block[opt.TOTAL_PAGES]:
            raise UsageError(
                "option 'pageing': total_page_size and has_more_response_field both define the last page; remove one "
                "of the two"
            )
        start, last = block[opt.START_PAGE], block[opt.TOTAL_PAGES]
        if last and last < start:
            raise UsageError(f"option 'pageing': total_page_size = {last} is before start_page_number = {start}")
        return cls(
            by_cursor=by_cursor,
            name=block[opt.CURSOR_FIELD if by_cursor else opt.PAGE_FIELD],
            start=start,
            last=last,
            rows=block[opt.PAGE_ROWS],
            cursor_path=path,
            follows=by_cursor and not block.is_set(opt.CURSOR_FIELD),
            by_link=by_link,
            more_path=more,
            placeholder=block[opt.PLACEHOLDER],
            as_param=options[opt.KEEP_PAGE],
        )

    def check(self, request: Request) -> None:
        """Raise ``UsageError`` if the request lacks the placeholder for the page number or the cursor."""
        if self.placeholder and not self.as_param and not request.has_placeholder(self.name):
            raise UsageError(
                f"option 'pageing': use_placeholder_replacement = true requires ${{{self.name}}} in url, "
                "headers, params or body"
            )

    def request(self, request: Request, value: str | None) -> Request:
        """Return the request for a page number or cursor; ``None`` means the first page when paging by cursor."""
        if self.as_param:
            return request.with_param(self.name, value)
        if self.placeholder:
            return request.with_placeholder(self.name, value)
        return request.with_key(self.name, value)

    def ranges(self, planning: PlanningContext) -> list[tuple[int, int | None]]:
        """Return the first and last page of each split; one split without a last page if their number is unknown."""
        if self.by_cursor or not self.last:
            return [(self.start, None)]
        pages = self.last - self.start + 1
        each = max(1, pages // (_SPLITS_PER_TASK * planning.parallelism))
        if planning.rows_per_second:
            each = min(each, max(1, planning.rows_per_second // (self.rows or GUESSED_ROWS)))
        return [(first, min(first + each - 1, self.last)) for first in range(self.start, self.last + 1, each)]

    def says_more(self, documents: Sequence[Any]) -> bool | None:
        """Return True if a response's flag states that more pages follow; ``None`` if it has no flag."""
        values = [value for document in documents for value in found(self.more_path, document)]
        if not values or values[0] is None:
            return None
        if isinstance(values[0], str):
            return values[0].strip().lower() not in _NO_MORE
        return bool(values[0])

    def is_last(self, rows: int) -> bool:
        """Return True if a page with this number of rows is the last one. Used if the number of pages is unknown."""
        return rows < (self.rows or 1)

    def cursor(self, documents: Sequence[Any]) -> str | None:
        """Return the cursor of the next page; ``None`` on the last page."""
        values = [value for document in documents for value in found(self.cursor_path, document)]
        if not values or not values[0]:
            return None
        if isinstance(values[0], dict | list):
            raise SourceError(
                f"cursor_response_field = {self.cursor_path!r} matches {keys_of(values[0])}, but a single value is "
                "expected: set the option to the path of a single value"
            )
        return str(values[0])
