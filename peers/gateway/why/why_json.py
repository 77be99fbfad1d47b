"""The JSON of /api/why and /api/why/idle."""

from __future__ import annotations

import msgspec

from mesh.urls import host_of
from peers.crawler.explanations import CrawlFacts, UrlFacts
from peers.gateway.model.messages import WhyAnswered, WhyIdleAnswered
from peers.gateway.model.sentences import Put, in_english
from peers.gateway.why import why_idle, why_url


class UrlJson(msgspec.Struct, frozen=True):
    """The facts known of a URL."""

    url: str  # canonical
    host: str
    slot: int
    owner: str
    standbys: tuple[str, ...]
    answered_by: str  # whose word counts: the owner, or a standby if that has not answered; "" for nobody
    is_owner_heard: bool
    why: str  # a sentence
    peers: dict[str, UrlFacts]  # all that have answered


class PeerJson(msgspec.Struct, frozen=True):
    """The facts about the fetches of one peer, with a sentence on them."""

    why: str  # a sentence
    facts: CrawlFacts


class IdleJson(msgspec.Struct, frozen=True):
    """Why so much is fetched and no more."""

    why: str  # a sentence, of all peers together
    peers: dict[str, PeerJson]
    silent: tuple[str, ...]  # live, and has not answered
    down: tuple[str, ...]
    names: dict[str, str] = {}  # what people call members, by id


def url_json(answer: WhyAnswered, put: Put = in_english) -> UrlJson:
    chief = why_url.chief_of(answer)
    return UrlJson(
        answer.url,
        host_of(answer.url),
        answer.slot,
        answer.owner,
        tuple(peer for peer in answer.team if peer != answer.owner),
        "" if chief is None else chief[0],
        why_url.is_owner_heard(answer),
        why_url.sentence_of(answer, put),
        dict(answer.told),
    )


def idle_json(answer: WhyIdleAnswered, put: Put = in_english) -> IdleJson:
    peers = {peer: PeerJson(why_idle.sentence_of_peer(facts, put), facts) for peer, facts in answer.told}
    why = why_idle.sentence_of(answer, put)
    return IdleJson(why, peers, answer.silent, answer.down, dict(answer.names))
