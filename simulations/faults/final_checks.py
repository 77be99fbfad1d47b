"""The rules for a mesh at rest after its faults: nothing is lost, all have the same, all is found.

A page that was missed is shown as it was until it has been missed again, a while later, and one whose answer
was lost with a disk until it is asked for again. That is not before the end of a run where the clock of the
peer that asks for it next is an hour behind: due times stand in rows by the clock of the visit before
(`peers.crawler.model.url_rows`). Of visits that knew nothing of each other clocks decide, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from xxhash import xxh3_64_digest

from mesh.actors.ownership import Ownership
from mesh.errors import CorruptionError
from mesh.stamp import BEFORE_ALL
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of
from peers.actors import CELL_SECTION, URL_ROWS_SECTION
from peers.crawler.frontier.keys import url_key
from peers.crawler.model.url_rows import row_in
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.storage.archive.warc import read_records
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place, place_in
from peers.storage.ledger.stored_versions import StoredVersions
from simulations.faults.faults import FaultPlan
from simulations.faults.machine import Machine
from simulations.faults.pinner import Pinner
from simulations.faults.stores.store_use import StoreUse, unequal_rows
from simulations.faults.stores.versions import body_at, ledger_of
from simulations.faults.users import Users
from simulations.faults.watch import AnsweredRequest, Watch
from simulations.webs.changing_web import GONE, is_shown
from simulations.webs.web import SyntheticWeb
from simulations.world.words import body_of, rare_word_of, version_word_of
from simulations.world.world import World

ASKED_AT_A_TIME: Final = 40
WORDS_OF_SEARCH: Final = 7  # of as many pages; with more the gateway looks for words that go with them
VERSIONS_MAX: Final = 1_000_000  # of all pages on a peer
ANSWERED_S: Final = 6.0  # for a batch of searches


class RestingRun(Protocol):
    """The run to be judged, with its faults over, and all observers that have looked at it."""

    plan: FaultPlan
    world: World
    watch: Watch
    users: Users
    pinner: Pinner | None
    web: SyntheticWeb
    has_liar: bool

    @property
    def uses(self) -> Sequence[StoreUse]:
        """The stores that a policy has switched on."""

    @property
    def hidden(self) -> Container[str]:
        """URLs that are taken down."""

    @property
    def missed_again_s(self) -> float:
        """How long after a visit that misses a page it is due again, at most."""

    @property
    def is_archive_damaged(self) -> bool:
        """Has some disk changed data that were written to it?"""

    def present(self) -> list[Machine]:
        """The machines that are members or mean to be."""

    def reachable_urls(self) -> list[str]:
        """All pages that must have been fetched."""

    def some_gateway(self) -> Machine | None:
        """A machine that runs, if there is any."""


def check_rest(run: RestingRun) -> None:
    """Judge a run that has come to rest; violations go to its watch."""
    for sentence in _wrong(run):
        run.watch.violate(sentence)


def _wrong(run: RestingRun) -> Iterator[str]:
    present = run.present()
    for machine in present:
        if machine.refusal:
            yield f"{machine.name} was refused: {machine.refusal}"
    ownership = present[0].ownership
    assert ownership is not None, "who is at rest has joined"
    by_peer = {machine.peer: machine for machine in present}
    urls = dict.fromkeys(run.reachable_urls())
    ruling = partial(_ruling, run, ownership, by_peer)
    if run.pinner is not None:
        yield from _pins_that_do_not_hold(present, run.pinner.pins)
    for use in run.uses:
        yield from unequal_rows(present, use.rows) if use.rows else ()
        yield from use.wrong(present)
    yield from _lost(run, urls)
    yield from _states(run, ownership, by_peer, urls)
    yield from _copies(run, ownership, by_peer, ruling)
    for machine in present:
        yield from _leftovers(run, machine, ownership)
    # The last of what goes by this ownership: searches take time, in which it may change.
    yield from _not_found(run, ruling)
    if run.world.unbalanced:
        yield f"{run.world.unbalanced} messages are neither on their way nor delivered, lost or refused"


def _ruling(run: RestingRun, ownership: Ownership, by_peer: dict[str, Machine], url: str) -> AnsweredRequest:
    """The answer by which a page is shown: the last one, or that before it was missed for the first time."""
    slot = ownership.slot_of(host_of(url))
    owner = by_peer[ownership.owner_of(slot) or ""]
    newest = StoredVersions(TableSection(owner.disk.table, CELL_SECTION)).newest(slot, url)
    answered = last_by_clocks(run.watch.last[url], newest)
    value = owner.disk.table.get(URL_ROWS_SECTION + url_key(slot, fingerprint(url)))
    row = None if value is None else row_in(value)
    is_due = row is None or owner.local_time() >= row.due_s
    if row is not None and not is_due:
        answered = last_not_lost(answered, max(row.visit, 0 if newest is None else newest.visit))
    if answered.body != GONE or row is None:
        return answered
    is_asked_no_more = url in run.hidden  # since it was taken down
    is_missed = row.outcome[0] == "F" or is_asked_no_more
    is_missed_once = row.is_stored and is_missed and row.memory.misses == 1
    # Both by one clock, and in whole seconds.
    is_due_soon = row.due_s <= row.memory.missed_s + run.missed_again_s + 2.0
    if is_missed_once and (is_asked_no_more or (is_due_soon and not is_due)):
        while answered.body == GONE and answered.before is not None:
            answered = answered.before
    return answered


def last_by_clocks(last: AnsweredRequest, newest: Place | None) -> AnsweredRequest:
    """Return the answer of the newest version, if clocks alone have it be later than those after it.

    Of visits by peers that knew nothing of each other the one with the later date counts, whoever's clock
    said so. An older version is no excuse for anything else: a visit after it by the same clock, or by
    somebody who knew of it, has the greater stamp.

    Args:
      newest: the version that is kept.
    """
    answered: AnsweredRequest | None = last
    greatest = BEFORE_ALL  # of those after it
    while answered is not None and newest is not None:
        if answered.stamp.fetched_at == newest.fetched_at:
            return answered if answered.stamp > greatest else last
        greatest, answered = max(greatest, answered.stamp), answered.before
    return last


def last_not_lost(last: AnsweredRequest, visit: int) -> AnsweredRequest:
    """Return the last answer that did not die with the peer that asked, before it told anybody.

    It is asked for again when it is due, and the clock of an owner without its disk may be hours behind then.

    Args:
      visit: the number of the last one that the owner of the page knows of.
    """
    while last.before is not None and visit < last.stamp.visit and last.machine.changed_s > last.at:
        last = last.before
    return last


def _pins_that_do_not_hold(present: Iterable[Machine], pins: Mapping[int, str]) -> Iterator[str]:
    """Slots with a wrong owner: not the pinned peer or, if that takes no part, not the unpinned one."""
    for machine in present:
        ownership = machine.ownership
        assert ownership is not None, "who is at rest has joined"
        table = ownership.table
        for slot in range(table.slot_count):
            without = table.unpinned.owner_of(slot)
            pinned = pins.get(slot, "")
            expected = pinned if table.weights.get(pinned, 0) > 0 else without
            if ownership.owner_of(slot) != expected:
                yield f"{machine.name} has {ownership.owner_of(slot)} own slot {slot}, not {expected}"


def _lost(run: RestingRun, urls: dict[str, None]) -> Iterator[str]:
    """URLs that were promised, or linked from a page that was stored, and never asked for."""
    for url in urls:
        if url not in run.watch.last:
            yield f"{url} was lost: no peer has fetched it"


def _states(
    run: RestingRun, ownership: Ownership, by_peer: dict[str, Machine], promised: Container[str]
) -> Iterator[str]:
    """URLs that are in no state, in two, or in different ones at the peers of their team.

    One that was asked for and never promised may be forgotten: who asked may have died with its disk.
    """
    for url in run.watch.last:
        slot = ownership.slot_of(host_of(url))
        key = URL_ROWS_SECTION + url_key(slot, fingerprint(url))
        rows = {}
        for peer in ownership.team_of(slot):
            machine = by_peer[peer]
            rows[machine.name] = machine.disk.table.get(key)
        if url not in promised and not any(rows.values()):
            continue
        if None in rows.values():
            yield f"{url} is unknown to some of its team: {rows}"
        elif len(set(rows.values())) > 1:
            yield f"{url} is in different states: {rows}"


def _copies(
    run: RestingRun,
    ownership: Ownership,
    by_peer: dict[str, Machine],
    ruling: Callable[[str], AnsweredRequest],
) -> Iterator[str]:
    """Pages that are not on all peers of their team, whole."""
    damaged = run.is_archive_damaged
    ledgers = {peer: ledger_of(machine) for peer, machine in by_peer.items()}
    for url in run.watch.stored:
        slot = ownership.slot_of(host_of(url))
        team = ownership.team_of(slot)
        if len(team) < min(run.plan.replicas, len(by_peer)):
            yield f"the team of {url} is too small: {team}"
        for peer in team:
            machine, ledger = by_peer[peer], ledgers[peer]
            found = stored_copy(machine, ledger, slot, url)
            if found is None:
                yield f"{machine.name} has no copy of {url}"
            elif not is_page(found, url):
                if not damaged:
                    yield f"the copy of {url} at {machine.name} is damaged"
            elif body_of(found) != (last := ruling(url).body):
                yield f"{machine.name} has {url} as {body_of(found)!r}, which was {last!r} when last asked"
            lost = run.watch.acknowledged[url].keys() - digests_on(machine, ledger, slot, url)
            if lost and not damaged:
                yield f"{machine.name} has lost {len(lost)} of the versions of {url}"


def _leftovers(run: RestingRun, machine: Machine, ownership: Ownership) -> Iterator[str]:
    """Pages and documents at a peer that is not of their team, and documents that are not one for a page."""
    shown: set[str] = set()
    for page in _all_newest(ledger_of(machine)):
        if machine.peer not in ownership.team_of(ownership.slot_of(host_of(page.url))):
            yield f"{machine.name} keeps {page.url}, of whose team it is not"
        elif page.has_document and page.url not in run.hidden:
            shown.add(page.url)
    indexed = Counter(documents_on(machine))
    for url, count in indexed.items():
        if url not in shown:
            yield f"{machine.name} has a document of {url}, of which it keeps none to show"
        elif count > 1:
            yield f"{machine.name} has {count} documents of {url}"
    lacking = [] if run.is_archive_damaged else sorted(shown - indexed.keys())
    yield from (f"{machine.name} has no document of {url}" for url in lacking)


def _all_newest(ledger: Ledger) -> Iterator[Place]:
    """Yield the newest version of each page."""
    identities = dict.fromkeys(identity for _, identity, _ in ledger.places(b"", VERSIONS_MAX))
    yield from filter(None, map(ledger.newest, identities))


def documents_on(machine: Machine) -> Iterator[str]:
    """Yield the URL of each document in the index of a peer, as its disk has it."""
    storage = MemoryStorage()
    storage.files = dict(machine.disk.storage.files)  # what is opened is tidied
    yield from Index.open(storage).snapshot().everything().urls()


def digests_on(machine: Machine, ledger: Ledger, slot: int, url: str) -> set[bytes]:
    """The digests of the bodies of all versions of a page that are on the disk of a peer."""
    found = set()
    for item in ledger.versions(slot):
        if item.identity == identity_of(slot, url):
            place = place_in(item.value)
            body = body_at(machine, place.extent)
            found.add(b"" if body is None else xxh3_64_digest(body))
    return found


def stored_copy(machine: Machine, ledger: Ledger, slot: int, url: str) -> bytes | None:
    """The newest version of a page on the disk of a peer; None when there is none."""
    place = ledger.newest(identity_of(slot, url))
    if place is None:
        return None
    try:
        return machine.disk.archive.read(Extent(place.segment, place.offset, place.length))
    except CorruptionError:
        return b""


def is_page(records: bytes, url: str) -> bool:
    """Are these whole records of that page?"""
    try:
        blocks = [record.block for record in read_records(records)]
    except CorruptionError:
        return False
    return any(rare_word_of(url).encode() in block for block in blocks)


def _words(last: AnsweredRequest, url: str, hidden: Container[str]) -> dict[str, bool]:
    """The words by which a page was to be found at any time, and whether it is to be by now."""
    is_last_shown = is_shown(last.body) and url not in hidden
    words = {rare_word_of(url): is_last_shown}
    asked: AnsweredRequest | None = last
    while asked is not None and asked.body:
        is_last = asked.body == last.body
        words.setdefault(version_word_of(url, asked.body), is_last and is_last_shown)
        asked = asked.before
    return words


def _searches(words: Mapping[str, Mapping[str, bool]]) -> Iterator[dict[str, str]]:
    """Put words that are to be found, each of another page, into searches together, and the others likewise.

    Args:
      words: by URL; as `_words` has them.
    """
    searches: dict[int, dict[str, str]] = {}  # by place among the words of a page; -1 for what is not said
    for url, of_page in words.items():
        for place, (word, is_said) in enumerate(of_page.items()):
            searched = searches.setdefault(place if is_said else -1, {})
            searched[word] = url
            if len(searched) == WORDS_OF_SEARCH:
                yield searches.pop(place if is_said else -1)
    yield from searches.values()


def _not_found(run: RestingRun, ruling: Callable[[str], AnsweredRequest]) -> Iterator[str]:
    """Pages that a search for their own word does not find, and copies that a gateway does not give."""
    world, users = run.world, run.users
    urls = list(run.watch.stored)
    words: dict[str, dict[str, bool]] = {}
    for start in range(0, len(urls), ASKED_AT_A_TIME):
        for url in urls[start : start + ASKED_AT_A_TIME]:
            machine = run.some_gateway()
            assert machine is not None
            words[url] = _words(ruling(url), url, run.hidden)
            users.look_up(machine, url)
        for searched in _searches({url: words[url] for url in urls[start : start + ASKED_AT_A_TIME]}):
            machine = run.some_gateway()
            assert machine is not None
            users.search_words(machine, searched)
        world.run(until=world.now + ANSWERED_S)
    for url in urls:
        if _words(ruling(url), url, run.hidden) != words[url]:
            continue  # it was visited again meanwhile, and says something else
        for word, is_said in words[url].items():
            if word not in users.found:
                yield f"a search for {word} of {url} was not complete"
            elif is_said and not users.found[word]:
                yield f"a search for {word} did not find {url}"
            elif not is_said and users.found[word]:
                yield f"a search for {word} found {url}, which does not say so any more or is not there"
        copy = users.copies.get(url, b"")
        if url in run.hidden:
            if copy:
                yield f"a gateway gave a copy of {url}, which is taken down"
        elif not copy:
            yield f"no gateway has a copy of {url}"
        elif not is_page(copy, url):
            yield f"a gateway gave a damaged copy of {url}"
