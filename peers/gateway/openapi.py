"""The API of the gateway, for programs that write programs: a description after OpenAPI 3.1, as JSON.

Shapes of bodies come from the types that write and read them, so that they cannot differ. That every route is
described, with the methods that it has, is a test.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import msgspec

from peers.engine.queries.query import Sort
from peers.gateway.backlinks.backlinks_json import BacklinksJson, RanksJson
from peers.gateway.handling.responses import SUGGESTIONS_TYPE
from peers.gateway.live.live_search import LiveRequest
from peers.gateway.model.log_json import LogPartJson
from peers.gateway.model.readiness_json import HealthJson, ReadinessJson
from peers.gateway.model.status import Report
from peers.gateway.notices.watch_json import WatchJson
from peers.gateway.site.cdx import FIELDS, MEDIA_TYPES, PAGES_MAX, CdxForm, MatchType
from peers.gateway.site.command_json import (
    DecreesJson,
    Drained,
    DrainRequest,
    EntityRulesJson,
    Failure,
    Imported,
    InvitedJson,
    JudgingJson,
    JudgingRequest,
    Published,
    RowJson,
    RowKeptJson,
    Seeded,
    Seeds,
)
from peers.gateway.site.copy_text import CopyFormat, CopyJson
from peers.gateway.site.elastic_json import INDEX, ElasticRequest
from peers.gateway.site.found_json import FoundJson, SearchRequest
from peers.gateway.site.history_view import HistorySpan, HistoryView
from peers.gateway.site.memento import LINK_FORMAT
from peers.gateway.site.stored_page import KeywordsJson
from peers.gateway.site.versions_json import TimeMapJson, VersionsJson
from peers.gateway.submitting.submission_json import (
    JudgedJson,
    JudgeRequest,
    SubmissionJson,
    SubmissionsJson,
    SubmitRequest,
)
from peers.gateway.topics.topic_json import TopicsJson, TopicStrengthJson
from peers.gateway.why.why_json import IdleJson, UrlJson
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX
from peers.link_graph.wire_messages import RANKED_MAX, START_MAX

OPENAPI_VERSION: Final = "3.1.0"
_JSON: Final = "application/json"
_HTML: Final = "text/html"
_TEXT: Final = "text/plain"
_MESSAGEPACK: Final = "application/vnd.msgpack"
_EVENTS: Final = "text/event-stream"
_FORM: Final = "application/x-www-form-urlencoded"
_REFERENCE: Final = "#/components/schemas/{name}"
_TOKEN: Final = "token"


class _Parameter(NamedTuple):
    """A parameter of a query, or of a path."""

    name: str
    about: str
    schema: dict[str, Any]
    is_required: bool = False
    place: str = "query"


class _Operation(NamedTuple):
    """One method of one path, with its parameters and answers."""

    path: str
    method: str
    summary: str
    answer: type | str  # of what shape its JSON is, or which media type it has
    parameters: tuple[_Parameter, ...] = ()
    takes: tuple[type | str, ...] = ()  # what may be posted: a shape of JSON, or a media type
    is_for_administrators: bool = False
    failures: tuple[int, ...] = ()  # besides 429 and 503, which anything can be answered with
    sends_on: bool = False  # to another page


_QUERY: Final = _Parameter("q", "what is searched for, as on the page", {"type": "string"}, is_required=True)
_URL: Final = _Parameter("url", "with http:// or https://", {"type": "string"}, is_required=True)
_LANGUAGE: Final = _Parameter("lang", "of the page, en or zh", {"type": "string"})
_SENTENCES: Final = _Parameter("lang", "of sentences, en or zh", {"type": "string", "default": "en"})
_ORIGINAL: Final = _Parameter(
    "url", "as it is, with http:// or https://", {"type": "string"}, is_required=True, place="path"
)
_TIME: Final = {"type": "string", "examples": ["2026-11-25", "20261125120000"]}
_SORT: Final = _Parameter("sort", "by which hits are ordered", {"enum": [str(order) for order in Sort]})
_CURSOR: Final = _Parameter("cursor", "`next` of an answer, to go on behind it", {"type": "string"})
_FACETS: Final = _Parameter(
    "facets", "1: count hosts, languages, types, years and classes", {"enum": ["0", "1"]}
)
_CLASS: Final = _Parameter("class", "whose part is shown; the top without", {"type": "string"})
_WITHIN: Final = _Parameter("q", "what is searched for within the class", {"type": "string"})
_EXPLAIN: Final = _Parameter("explain", "1: how each score came about", {"enum": ["0", "1"]})
_VERBATIM: Final = _Parameter("verbatim", "1: take no word for a mistyped one", {"enum": ["0", "1"]})
_RELATED: Final = _Parameter("related", "1: queries that go beyond this one", {"enum": ["0", "1"]})
_K: Final = _Parameter("k", "hits", {"type": "integer", "minimum": 1, "maximum": SNIPPETS_MAX, "default": 10})
_OFFSET: Final = _Parameter(
    "offset", "hits to leave out", {"type": "integer", "minimum": 0, "maximum": HITS_MAX - 1, "default": 0}
)
_CODE: Final = _Parameter("code", "of the submission", {"type": "string"}, is_required=True, place="path")
_ENTITY: Final = _Parameter(
    "name",
    "its public key, 64 hexadecimal digits",
    {"type": "string"},
    is_required=True,
    place="path",
)
_INVITED: Final = tuple(
    _Parameter(name, "as the link has it", {"type": "string"}, is_required=True, place="path")
    for name in ("pool", "assessor", "code")
)
_TOPIC: Final = _Parameter("name", "of the topic", {"type": "string"}, is_required=True, place="path")
_AFTER_NOTICE: Final = _Parameter("after", "`id` of an event, or `after` of /api/watch", {"type": "string"})
_RUN: Final = _Parameter("id", "of a live search that was begun", {"type": "string"})
_PAGE: Final = _Parameter("page", "of results, from 1", {"type": "integer", "minimum": 1})
_FORMAT: Final = _Parameter("format", "instead of a page", {"enum": ["json", "rss", "atom"]})
_FILE: Final = _Parameter("format", "as its server sent it, to be saved", {"enum": ["file"]})
_SPAN: Final = _Parameter("span", "how far back", {"enum": [str(span) for span in HistorySpan]})
_KIND: Final = _Parameter("kind", "of decree", {"type": "string"})
_MEMBER: Final = _Parameter("peer", "id of a member", {"type": "string"})
_TIMES: Final = tuple(
    _Parameter(name, "seconds since 1970", {"type": "number", "minimum": 0, "default": 0})
    for name in ("since_s", "until_s")
)
_SUBJECT: Final = _Parameter("subject", "whom or what it is about", {"type": "string"})
_INDEX: Final = _Parameter("index", "there is one", {"enum": [INDEX]}, is_required=True, place="path")
_YACY: Final = (
    _QUERY._replace(name="query"),
    _Parameter("maximumRecords", "hits", {"type": "integer", "minimum": 0, "default": 10}),
    _OFFSET._replace(name="startRecord"),
    _Parameter("lr", "lang_ and the language of pages", {"type": "string", "examples": ["lang_zh"]}),
    _Parameter("contentdom", "what is searched", {"enum": ["text", "all"], "default": "text"}),
)

_DAY: Final = {
    "type": "string",
    "pattern": "^[0-9]{4}(-?[0-9]{2}-?[0-9]{2}([0-9]{6})?)?$",
    "examples": ["2026-11-25", "20261125"],
}
_DIGITS: Final = {"type": "string", "pattern": "^[0-9]{1,14}$", "examples": ["20261125120000", "2026"]}
_CDX: Final = (
    _URL._replace(about="with or without scheme; `*.` before a name or `*` at the end are a matchType"),
    _Parameter("matchType", "which URLs", {"enum": [str(each) for each in MatchType], "default": "exact"}),
    _Parameter("from", "the first time", _DIGITS),
    _Parameter("to", "the last time", _DIGITS),
    _Parameter("limit", "lines", {"type": "integer", "minimum": 0}),
    _Parameter("sort", "instead of by URL and time", {"enum": ["reverse", "closest"]}),
    _Parameter("closest", "a time: captures near it first", _TIME),
    _Parameter("filter", "[!][=]field:text; may be there several times", {"type": "string"}),
    _Parameter("fl", f"fields with commas between them, of {', '.join(FIELDS)}", {"type": "string"}),
    _Parameter("output", "of the lines", {"enum": [str(form) for form in CdxForm], "default": "cdxj"}),
    _Parameter("page", "of many URLs", {"type": "integer", "minimum": 0, "maximum": PAGES_MAX - 1}),
    _Parameter("showNumPages", "true: how many pages there are, as JSON", {"enum": ["true"]}),
)

_OPERATIONS: Final = (
    _Operation(
        "/api/search",
        "get",
        "Search the whole mesh",
        FoundJson,
        (_QUERY, _K, _OFFSET, _SORT, _CURSOR, _FACETS, _EXPLAIN, _VERBATIM, _RELATED),
        failures=(400, 502),
    ),
    _Operation(
        "/api/search",
        "post",
        "The same, with the parameters as JSON",
        FoundJson,
        takes=(SearchRequest,),
        failures=(400, 413, 502),
    ),
    _Operation(
        "/api/suggest",
        "get",
        "How what is being typed may go on: [typed, [text, ..]], as OpenSearch suggestions have it",
        SUGGESTIONS_TYPE,
        (_Parameter("q", "what is typed so far", {"type": "string"}, is_required=True),),
    ),
    _Operation(
        "/{index}/_search",
        "get",
        "As the next",
        _JSON,
        (_INDEX,),
        failures=(400, 404, 413, 502),
    ),
    _Operation(
        "/{index}/_search",
        "post",
        "A search in a part of Elasticsearch's query DSL, answered as Elasticsearch does",
        _JSON,
        (_INDEX,),
        takes=(ElasticRequest,),
        failures=(400, 404, 413, 502),
    ),
    _Operation("/yacysearch.json", "get", "A search as YaCy answers it", _JSON, _YACY, failures=(400, 502)),
    _Operation(
        "/yacysearch.rss", "get", "The same as RSS", "application/rss+xml", _YACY, failures=(400, 502)
    ),
    _Operation("/api/status", "get", "How the mesh is; addresses and hosts are for administrators", Report),
    _Operation(
        "/api/history",
        "get",
        "How the mesh was, and what has happened; quarantines are for administrators",
        HistoryView,
        (_SPAN,),
        failures=(400,),
    ),
    _Operation(
        "/api/seeds",
        "post",
        "Give pages to start from, as JSON or one URL a line; for administrators unless gateway.takes_seeds",
        Seeded,
        takes=(Seeds, _TEXT),
        is_for_administrators=True,
        failures=(400, 413),
    ),
    _Operation(
        "/api/changed",
        "post",
        "Say which pages have changed, as JSON or one URL a line: they are visited as soon as their hosts "
        "may be asked, unknown ones too; for administrators unless gateway.takes_seeds",
        Seeded,
        takes=(Seeds, _TEXT),
        is_for_administrators=True,
        failures=(400, 413),
    ),
    _Operation(
        "/api/why",
        "get",
        "What is known of a URL, and why it is as it is",
        UrlJson,
        (_URL, _SENTENCES),
        is_for_administrators=True,
        failures=(400, 502),
    ),
    _Operation(
        "/api/why/idle",
        "get",
        "Why so much is fetched and no more; with `peer`, also what that member alone has told in some time, "
        "as far as it is found: ask again until `is_done`",
        IdleJson,
        (_MEMBER, *_TIMES, _SENTENCES),
        is_for_administrators=True,
        failures=(400, 502),
    ),
    _Operation(
        "/api/log",
        "get",
        "The log of searches, if the policy has one, peer by peer: queries that five or more clients asked "
        "on a day, and counts of the others",
        LogPartJson,
        (_MEMBER, _Parameter("after", "`next` of an answer of this peer, to go on", {"type": "string"})),
        is_for_administrators=True,
        failures=(400,),
    ),
    _Operation(
        "/api/watch",
        "get",
        "The watch list with the counts of all peers, and the last notices, or those behind `after`",
        WatchJson,
        (_AFTER_NOTICE,),
        is_for_administrators=True,
        failures=(400,),
    ),
    _Operation(
        "/api/watch/events",
        "get",
        "Notices of watched words as they come, each event a NoticeJson; those behind the one in "
        "Last-Event-ID or `after`, else from now on",
        _EVENTS,
        (_AFTER_NOTICE,),
        is_for_administrators=True,
        failures=(400,),
    ),
    _Operation(
        "/watch",
        "get",
        "The watch as a page, or its last notices as a feed",
        _HTML,
        (_Parameter("format", "instead of a page", {"enum": ["atom"]}), _LANGUAGE),
        is_for_administrators=True,
    ),
    _Operation(
        "/api/drain",
        "post",
        "Have a peer give its slots away, or take its share again",
        Drained,
        takes=(DrainRequest,),
        is_for_administrators=True,
        failures=(400, 404, 409),
    ),
    _Operation(
        "/api/decrees",
        "get",
        "What the owner of the mesh has decreed",
        DecreesJson,
        (_KIND, _SUBJECT),
        is_for_administrators=True,
    ),
    _Operation(
        "/api/decrees",
        "post",
        "Make a signed decree known, as `tianmesh policy` and `expel` write it",
        Published,
        takes=(_MESSAGEPACK,),
        is_for_administrators=True,
        failures=(400, 409, 413),
    ),
    _Operation(
        "/api/import",
        "post",
        "Take pages that `tianmesh import` has read",
        Imported,
        takes=(_MESSAGEPACK,),
        is_for_administrators=True,
        failures=(400, 413),
    ),
    _Operation("/healthz", "get", "Whether this peer lives", HealthJson),
    _Operation("/readyz", "get", "Whether a search speaks for every slot; 503 while not", ReadinessJson),
    _Operation("/metrics", "get", "What this peer counts, for Prometheus", _TEXT, is_for_administrators=True),
    _Operation("/openapi.json", "get", "This description", _JSON),
    _Operation("/", "get", "The page to search from", _HTML, (_LANGUAGE,)),
    _Operation(
        "/api/search/live",
        "post",
        "Have the crawl visit first what the best pages link to, and search again until enough is new; each "
        "event is a LiveJson. For administrators unless gateway.takes_seeds",
        _EVENTS,
        takes=(LiveRequest,),
        is_for_administrators=True,
        failures=(400, 413),
    ),
    _Operation(
        "/live",
        "get",
        "A live search under way, for those who are signed in, or a form to begin one",
        _HTML,
        (_QUERY._replace(is_required=False), _RUN, _LANGUAGE),
        is_for_administrators=True,
        failures=(404,),
    ),
    _Operation(
        "/live",
        "post",
        "Begin a live search by a form with q",
        _HTML,
        takes=(_FORM,),
        is_for_administrators=True,
        failures=(400, 413),
        sends_on=True,
    ),
    _Operation(
        "/search",
        "get",
        "A page of results",
        _HTML,
        (
            _QUERY._replace(is_required=False),
            _PAGE,
            _SORT,
            _CURSOR,
            _VERBATIM,
            _FACETS,
            _EXPLAIN,
            _FORMAT,
            _LANGUAGE,
        ),
    ),
    _Operation(
        "/page",
        "get",
        "The stored copy of a page, of a document its text or the file itself, as it was last or at a time; "
        "its versions; what changed between two",
        _HTML,
        (
            _URL,
            _FILE,
            _Parameter("q", "the query whose words are marked", {"type": "string"}),
            _Parameter("links", "mark links to pages that are stored, too", {"type": "string"}),
            _Parameter("at", "the version of that time", _TIME),
            _Parameter("versions", "list all versions", {"type": "string"}),
            _Parameter("from", "compare the version of that time", _TIME),
            _Parameter("to", "with that of this one, by default the newest", _TIME),
            _LANGUAGE,
        ),
        failures=(400, 403, 404, 502),
    ),
    _Operation(
        "/go",
        "get",
        "Sends on to a result of a search, and notes that for the log of searches; such links stand on pages "
        "of results while the policy has a log of clicks, each signed for a day",
        _HTML,
        (
            _URL,
            _QUERY,
            _Parameter("rank", "of the result, from 1", {"type": "integer", "minimum": 1}, is_required=True),
            _Parameter("day", "since 1970, of the page of results", {"type": "integer"}, is_required=True),
            _Parameter("mac", "the signature of all these", {"type": "string"}, is_required=True),
            _Parameter("credit", "the signature of the ranking that picked it", {"type": "string"}),
        ),
        failures=(404,),
        sends_on=True,
    ),
    _Operation(
        "/icon",
        "get",
        "The icon of the site of a page, as the mesh keeps it",
        "image/*",
        (_URL,),
        failures=(400, 404),
    ),
    _Operation(
        "/api/page",
        "get",
        "The text of the stored copy of a page, its title, dates and links; also as markdown or plain text",
        CopyJson,
        (
            _URL,
            _Parameter("format", "of the answer", {"enum": list(CopyFormat), "default": "json"}),
            _Parameter("at", "the version of that time", _TIME),
        ),
        failures=(400, 403, 404, 502),
    ),
    _Operation(
        "/api/keywords", "get", "What a stored page is about", KeywordsJson, (_URL,), failures=(400, 502)
    ),
    _Operation("/api/topics", "get", "The topics that the mesh counts", TopicsJson),
    _Operation(
        "/api/topic/{name}",
        "get",
        "How strongly a topic is written about, slice by slice: numbers and shares, of pages and of contents",
        TopicStrengthJson,
        (
            _TOPIC,
            _Parameter(
                "format", "of the answer", {"type": "string", "enum": ["json", "csv"], "default": "json"}
            ),
        ),
        failures=(400, 404, 503),
    ),
    _Operation(
        "/api/backlinks",
        "get",
        "The pages of the mesh that link to one, if its policy has `[link_graph]`: the newest of each "
        "domain, then the next of each, its own domain last",
        BacklinksJson,
        (
            _URL,
            _Parameter(
                "start",
                "leave out so many",
                {"type": "integer", "minimum": 0, "maximum": START_MAX, "default": 0},
            ),
        ),
        failures=(400, 404),
    ),
    _Operation(
        "/api/graph/ranks",
        "get",
        "The pages and hosts of the mesh with the highest PageRank, if its policy has `ranks` in "
        "`[link_graph]`",
        RanksJson,
        (
            _Parameter(
                "limit",
                "so many of each at most",
                {"type": "integer", "minimum": 1, "maximum": RANKED_MAX, "default": 100},
            ),
        ),
        failures=(400, 404),
    ),
    _Operation("/api/versions", "get", "The versions of a page", VersionsJson, (_URL,), failures=(400,)),
    _Operation(
        "/timegate/{url}",
        "get",
        "Leads to the version of the time in Accept-Datetime (Memento, RFC 7089)",
        _TEXT,
        (
            _ORIGINAL,
            _Parameter(
                "Accept-Datetime", "a date of HTTP; by default now", {"type": "string"}, place="header"
            ),
        ),
        failures=(400, 404),
        sends_on=True,
    ),
    _Operation(
        "/timemap/link/{url}",
        "get",
        "The versions of a page, as Memento lists them",
        LINK_FORMAT,
        (_ORIGINAL,),
        failures=(400, 404),
    ),
    _Operation(
        "/timemap/json/{url}", "get", "The same as JSON", TimeMapJson, (_ORIGINAL,), failures=(400, 404)
    ),
    _Operation(
        "/web/{at}id_/{url}",
        "get",
        "The body of a version as its server sent it, to be saved",
        "application/octet-stream",
        (_Parameter("at", "the time", _DIGITS, is_required=True, place="path"), _ORIGINAL),
        failures=(400, 403, 404, 502),
    ),
    _Operation(
        "/at/{day}/{url}",
        "get",
        "The version of a page of the end of a day, whose links lead to those of other pages",
        _HTML,
        (_Parameter("day", "or a year, or a second", _DAY, is_required=True, place="path"), _ORIGINAL),
        failures=(400, 403, 404, 502, 503),
    ),
    _Operation(
        "/cdx",
        "get",
        "Stored versions as a CDX server lists them: of one page all, of many the newest of each",
        MEDIA_TYPES[CdxForm.CDXJ],
        _CDX,
        failures=(400, 404, 502),
    ),
    _Operation(
        "/submit",
        "get",
        "Where the owner of a site submits it, if the policy lets",
        _HTML,
        (_LANGUAGE,),
        failures=(404,),
    ),
    _Operation(
        "/submit",
        "post",
        "Take the URL of a site in a form, and lead on to the page of the submission",
        _HTML,
        takes=(_FORM,),
        failures=(400, 403, 404, 409, 413),
        sends_on=True,
    ),
    _Operation(
        "/submit/{code}",
        "get",
        "How a submission stands, as a page",
        _HTML,
        (_CODE, _LANGUAGE),
        failures=(404,),
    ),
    _Operation(
        "/api/submit",
        "post",
        "Submit a site",
        SubmissionJson,
        takes=(SubmitRequest,),
        failures=(400, 403, 404, 409, 413),
    ),
    _Operation(
        "/api/submit/{code}", "get", "How a submission stands", SubmissionJson, (_CODE,), failures=(404,)
    ),
    _Operation(
        "/report",
        "get",
        "A form to report a result to the administrators, where the policy has it",
        _HTML,
        (_Parameter("url", "of the page", {"type": "string"}), _LANGUAGE),
        failures=(400, 404),
    ),
    _Operation(
        "/report",
        "post",
        "Report a page in a form",
        _HTML,
        (_LANGUAGE,),
        takes=(_FORM,),
        failures=(400, 403, 404, 409, 413),
    ),
    _Operation(
        "/moderation",
        "get",
        "The submissions at one step, for administrators in a browser",
        _HTML,
        (_Parameter("state", "the step", {"type": "string"}), _LANGUAGE),
        is_for_administrators=True,
        failures=(404,),
    ),
    _Operation(
        "/moderation",
        "post",
        "Take a verdict in a form, and lead on to the page",
        _HTML,
        (_Parameter("state", "the step", {"type": "string"}), _LANGUAGE),
        takes=(_FORM,),
        is_for_administrators=True,
        failures=(400, 404, 409, 413),
        sends_on=True,
    ),
    _Operation(
        "/judging",
        "get",
        "All pools, and how far their assessors are, for administrators in a browser",
        _HTML,
        (_LANGUAGE,),
        is_for_administrators=True,
        failures=(404,),
    ),
    _Operation(
        "/api/submissions",
        "get",
        "A part of all submissions, peer by peer",
        SubmissionsJson,
        (_MEMBER, _Parameter("after", "`next` of the part before", {"type": "string"})),
        is_for_administrators=True,
        failures=(400,),
    ),
    _Operation(
        "/api/submissions",
        "post",
        "Accept a submission, or refuse it, as an administrator's key has signed",
        JudgedJson,
        takes=(JudgeRequest,),
        is_for_administrators=True,
        failures=(400, 404, 409, 413),
    ),
    _Operation("/api/entities", "get", "For how long entities are kept", EntityRulesJson, failures=(404,)),
    _Operation(
        "/api/entities/{name}",
        "get",
        "An entity, sealed by its owner",
        RowJson,
        (_ENTITY,),
        failures=(400, 404),
    ),
    _Operation(
        "/api/entities/{name}",
        "post",
        "Keep an entity that its owner has sealed and signed",
        RowKeptJson,
        (_ENTITY,),
        takes=(RowJson,),
        failures=(400, 403, 404, 409, 413),
    ),
    _Operation(
        "/feed/{secret}",
        "get",
        "The feed of an entity, by the address that its owner has made",
        "application/atom+xml",
        (
            _Parameter("secret", "as the address has it", {"type": "string"}, is_required=True, place="path"),
            _LANGUAGE,
        ),
        failures=(404,),
    ),
    _Operation(
        "/judge/{pool}/{assessor}/{code}",
        "get",
        "A query and its pages, for an invited person to judge",
        _HTML,
        (*_INVITED, _Parameter("n", "number of the query", {"type": "integer", "minimum": 1}), _LANGUAGE),
        failures=(404,),
    ),
    _Operation(
        "/judge/{pool}/{assessor}/{code}",
        "post",
        "Take a grade in a form, and lead on to the next page without one",
        _HTML,
        _INVITED,
        takes=(_FORM,),
        failures=(400, 403, 404, 409, 413),
        sends_on=True,
    ),
    _Operation(
        "/api/judging",
        "get",
        "How far each assessor of a pool is",
        JudgingJson,
        (
            _Parameter("name", "of the pool; without it the names of all", {"type": "string"}),
            _Parameter("assessor", "whose judgements are told, too", {"type": "string"}),
        ),
        is_for_administrators=True,
        failures=(404, 502),
    ),
    _Operation(
        "/api/judging",
        "post",
        "Take a pool to be judged, and make links for people to judge it",
        InvitedJson,
        takes=(JudgingRequest,),
        is_for_administrators=True,
        failures=(400, 404, 409, 413, 502),
    ),
    _Operation(
        "/compare",
        "get",
        "Where a reader agrees to see results of two rankings, while the policy has a second one",
        _HTML,
        (_LANGUAGE,),
        failures=(404,),
    ),
    _Operation(
        "/compare",
        "post",
        "Take yes or no in a form, and keep it in a cookie",
        _HTML,
        takes=(_FORM,),
        failures=(400, 403, 404, 413),
        sends_on=True,
    ),
    _Operation("/status", "get", "How the mesh is, as a page", _HTML, (_LANGUAGE,)),
    _Operation(
        "/backlinks",
        "get",
        "The pages of the mesh that link to one, as a page",
        _HTML,
        (_URL, _Parameter("start", "leave out so many", {"type": "integer", "minimum": 0}), _LANGUAGE),
        failures=(400, 404, 503),
    ),
    _Operation("/topics", "get", "The topics that the mesh counts, as a page", _HTML, (_LANGUAGE,)),
    _Operation(
        "/topic/{name}",
        "get",
        "How strongly a topic is written about, as charts",
        _HTML,
        (_TOPIC, _LANGUAGE),
        failures=(404, 503),
    ),
    _Operation("/history", "get", "How the mesh was, as a page", _HTML, (_SPAN, _LANGUAGE)),
    _Operation(
        "/why",
        "get",
        "Why things are as they are, as a page; for administrators, who may have signed in",
        _HTML,
        (_URL._replace(is_required=False), _LANGUAGE),
        is_for_administrators=True,
        failures=(400, 502),
    ),
    _Operation(
        "/sign-in", "get", "Where an administrator signs in, to see all in a browser", _HTML, (_LANGUAGE,)
    ),
    _Operation(
        "/sign-in",
        "post",
        "Take the token in a form, for a cookie that lets see and not order",
        _HTML,
        takes=(_FORM,),
        failures=(400, 403, 413),
        sends_on=True,
    ),
    _Operation("/sign-out", "post", "Take the cookie away", _HTML, failures=(403,), sends_on=True),
    _Operation("/help", "get", "How to search", _HTML, (_LANGUAGE,)),
    _Operation(
        "/directory",
        "get",
        "The classes of pages with their counts, where the mesh has any; leads to a search within one",
        _HTML,
        (_CLASS, _WITHIN, _LANGUAGE),
        failures=(404, 503),
    ),
    _Operation(
        "/bot",
        "get",
        "For webmasters: who asks their hosts, how to stop it, and what was asked of one",
        _HTML,
        (_Parameter("host", "a host, or a URL of it", {"type": "string"}), _LANGUAGE),
        failures=(400, 503),
    ),
    _Operation(
        "/opensearch.xml", "get", "This search engine, for browsers", "application/opensearchdescription+xml"
    ),
    _Operation("/favicon.ico", "get", "The sign of this engine", "image/svg+xml"),
    _Operation("/static/style.css", "get", "How pages look", "text/css"),
    _Operation("/robots.txt", "get", "What crawlers are to leave alone", _TEXT),
)


@lru_cache(1)
def openapi() -> bytes:
    """Return the description, as JSON."""
    operations = (*_OPERATIONS, *_operations_loaded_late())
    shapes = {shape for each in operations for shape in (each.answer, *each.takes) if isinstance(shape, type)}
    ordered = sorted({*shapes, Failure}, key=lambda shape: shape.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation)
    return msgspec.json.encode(
        {
            "openapi": OPENAPI_VERSION,
            "info": {
                "title": "Tianmesh gateway",
                "version": version("tianmesh"),
                "description": "Any peer answers for the whole mesh. Fields are only ever added to answers.",
            },
            "paths": paths,
            "components": {
                "schemas": components,
                "responses": {
                    str(code): {"description": why, "content": _content(Failure)}
                    for code, why in _FAILURES.items()
                },
                "securitySchemes": {
                    _TOKEN: {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "what `tianmesh token` prints, at every gateway of the mesh; or what "
                        "stands in admin.token beside the configuration of this peer",
                    }
                },
            },
        }
    )


def _operations_loaded_late() -> tuple[_Operation, ...]:
    """Return those whose answers are loaded where somebody asks for them."""
    from peers.gateway.grouping.groups import GROUPED_MAX, GroupedBy
    from peers.gateway.grouping.groups_json import GroupsJson
    from peers.gateway.hub_routes import LISTED_MAX, SHOWN
    from peers.gateway.hubs.hubs_json import HubsJson

    by = _Parameter("by", "what tells groups apart", {"enum": list(GroupedBy), "default": GroupedBy.WORDS})
    return (
        _Operation(
            "/api/groups",
            "get",
            f"The first {GROUPED_MAX} results of a search in groups: by the words that the pages are about, "
            "by their kinds, or by their sites",
            GroupsJson,
            (_QUERY, by),
            failures=(400,),
        ),
        _Operation("/groups", "get", "The same as a page", _HTML, (_QUERY, by, _LANGUAGE)),
        _Operation(
            "/api/graph/hubs",
            "get",
            "Hubs and authorities around the first results of a search, if the policy of the mesh has "
            "`[link_graph]`; links within a domain do not count",
            HubsJson,
            (
                _QUERY,
                _Parameter(
                    "limit",
                    "pages of each list",
                    {"type": "integer", "minimum": 1, "maximum": LISTED_MAX, "default": SHOWN},
                ),
            ),
            failures=(400, 404),
        ),
        _Operation("/hubs", "get", "The same as a page", _HTML, (_QUERY, _LANGUAGE), failures=(404,)),
    )


def _described(operation: _Operation) -> dict[str, Any]:
    failures = {*operation.failures, 429, 503, *([403] if operation.is_for_administrators else [])}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "responses": {
            **_success(operation),
            **{str(code): {"$ref": f"#/components/responses/{code}"} for code in sorted(failures)},
        },
    }
    if operation.path == "/readyz":  # which says the same whether it is ready or not
        described["responses"]["503"] = {"description": "not yet", "content": _content(operation.answer)}
    if operation.parameters:
        described["parameters"] = list(map(_parameter, operation.parameters))
    if operation.takes:
        bodies = {name: value for each in operation.takes for name, value in _content(each).items()}
        described["requestBody"] = {"required": True, "content": bodies}
    if operation.is_for_administrators:
        described["security"] = [{_TOKEN: []}]
    return described


def _success(operation: _Operation) -> dict[str, Any]:
    if operation.sends_on:
        return {"303": {"description": "done; on to the page in Location"}}
    return {"200": {"description": "as asked", "content": _content(operation.answer)}}


def _parameter(parameter: _Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.about,
        "required": parameter.is_required,
        "schema": parameter.schema,
    }


def _content(shape: type | str) -> dict[str, Any]:
    """The media types of a body, each with its shape where that is JSON of ours."""
    if isinstance(shape, str):
        return {shape: {}}
    return {_JSON: {"schema": {"$ref": _REFERENCE.format(name=shape.__name__)}}}


_FAILURES: Final = {
    400: "the request is not understood",
    403: "for administrators only",
    404: "there is no such thing",
    409: "not as the mesh is now",
    413: "too large a body",
    429: "this client asks too much; Retry-After says when to come back",
    502: "another peer said what is not understood, or what it kept is damaged",
    503: "not now; Retry-After says when",
}
