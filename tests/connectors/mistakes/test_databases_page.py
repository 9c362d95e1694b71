"""The page of mistakes with databases says what a person reads."""

import pytest

from tests.connectors.mistakes.databases_page import PAGE, grounds, page

pytestmark = pytest.mark.servers


def test_the_page_of_mistakes_is_what_is_said() -> None:
    """Look at what has changed; then `python -m tests.connectors.mistakes.databases_page` writes the page."""
    with grounds() as made:
        assert PAGE.read_text(encoding="utf-8") == page(made)
