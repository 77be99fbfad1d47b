from __future__ import annotations

from random import Random

from mesh.actors.actor import Address
from peers.engine.mending.completions import Nearness
from peers.gateway.model.messages import SuggestTexts, TextsSuggested
from peers.gateway.suggesting.merged_suggestions import SUGGESTIONS_MAX, merged
from peers.index.wire_messages import Completed, CompleteTyped, TypedCompleted
from tests.peers.gateway.mesh_of_three import EVERY_INDEXER, Conversation

TEXT, WORD, INSIDE, LIKE = Nearness


def said(text: str, nearness: Nearness, pages: int = 1, first: int = 0) -> Completed:
    """A completion of pages with the numbers from `first`."""
    samples = tuple(f"http://h{n}.test/" for n in range(first, first + min(pages, 4)))
    return Completed(text, nearness, pages, samples)


def everything(url: str) -> bool:
    return True


def test_texts_and_words_take_turns_before_what_is_less_near() -> None:
    told = [
        said("派热", LIKE, 90),
        said("On Pyrite", INSIDE),
        said("pyre", WORD, 50),
        said("pyramid", WORD, 60),
        said("Pyrenees", TEXT, 3),
        said("Pyre of Rome", TEXT),
    ]
    expected = ["Pyrenees", "pyramid", "Pyre of Rome", "pyre", "On Pyrite", "派热"]
    assert merged(told, "pyr", everything) == expected
    for seed in range(5):
        assert merged(Random(seed).sample(told, len(told)), "pyr", everything) == expected


def test_neighbours_by_a_typo_are_shown_only_without_any_completion() -> None:
    neighbours = [said("raw", LIKE, 90), said("draw", LIKE, 80)]
    assert merged(neighbours, "craw", everything) == ["raw", "draw"]
    assert merged([*neighbours, said("crawl", WORD, 1)], "craw", everything) == []
    assert merged([*neighbours, said("crawl", WORD, 2)], "craw", everything) == ["crawl"]
    # What goes on from something else, or only pages have that are not shown, is no completion.
    assert merged([*neighbours, said("cheap", WORD, 2)], "craw", everything) == ["raw", "draw"]
    hidden = Completed("crawl", WORD, 2, ("http://hidden.test/",))
    shown = merged([*neighbours, hidden], "craw", lambda url: "hidden" not in url)
    assert shown == ["raw", "draw"]


def test_pages_of_all_peers_add_up() -> None:
    assert merged([said("pyre", WORD, 1)], "pyr", everything) == []
    assert merged([said("pyre", WORD, 1), said("pyre", WORD, 1, first=1)], "pyr", everything) == ["pyre"]
    # The same page, told twice: by a peer and its stand-in.
    assert merged([said("pyre", WORD, 1), said("pyre", WORD, 1)], "pyr", everything) == []


def test_what_only_pages_have_that_are_not_shown_is_left_out() -> None:
    told = [said("Pyre", TEXT), said("Pyrite", TEXT, 2), said("pyro", WORD, 2)]
    assert merged(told, "pyr", lambda url: url != "http://h0.test/") == ["Pyrite"]


def test_one_spelling_is_shown_of_a_text_and_nothing_that_is_typed_already() -> None:
    told = [said("Pyre", TEXT), said("pyre", WORD, 9), said("PYRE", INSIDE)]
    assert merged(told, "pyr", everything) == ["Pyre"]
    assert merged([said("pyre", WORD, 9), said("pyres", WORD, 8)], "pyre", everything) == ["pyres"]


def test_there_are_eight_at_most() -> None:
    told = [said(f"pyre {n}", TEXT) for n in range(30)]
    assert len(merged(told, "pyr", everything)) == SUGGESTIONS_MAX


def test_what_does_not_go_on_from_what_was_typed_is_not_said_to() -> None:
    told = [
        said("Buy here", TEXT, 4),
        said("pyre", WORD, 4),
        said("cheap", WORD, 4),
        said("Old Pyre", INSIDE),
    ]
    assert merged(told, "pyr", everything) == ["pyre", "Old Pyre"]


def test_nothing_in_a_text_turns_the_text_around_it() -> None:
    assert merged([said("Pyre \u202eemoR", TEXT)], "pyr", everything) == ["Pyre \u2060emoR"]


def begun(typed: str = "pyr", **fields: tuple[str, ...]) -> Conversation:
    talk = Conversation()
    [(target, question)] = talk.order(SuggestTexts(5, typed, **fields))
    assert target == EVERY_INDEXER
    assert isinstance(question, CompleteTyped)
    assert (question.typed, question.absent) == (typed, ())
    return talk


def answered(talk: Conversation, peer: str, request: int, *completed: Completed) -> None:
    talk.from_peer(peer, TypedCompleted(request, completed))


def request_of(talk: Conversation) -> int:
    [(_, question)] = talk.sent
    assert isinstance(question, CompleteTyped)
    return question.request


def told(talk: Conversation) -> tuple[str, ...]:
    [(target, message)] = talk.sent
    assert target == Address("ann", "http")
    assert isinstance(message, TextsSuggested)
    assert message.ticket == 5
    return message.texts


def test_every_index_is_asked_once_and_the_answers_are_one_list() -> None:
    talk = begun()
    request = request_of(talk)
    answered(talk, "ann", request, said("pyre", WORD, 2))
    answered(talk, "bob", request, said("Pyrenees", TEXT))
    answered(talk, "bob", request, said("Twice", TEXT))
    answered(talk, "eve", request, said("Never asked", TEXT))
    answered(talk, "cyd", request)
    assert told(talk) == ("Pyrenees", "pyre")


def test_who_is_late_is_not_waited_for() -> None:
    talk = begun()
    answered(talk, "ann", request_of(talk), said("pyre", WORD, 2))
    while not talk.sent or talk.sent[0].target.actor != "http":
        talk.wait(0.05)
        assert talk.now < 0.5
    assert told(talk) == ("pyre",)


def test_domains_that_are_hidden_from_a_client_suggest_nothing_to_it() -> None:
    talk = begun(hidden=("h0.test",))
    request = request_of(talk)
    answered(talk, "ann", request, said("Pyre", TEXT))
    answered(talk, "bob", request, said("Pyrite", TEXT, first=1))
    answered(talk, "cyd", request)
    assert told(talk) == ("Pyrite",)
