"""The page says what the file of batches says."""

from tests.server.nemesis.page import PAGE, page
from tests.server.nemesis.totals import STATE, read_batches


def test_the_page_is_that_of_the_batches_that_were_played() -> None:
    """``python -m tests.server.nemesis.page`` writes it."""
    assert PAGE.read_text("utf-8") == page(read_batches(STATE))
