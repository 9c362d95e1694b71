"""A page in Debian's Chromium, watched: what it loads and from where, what it complains of, what axe finds."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import define, field

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Without its calls home, which a machine without a network refuses, many at a time."""

WAIT_MS = 60_000
"""On a machine that has no time for anything."""

SERIOUS = ("serious", "critical")


@contextmanager
def chromium() -> Iterator[Any]:
    """Give a browser; what is not installed leaves the tests out, in red."""
    path = os.environ.get("SEATUNNEL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium: apt install chromium, or name one by SEATUNNEL_CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install '.[browser]'")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@define(eq=False)
class Watched:
    """One page, and what it did."""

    page: Any
    origin: str
    elsewhere: list[str] = field(factory=list)
    """What it asked of others than its node."""

    complaints: list[str] = field(factory=list)
    """Errors of scripts and of the policy, without those of answers that say no."""

    dialogs: list[str] = field(factory=list)

    def open(self, where: str = "#/") -> None:
        """Show a view, in a page that is loaded anew."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.origin}/{where}")
        self.page.wait_for_selector("h1", timeout=WAIT_MS)

    def settle(self) -> None:
        """Wait until nothing is asked for a first time any more."""
        self.page.wait_for_selector("main h1", timeout=WAIT_MS)
        self.page.wait_for_function("() => !document.querySelector('[aria-busy]')", timeout=WAIT_MS)

    def overflows(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def text(self) -> str:
        """Return what stands in the view."""
        return str(self.page.inner_text("main"))

    def wait_text(self, text: str) -> None:
        """Wait until a text stands somewhere in the page."""
        self.page.get_by_text(text).first.wait_for(timeout=WAIT_MS)

    def findings(self) -> list[str]:
        """Return what axe finds that is serious."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
            for each in found
            if each["impact"] in SERIOUS
        ]

    def unharmed(self) -> None:
        """Require that nothing was loaded from elsewhere, nothing ran that should not, and nobody complained."""
        assert self.elsewhere == []
        assert self.complaints == []
        assert self.dialogs == []


@contextmanager
def watched(
    browser: Any,
    origin: str,
    *,
    width: int = 1280,
    height: int = 900,
    dark: bool = False,
    login: tuple[str, str] | None = None,
    zone: str = "UTC",
) -> Iterator[Watched]:
    """Give a page in a window of a width, that is let in with a user and a password."""
    scheme = "dark" if dark else "light"
    credentials = None if login is None else {"username": login[0], "password": login[1]}
    window = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    context = browser.new_context(**window, locale="en-GB", timezone_id=zone, http_credentials=credentials)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    found = Watched(page, origin)

    def said(message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            found.complaints.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith((f"{origin}/", "about:blank", "blob:")):
            found.elsewhere.append(request.url)

    def popped(dialog: Any) -> None:
        found.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("console", said)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", asked)
    page.on("dialog", popped)
    try:
        yield found
    finally:
        context.close()


def submit(seen: Watched, text: str, job_id: str, *, press: str = "Submit") -> None:
    """Write a job into the form and submit it."""
    page = seen.page
    page.get_by_label("The job", exact=True).fill(text)
    page.get_by_label("Id", exact=True).fill(job_id)
    page.get_by_role("button", name=press, exact=True).click()
