"""Have pages shown by a browser, and take the HTML that their scripts have made of them. [io]

Theory of operation. The fetcher fetches a page as any other. If its URL is one of those that are wanted so,
a browser gets it as the answer to its first request, and each further request of the page comes to us:
scripts and data of the same host are fetched, one after the other, when robots.txt lets us, with the host's
pause before each, and by the fetcher, which refuses private addresses. Pictures, styles, frames, forms, other
hosts and all else is refused. Scripts are kept for a while, since the pages of a site have the same. The
page's clock is ours: five seconds of it pass as fast as its scripts work, and stand still while it waits for
an answer.

What comes out is the same answer with another body, and says in a header who made that. A page that cannot
be shown stays as it came. Every page begins without cookies and storage; the body before is not kept.
"""

from __future__ import annotations

import base64
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeAlias

import trio
from msgspec.structs import replace

from mesh.actors.actor import Statistics
from mesh.urls import canonical, host_of, origin_of
from peers.crawler.fetching.content_encoding import BODY_BYTES_MAX, Decoded, Undecodable
from peers.crawler.model.robots import (
    ROBOTS_BYTES_MAX,
    RobotsRules,
    beginning_of,
    product_token,
    rules_for_status,
    takes_long,
)
from peers.crawler.model.web_request import (
    PAGE_STATUSES,
    FailureReason,
    FetchFailed,
    FetchPage,
    FetchResult,
    PageFetched,
    header_of,
    location_of,
)
from peers.documents.formats import named_media_type
from peers.rendering.browser import Browser, BrowserError

PAGE_S: Final = 60.0  # in which a page is shown, pauses before its requests included
TAKE_S: Final = 10.0  # to say what it looks like
CLOCK_MS: Final = 5_000  # of the page's own clock, after its beginning has come
REQUESTS_MAX: Final = 30  # of a page; the median page on the web has some 20 scripts, most from other hosts
PAGES_MAX: Final = 100  # that a browser shows before it is replaced
IDLE_S: Final = 30.0  # after which a browser is ended
LOOK_S: Final = 5.0
KEPT_S: Final = 3_600.0  # scripts
KEPT_BYTES_MAX: Final = 32 << 20
ROBOTS_S: Final = 86_400.0  # RFC 9309, 2.4
ROBOTS_REDIRECTS_MAX: Final = 5  # RFC 9309, 2.3.1.2
ORIGINS_MAX: Final = 1_000  # whose robots.txt is remembered
RENDERED_BY: Final = "X-Crawler-Rendered"  # beside the others that the archive writes
HTML_TYPES: Final = ("text/html", "application/xhtml+xml")
_FETCHED_TYPES: Final = frozenset(("Script", "XHR", "Fetch"))
_WIRE: Final = frozenset(("content-encoding", "content-length", "transfer-encoding"))
# Workers would ask without our seeing it; they are not begun either (`setAutoAttach`), and a page that waits
# for one would never be ready.
_NO_WORKERS: Final = "delete globalThis.Worker; delete globalThis.SharedWorker;"

logger = logging.getLogger(__name__)

_TOO_MANY: Final = FetchFailed("", FailureReason.LOCAL, "a page asks for no more than that")

Fetch: TypeAlias = Callable[[FetchPage], Awaitable[FetchResult]]
Decode: TypeAlias = Callable[[bytes, str, int], Awaitable[Decoded]]  # see `decoding.decode_beginning`
ReadRobots: TypeAlias = Callable[
    [str, bytes, str], Awaitable[RobotsRules]
]  # see `parser_port.robots_reading_in`


class RendererStatistics(Statistics, frozen=True):
    """Counters since the start."""

    rendered: int = 0
    failed: int = 0  # pages that stay as they came
    requests: int = 0  # of pages, that went to hosts
    browsers: int = 0  # begun


class _Robots(NamedTuple):
    rules: RobotsRules
    until_s: float  # trio's clock


class _Kept(NamedTuple):
    script: PageFetched
    until_s: float  # trio's clock


class Renderer:
    """Some browsers, each of which shows one page at a time."""

    def __init__(
        self,
        command: Sequence[str],
        patterns: Sequence[str],
        fetch: Fetch,
        decode: Decode,
        read_robots: ReadRobots,
        *,
        browsers_max: int = 1,
        page_s: float = PAGE_S,
    ) -> None:
        """Begin no browser so far.

        Args:
          command: as from `browser.command_of`.
          patterns: of URLs without their scheme, with `*`, `?` and `[...]`: "app.example.org/*".
          fetch: as `Fetcher.fetch`.
        """
        self._command = command
        self._patterns = patterns
        self._fetch = fetch
        self._decode = decode
        self.read_robots = read_robots
        self.page_s = page_s
        self._turns = trio.Semaphore(browsers_max)
        self._idle: list[tuple[Browser, float]] = []  # and since when, the longest idle first
        self._robots: OrderedDict[str, _Robots] = OrderedDict()  # by origin
        self._scripts: OrderedDict[str, _Kept] = OrderedDict()  # by URL
        self._script_bytes = 0
        self._counted = RendererStatistics()

    async def run(self) -> None:
        """End browsers that have nothing to do; when cancelled, all of those."""
        try:
            while True:
                await trio.sleep(LOOK_S)
                latest = trio.current_time() - IDLE_S
                while self._idle and self._idle[0][1] <= latest:
                    await self._idle.pop(0)[0].end()
        finally:
            while self._idle:
                await self._idle.pop()[0].end()

    def observe(self) -> RendererStatistics:
        return self._counted

    def _is_wanted(self, fetched: PageFetched) -> bool:
        if fetched.status not in PAGE_STATUSES:
            return False
        media_type = named_media_type(header_of(fetched, "content-type")) or "text/html"
        place = fetched.url.partition("://")[2]
        return media_type in HTML_TYPES and any(fnmatchcase(place, pattern) for pattern in self._patterns)

    async def rendered(self, request: FetchPage, fetched: FetchResult) -> FetchResult:
        """Return a page as a browser shows it; other answers, unwanted pages and failed ones as they came."""
        if not isinstance(fetched, PageFetched) or not self._is_wanted(fetched):
            return fetched
        visit: _Visit | None = None
        try:
            decoded = await self._decode(fetched.body, fetched.codings, BODY_BYTES_MAX)
            async with self._turns:
                browser = await self._browser()
                page = replace(fetched, body=decoded.body, codings="")
                visit = _Visit(self, request, page)
                body = await self._shown(browser, visit)
        except (BrowserError, Undecodable, OSError) as error:
            logger.warning("not rendered url=%s error=%s", fetched.url, error)
            self._count(failed=1)
            return fetched if visit is None else replace(fetched, further=visit.n_requests)
        self._count(rendered=1)
        headers = [each for each in fetched.headers if each[0].lower() not in (*_WIRE, "content-type")]
        headers += [("Content-Type", "text/html; charset=utf-8"), (RENDERED_BY, browser.version)]
        shown = replace(fetched, body=body, codings="", headers=tuple(headers), is_whole=True)
        return replace(shown, further=visit.n_requests)

    async def _browser(self) -> Browser:
        if self._idle:
            return self._idle.pop()[0]
        browser = await Browser.start(self._command)
        self._count(browsers=1)
        return browser

    async def _shown(self, browser: Browser, visit: _Visit) -> bytes:
        """Have a browser show a page; it is ended if anything goes wrong, or if it has shown many."""
        is_well = False
        try:
            html = await visit.html(browser)
            browser.pages += 1
            is_well = browser.pages < PAGES_MAX
        except (LookupError, TypeError, ValueError) as error:
            raise BrowserError(f"it talks nonsense: {error!r}") from error
        finally:
            if is_well:
                self._idle.append((browser, trio.current_time()))
            else:
                await browser.end()
        body = html.encode("utf-8", "replace")
        if len(body) > BODY_BYTES_MAX:
            raise BrowserError(f"it became {len(body)} bytes long")
        return body

    # --- what pages ask for, by `_Visit` ---

    def kept(self, url: str) -> PageFetched | None:
        """Return a script that was fetched not long ago."""
        kept = self._scripts.get(url)
        return kept.script if kept is not None and kept.until_s > trio.current_time() else None

    def keep(self, script: PageFetched) -> None:
        earlier = self._scripts.pop(script.url, None)
        self._script_bytes += len(script.body) - (len(earlier.script.body) if earlier else 0)
        self._scripts[script.url] = _Kept(script, trio.current_time() + KEPT_S)
        while self._script_bytes > KEPT_BYTES_MAX:
            self._script_bytes -= len(self._scripts.popitem(last=False)[1].script.body)

    def robots(self, origin: str) -> RobotsRules | None:
        """Return the robots rules of an origin; None when it has to be asked."""
        known = self._robots.get(origin)
        return known.rules if known is not None and known.until_s > trio.current_time() else None

    def note_robots(self, origin: str, rules: RobotsRules) -> None:
        self._robots[origin] = _Robots(rules, trio.current_time() + ROBOTS_S)
        if len(self._robots) > ORIGINS_MAX:
            self._robots.popitem(last=False)

    async def ask(self, request: FetchPage) -> FetchResult:
        self._count(requests=1)
        return await self._fetch(request)

    def _count(self, **more: int) -> None:
        now = {name: getattr(self._counted, name) + n for name, n in more.items()}
        self._counted = replace(self._counted, **now)


class _Visit:
    """One page in a browser, and the requests that it has made so far."""

    def __init__(self, renderer: Renderer, request: FetchPage, page: PageFetched) -> None:
        self._renderer = renderer
        self._request = request
        self._page = page
        self._answered_s = trio.current_time()  # when its host was asked last
        self.n_requests = 0
        self._is_begun = False  # the browser has the page

    async def html(self, browser: Browser) -> str:
        """Show the page and return its elements as they are then.

        Raises:
          BrowserError: it has ended, or does not say.
        """
        context = (await browser.call("Target.createBrowserContext"))["browserContextId"]
        target = await browser.call("Target.createTarget", url="about:blank", browserContextId=context)
        session = (await browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True))[
            "sessionId"
        ]
        await self._prepare(browser, session)
        await browser.tell("Page.navigate", session, url=self._page.url)
        with trio.move_on_after(self._renderer.page_s):
            await self._serve(browser, session)
        try:
            with trio.fail_after(TAKE_S):
                root = (await browser.call("DOM.getDocument", session, depth=0))["root"]["nodeId"]
                html = (await browser.call("DOM.getOuterHTML", session, nodeId=root))["outerHTML"]
                await browser.call("Target.disposeBrowserContext", browserContextId=context)
        except trio.TooSlowError as error:
            raise BrowserError("its scripts do not end") from error
        return str(html)

    async def _prepare(self, browser: Browser, session: str) -> None:
        for method, params in (
            ("Page.enable", {}),
            ("Page.addScriptToEvaluateOnNewDocument", {"source": _NO_WORKERS}),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            ("Network.setBypassServiceWorker", {"bypass": True}),
            ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}),
            ("Emulation.setUserAgentOverride", {"userAgent": self._request.user_agent}),
        ):
            await browser.call(method, session, **params)

    async def _serve(self, browser: Browser, session: str) -> None:
        """Answer the page until its clock has run out."""
        while True:
            event = await browser.next_event()
            if event.session != session:
                continue
            match event.method:
                case "Fetch.requestPaused":
                    answer = await self._answer(event.params)
                    method, params = _response(answer)
                    await browser.tell(method, session, requestId=event.params["requestId"], **params)
                case "Page.frameNavigated" if "parentId" not in event.params["frame"]:
                    policy = "pauseIfNetworkFetchesPending"
                    await browser.tell(
                        "Emulation.setVirtualTimePolicy", session, policy=policy, budget=CLOCK_MS
                    )
                case "Page.javascriptDialogOpening":
                    await browser.tell("Page.handleJavaScriptDialog", session, accept=False)
                case "Emulation.virtualTimeBudgetExpired":
                    return
                case "Inspector.targetCrashed":
                    raise BrowserError("the page has ended its process")

    async def _answer(self, params: dict[str, Any]) -> PageFetched | None:
        """Return the answer to a request of the page; None for no answer."""
        if not self._is_begun:
            self._is_begun = True
            return self._page
        wanted = params["request"]
        url = canonical(wanted["url"])
        is_fetched = params.get("resourceType") in _FETCHED_TYPES and wanted.get("method") == "GET"
        if not is_fetched or url is None or host_of(url) != host_of(self._page.url):
            return None
        kept = self._renderer.kept(url)
        if kept is not None:
            return kept
        rules = await self._robots(origin_of(url))
        if not rules.allows(url):
            return None
        fetched = await self._ask(url, BODY_BYTES_MAX, rules.crawl_delay_s or 0.0)
        if not isinstance(fetched, PageFetched) or not fetched.is_whole:
            return None
        if params["resourceType"] == "Script" and fetched.status == 200:
            self._renderer.keep(fetched)
        return fetched

    async def _robots(self, origin: str) -> RobotsRules:
        known = self._renderer.robots(origin)
        if known is not None:
            return known
        status, body = await self._robots_answer(f"{origin}/robots.txt")
        body, agent = beginning_of(body), product_token(self._request.user_agent)
        if takes_long(status, body):
            rules = await self._renderer.read_robots(origin, body, agent)
        else:
            rules = rules_for_status(status, body, agent)
        self._renderer.note_robots(origin, rules)
        return rules

    async def _robots_answer(self, url: str) -> tuple[int, bytes]:
        """Status and body of a robots.txt, after redirects within its host; 0 for none."""
        for _ in range(1 + ROBOTS_REDIRECTS_MAX):
            fetched = await self._ask(url, ROBOTS_BYTES_MAX + 1, 0.0)
            if not isinstance(fetched, PageFetched):
                break
            location = location_of(fetched)
            if location is None:
                return fetched.status, fetched.body
            if host_of(location) != host_of(url):
                break
            url = location
        return 0, b""

    async def _ask(self, url: str, n_bytes: int, crawl_delay_s: float) -> FetchResult:
        """Ask the host once more, after its pause."""
        if self.n_requests >= REQUESTS_MAX:
            return _TOO_MANY
        self.n_requests += 1
        request = replace(
            self._request,
            url=url,
            media_types=(),
            beginning_bytes=n_bytes,
            etag="",
            last_modified="",
        )
        rules = request.address_rules
        delay_s = request.delay_s if rules is None else rules.at(self._page.ip).delay_s
        await trio.sleep_until(self._answered_s + max(delay_s, crawl_delay_s))
        while True:
            fetched = await self._renderer.ask(request)
            self._answered_s = trio.current_time()
            if isinstance(fetched, PageFetched) or fetched.reason is not FailureReason.ADDRESS_BUSY:
                return fetched
            await trio.sleep(fetched.pause_s)


def _response(answer: PageFetched | None) -> tuple[str, dict[str, object]]:
    """The command that answers a request of a page. One that is aborted leaves the page as it is."""
    if answer is None:
        return "Fetch.failRequest", {"errorReason": "Aborted"}
    headers = [{"name": name, "value": value} for name, value in answer.headers if name.lower() not in _WIRE]
    body = base64.b64encode(answer.body).decode("ascii")
    return "Fetch.fulfillRequest", {
        "responseCode": answer.status,
        "responseHeaders": headers,
        "body": body,
    }
