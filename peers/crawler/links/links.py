"""Links: each goes to the peer that crawls its host, once, and is safe there before anything is promised.

Links to pages of other peers wait in the outbox until their owner has promised to keep them. Who sends us
links gets its promise when the living team has ours too, and the owners of those that we pass on have
accepted them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Final, NamedTuple

from msgspec.structs import replace

from mesh.actors.actor import Address, Send
from mesh.actors.allowance import Allowance
from mesh.actors.conduct import CONDUCT, Misbehaved, Offence
from mesh.actors.ownership import Ownership
from mesh.urls import host_of, is_canonical, looks_like_trap
from peers.crawler.frontier.anchor_rows import TELLERS_CHARS_MAX, tag_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.links.deaf_members import DeafMembers
from peers.crawler.links.domain_links import marked
from peers.crawler.links.left_out_links import REVIEW_PAUSE_S, LeftOutLinks
from peers.crawler.links.link_memory import LinkMemory
from peers.crawler.links.order_change import OrderChange
from peers.crawler.links.outbox import RESEND_S, LinkBatch, LinkOutbox
from peers.crawler.links.own_links import TO_BE_FETCHED, OwnLinks, Placed
from peers.crawler.links.searchers_words import SearchersWords
from peers.crawler.model import politeness
from peers.crawler.model.alias_evidence import moved
from peers.crawler.model.revisit_policies import due_now
from peers.crawler.model.settings import CrawlSettings, Tuning
from peers.crawler.model.url_rows import REDIRECTS_MAX, visitor_tag
from peers.crawler.model.wire_messages import FoundLink, LinksAccepted, LinksFound, LinkUse
from peers.handover.mirror import Mirror, Pledge
from peers.policy.rules import Policy

HOSTS_REMEMBERED: Final = 1 << 16  # hosts whose slot and owner are cached
LOOK_S: Final = 10.0  # between two looks for members that accept no links


class _Placement(NamedTuple):
    """Links of one member, sorted by the peer that is to take them."""

    teller: int  # its `visitor_tag`
    ours: list[Placed]
    elsewhere: dict[str, list[FoundLink]]  # by the peer that takes them
    moved: list[str]  # URLs among them that stand for one of an alias


class Links:
    """Links on their way from the page that has them to the frontier of their owner."""

    def __init__(
        self,
        me: str,
        actor: str,
        frontier: Frontier,
        outbox: LinkOutbox,
        left_out: LeftOutLinks,
        mirror: Mirror,
        reordering: OrderChange,
        settings: CrawlSettings,
        tuning: Tuning,
    ) -> None:
        """Begin without knowing the mesh; `actor` is the actor that takes links in at every peer."""
        self._settings = settings
        self._tuning = tuning
        self._me = me
        self._actor = actor
        self._conduct = Address(me, CONDUCT)
        self._frontier = frontier
        self._outbox = outbox
        self._left_out = left_out
        self._mirror = mirror
        self._order_change = reordering
        self._searched = SearchersWords()
        self._ownership: Ownership | None = None
        self._has_owners = False  # does anybody own slots? all are owned or none is
        self._places: dict[str, tuple[int, str]] = {}  # cache by host: its slot, and who takes its links
        self.deaf = DeafMembers()
        self.look_at_s = inf  # when `look_for_deaf` is to be called
        self._unsent: dict[str, list[FoundLink]] = defaultdict(list)  # by owner
        self._accepting: set[tuple[Address, int]] = set()  # batches of links that we have yet to promise
        self._passed_on = Allowance()  # of what others bring, by the peer that takes it
        self._memory = LinkMemory(tuning.links_remembered)
        self._policy, self._policy_number = tuning.policy, 0
        self.own = OwnLinks(frontier, left_out, settings, tuning.policy)
        self.sent_count = self.received_count = self.refused_count = 0

    def change_settings(self, settings: CrawlSettings) -> None:
        """Go by these; the frontier does already."""
        self._settings = self.own.settings = settings
        self._outbox.links_max = settings.outbox_links_max
        self._order_change.look()

    def change_policy(self, policy: Policy) -> None:
        """Queue from now on the pages that a new policy of the mesh's owner wants.

        What was brought to its owner before may have been left out there, and is wanted now.
        """
        if policy != self._policy:
            self._policy = self.own.policy = policy
            self._memory.forget()
            self._left_out.begin_review()
            self._frontier.order.change_decreed(policy.ordering)
            self._order_change.look()

    def note_searched(self, peer: str, words: tuple[str, ...], now: float) -> None:
        """Note which words a gateway's searchers want, which may become guide words."""
        self._searched.hear(peer, words, now)

    def note_policy(self, number: int | None) -> None:
        """Note the number of the policy; None leaves the number as it was."""
        self._policy_number = self._policy_number if number is None else number

    def change_ownership(self, ownership: Ownership, now: float) -> None:
        """Go by new owners; links that wait for a peer that is not alive any more are due at once."""
        self._ownership = ownership
        self._has_owners = ownership.owner_of(0) is not None
        self._places.clear()
        self._outbox.hasten(ownership.alive - self.deaf.now, now)

    @property
    def has_owners(self) -> bool:
        """Does anybody own slots?"""
        return self._has_owners

    @property
    def waiting_count(self) -> int:
        """Links that no other peer has accepted so far."""
        return self._outbox.link_count + sum(map(len, self._unsent.values()))

    @property
    def has_unsent(self) -> bool:
        """Do any links wait for the next commit to be put into the outbox?"""
        return bool(self._unsent)

    @property
    def is_full(self) -> bool:
        """Do other peers leave us with more links than we want to wait with?"""
        return self._outbox.is_full

    @property
    def is_idle(self) -> bool:
        return not (self._unsent or self._outbox.batch_count or self._left_out.review_at_s < inf)

    # --- from our pages ---

    def route(self, page: str, links: Iterable[FoundLink], now: float) -> None:
        """Bring links of a page of ours to the peers that own their hosts, if that was not done just now.

        Args:
          page: its URL, canonical.
        """
        if self._policy.is_of_domains:
            links = marked(page, links)
        ours: list[Placed] = []
        for link in self._memory.new(self._and_moved(links, self._memory.note)):
            if looks_like_trap(link.url):
                continue
            host = host_of(link.url)
            slot, owner = self._places.get(host) or self.place_of(host)
            if owner == self._me:
                ours.append((link, host, slot))
            else:
                self._unsent[owner].append(link)
        self.own.add(ours, now, self._frontier.visitor)

    def pack(self, now: float) -> list[int]:
        """Put the links gathered for other peers into the outbox; return the numbers of the batches."""
        batches = [
            batch for peer, links in self._unsent.items() for batch in self._outbox.add(peer, links, now)
        ]
        self.sent_count += sum(map(len, self._unsent.values()))
        self._unsent.clear()
        if batches:
            self.look_at_s = min(self.look_at_s, now + LOOK_S)
        return batches

    def pledge_pages(self, batches: Iterable[int], keys: tuple[bytes, ...]) -> None:
        """Have others hear of these rows once these batches are accepted and the team has everything else."""
        self._mirror.pledge(Pledge(set(batches), keys=keys))

    # --- from other peers ---

    def take_in(self, source: Address, message: LinksFound, now: float) -> list[Send]:
        """Take in links for our slots and pass on those of others.

        We promise to keep them when the living team has ours, and their owners have accepted the others. By
        an older policy than the sender's we might leave out what is wanted by now.
        """
        batch, links = message.batch, message.links
        if not self._has_owners or message.policy > self._policy_number:
            return []  # the sender repeats them
        depth_max = self._settings.depth_max
        sound = [link for link in links if is_canonical(link.url)]
        are_links = len(sound) == len(links) or source.peer == self._me
        wanted = [
            link if link.use in TO_BE_FETCHED else self._allowed(link, source.peer)
            for link in sound
            if link.depth <= depth_max
        ]
        if (source, batch) in self._accepting:
            return []
        placement = self._place(wanted, visitor_tag(source.peer), is_instead=message.is_instead)
        if placement.elsewhere and not self._may_pass_on(placement, source.peer, now):
            return []
        self.received_count += len(links)
        self.refused_count += len(links) - len(wanted)
        # What is for others goes out after a pause: two peers whose tables differ must not throw links at
        # each other as fast as they can.
        passed_on = self._keep(placement, now, hold_off_s=RESEND_S)
        promise = Send(source, LinksAccepted(batch))
        blame = [] if are_links else [Send(self._conduct, Misbehaved(source.peer, Offence.ODD_LINKS))]
        if not passed_on and self._frontier.changes is None:
            return [promise, *blame]
        self._accepting.add((source, batch))
        self._mirror.pledge(Pledge(set(passed_on), (promise,)))
        return blame

    def _allowed(self, link: FoundLink, peer: str) -> FoundLink:
        """Have a page fetched that a link says is stored, where the link's sender may not import."""
        ownership = self._ownership
        if link.use is not LinkUse.STORED or peer == self._me or ownership is None:
            return link
        return link if peer in ownership.importers else replace(link, use=LinkUse.FETCH)

    def note_promise(self, to: Address, batch: int) -> None:
        """The promise for a batch is given: if it comes again, it is promised again."""
        self._accepting.discard((to, batch))

    def accepted(self, peer: str, batch: int, now: float) -> list[Pledge]:
        """Note that another peer has promised to keep a batch; return the pledges to be redeemed for that."""
        if not self._outbox.accepted(batch, peer, now):
            return []
        if not (self._outbox.batch_count or self.deaf.now):
            self.look_at_s = inf
        return self._mirror.accepted(batch)

    def _may_pass_on(self, placement: _Placement, source: str, now: float) -> bool:
        """Tell whether links for others that another brings may wait here; else they wait where they are.

        One member takes of what others have brought here so much in a minute that, with all repetitions, its
        quotas let it through, and it blames us for no flood of theirs.
        """
        if len(self._accepting) >= self._tuning.accepting_max or self._outbox.is_full:
            return False
        if source == self._me:
            return True
        passed_on, most = self._passed_on, self._tuning.passed_on_per_minute
        counts = [(owner, min(len(links), most)) for owner, links in placement.elsewhere.items()]
        if not all(passed_on.may_spend(owner, n_links, most, now) for owner, n_links in counts):
            return False
        for owner, n_links in counts:
            passed_on.spend(owner, n_links, most, now)
        return True

    def _place(self, links: Iterable[FoundLink], teller: int, *, is_instead: bool = False) -> _Placement:
        """Sort links by the peer that is to take them.

        Args:
          teller: `visitor_tag` of the member that brings them.
          is_instead: what is of slots that we keep for others is ours to take, too.
        """
        ours: list[Placed] = []
        elsewhere: dict[str, list[FoundLink]] = defaultdict(list)
        moved: list[str] = []
        for link in self._and_moved(links, moved.append):
            host = host_of(link.url)
            slot, owner = self.place_of(host)
            if owner == self._me or (is_instead and self._is_kept(slot)):
                ours.append((link, host, slot))
            elif teller == self._frontier.visitor:
                elsewhere[owner].append(link)
            else:
                tellers = (link.tellers + tag_of(teller))[-TELLERS_CHARS_MAX:]
                elsewhere[owner].append(replace(link, tellers=tellers))
        return _Placement(teller, ours, elsewhere, moved)

    def _keep(self, placement: _Placement, now: float, *, hold_off_s: float = 0.0) -> list[int]:
        """Put links into the table at once: ours into the frontier, those of others into batches."""
        for url in placement.moved:  # that of the alias says so again, once it is its turn
            self._memory.note(url)
        self.own.add(placement.ours, now, placement.teller)
        return [
            batch
            for peer, theirs in placement.elsewhere.items()
            for batch in self._outbox.add(peer, theirs, now, hold_off_s=hold_off_s)
        ]

    def _and_moved(self, links: Iterable[FoundLink], note: Callable[[str], None]) -> Iterable[FoundLink]:
        """Return links, and after each to a page of an alias of ours one to the same page elsewhere.

        That of the alias stays known, in case it turns out to be none. Where a redirect leads is meant.

        Args:
          note: is told the URLs of the latter.
        """
        aliases = self._frontier.hosts.aliases if self._settings.finds_aliases else {}
        return self._with_moved(links, aliases, note) if aliases else links

    def _with_moved(
        self, links: Iterable[FoundLink], aliases: Mapping[str, str], note: Callable[[str], None]
    ) -> Iterator[FoundLink]:
        for link in links:
            yield link
            url, seen = link.url, link
            while not (seen.hops & REDIRECTS_MAX or seen.use is LinkUse.STORED):
                representative = aliases.get(host_of(url))
                there = moved(url, representative) if representative else None
                if there is None:
                    break
                url = there
                yield replace(link, url=url)
                note(url)

    # --- to other peers ---

    def due_s(self) -> float:
        """When to call `send`, mesh clock."""
        if not self._has_owners:
            return inf
        return min(
            self._outbox.wake_at(),
            self._left_out.review_at_s,
            self._order_change.at_s,
            self._searched.change_at_s,
        )

    def send(self, now: float) -> list[Send]:
        """Send the batches that are due, and put links that belong to others by now into new ones."""
        if self._left_out.review_at_s <= now:
            self._review(now)
        if self._searched.change_at_s <= now:
            self._frontier.order.change_searched(self._searched.change(now))
            self._order_change.look()
        if self._order_change.at_s <= now:
            self._order_change.do_some(now)
        sends: list[Send] = []
        for batch in self._outbox.wake(now):
            if not batch.has_waited or self._is_for_its_peer(batch):
                sends.append(
                    Send(
                        Address(batch.peer, self._actor),
                        LinksFound(batch.number, batch.links, self._policy_number, self._is_instead(batch)),
                    )
                )
                continue
            self._outbox.remove(batch)
            placement = self._place(batch.links, self._frontier.visitor)
            self._mirror.replaced(batch.number, self._keep(placement, now))
        return sends

    def _review(self, now: float) -> None:
        """Bring some of the links that were left out, and are wanted now, to their owners."""
        if self._outbox.is_full:
            self._left_out.review_at_s = now + REVIEW_PAUSE_S
        else:
            links = self._left_out.review(self._policy, now)
            self._keep(self._place(links, self._frontier.visitor), now)
            for link in links:
                self._ask_again(link.url, now)

    def _ask_again(self, url: str, now: float) -> None:
        """Have a URL that was queued before it was left out asked for at once, and not in a day."""
        slot, _ = self.place_of(host_of(url))
        row = self._frontier.row_of(url, slot)
        if row is not None and politeness.was_left_out(row):
            self.own.merge(slot, due_now(row, now, self._frontier.visitor), url)

    def _is_for_its_peer(self, batch: LinkBatch) -> bool:
        return all(self.place_of(host_of(link.url))[1] == batch.peer for link in batch.links)

    def _is_instead(self, batch: LinkBatch) -> bool:
        """Tell whether these are links of another owner, one that accepts none."""
        ownership = self._ownership
        if not self.deaf.now or ownership is None:
            return False
        slots = {ownership.slot_of(host_of(link.url)) for link in batch.links}
        return any(ownership.owner_of(slot) in self.deaf.now for slot in slots)

    def _is_kept(self, slot: int) -> bool:
        ownership = self._ownership
        return ownership is not None and self._me in ownership.table.team_of(slot)

    def look_for_deaf(self, now: float, *, is_pressed: bool) -> None:
        """Pass by members that accept no links; links that wait for them are due, and go to others, at once.

        Args:
          is_pressed: whether so much waits that we might have to stop fetching.
        """
        self.look_at_s = now + LOOK_S if self._outbox.batch_count or self.deaf.now else inf
        ownership = self._ownership
        if ownership is None:
            return
        outbox, alive = self._outbox, ownership.alive
        is_pressed = is_pressed or outbox.link_count > outbox.links_max / 2
        waiting = outbox.waiting()
        if self.deaf.look(waiting, alive, now, links_max=outbox.links_max, is_pressed=is_pressed):
            self._places.clear()
            outbox.hasten(alive - self.deaf.now, now)

    def _taker_of(self, slot: int, ownership: Ownership) -> str:
        """Return the peer that takes the links of a slot: its owner, or a replica if the owner accepts none.

        Where nobody else keeps a slot what is for its owner stays with us, and the handover offers it.
        """
        owner = ownership.owner_of(slot) or self._me
        if owner not in self.deaf.now:
            return owner
        team = ownership.table.team_of(slot)
        others = [peer for peer in team if peer not in self.deaf.now and peer in ownership.alive]
        if others:
            return others[0]
        return self._me if len(team) == 1 and self._frontier.changes is None else owner

    def is_ours(self, host: str) -> bool:
        """Do we take the links to a host?"""
        return self.place_of(host)[1] == self._me

    def place_of(self, host: str) -> tuple[int, str]:
        """Return a host's slot and the peer to take its links: the one that crawls it, or us if none does."""
        place = self._places.get(host)
        if place is None:
            ownership = self._ownership
            assert ownership is not None
            if len(self._places) >= HOSTS_REMEMBERED:
                self._places.clear()
            slot = ownership.slot_of(host)
            place = self._places[host] = slot, self._taker_of(slot, ownership)
        return place
