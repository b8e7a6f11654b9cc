"""Headless Chromium for tests, or a printed reason why there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REQUIRE = "MTEB_DE_REQUIRE_BROWSER"


def chromium() -> str | None:
    """Return where Chromium lies, None where it does not."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def skip_or_fail(reason: str) -> None:
    """Skip a test, or fail it where a browser is required."""
    if os.environ.get(REQUIRE, "") not in {"", "0"}:
        pytest.fail(f"{reason}, and {REQUIRE} is set")
    pytest.skip(reason)


@contextmanager
def launched() -> Iterator[Browser]:
    """Run Chromium; skip the test where it is not installed."""
    path = chromium()
    if path is None:
        skip_or_fail("no Chromium is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_or_fail("playwright is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page that remembers every console message, fault and request."""

    def __init__(
        self, browser: Browser, *, scheme: Literal["light", "dark"] = "light", width: int = 1100
    ) -> None:
        self.context = browser.new_context(
            accept_downloads=True,
            offline=True,
            color_scheme=scheme,
            viewport={"width": width, "height": 844},
        )
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.faults.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))

    def open(self, path: Path) -> Page:
        """Load a file."""
        self.page.goto(path.as_uri())
        return self.page

    def begin(self, name: str = "Anna Groß") -> None:
        """Say who judges."""
        self.page.fill("#auditor", name)
        self.page.press("#auditor", "Enter")

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def reload(self) -> None:
        """Load the page again, and wait until its script has shown where the auditor is."""
        from playwright.sync_api import expect

        self.page.wait_for_timeout(500)  # a busy browser stores what a tab remembers a moment later
        self.page.reload()
        expect(self.page.locator("#position")).not_to_be_empty()

    def text(self, selector: str) -> str:
        """What an element shows."""
        return self.page.inner_text(selector).strip()
