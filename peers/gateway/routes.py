"""The web application of the gateway: the handler of each path, without the server that carries it.

Whoever can reach a gateway under a name of its own (`_HostCheck`) may search; `access` says who may do more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mesh.errors import RemoteProtocolError
from peers.gateway.api_routes import ApiRoutes
from peers.gateway.compatible_routes import CompatibleRoutes
from peers.gateway.handling import responses
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Backend, Busy, Refused
from peers.gateway.handling.requests import Refusal, is_ours, reader_of
from peers.gateway.http.compression import Compression
from peers.gateway.live_routes import LiveRoutes
from peers.gateway.log_routes import LogRoutes
from peers.gateway.page_routes import Handler, PageRoutes
from peers.gateway.reports import Reports
from peers.gateway.site.command_json import (
    Failure,
)
from peers.gateway.site.pages import message_page
from peers.gateway.site_icons import SiteIcons
from peers.gateway.stored_routes import BacklinkRoutes, StoredRoutes
from peers.gateway.watch_routes import WatchRoutes

if TYPE_CHECKING:
    from peers.gateway.entity_routes import EntityRoutes
    from peers.gateway.group_routes import GroupRoutes
    from peers.gateway.hub_routes import HubRoutes
    from peers.gateway.judgement_routes import JudgementRoutes
    from peers.gateway.submission_routes import ModerationRoutes, SubmissionRoutes
    from peers.gateway.topic_routes import TopicRoutes


def application(backend: Backend) -> Starlette:
    """The ASGI application of a gateway."""
    access = ClientAccess(backend)
    reports = Reports(backend, access)
    api, stored = ApiRoutes(backend, access, reports), StoredRoutes(backend, access)
    pages = PageRoutes(backend, access, reports, api.search)
    made = Starlette(
        routes=[
            Route("/api/search", api.search, methods=["GET", "POST"]),
            Route("/api/suggest", api.suggest),
            *_routes_of_other_engines(CompatibleRoutes(backend)),
            Route("/search", pages.search),
            *_routes_of_live_searches(LiveRoutes(backend, access)),
            Route("/", pages.start),
            *_routes_of_log(LogRoutes(backend, access)),
            *_routes_of_watch(WatchRoutes(backend, access)),
            *_routes_of_submissions(backend, access),
            Route("/page", stored.page),
            *_routes_of_web_archives(stored),
            Route("/icon", SiteIcons(backend).icon),
            Route("/api/page", stored.text),
            Route("/api/versions", stored.versions),
            Route("/api/keywords", stored.keywords),
            *_routes_of_links(BacklinkRoutes(backend)),
            Route("/status", pages.status),
            Route("/history", pages.history),
            Route("/why", pages.why),
            *_routes_of_sign_in(pages),
            Route("/directory", pages.directory),
            Route("/help", pages.help),
            Route("/bot", pages.bot),
            *_routes_of_looks(pages),
            Route("/api/status", api.status),
            Route("/api/history", api.history),
            Route("/api/seeds", api.seeds, methods=["POST"]),
            Route("/api/changed", api.changed, methods=["POST"]),
            Route("/api/why", api.why),
            Route("/api/why/idle", api.why_idle),
            Route("/api/drain", api.drain, methods=["POST"]),
            Route("/api/decrees", api.decrees, methods=["GET", "POST"]),
            Route("/api/import", api.import_pages, methods=["POST"]),
            *_routes_of_programs(api),
            *_routes_loaded_late(backend, access),
        ],
        middleware=[
            Middleware(_HostCheck, backend=backend),
            Middleware(Compression, run_beside=backend.render),
            Middleware(_CrossOrigin, backend=backend),
        ],
        exception_handlers=_failures(),
    )
    made.state.backend = backend  # pages are as its policy is
    return made


def _failures() -> dict[Any, Any]:
    """Return the handler of each exception that leaves one of a path."""
    return {
        Refusal: _on_refusal,
        Busy: _on_busy,
        Refused: _on_refused,
        HTTPException: _on_http_exception,
        RemoteProtocolError: _on_remote_error,
        Exception: _on_error,
    }


def _routes_of_looks(pages: PageRoutes) -> list[Route]:
    return [
        Route("/opensearch.xml", pages.opensearch),
        Route("/favicon.ico", pages.icon),
        Route("/static/style.css", pages.style),
    ]


def _routes_of_sign_in(pages: PageRoutes) -> list[Route]:
    return [
        Route("/sign-in", pages.sign_in, methods=["GET", "POST"]),
        Route("/sign-out", pages.sign_out, methods=["POST"]),
    ]


def _routes_of_other_engines(compatible: CompatibleRoutes) -> list[Route]:
    return [
        Route("/yacysearch.json", compatible.yacy_json),
        Route("/yacysearch.rss", compatible.yacy_rss),
        Route("/cdx", compatible.cdx),
        Route("/{index}/_search", compatible.elastic, methods=["GET", "POST"]),
    ]


def _routes_of_links(links: BacklinkRoutes) -> list[Route]:
    return [
        Route("/backlinks", links.page),
        Route("/api/backlinks", links.told),
        Route("/api/graph/ranks", links.ranks),
    ]


def _routes_of_topics(backend: Backend) -> list[Route]:
    @cache
    def topics() -> TopicRoutes:
        # Loaded where somebody asks for a topic.
        from peers.gateway.topic_routes import TopicRoutes

        return TopicRoutes(backend)

    return [
        Route("/topics", _late(lambda: topics().page)),
        Route("/topic/{name}", _late(lambda: topics().topic_page)),
        Route("/api/topics", _late(lambda: topics().told)),
        Route("/api/topic/{name}", _late(lambda: topics().topic_told)),
    ]


def _routes_of_programs(api: ApiRoutes) -> list[Route]:
    """The routes of programs that look after this peer, visit it, or learn how to ask it."""
    return [
        Route("/healthz", api.healthz),
        Route("/readyz", api.readyz),
        Route("/metrics", api.metrics),
        Route("/robots.txt", api.robots),
        Route("/openapi.json", api.openapi),
    ]


def _routes_of_log(log: LogRoutes) -> list[Route]:
    return [
        Route("/go", log.go),
        Route("/compare", log.compare, methods=["GET", "POST"]),
        Route("/api/log", log.log),
    ]


def _routes_of_watch(watch: WatchRoutes) -> list[Route]:
    return [
        Route("/watch", watch.page),
        Route("/api/watch", watch.told),
        Route("/api/watch/events", watch.events),
    ]


def _routes_of_submissions(backend: Backend, access: ClientAccess) -> list[Route]:
    @cache
    def submissions() -> SubmissionRoutes:
        # Loaded where somebody submits a site: most meshes take none.
        from peers.gateway.submission_routes import SubmissionRoutes

        return SubmissionRoutes(backend, access)

    @cache
    def moderation() -> ModerationRoutes:
        # Loaded where somebody moderates.
        from peers.gateway.submission_routes import ModerationRoutes

        return ModerationRoutes(backend, access, submissions())

    return [
        Route("/moderation", _late(lambda: moderation().page), methods=["GET", "POST"]),
        Route("/submit", _late(lambda: submissions().form), methods=["GET", "POST"]),
        Route("/submit/{code}", _late(lambda: submissions().page)),
        Route("/report", _late(lambda: submissions().report), methods=["GET", "POST"]),
        Route("/api/submit", _late(lambda: submissions().submit), methods=["POST"]),
        Route("/api/submit/{code}", _late(lambda: submissions().told)),
        Route("/api/submissions", _late(lambda: submissions().submissions), methods=["GET", "POST"]),
    ]


def _routes_of_live_searches(live: LiveRoutes) -> list[Route]:
    return [
        Route("/api/search/live", live.search, methods=["POST"]),
        Route("/live", live.page, methods=["GET", "POST"]),
    ]


def _routes_of_web_archives(stored: StoredRoutes) -> list[Route]:
    return [
        Route("/timegate/{url:path}", stored.time_gate),
        Route("/timemap/link/{url:path}", stored.time_map),
        Route("/timemap/json/{url:path}", stored.time_map),
        Route("/web/{at}id_/{url:path}", stored.original),
        Route("/at/{day}/{url:path}", stored.at_day),
    ]


def _routes_loaded_late(backend: Backend, access: ClientAccess) -> list[Route]:
    return [
        *_routes_of_judging(backend, access),
        *_routes_of_entities(backend, access),
        *_routes_of_topics(backend),
        *_routes_of_groups(backend),
        *_routes_of_hubs(backend),
    ]


def _late(handler: Callable[[], Handler]) -> Handler:
    """Return a handler that is looked for, and its module loaded, when somebody asks."""

    async def handle(request: Request) -> Response:
        return await handler()(request)

    return handle


def _routes_of_hubs(backend: Backend) -> list[Route]:
    @cache
    def routes() -> HubRoutes:
        # Loaded where somebody wants hubs and authorities.
        from peers.gateway.hub_routes import HubRoutes

        return HubRoutes(backend)

    return [
        Route("/hubs", _late(lambda: routes().page)),
        Route("/api/graph/hubs", _late(lambda: routes().told)),
    ]


def _routes_of_groups(backend: Backend) -> list[Route]:
    @cache
    def routes() -> GroupRoutes:
        # Loaded where somebody wants groups.
        from peers.gateway.group_routes import GroupRoutes

        return GroupRoutes(backend)

    return [
        Route("/groups", _late(lambda: routes().page)),
        Route("/api/groups", _late(lambda: routes().told)),
    ]


def _routes_of_judging(backend: Backend, access: ClientAccess) -> list[Route]:
    @cache
    def routes() -> JudgementRoutes:
        # Loaded where somebody judges.
        from peers.gateway.judgement_routes import JudgementRoutes

        return JudgementRoutes(backend, access)

    return [
        Route("/judging", _late(lambda: routes().pools)),
        Route("/judge/{pool}/{assessor}/{code}", _late(lambda: routes().page), methods=["GET", "POST"]),
        Route("/api/judging", _late(lambda: routes().judging), methods=["GET", "POST"]),
    ]


def _routes_of_entities(backend: Backend, access: ClientAccess) -> list[Route]:
    @cache
    def routes() -> EntityRoutes:
        # Loaded where somebody has the mesh keep entities.
        from peers.gateway.entity_routes import EntityRoutes

        return EntityRoutes(backend, access)

    return [
        Route("/api/entities", _late(lambda: routes().rules)),
        Route("/api/entities/{name}", _late(lambda: routes().row), methods=["GET", "POST"]),
        Route("/feed/{secret}", _late(lambda: routes().feed)),
    ]


class _HostCheck:
    """Answers only requests for names that nobody else can own, or that are ours.

    A web page may let its own name point to this machine (DNS rebinding) and have its reader's browser ask
    here: to the browser that is the page's own site, and it may read the answers.
    """

    def __init__(self, app: ASGIApp, backend: Backend) -> None:
        self._app = app
        self._backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if is_ours(headers.get("host", "localhost"), self._backend.settings.names):
            await self._app(scope, receive, send)
            return
        hint = "this gateway has no such name: its owner can add it to gateway.names"
        await responses.json(Failure(hint), 421)(scope, receive, send)


# What a page of another site may read, where the settings name that site: nothing that orders.
_SHARED_PATHS: Final = frozenset(
    (
        *("/api/search", "/api/suggest", "/api/page", "/api/versions", "/api/keywords"),
        *("/api/backlinks", "/api/graph/hubs", "/api/graph/ranks", "/api/groups"),
        *("/yacysearch.json", "/yacysearch.rss", "/cdx"),
    )
)


class _CrossOrigin(CORSMiddleware):
    """Lets pages of the sites in `gateway.origins` read some answers, never with a cookie or a token."""

    def __init__(self, app: ASGIApp, backend: Backend) -> None:
        super().__init__(app, allow_methods=("GET", "POST"))
        self._backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_shared = self._backend.settings.origins and scope["path"] in _SHARED_PATHS
        await (super().__call__ if is_shared else self.app)(scope, receive, send)

    def is_allowed_origin(self, origin: str) -> bool:
        allowed = self._backend.settings.origins
        return origin in allowed or "*" in allowed


def _error(request: Request, status_code: int, detail: str, key: str) -> Response:
    """An error for a program as JSON, for a person as a page."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return responses.json(Failure(detail), status_code)
    reader = reader_of(request)
    response = responses.html(message_page(reader, reader.say(key)), status_code)
    response.headers.add_vary_header("Accept")
    return response


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    response = responses.json(Failure(error.detail), error.status_code)
    response.headers.update(error.headers)
    return response


async def _on_busy(request: Request, error: Exception) -> Response:
    return responses.json(Failure(f"{error}; ask again in a moment"), 503)


async def _on_refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return responses.json(Failure(str(error)), 409 if error.is_known else 404)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _error(request, error.status_code, error.detail.lower(), "not_found")
    response.headers.update(error.headers or {})
    return response


async def _on_remote_error(request: Request, error: Exception) -> Response:
    return responses.json(Failure(f"another peer sent what is not understood: {error}"), 502)


async def _on_error(request: Request, error: Exception) -> Response:
    """The server logs the error; the client learns no details."""
    return _error(request, 500, "something went wrong here; see the log of this peer", "failed")
