"""Delivery of events to a webhook, in order, by a dedicated thread."""

import json
import logging
import threading
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

logger = logging.getLogger("seatunnel.cluster")

MOST = 1_000
"""Maximum number of queued events. If the queue is full, the oldest event is dropped."""

AT_ONCE = 100
ANSWER_S = 5.0
AGAIN_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Delays before retries, in seconds. The last delay is repeated."""

Post = Callable[[bytes], None]
"""Function that sends a body and raises OSError if the body is not accepted."""


class EventReports:
    """Queue of events, sent as JSON lists by ``post``. Adding an event never blocks."""

    def __init__(self, post: Post, *, again_s: tuple[float, ...] = AGAIN_S) -> None:
        self._post = post
        self._again_s = again_s
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._changing = threading.Condition()
        self._closed = False
        self.given_up = 0
        """Number of events that were dropped because the queue was full."""

        self._thread = threading.Thread(target=self._tell, name="events", daemon=True)
        self._thread.start()

    def put(self, event: Mapping[str, Any]) -> None:
        """Queue an event and return immediately."""
        with self._changing:
            if len(self._waiting) >= MOST:
                self._waiting.popleft()
                self.given_up += 1
            self._waiting.append(event)
            self._changing.notify()

    def close(self) -> None:
        """Stop reporting."""
        with self._changing:
            self._closed = True
            self._changing.notify()

    def _tell(self) -> None:
        failures = 0
        while True:
            with self._changing:
                self._changing.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                some = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
            try:
                self._post(json.dumps(some).encode())
            except OSError as error:
                self._take_back(some)
                if failures == 0:
                    logger.warning(
                        "events are queued, because the server at event-report-http does not accept them: %s", error
                    )
                with self._changing:
                    pause_s = self._again_s[min(failures, len(self._again_s) - 1)]
                    self._changing.wait_for(lambda: self._closed, pause_s)
                failures += 1
                continue
            if failures:
                logger.info("event delivery has resumed; %d events were dropped in total", self.given_up)
            failures = 0

    def _take_back(self, some: list[Mapping[str, Any]]) -> None:
        with self._changing:
            room = max(0, MOST - len(self._waiting))
            self.given_up += max(0, len(some) - room)
            self._waiting.extendleft(reversed(some[len(some) - min(room, len(some)) :]))


def http_post(url: str, headers: Mapping[str, str]) -> Post:
    """Return a function that posts to a URL. Its errors never contain the headers, which may include a token."""

    def post(body: bytes) -> None:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
                answer.read(1_000)
        except urllib.error.HTTPError as error:
            with error:
                raise OSError(f"it responds with HTTP {error.code}") from None
        except (ValueError, OSError) as error:
            raise OSError(f"{type(error).__name__}: {getattr(error, 'reason', None) or error}") from None

    return post
