"""The page of mistakes says what a person reads."""

from tests.connectors.mistakes.page import PAGE, page


def test_the_page_of_mistakes_is_what_is_said() -> None:
    """Look at what has changed; then `python -m tests.connectors.mistakes.page` writes the page."""
    assert PAGE.read_text(encoding="utf-8") == page()
