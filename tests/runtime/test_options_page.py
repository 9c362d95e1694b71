import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from options_page import PAGE, page


def test_the_page_of_options_is_what_the_code_declares():
    """Declare first; then `python tests/runtime/options_page.py` writes the page."""
    assert PAGE.read_text(encoding="utf-8") == page()
