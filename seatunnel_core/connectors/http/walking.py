"""Iteration over pages up to the last one, with detection of endless pages."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import TypeVar

from attrs import field, frozen

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.http.client import Answer, Client
from seatunnel_core.connectors.http.content import Content
from seatunnel_core.connectors.http.links import addressed, is_address, next_link
from seatunnel_core.connectors.http.paging import Paging
from seatunnel_core.connectors.http.request import Request

T = TypeVar("T")
Page = Callable[[Answer, str], tuple[int, Iterator[T]]]
"""Function that processes a response, given its location, and returns its number of rows and a result."""

_DIGEST_BYTES = 12


@frozen(kw_only=True)
class Walk:
    """Pages of a request, in order."""

    client: Client
    content: Content
    paging: Paging
    request: Request = field(repr=False)
    """Request without page parameters."""

    context: ReadContext | None = None
    """Context for notes about pages with fewer than ``batch_size`` rows; ``None`` during planning."""

    def by_number(self, page: "Page[T]", first: int, last: int | None) -> Iterator[T]:
        """Yield the results of ``page`` for the pages from ``first`` to ``last``, or to the service's last page."""
        seen, number, again, size = dict[bytes, int](), first, 0, self.paging.rows or 1
        ahead: Answer | None = None
        while last is None or number <= last:
            where = self._where(number)
            answer, ahead = ahead or self._page(number), None
            count, rows = page(answer, where)
            more = self._says_more(answer, where, is_first=number == first, rows=count)
            if last is None and (count or more):
                again = self._refuse_repeated(answer, where, seen, number, again)
            yield from rows
            if last is None and number == first and more is None and 0 < count < size:
                ahead = self._behind_short(answer, number)
                size = count if ahead else size
            follows = (count >= size if more is None else more) if last is None else number < self.paging.last
            if more is None and follows:
                self._note_short(count, where)
            if last is None and not follows:
                return
            number += 1

    def _where(self, number: int) -> str:
        return f"{self.request.shown}, page {number}"

    def _page(self, number: int) -> Answer:
        return self.client.send(self.paging.request(self.request, str(number)))

    def _behind_short(self, answer: Answer, number: int) -> Answer | None:
        """Return the page following a first page with fewer than ``batch_size`` rows; ``None`` if it has no new rows.

        If a service limits the page size, every page is short, so the first one need not be the last. If the service
        rejects the request or returns the same rows again, there are no further pages.
        """
        where = self._where(number + 1)
        try:
            following = self._page(number + 1)
            found = self._rows(following, where)
        except SourceError as error:
            if not error.retryable:
                return None
            failure = SourceError(
                f"{error}. This page was requested because page {number} has fewer rows than batch_size = "
                f"{self.paging.rows:,}; if page {number} is the last one, set total_page_size or "
                "has_more_response_field"
            )
            failure.retryable = True
            raise failure from error
        return following if found - self._rows(answer, self._where(number)) else None

    def _rows(self, answer: Answer, where: str) -> set[str]:
        """Return the rows of a response as strings; empty if they do not count for paging."""
        text, content = answer.decoded(where), self.content
        if not content.has_columns:
            counts = content.counted(text, where)
            return {each for rows in content.texts(text, where) for each in rows.column(0).to_pylist() if counts}
        documents = content.documents(text, where)
        elements = content.elements(documents, where)
        return set(map(repr, elements)) if content.of_page(documents, len(elements)) else set()

    def _note_short(self, count: int, where: str) -> None:
        """Record a note about a page that has fewer than ``batch_size`` rows but is not the last one."""
        expected = self.paging.rows or 0
        if self.context is not None and 0 < count < expected:
            what = (
                f"are in pages with fewer rows than batch_size = {expected:,}, although more pages follow, so the "
                "service limits the page size. Set batch_size to that limit"
            ) + ", and check total_page_size" * bool(self.paging.last)
            self.context.note(what, f"{where}, with {count:,}", rows=count)

    def _refuse_repeated(self, answer: Answer, where: str, seen: dict[bytes, int], number: int, again: int) -> int:
        """Return the number of an earlier page with the same content, or 0. Raise ``SourceError`` if pages repeat."""
        same = seen.setdefault(_digest(answer.content), number)
        if same == number:
            return 0
        if same == number - 1:
            raise SourceError(
                f"{where} is identical to the previous page: the service ignores {self.paging.name!r}. Correct "
                "page_field, or set total_page_size or batch_size to determine the last page"
            )
        if again and same == again + 1:
            raise SourceError(
                f"{where} is identical to page {same}, and the previous page was also repeated: after its last "
                "page, the service starts again with the first page. Set total_page_size, batch_size or "
                "has_more_response_field to determine the last page"
            )
        return same

    def by_cursor(self, page: "Page[T]") -> Iterator[T]:
        """Yield the results of ``page`` for all pages, following the cursor or the URL in each page."""
        request, number, seen = self.paging.request(self.request, None), 1, set[bytes]()
        if self.paging.follows:
            seen.add(_digest(request.url.encode() if not request.params else b""))
        before: str | None = None
        while True:
            where = f"{self.request.shown}, page {number}"
            answer = self.client.send(request)
            count, rows = page(answer, where)
            yield from rows
            more = self._says_more(answer, where, is_first=number == 1, rows=count)
            cursor = self._cursor(answer, where) if more is not False else None
            if cursor is None:
                return
            request = self._following(request, cursor)
            mark = _digest(request.url.encode() if self._is_address(cursor) else cursor.encode())
            if mark in seen:
                said = "the same cursor as its request" if cursor == before else "an earlier cursor"
                raise SourceError(
                    f"{where} contains {said}, so paging would never end: check cursor_field and cursor_response_field"
                )
            seen.add(mark)
            before, number = cursor, number + 1

    def _cursor(self, answer: Answer, where: str) -> str | None:
        if self.paging.by_link:
            return next_link(answer.headers.get("Link", ""))
        return self.paging.cursor(self.content.documents(answer.decoded(where), where))

    def _is_address(self, cursor: str) -> bool:
        return self.paging.by_link or (self.paging.follows and is_address(cursor, self.request.url))

    def _following(self, asked: Request, cursor: str) -> Request:
        return addressed(asked, cursor) if self._is_address(cursor) else self.paging.request(self.request, cursor)

    def _says_more(self, answer: Answer, where: str, *, is_first: bool, rows: int) -> bool | None:
        """Return True if a response's flag states that more pages follow; ``None`` if no flag is configured."""
        if not self.paging.more_path:
            return None
        found = self.paging.says_more(self.content.documents(answer.decoded(where), where))
        if found is None and is_first and rows and not self.content.missed_is_null:
            raise SourceError(
                f"{where}: has_more_response_field = {self.paging.more_path!r} matches nothing. Correct the path. If "
                "a missing value means that no page follows, set json_filed_missed_return_null = true"
            )
        return bool(found)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
