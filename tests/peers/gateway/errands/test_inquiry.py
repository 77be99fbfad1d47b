"""Questions why things are as they are, by what goes into the searcher and what comes out."""

from __future__ import annotations

from mesh.actors.actor import Address, Message, Send
from mesh.membership.model.members import State
from mesh.membership.model.wire_messages import MemberRecord, MembersTold, MembersWanted, Rumour
from mesh.urls import host_of
from peers.crawler.explanations import CrawlFacts, UrlFacts, UrlState, encode_facts
from peers.crawler.model.wire_messages import CrawlExplained, ExplainCrawl, ExplainUrl, UrlExplained
from peers.gateway.errands.inquiry import INQUIRY_S_MAX
from peers.gateway.errands.round import REPEAT_AFTER_S
from peers.gateway.model.messages import AskWhy, AskWhyIdle, WhyAnswered, WhyIdleAnswered
from tests.peers.gateway.mesh_of_three import Conversation, ownership

URL = "http://a.test/"
SLOT = ownership().slot_of(host_of(URL))
OWNER, STANDBY = ownership().team_of(SLOT)
KNOWN = UrlFacts(at_s=5.0, url=URL, state=UrlState.QUEUED, is_held=True)
CRAWL = CrawlFacts(at_s=5.0, queued=7)


def only(sends: list[Send]) -> Message:
    [(target, message)] = sends
    assert target == Address("ann", "http")
    return message


def asked(talk: Conversation) -> list[Send]:
    return talk.order(AskWhy(3, URL))


def explained(talk: Conversation, peer: str, facts: UrlFacts = KNOWN) -> list[Send]:
    return talk.from_peer(peer, UrlExplained(talk.request, encode_facts(facts)), "controller")


def test_owner_and_standby_are_asked_and_nobody_else() -> None:
    talk = Conversation()
    sent = asked(talk)
    assert sent == [
        Send(Address(peer, "controller"), ExplainUrl(talk.request, URL)) for peer in (OWNER, STANDBY)
    ]
    assert explained(talk, STANDBY) == []
    team = (OWNER, STANDBY)
    told = tuple((peer, KNOWN) for peer in team)
    assert only(explained(talk, OWNER)) == WhyAnswered(3, URL, SLOT, OWNER, team, told)
    assert talk.searcher.observe().in_flight == 0


def test_owner_that_does_not_answer_is_asked_again_and_then_done_without() -> None:
    talk = Conversation()
    asked(talk)
    explained(talk, STANDBY)
    assert [send.target.peer for send in talk.wait(REPEAT_AFTER_S)] == [OWNER]
    answer = only(talk.wait(INQUIRY_S_MAX))
    assert isinstance(answer, WhyAnswered)
    assert [peer for peer, _ in answer.told] == [STANDBY]


def test_answers_of_others_and_of_other_urls_and_garbage_do_not_count() -> None:
    talk = Conversation()
    asked(talk)
    [stranger] = {"ann", "bob", "cyd"} - {OWNER, STANDBY}
    assert explained(talk, stranger) == []
    assert (
        explained(talk, OWNER, UrlFacts(at_s=5.0, url=URL + "2", state=UrlState.FAILED, is_held=True)) == []
    )
    answer = only(talk.from_peer(STANDBY, UrlExplained(talk.request, b"\xc1"), "controller"))
    assert isinstance(answer, WhyAnswered)
    assert answer.told == ()
    assert talk.searcher.observe().ignored == 1


def member(peer: str, state: State = State.ALIVE, gateway: str = "http://a:1", *, name: str = "") -> Rumour:
    weight = 100 if gateway else 0
    record = MemberRecord(peer, "", "", "", gateway, b"", b"", b"", 1, weight, weight, name=name)
    return Rumour(record, state)


MEMBERS = (member("ann"), member("bob"), member("cyd", State.DEAD, name="mill"), member("door", gateway=""))
NAMES = (("cyd", "mill"),)


def test_every_live_peer_is_asked_what_it_fetches_by_one_multicast() -> None:
    talk = Conversation(ownership(alive=("ann", "bob")))
    assert talk.order(AskWhyIdle(4)) == [Send(Address("ann", "membership"), MembersWanted(()))]
    sent = talk.from_peer("ann", MembersTold(MEMBERS), "membership")
    assert sent == [Send(Address("*", "controller"), ExplainCrawl(talk.request))]
    told = CrawlExplained(talk.request, encode_facts(CRAWL))
    assert talk.from_peer("bob", told, "controller") == []
    assert talk.from_peer("cyd", told, "controller") == []
    answer = only(talk.from_peer("ann", told, "controller"))
    assert answer == WhyIdleAnswered(4, (("ann", CRAWL), ("bob", CRAWL)), (), ("cyd",), NAMES)


def test_who_does_not_say_what_it_fetches_is_named() -> None:
    talk = Conversation(ownership(alive=("ann", "bob")))
    talk.order(AskWhyIdle(4))
    talk.from_peer("ann", MembersTold(MEMBERS), "membership")
    told = CrawlExplained(talk.request, encode_facts(CRAWL))
    talk.from_peer("ann", told, "controller")
    assert [send.target.peer for send in talk.wait(REPEAT_AFTER_S)] == ["bob"]
    assert only(talk.wait(INQUIRY_S_MAX)) == WhyIdleAnswered(4, (("ann", CRAWL),), ("bob",), ("cyd",), NAMES)


def test_membership_that_says_nothing_ends_the_question() -> None:
    talk = Conversation()
    talk.order(AskWhyIdle(4))
    assert only(talk.wait(INQUIRY_S_MAX)) == WhyIdleAnswered(4, (), (), ())
