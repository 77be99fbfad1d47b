"""Every page of a gateway at which all is switched on, looked at as readers do, with axe-core at hand.

Screenshots of pages with faults stay in pytest's folder.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final
from unittest.mock import Mock
from urllib.parse import quote

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from mesh.client.admin_token import tokens_for
from peers.classes.samples import append_samples
from peers.gateway.routes import application
from tests.live.lab_process import Up, get, search, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served
from tests.patience import PATIENCE_S
from tests.peers.classes.texts import samples_of
from tests.peers.gateway.looks import Fault, look_at

pytestmark = pytest.mark.live

HOSTS: Final = ("a.test", "b.test", "c.test")
POLICY: Final = """
[[rules]]
action = "crawl"

[query_log]
days = 7
clicks = true
second = {name = "titles", weights = {title = 2.0, proximity = 0.0}}

[link_graph]
ranks = true

[search_history]
days = 30

[entities]

[submissions]
moderation = true
reports_per_client = 3
"""

# Routes of programs, feeds and forms that only send on: the others are pages.
NO_PAGES: Final = (
    "/api/",
    *("/yacysearch.", "/cdx", "/{index}/_search", "/timegate/", "/timemap/", "/web/", "/feed/"),
    *("/icon", "/favicon.ico", "/static/", "/opensearch.xml", "/go", "/sign-out"),
    *("/healthz", "/readyz", "/metrics", "/robots.txt", "/openapi.json"),
)


def page_routes() -> set[str]:
    """Return the paths of all routes that are pages, with their parameters as they are declared."""
    paths = {route.path for route in application(Mock()).routes if hasattr(route, "path")}
    return {path for path in paths if path == "/" or not path.startswith(NO_PAGES)}


def told(*arguments: str | Path) -> Any:
    done = tianmesh(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ordered(*arguments: str | Path) -> None:
    done = tianmesh(*arguments)
    assert done.returncode == 0, done.stderr


def switch_on(lab: Up, folder: Path) -> dict[str, str]:
    """Have the mesh do all that it can; return the paths that came of it, by the route."""
    gateway = lab.gateways()[0]
    where = ("--gateway", gateway, "--data", lab.folder)
    policy, samples, model = folder / "policy.toml", folder / "samples.tsv", folder / "classes.model"
    topics, run, pool = folder / "topics", folder / "run", folder / "pool.json"
    policy.write_text(POLICY)
    append_samples(samples, samples_of(40))
    ordered("policy", "set", policy, *where)
    ordered("classes", "fit", samples, "--into", model)
    ordered("classes", "set", model, *where)
    ordered("topic", "set", "stones", "gneiss", "--slice", "60s", *where)
    ordered("watch", "add", "gneiss", *where)
    wait_for(lambda: get(gateway, "/submit")[0] == 200, "the policy at the gateway")
    ordered("seed", *(f"http://{host}/" for host in HOSTS), *where)
    wait_for(lambda: search(gateway, "gneiss")["total"] >= len(HOSTS), "pages that are searchable")
    topics.write_text("1\tgneiss\n")
    ordered("search", "--queries", topics, "--run", run, "--gateway", gateway)
    told("eval", "pool", run, "--queries", topics, "--out", pool, "--gateway", gateway)
    [invited] = told("eval", "invite", pool, "--assessor", "ann", *where)["links"]
    submitted = told("submit", "http://d.test/", "--gateway", gateway)
    return {
        "/judge/{pool}/{assessor}/{code}": invited["link"],
        "/submit/{code}": f"/submit/{submitted['code']}",
    }


def sign_in(browser: webdriver.Chrome, lab: Up) -> None:
    browser.get(f"{lab.gateways()[0]}/sign-in")
    browser.find_element(By.NAME, "token").send_keys(tokens_for(lab.folder)())
    browser.find_element(By.CSS_SELECTOR, "main form button").click()
    WebDriverWait(browser, PATIENCE_S).until(lambda _: browser.current_url.endswith("/status"))


def search_live(browser: webdriver.Chrome, gateway: str, folder: Path) -> list[Fault]:
    """Begin a live search, look at it, and wait until its page, never loaded again, says that it is over."""
    browser.get(f"{gateway}/live?q=gneiss")
    browser.find_element(By.CSS_SELECTOR, "main form button").click()
    WebDriverWait(browser, PATIENCE_S).until(lambda _: "id=" in browser.current_url)
    path = browser.current_url.removeprefix(gateway)
    first = browser.find_element(By.CSS_SELECTOR, "[role=status]")
    before = first.text
    WebDriverWait(browser, PATIENCE_S).until(lambda _: first.text != before)
    return look_at(browser, gateway, folder, path)


def test_every_page_is_read_by_everybody_on_every_screen(browser: webdriver.Chrome, tmp_path: Path) -> None:
    visits = count()

    def answer_to(host: str, path: str) -> bytes:
        if path in ("/robots.txt", "/tianmesh-site.txt"):
            return answer(b"", "Content-Type: text/plain", status="404 Not Found")
        links = "".join(f'<a href="http://{each}/">the site {each}</a> ' for each in HOSTS)
        text = f"<h1>{host} 石头</h1><p>gneiss 片麻岩, visit {next(visits)}</p>{links}"
        head = f"<title>{host} 片麻岩</title><meta name=keywords content='gneiss, schist'>"
        return answer(f"{head}<body>{text}".encode(), "Content-Type: text/html; charset=utf-8")

    with served(answer_to) as web:
        options = (*setting("web.resolver", web.write_resolver(tmp_path, HOSTS)), "--peers", "1")
        again = setting("crawl.revisit_after_s", 8)
        with up(tmp_path, None, *options, *again, seeds=["http://none.test/"], delay_s=0.1) as lab:
            gateway, page = lab.gateways()[0], quote("http://b.test/", safe="")
            made = switch_on(lab, tmp_path)
            versions = f"/api/versions?url={page}"
            wait_for(lambda: len(json.loads(get(gateway, versions)[1])["versions"]) > 1, "a second version")
            day = datetime.now(UTC).date().isoformat()
            paths = {
                "/": ["/"],
                "/search": [
                    "/search?q=gneiss",
                    "/search?q=gneyss",
                    "/search?q=define:gneiss",
                    f"/search?q=gneiss+asof:{day}",
                ],
                "/groups": [f"/groups?q=gneiss&by={by}" for by in ("words", "kind", "site")],
                "/hubs": ["/hubs?q=gneiss"],
                "/live": ["/live?q=gneiss"],
                "/compare": ["/compare?q=gneiss"],
                "/watch": ["/watch"],
                "/moderation": ["/moderation"],
                "/submit": ["/submit"],
                "/report": [f"/report?url={page}"],
                "/page": [f"/page?url={page}", f"/page?url={page}&versions", f"/page?url={page}&from={day}"],
                "/at/{day}/{url:path}": [f"/at/{day}/http://b.test/"],
                "/backlinks": [f"/backlinks?url={page}"],
                "/status": ["/status"],
                "/history": ["/history"],
                "/why": ["/why", f"/why?url={page}"],
                "/sign-in": ["/sign-in"],
                "/directory": ["/directory"],
                "/help": ["/help"],
                "/bot": ["/bot"],
                "/judging": ["/judging"],
                "/topics": ["/topics"],
                "/topic/{name}": ["/topic/stones"],
                **{route: [path] for route, path in made.items()},
            }
            assert set(paths) == page_routes(), "every page is looked at"
            sign_in(browser, lab)
            listed = [path for each in paths.values() for path in each]
            faults = search_live(browser, gateway, tmp_path / "live")
            faults += look_at(browser, gateway, tmp_path, *listed)
    assert not faults, "\n".join(map(str, faults))
