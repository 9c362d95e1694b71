"""The page of mistakes with services says what a person reads, and no secret."""

from tests.connectors.mistakes.services_page import PAGE, page


def test_the_page_of_mistakes_with_services_is_what_is_said() -> None:
    """Look at what has changed; then `python -m tests.connectors.mistakes.services_page` writes the page."""
    assert PAGE.read_text(encoding="utf-8") == page()
