"""A member that invents texts of pages and links is expelled: what it wrote is put right, and no more."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from math import inf

import msgspec

from mesh.actors.actor import Message
from peers.crawler.controller import Controller
from peers.crawler.explanations import UndoneVisits
from peers.crawler.model.wire_messages import LinksFound
from peers.engine.index import Index
from peers.policy.rules import EVERYTHING, Undo, policy_bytes
from simulations.faults.false_texts import INVENTED
from simulations.faults.fault_run import START_S, FaultRun
from simulations.faults.faults import plan_of
from simulations.faults.machine import Machine

PEERS = 4
LIAR = 2
CRAWLED_S = 200.0
MENDED_S = 200.0


def invented_on(machine: Machine, urls: set[str]) -> set[str]:
    """Those pages of which a peer's index has an invented text."""
    with Index.open(machine.disk.storage) as index:
        documents = [index.snapshot().everything().stored(url) for url in sorted(urls)]
    first, *_ = INVENTED.split()
    return {each.url for each in documents if each is not None and first in each.text.split()[:2]}


def anchors_on(machine: Machine, urls: set[str]) -> Counter[bool]:
    """How many texts of links to pages a peer's index has, by whether they are invented."""
    with Index.open(machine.disk.storage) as index:
        documents = [index.snapshot().everything().stored(url) for url in sorted(urls)]
    return Counter(text == INVENTED for each in documents if each is not None for text in each.anchors)


def with_invented_texts(message: Message) -> Message:
    """Have each link say the same."""
    if not isinstance(message, LinksFound):
        return message
    return msgspec.structs.replace(
        message, links=tuple(msgspec.structs.replace(link, anchor=INVENTED) for link in message.links)
    )


def controller_of(machine: Machine) -> Controller:
    assert machine._controller is not None
    controller = machine._controller._controller
    assert isinstance(controller, Controller)
    return controller


def told_alone(machine: Machine, member: str) -> UndoneVisits:
    """Return the listing of a peer: all that it has by the word of a member alone, whenever that was told."""
    listing, question = controller_of(machine)._explainer.listing, (member, START_S - 1e5, START_S + 1e6)
    listing.ask("nobody", *question[1:])
    for _ in range(2):
        while listing.at_s < inf:
            listing.do_some(machine.local_time())
        listing.ask(*question)
    return listing.ask(*question)


def test_all_that_an_expelled_liar_has_written_is_visited_again_and_nothing_else() -> None:
    plan = msgspec.structs.replace(plan_of(1, PEERS), faults=(), replicas=2, hosts=60, pages=400)
    run = FaultRun(plan, has_revisits=False)
    run._join()
    texts = run.false_texts
    texts._share, texts._share_kept, texts.until_s = 1.0, 0.0, inf
    liar, *others = [run.machines[LIAR], *run.machines[:LIAR], *run.machines[LIAR + 1 : PEERS]]
    run.world.twist(
        liar.peer,
        lambda source, target, message: with_invented_texts(texts.twisted(target.peer, message)),
    )
    for url in run.web.seeds:
        run.users.seed(run.machines[0], url)
    run.world.run(until=run.world.now + CRAWLED_S)
    last = dict(run.watch.last)
    theirs = {url for url, request in last.items() if request.machine is liar}
    assert 50 < len(theirs) < len(last) - 50
    assert sum(len(invented_on(machine, theirs)) for machine in others) > 50

    anchors = [anchors_on(machine, set(last)) for machine in others]
    assert all(count[True] > 10 and count[False] > 100 for count in anchors)

    listed = [told_alone(machine, liar.peer) for machine in others]
    assert {url for each in listed for url in each.examples} <= theirs

    expelled_s = run.world.now
    since, until = (datetime.fromtimestamp(START_S + each, UTC) for each in (-1e5, 1e6))
    policy = msgspec.structs.replace(EVERYTHING, undo=(Undo(since=since, until=until, peer=liar.peer),))
    others[0].publish(run.members.expulsion(liar.peer))
    others[0].publish(run.members.policy(1, policy_bytes(policy)))
    run.world.run(until=expelled_s + MENDED_S)
    assert [invented_on(machine, set(last)) for machine in others] == [set()] * len(others)
    for before, after in zip(anchors, [anchors_on(machine, set(last)) for machine in others], strict=True):
        assert not after[True]
        assert after[False] > before[False] / 2, "those of others stay"
    for machine, doubted in zip(others, listed, strict=True):
        undone = controller_of(machine)._visits.early_revisits.undone
        assert doubted.visits >= undone.visits
        assert doubted.texts >= undone.texts > 0
        assert told_alone(machine, liar.peer) == UndoneVisits(START_S + 1e6), "nothing is left to be undone"
    again = {url for url, request in run.watch.last.items() if request.at > expelled_s}
    assert again & set(last) <= theirs
    # Hosts that were given up, by whichever peer, are asked again, too: their clocks go back.
    assert [each for each in run.watch.violations if "went back" not in each] == []
