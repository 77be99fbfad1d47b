"""The demo mesh in a real browser: what a visitor of a gateway sees. Screenshots stay in pytest's folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.live.lab_process import up
from tests.live.web import ServedWeb
from tests.peers.gateway.test_browser import PHONE

pytestmark = pytest.mark.live

QUERY = "软件包 安装"
WAIT_S = 100


@pytest.fixture
def demo_web(tmp_path: Path) -> Iterator[ServedWeb]:
    """The bundled web, served by a process of its own."""
    folder = tmp_path / "demo-web"
    command = [sys.executable, "-m", "bootstrap.demo_web", "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        seeds = (folder / "seeds.txt").read_text().split()
        yield ServedWeb(folder, seeds, {})
        server.terminate()


def test_visitor_searches_in_chinese_and_opens_a_stored_copy(
    demo_web: ServedWeb, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    with up(tmp_path, demo_web, seeds=demo_web.seeds) as lab:
        total = lab.wait_until_idle()["total"]
        assert total["pages_indexed"] > 200
        browser.get(lab.gateways()[1])
        browser.save_screenshot(str(tmp_path / "start.png"))
        browser.switch_to.active_element.send_keys(QUERY, Keys.ENTER)
        _wait_for(browser, "ol.results li")
        browser.save_screenshot(str(tmp_path / "results.png"))
        assert len(browser.find_elements(By.CSS_SELECTOR, "ol.results > li")) == 10
        marked = {mark.text for mark in browser.find_elements(By.CSS_SELECTOR, ".snippet mark")}
        assert marked & {"软件包", "安装"}
        title = browser.find_element(By.CSS_SELECTOR, "ol.results h2").text

        browser.find_element(By.CSS_SELECTOR, "a.cached").click()
        _wait_for(browser, "iframe")
        browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
        assert "软件包" in browser.find_element(By.TAG_NAME, "body").text
        browser.switch_to.default_content()
        browser.save_screenshot(str(tmp_path / "stored.png"))
        assert title

        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        browser.get(f"{lab.gateways()[2]}/search?q={QUERY}&page=2")
        _wait_for(browser, "ol.results li")
        browser.save_screenshot(str(tmp_path / "phone.png"))
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= PHONE["width"]


def _wait_for(browser: webdriver.Chrome, selector: str) -> None:
    WebDriverWait(browser, WAIT_S).until(lambda b: b.find_elements(By.CSS_SELECTOR, selector))
