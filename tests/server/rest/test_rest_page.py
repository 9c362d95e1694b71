"""The page about REST says what the routes say, and which test shows each."""

import re

from seatunnel_core.server.rest.application import USER_ROUTES
from tests.foundation.snippets import ROOT
from tests.server.rest.rest_page import PAGE, SHOWN_BY, page

_TESTS = {
    name
    for path in (ROOT / "tests/server").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE)
}


def test_the_page_of_rest_is_what_the_routes_say() -> None:
    """Write the route first; then `python -m tests.server.rest.rest_page` writes the page."""
    written = PAGE.read_text("utf-8")
    assert written == page(written)


def test_each_test_that_shows_an_endpoint_is_there() -> None:
    assert set(SHOWN_BY) <= {route.path for route in USER_ROUTES}
    assert [name for name in SHOWN_BY.values() if name not in _TESTS] == []
