"""The notebook of ``examples/notebook``: its cells are run, and what they show is looked at as a page."""

from pathlib import Path
from typing import Any

import pytest

from tests.application.example_notebook import OUTPUTS, as_page, executed
from tests.page.browsing import SERIOUS, chromium, watched

pytestmark = [pytest.mark.notebook, pytest.mark.xdist_group("notebook")]

OURS = f"{OUTPUTS} .tex2jax_ignore"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("nbclient", reason="pip install '.[notebook]'")
    return executed(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="module")
def browser() -> Any:
    with chromium() as running:
        yield running


def shown(notebook: Any, cell: str, kind: str = "text/plain") -> list[str]:
    (found,) = (each for each in notebook.cells if each.id == cell)
    return [output["data"].get(kind, "") for output in found.outputs if "data" in output]


def test_every_cell_gives_what_it_says(notebook: Any) -> None:
    said = [each for cell in notebook.cells if cell.cell_type == "code" for each in cell.outputs if "data" not in each]
    assert said == [], "nothing is printed beside what cells show"
    assert shown(notebook, "read")[0].count("'city'") == 3
    assert "'inhabitants': None" in shown(notebook, "read")[0]
    assert shown(notebook, "define") == ["({'month': '2026-01', 'number': 0, 'amount': 0}, None)"]
    assert shown(notebook, "values") == ["('finished', 60000, 12000)"]
    (report,) = shown(notebook, "run", "text/html")
    assert report.count("<table") == 1, "the report takes the place of the progress"
    assert "Memory-source-1 -&gt; LocalFile-sink-1" in report


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_what_they_show_is_legible_and_no_wider_than_the_page(
    notebook: Any, browser: Any, tmp_path: Path, width: int, dark: bool
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    address = as_page(notebook, tmp_path / "page.html", dark=dark)
    with watched(browser, address, width=width, dark=dark) as seen:
        seen.page.goto(address)
        tables = seen.page.locator(f"{OURS} table")
        assert tables.count() == 3, "two reports and an outline"
        headings = seen.page.evaluate(f"[...document.querySelectorAll('{OURS} th')].map(e => e.clientHeight)")
        assert max(headings) < 35, "a word is broken into two lines"
        right = "[...document.querySelectorAll(given)].map(each => each.getBoundingClientRect().right)"
        assert max(seen.page.evaluate(f"given => {right}", OURS)) <= width
        found = Axe().run(seen.page, context=OURS).response["violations"]
        assert [each["help"] for each in found if each["impact"] in SERIOUS] == []
