from tests.planning.options_page import PAGE, page


def test_the_page_of_options_is_what_the_code_declares() -> None:
    """Declare first; then `python tests/planning/options_page.py` writes the page."""
    assert PAGE.read_text(encoding="utf-8") == page()
