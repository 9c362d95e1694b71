"""Request page after page until the last one, and notice services whose pages never end."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import TypeVar

from attrs import field, frozen

from seatunnel_core.connectors.http.client import Answer, Client
from seatunnel_core.connectors.http.content import Content
from seatunnel_core.connectors.http.links import addressed, is_address, next_link
from seatunnel_core.connectors.http.paging import Paging
from seatunnel_core.connectors.http.request import Request
from seatunnel_core.errors import SourceError

T = TypeVar("T")
Page = Callable[[Answer, str], tuple[int, Iterator[T]]]
"""Takes an answer and its place, and returns the number of rows in it, and what is made of them."""

_DIGEST_BYTES = 12


@frozen(kw_only=True)
class Walk:
    """The pages of one request, one after the other."""

    client: Client
    content: Content
    paging: Paging
    request: Request = field(repr=False)
    """The request of the job, without a page."""

    def by_number(self, page: "Page[T]", first: int, last: int | None) -> Iterator[T]:
        """Yield what ``page`` makes of the pages from ``first`` to ``last``; without ``last``, up to the last one.

        Raises:
            SourceError: The service answers pages again that it has answered before.
        """
        seen, number, again = dict[bytes, int](), first, 0
        while last is None or number <= last:
            where = f"{self.request.shown}, page {number}"
            answer = self.client.send(self.paging.request(self.request, str(number)))
            count, rows = page(answer, where)
            more = self._says_more(answer, where, is_first=number == first, rows=count)
            if last is None and (count or more):
                again = self._refuse_repeated(answer, where, seen, number, again)
            yield from rows
            if last is None and not (self.paging.is_last(count) is False if more is None else more):
                return
            number += 1

    def _refuse_repeated(self, answer: Answer, where: str, seen: dict[bytes, int], number: int, again: int) -> int:
        """Return the number of an earlier page with the same content, 0 without one.

        Raises:
            SourceError: It is the page before, or the page before was a repeated one, too.
        """
        same = seen.setdefault(_digest(answer.content), number)
        if same == number:
            return 0
        if same == number - 1:
            raise SourceError(
                f"{where} is the same as the page before: the service does not look at {self.paging.name!r}. Correct "
                "page_field, or say with total_page_size or batch_size where the pages end"
            )
        if again and same == again + 1:
            raise SourceError(
                f"{where} is the same as page {same}, and so was the page before: the service begins again behind its "
                "last page. Write total_page_size, batch_size or has_more_response_field, so that the end is known"
            )
        return same

    def by_cursor(self, page: "Page[T]") -> Iterator[T]:
        """Yield what ``page`` makes of all pages, each of which contains the cursor or the address of the next one.

        Raises:
            SourceError: A cursor comes again, so that the pages would never end.
        """
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
                said = "the cursor with which it was asked for" if cursor == before else "a cursor that came before"
                raise SourceError(
                    f"{where} gives {said}, so the pages would never end: look at cursor_field and "
                    "cursor_response_field"
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
        """Return the request for the next page."""
        return addressed(asked, cursor) if self._is_address(cursor) else self.paging.request(self.request, cursor)

    def _says_more(self, answer: Answer, where: str, *, is_first: bool, rows: int) -> bool | None:
        """Return whether an answer says that pages follow; ``None`` if it is not asked."""
        if not self.paging.more_path:
            return None
        found = self.paging.says_more(self.content.documents(answer.decoded(where), where))
        if found is None and is_first and rows and not self.content.missed_is_null:
            raise SourceError(
                f"{where}: has_more_response_field = {self.paging.more_path!r} finds nothing. Correct it; where that "
                "means that no page follows, write json_filed_missed_return_null = true"
            )
        return bool(found)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
