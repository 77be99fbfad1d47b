"""Pages in a real browser as readers have it: narrow and wide, light and dark, in both languages. [io]"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.patience import PATIENCE_S

AXE: Final = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")

# Each two of width, colours and language meet once.
LOOKS: Final = ((390, "light", "en"), (390, "dark", "zh"), (1280, "light", "zh"), (1280, "dark", "en"))

# A stored page in its frame is not ours, and has no axe-core that would answer.
AXE_RUN: Final = """
    const asked = {iframes: false, resultTypes: ["violations"]};
    axe.run(asked).then(arguments[arguments.length - 1])
"""

STATUS: Final = "return performance.getEntriesByType('navigation')[0].responseStatus"
TOO_WIDE: Final = """
    const wide = each => each.getBoundingClientRect().right > arguments[0] && !each.closest(".wide");
    return [...document.querySelectorAll("body *")].filter(wide).map(each => each.outerHTML.slice(0, 200));
"""


# Texts of a page that are ours: no commands, no names of members, nothing of results.
TEXTS: Final = """
    const marked = "code, pre, bdi, samp, iframe, script, style, textarea, h2 a";
    const theirs = `[lang]:not(html):not([lang^=zh]), [dir=auto], ${marked}`;
    const body = document.body.cloneNode(true);
    body.querySelectorAll(theirs).forEach(each => each.remove());
    return body.textContent;
"""
ENGLISH: Final = re.compile(r"(?:\b[a-z]{2,}[,;:]? ){3,}[a-z]{2,}")


class Fault(NamedTuple):
    """A look at a page, and what is wrong with it."""

    path: str
    width: int
    colours: str
    language: str
    fault: str


def look_at(browser: webdriver.Chrome, gateway: str, folder: Path, *paths: str) -> list[Fault]:
    """Open pages in all looks; return what is wrong.

    Args:
      folder: for screenshots of pages with faults, which have the number of their page.
    """
    folder.mkdir(exist_ok=True)
    browser.set_script_timeout(PATIENCE_S)
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})  # a stored page allows no scripts
    faults = []
    for (number, path), (width, colours, language) in product(enumerate(paths), LOOKS):
        size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 800}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": colours}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        accepted = {"headers": {"Accept-Language": language}}
        browser.execute_cdp_cmd("Network.setExtraHTTPHeaders", accepted)
        browser.get(gateway + path)
        found = [*faults_of(browser, width, language)]
        if found:
            browser.save_screenshot(f"{folder}/page-{number}-{width}-{colours}-{language}.png")
        faults += [Fault(path, width, colours, language, each) for each in found]
    return faults


def english_in(text: str) -> Iterator[str]:
    """Yield what is said in English, in four words or more, but for commands between back quotes."""
    for said in ENGLISH.finditer(re.sub(r"`[^`]*`", "", text)):
        yield f"in English: {said.group()}"


def faults_of(browser: webdriver.Chrome, width: int, language: str) -> Iterator[str]:
    """Say what is wrong with the page that is shown."""
    status = browser.execute_script(STATUS)
    if status != 200:
        yield f"status {status}"
    if browser.execute_script("return document.documentElement.scrollWidth") > width:
        yield f"wider than the screen: {browser.execute_script(TOO_WIDE, width)}"
    said = browser.find_element(By.TAG_NAME, "html").get_attribute("lang") or ""
    if not said.startswith(language):
        yield f"in {said}"
    if language == "zh":
        yield from english_in(browser.execute_script(TEXTS))
    browser.execute_script(AXE)
    result = browser.execute_async_script(AXE_RUN)
    assert result["passes"]
    for each in result["violations"]:
        yield f"{each['id']}: {each['nodes'][0]['html']}"
