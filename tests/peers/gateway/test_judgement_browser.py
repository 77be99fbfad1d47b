"""Judging in a real browser: by keys and by buttons, with reload, without script, read by everybody."""

from __future__ import annotations

from pathlib import Path
from time import time

import msgspec
import pytest
import trio
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import text_to_be_present_in_element
from selenium.webdriver.support.wait import WebDriverWait

from peers.judging.assessor_link import AssessorLink, key_of
from peers.judging.judgement_files import JudgementFiles
from peers.judging.pool import Pool, PooledPage, PooledQuery
from peers.policy.log_rules import QueryLogRules, SecondRanking, SecondWeights
from peers.policy.rules import EVERYTHING, Policy
from tests.peers.gateway.fake_searcher import FakeSearcher
from tests.peers.gateway.looks import look_at
from tests.peers.gateway.test_browser import WAIT_S, browser
from tests.peers.gateway.test_http_port import UNLIMITED, running
from tests.peers.gateway.test_log_routes import LoggingSearcher

pytestmark = pytest.mark.live

__all__ = ["browser"]

EXCERPT = "红苹果 and red apples of the north, which grow where the summers are short. " * 3
PAGES = tuple(
    PooledPage(
        "1", f"http://fruit.test/{each}/{'a-long-name/' * 6}", f"Red apples {each}", EXCERPT, ((8, 18),)
    )
    for each in "abc"
)
NAMED = PooledPage("2", "doc-0007")
POOL = Pool(9, 1, (PooledQuery("1", "red apples 红苹果"), PooledQuery("2", "pears")), (*PAGES, NAMED))


def _grades(driver: webdriver.Chrome) -> list[str]:
    pressed = driver.find_elements(By.CSS_SELECTOR, "button[aria-pressed=true]")
    return [each.get_attribute("value") or "" for each in pressed]


def _until_judged(driver: webdriver.Chrome, count: int) -> None:
    told = f"progress[value='{count}']"
    WebDriverWait(driver, WAIT_S).until(lambda each: each.find_elements(By.CSS_SELECTOR, told))


def _judge_all(driver: webdriver.Chrome, address: str) -> None:
    driver.get(address)
    assert driver.switch_to.active_element.get_attribute("id") == "p1"  # the first without a grade
    driver.switch_to.active_element.send_keys("2")
    _until_judged(driver, 1)
    assert driver.switch_to.active_element.get_attribute("id") == "p2"
    driver.refresh()  # sends nothing again
    _until_judged(driver, 1)
    assert _grades(driver) == ["2"]
    driver.switch_to.active_element.send_keys("j")
    assert driver.switch_to.active_element.get_attribute("id") == "p3"
    driver.switch_to.active_element.send_keys("0")
    _until_judged(driver, 2)
    assert driver.switch_to.active_element.get_attribute("id") == "p2"  # that was left out
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.find_element(By.CSS_SELECTOR, "#p2 button[value='1']").click()
    _until_judged(driver, 3)
    assert "n=2#p1" in driver.current_url
    driver.find_element(By.CSS_SELECTOR, "#p1 button[value='1']").click()
    _until_judged(driver, 4)
    driver.find_element(By.CSS_SELECTOR, "a[rel=prev]").click()
    WebDriverWait(driver, WAIT_S).until(lambda each: _grades(each) == ["2", "1", "0"])
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def _everybody_can_read_it(driver: webdriver.Chrome, gateway: str, path: str, folder: Path) -> None:
    assert look_at(driver, gateway, folder, path) == []


async def test_a_pool_is_judged_by_keys_and_by_buttons_and_without_script(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    files = JudgementFiles(tmp_path / "judging")
    files.keep_pool("fruit", POOL)
    settings = msgspec.structs.replace(UNLIMITED, judging_folder=str(tmp_path / "judging"))
    link = AssessorLink("fruit", "ann", int(time()) + 3_600)
    async with running(FakeSearcher(), settings) as http:
        gateway = f"http://127.0.0.1:{http.port}"
        path = f"/judge/fruit/ann/{link.code(key_of(UNLIMITED.admin_token))}"
        await trio.to_thread.run_sync(_judge_all, browser, gateway + path)
        await trio.to_thread.run_sync(_everybody_can_read_it, browser, gateway, f"{path}?n=1", tmp_path)
    assert sorted(files.judgements("fruit", "ann")["1"].values()) == [0, 1, 2]
    assert files.judgements("fruit", "ann")["2"] == {"doc-0007": 1}


def _agree_and_leave(driver: webdriver.Chrome, gateway: str) -> None:
    driver.get(f"{gateway}/search?q=many&lang=en")
    driver.find_element(By.LINK_TEXT, "Help compare two rankings").click()
    for button, told in (("Take part", "You take part."), ("Leave", "You do not take part.")):
        driver.find_element(By.XPATH, f"//main//button[text()='{button}']").click()
        shown = text_to_be_present_in_element((By.CSS_SELECTOR, ".remark"), told)
        WebDriverWait(driver, WAIT_S).until(shown)
    assert driver.get_cookies() == []


async def test_a_reader_agrees_to_see_two_rankings_and_leaves(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    second = SecondRanking(name="titles", weights=SecondWeights(title=0.9))
    rules = QueryLogRules(days=7, clicks=True, second=second)
    async with running(LoggingSearcher()) as http:
        http.policy = Policy(rules=EVERYTHING.rules, query_log=rules)
        http.shown_log.rules = rules
        gateway = f"http://127.0.0.1:{http.port}"
        await trio.to_thread.run_sync(_agree_and_leave, browser, gateway)
        await trio.to_thread.run_sync(_everybody_can_read_it, browser, gateway, "/compare", tmp_path)
