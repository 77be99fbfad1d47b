"""The pages in a real browser: Debian's Chromium, headless. It reaches loopback only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import trio
from msgspec.structs import replace
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from mesh.actors.actor import Message
from mesh.keys.decree import Authority, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from peers.gateway.model.messages import FindPage, FoundPage, PageFound, PagesFound, SearchPages
from peers.judging.judgement_files import JudgementFiles
from peers.judging.pool import Pool, PooledPage, PooledQuery
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import OF_SEEDS, Policy
from peers.policy.submission_rules import SubmissionRules
from tests.peers.documents.icons import icon
from tests.peers.gateway.fake_backend import MESH_ID, ROOT, read_here
from tests.peers.gateway.fake_searcher import CHINESE_URL, DAY, FULL, FakeSearcher, answer_to, stored_icon
from tests.peers.gateway.looks import LOOKS, Fault, faults_of, look_at
from tests.peers.gateway.test_group_routes import answer as jaguars
from tests.peers.gateway.test_http_port import UNLIMITED, running
from tests.peers.gateway.test_moderation_routes import Sites
from tests.peers.gateway.test_topic_routes import counted, in_force
from tests.peers.gateway.test_watch_routes import EVIL, Watchers, notice, watch_list

pytestmark = pytest.mark.live

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --proxy-server=direct:// "
    "--window-size=1280,900"
)
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
WAIT_S = 100
SUGGESTED = "#suggestions:not([hidden]) li"


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        message = f"no {name} on this machine: apt-get install chromium chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = _program("chromium")
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path / 'profile'}")
    options.add_experimental_option("prefs", {"intl.accept_languages": "zh-CN,zh"})
    driver = webdriver.Chrome(options=options, service=Service(_program("chromedriver")))
    yield driver
    driver.quit()


def _wait_for(browser: webdriver.Chrome, selector: str) -> None:
    WebDriverWait(browser, WAIT_S).until(lambda b: b.find_elements(By.CSS_SELECTOR, selector))


def _search_and_open_the_stored_copy(browser: webdriver.Chrome, gateway: str) -> None:
    browser.get(gateway)
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("lang") == "zh-Hans"
    assert browser.switch_to.active_element.get_attribute("id") == "q"

    browser.switch_to.active_element.send_keys("爬虫", Keys.ENTER)
    _wait_for(browser, "ol.results li")
    assert browser.find_element(By.ID, "q").get_attribute("value") == "爬虫"
    marks = browser.find_elements(By.CSS_SELECTOR, ".snippet mark")
    assert marks[0].text == "爬虫"
    assert "gradient" in marks[0].value_of_css_property("background-image")
    title = browser.find_element(By.CSS_SELECTOR, "ol.results h2 a")
    assert title.get_attribute("href") == CHINESE_URL

    browser.find_element(By.CSS_SELECTOR, "a.cached").click()
    _wait_for(browser, "iframe")
    assert "抓取时的样子" in browser.find_element(By.TAG_NAME, "header").text
    # The style is ours although the page's origin is not.
    assert browser.find_element(By.TAG_NAME, "body").value_of_css_property("display") == "flex"
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    assert browser.find_element(By.ID, "body-text").text.startswith("网络爬虫从一组种子网址出发")
    assert "script-ran" not in (browser.find_element(By.TAG_NAME, "html").get_attribute("class") or "")
    assert "script-ran" not in (browser.find_element(By.TAG_NAME, "body").get_attribute("class") or "")
    jump, link, *_ = browser.find_elements(By.TAG_NAME, "a")
    assert (jump.text, link.get_attribute("href")) == ("爬虫", "http://zh.docs.test/next.html")
    assert [mark.text for mark in browser.find_elements(By.CSS_SELECTOR, "#body-text mark")][:1] == ["爬虫"]
    picture = browser.find_element(By.TAG_NAME, "img")
    assert picture.get_property("naturalWidth") == 0
    browser.switch_to.default_content()


def _a_stored_copy_is_dark_where_the_reader_wants_it(browser: webdriver.Chrome, gateway: str) -> None:
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(f"{gateway}/page?url={quote(CHINESE_URL, safe='')}")
        frame = browser.find_element(By.TAG_NAME, "iframe")
        switch = browser.find_element(By.CSS_SELECTOR, ".colours input")
        assert switch.is_displayed() == (scheme == "dark")
        assert ("invert" in frame.value_of_css_property("filter")) == (scheme == "dark")
    switch.click()
    assert frame.value_of_css_property("filter") == "none"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def _nothing_is_wider_than_a_phone(browser: webdriver.Chrome, gateway: str) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    for path in (
        "/",
        "/status",
        "/history",
        "/sign-in",
        "/why",
        "/search?q=many&page=50",
        "/search?q=hostile",
        "/search?q=zilch",
        "/nothing",
    ):
        browser.get(gateway + path)
        root = browser.find_element(By.TAG_NAME, "html")
        width = root.get_property("scrollWidth")
        assert isinstance(width, int)
        assert width <= PHONE["width"], path


def _keys_go_from_result_to_result(browser: webdriver.Chrome, gateway: str) -> None:
    browser.get(f"{gateway}/search?q=crawler")
    body = browser.find_element(By.TAG_NAME, "body")
    links = browser.find_elements(By.CSS_SELECTOR, ".results h2 a")
    for key, expected in (
        ("j", links[0]),
        ("j", links[1]),
        (Keys.ARROW_UP, links[0]),
        ("/", browser.find_element(By.ID, "q")),
        (Keys.ARROW_DOWN, links[0]),
        ("/", browser.find_element(By.ID, "q")),
        ("/", browser.find_element(By.ID, "q")),  # behind this the arrows are the suggestions'
    ):
        (browser.switch_to.active_element or body).send_keys(key)
        assert browser.switch_to.active_element == expected
    assert browser.find_element(By.ID, "q").get_attribute("value") == "/"  # the second one is text


def _an_administrator_signs_in(browser: webdriver.Chrome, gateway: str) -> None:
    browser.get(f"{gateway}/status")
    browser.find_element(By.LINK_TEXT, "登录").click()
    browser.find_element(By.ID, "token").send_keys("another", Keys.ENTER)
    _wait_for(browser, "[role=alert]")
    browser.find_element(By.ID, "token").send_keys(UNLIMITED.admin_token, Keys.ENTER)
    _wait_for(browser, ".hosts a")
    browser.find_element(By.CSS_SELECTOR, ".hosts a").click()
    _wait_for(browser, "table.facts")
    browser.get(f"{gateway}/sign-in")
    browser.find_element(By.CSS_SELECTOR, ".ask button").click()
    _wait_for(browser, "main.status table")
    assert not browser.find_elements(By.CSS_SELECTOR, ".hosts a")
    assert browser.get_cookies() == []


def _everybody_can_read_it(browser: webdriver.Chrome, gateway: str, folder: Path) -> None:
    paths = [f"/search?q={query}" for query in ("everything", "crawl", "many", "zilch")]
    faults = look_at(browser, gateway, folder, *paths)
    browser.get(gateway)
    browser.find_element(By.ID, "q").send_keys("crawl")
    _wait_for(browser, SUGGESTED)
    browser.find_element(By.ID, "q").send_keys(Keys.ARROW_DOWN)
    faults += [Fault("suggestions", *LOOKS[-1], each) for each in faults_of(browser, 1280, "en")]
    assert faults == []


def _a_suggestion_is_chosen_by_keys_or_a_click(browser: webdriver.Chrome, gateway: str) -> None:
    browser.get(gateway)
    question = browser.find_element(By.ID, "q")
    assert question.get_attribute("aria-expanded") == "false"
    question.send_keys("crawl")
    _wait_for(browser, SUGGESTED)
    assert [each.text for each in browser.find_elements(By.CSS_SELECTOR, SUGGESTED)] == ["crawling", "爬虫"]
    assert question.get_attribute("aria-expanded") == "true"
    values = []
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP):
        question.send_keys(key)
        at = question.get_attribute("aria-activedescendant")
        option = browser.find_element(By.ID, at).text if at else ""
        values.append((question.get_attribute("value"), option))
    assert values == [("crawling", "crawling"), ("爬虫", "爬虫"), ("crawl", ""), ("爬虫", "爬虫")]
    question.send_keys(Keys.ESCAPE)
    assert question.get_attribute("value") == "crawl"
    assert not browser.find_elements(By.CSS_SELECTOR, SUGGESTED)

    question.send_keys("e")
    _wait_for(browser, SUGGESTED)
    question.send_keys(Keys.ARROW_UP, Keys.ENTER)
    _wait_for(browser, "ol.results li")
    question = browser.find_element(By.ID, "q")
    assert question.get_attribute("value") == "爬虫"
    question.send_keys(Keys.ARROW_DOWN)  # without a list it goes from result to result
    assert browser.switch_to.active_element.tag_name == "a"
    question.send_keys("!")
    _wait_for(browser, SUGGESTED)
    browser.find_element(By.CSS_SELECTOR, SUGGESTED).click()
    WebDriverWait(browser, WAIT_S).until(lambda _: browser.current_url.endswith("%21ing"))


def _the_first_site_shows_its_icon_the_second_its_letter(browser: webdriver.Chrome, gateway: str) -> None:
    browser.get(f"{gateway}/search?q=many")
    script = """return [...document.querySelectorAll(".letter img")].slice(0, 2).map(image => {
        const box = image.parentElement;
        return image.complete && [image.naturalWidth, image.width > 0, box.scrollHeight > box.clientHeight];
    })"""
    told = WebDriverWait(browser, WAIT_S).until(lambda b: all(shown := b.execute_script(script)) and shown)
    # Behind an icon the letter is below, out of sight; where it fails, in its place.
    assert told == [[32, True, True], [0, False, False]]
    origins = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    assert all(each.startswith(gateway) for each in origins)


async def test_a_site_shows_its_icon_or_else_its_letter(browser: webdriver.Chrome) -> None:
    records = stored_icon("http://h0.test/", icon("WEBP"))

    def answer(order: Message) -> Message:
        if isinstance(order, FindPage):
            return PageFound(order.ticket, order.url, DAY, records.get(order.url, b""))
        return answer_to(order)

    async with running(FakeSearcher(answer), read_stored=read_here) as http:
        gateway = f"http://127.0.0.1:{http.port}"
        await trio.to_thread.run_sync(_the_first_site_shows_its_icon_the_second_its_letter, browser, gateway)


async def test_results_can_be_walked_by_keys_and_read_by_everybody(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    async with running(FakeSearcher()) as http:
        gateway = f"http://127.0.0.1:{http.port}"
        await trio.to_thread.run_sync(_keys_go_from_result_to_result, browser, gateway)
        await trio.to_thread.run_sync(_a_suggestion_is_chosen_by_keys_or_a_click, browser, gateway)
        await trio.to_thread.run_sync(_everybody_can_read_it, browser, gateway, tmp_path)


async def test_groups_and_hubs_are_for_everybody_and_fit_a_phone(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    def look(gateway: str) -> None:
        paths = ("/groups?q=jaguar", "/groups?q=jaguar&by=kind", "/hubs?q=jaguar", "/search?q=define:jaguar")
        assert look_at(browser, gateway, tmp_path, *paths) == []

    async with running(FakeSearcher(jaguars)) as http:
        http.policy = Policy(rules=OF_SEEDS.rules, link_graph=LinkGraphRules())
        await trio.to_thread.run_sync(look, f"http://127.0.0.1:{http.port}")


async def test_chinese_query_finds_highlighted_hits_and_opens_a_stored_copy(
    browser: webdriver.Chrome,
) -> None:
    async with running(FakeSearcher()) as http:
        gateway = f"http://127.0.0.1:{http.port}"
        await trio.to_thread.run_sync(_search_and_open_the_stored_copy, browser, gateway)
        await trio.to_thread.run_sync(_a_stored_copy_is_dark_where_the_reader_wants_it, browser, gateway)
        await trio.to_thread.run_sync(_an_administrator_signs_in, browser, gateway)
        await trio.to_thread.run_sync(_nothing_is_wider_than_a_phone, browser, gateway)


async def test_notices_of_watched_words_come_to_a_page_that_is_open(browser: webdriver.Chrome) -> None:
    watchers = Watchers()

    def look(gateway: str) -> None:
        browser.get(f"{gateway}/watch")
        assert "glass" not in browser.page_source
        browser.find_element(By.NAME, "token").send_keys(UNLIMITED.admin_token)
        browser.find_element(By.CSS_SELECTOR, "main form button").click()
        WebDriverWait(browser, WAIT_S).until(lambda _: browser.current_url.endswith("/status"))
        browser.get(f"{gateway}/watch")
        assert len(browser.find_elements(By.CSS_SELECTOR, "#notices > li")) == 4
        watchers.told["ann"].append(notice(31, "lead", "http://new.test/", f"😀 {EVIL}"))
        _wait_for(browser, "#notices > li:nth-child(5)")
        first = browser.find_element(By.CSS_SELECTOR, "#notices > li")
        assert first.find_element(By.TAG_NAME, "a").get_attribute("href") == "http://new.test/"
        assert first.find_element(By.CLASS_NAME, "snippet").text == f"😀 {EVIL}"
        assert browser.find_element(By.CSS_SELECTOR, 'td[data-entry="lead"]').text == "1"
        assert list(faults_of(browser, 1280, "zh")) == []

    async with running(FakeSearcher(watchers)) as http:
        http.watch_list = watch_list("glass", "lead")
        await trio.to_thread.run_sync(look, f"http://127.0.0.1:{http.port}")


async def test_submissions_are_judged_in_a_browser_and_the_pages_of_administrators_are_for_everybody(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    key = new_signing_key()
    save_administrator(tmp_path / "moderator.key", Signer(key, MESH_ID, appoint(ROOT, MESH_ID, key.public)))
    files = JudgementFiles(tmp_path / "judging")
    pool = Pool(2, 0, (PooledQuery("1", "red"),), (PooledPage("1", "http://h/a"), PooledPage("1", "b")))
    files.keep_pool("fruit", pool)
    files.keep_pool("一个评判集", pool)
    files.judge("fruit", "ann", "1", "b", 1)
    sites = Sites()

    def sign_in(gateway: str) -> None:
        browser.get(f"{gateway}/moderation")
        assert "example.org" not in browser.page_source
        browser.find_element(By.NAME, "token").send_keys(UNLIMITED.admin_token)
        browser.find_element(By.CSS_SELECTOR, "main form button").click()
        WebDriverWait(browser, WAIT_S).until(lambda _: browser.current_url.endswith("/status"))
        browser.find_element(By.PARTIAL_LINK_TEXT, "提交的网站").click()

    def judge(gateway: str) -> None:
        browser.get(f"{gateway}/moderation")
        forms = browser.find_elements(By.CSS_SELECTOR, "form.verdict")
        assert len(forms) == 7, "two for each site, one for a reported page"
        forms[1].find_element(By.NAME, "why").send_keys("不收录", Keys.ENTER)
        WebDriverWait(browser, WAIT_S).until(lambda _: sites.verdicts)
        _wait_for(browser, "main.moderated")
        browser.get(f"{gateway}/moderation?state=refused")
        assert "不收录" in browser.page_source
        browser.find_element(By.CSS_SELECTOR, "form.verdict button").click()
        WebDriverWait(browser, WAIT_S).until(lambda _: len(sites.verdicts) == 2)
        assert [each.is_accepted for each in sites.verdicts] == [False, True]

    def look(gateway: str) -> None:
        paths = "/moderation", "/moderation?state=refused", "/judging"
        assert look_at(browser, gateway, tmp_path, *paths) == []

    folders = {"judging_folder": str(tmp_path / "judging"), "moderator_key": str(tmp_path / "moderator.key")}
    settings = replace(UNLIMITED, **folders)
    async with running(FakeSearcher(sites), settings, Authority(ROOT.public, MESH_ID)) as http:
        http.policy = Policy(rules=OF_SEEDS.rules, submissions=SubmissionRules(reports_per_client=3))
        for step in (sign_in, look, judge):
            await trio.to_thread.run_sync(step, f"http://127.0.0.1:{http.port}")


async def test_the_charts_of_a_topic_can_be_read_by_everybody(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    def look(gateway: str) -> None:
        assert look_at(browser, gateway, tmp_path, "/topics", "/topic/congress") == []
        drawn = browser.find_elements(By.CSS_SELECTOR, ".charts svg[role=img]")
        assert len(drawn) == 8
        assert all(each.accessible_name for each in drawn)

    async with running(FakeSearcher(counted)) as http:
        http.topics = in_force()
        await trio.to_thread.run_sync(look, f"http://127.0.0.1:{http.port}")


async def test_facts_of_a_result_stay_within_a_phone(browser: webdriver.Chrome) -> None:
    dated: dict[str, Any] = {
        "date": DAY,
        "published": "1969-12-31",
        "type": "application/pdf",
        "language": "de",
    }

    def answer(order: Message) -> Message:
        if not isinstance(order, SearchPages):
            return answer_to(order)
        hits = tuple(
            FoundPage(url, "t", "s", (), (), 1.0, "long.example.org", DAY, "p", **(facts | {"as_of": DAY}))
            for url in ("http://long.example.org/", f"http://long.example.org/{'path' * 20}")
            for facts in ({}, dated)
        )
        return PagesFound(order.ticket, ("t",), 4, 0.0, FULL, hits)

    def look(gateway: str) -> None:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        browser.get(f"{gateway}/search?q=t&lang=en")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"]
        lines = browser.find_elements(By.CSS_SELECTOR, ".where")
        heights = [line.size["height"] for line in lines]
        assert heights[2] == heights[0] < heights[1], "a long address is cut before the rest wraps"

    async with running(FakeSearcher(answer)) as http:
        http.policy = Policy(rules=OF_SEEDS.rules, submissions=SubmissionRules(reports_per_client=3))
        await trio.to_thread.run_sync(look, f"http://127.0.0.1:{http.port}")
