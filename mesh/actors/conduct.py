"""How each member behaves: the work it may cause this peer in a minute, and the offences it has committed.

Theory of operation
===================
A member is let in by its certificate, and may then say anything. Most of that is refused where it is judged;
here stands who said it, and how much.

*Quotas.* Whatever makes work is charged to who sent it: links, pages, imports, rumours, bytes. Each has an
allowance of a minute that comes back with time. What goes beyond is not taken now, as if the network had lost
it: an honest member repeats what matters, so to it a quota is a pace; of a flood little is worked on.

*Points.* What no honest member says is an *offence*, with points that halve with time. From so many on a
member is *in quarantine*: of the content that it brings unasked (links, pages) nothing is taken, until half
of them are gone. Gossip goes on, and so do answers and whatever brings slots from hand to hand: nobody is
cut off, what others have acknowledged stays, and what it has to tell it tells again later. Only the owner
of the mesh can end a membership, with `tianmesh expel`.

Each peer judges by what was said to itself, and tells others nothing of it: no member can talk another into
quarantine. It belongs to the node, which asks before it hands in what another peer sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message, Statistics
from mesh.actors.allowance import Allowance

CONDUCT: Final = "conduct"  # to whom actors send `Misbehaved`
MEMBERS_TOLD_MAX: Final = 10  # in statistics, the worst first
POINTS_MAX_FACTOR: Final = 2.0  # times those of quarantine: so it ends two half-lives after the last offence

# To read, decode and judge the smallest one takes as long as so many bytes of a large one (measured: 30 us).
MESSAGE_BYTES_MIN: Final = 8 << 10

Limit = Annotated[int, Meta(ge=1)]


class Quota(StrEnum):
    """The parts of a member's messages that are counted, each with a limit of its own."""

    LINKS = "links"
    PAGES = "pages"  # to be kept as copies
    IMPORTS = "imports"  # pages of files
    QUESTIONS = "questions"  # why things are as they are
    RUMOURS = "rumours"  # and other messages of the membership
    BYTES = "bytes"  # of whatever it sends, and so many at least for each message


class Offence(StrEnum):
    """The kinds of misbehaviour that no honest member shows; the values are for people."""

    FORGED_RECORDS = "forged records"
    FORGED_DECREES = "forged decrees"
    ODD_MESSAGES = "messages that cannot be"
    UNREADABLE = "unreadable messages"
    ODD_LINKS = "links that are none"
    DAMAGED_PARTS = "damaged parts of slots"
    FOREIGN_HITS = "hits of slots it was not asked for"
    IMPOSSIBLE_SCORES = "hits with scores that no page can have"
    CONTRADICTED = "pages that it alone knows, or alone does not know"
    OVER_QUOTA = "more than its quotas"
    INVENTED = "pages that show others another text"


# Who is in quarantine has done some of these some dozen times in a few minutes.
POINTS: Final[Mapping[Offence, float]] = {
    Offence.FORGED_RECORDS: 2.0,  # a few come of honest members whose clocks differ about a certificate
    Offence.FORGED_DECREES: 5.0,
    Offence.ODD_MESSAGES: 2.0,  # tables of slots may differ for a moment
    Offence.UNREADABLE: 0.0,  # a newer version may have sent it
    Offence.ODD_LINKS: 1.0,  # another version may write URLs otherwise
    Offence.DAMAGED_PARTS: 5.0,
    Offence.FOREIGN_HITS: 2.0,
    Offence.IMPOSSIBLE_SCORES: 5.0,  # they follow from the query alone
    Offence.INVENTED: 100.0,  # of three domains at least, each as two others have seen it
    Offence.CONTRADICTED: 50.0,  # for three or more at once, half a minute after they were denied
    Offence.OVER_QUOTA: 50.0,  # for as much as the allowance of a minute; who is only fast repeats slower
}

# What a message takes of which quota.
Charge: TypeAlias = Callable[[Any], tuple[Quota, float]]


class ConductSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The amounts that one member may send this peer in a minute, and when it is put into quarantine."""

    # A peer that fetches 200 pages a second sends all others some 4,000 links a second.
    links_per_minute: Limit = 1_200_000
    pages_per_minute: Limit = 60_000  # to be kept as copies
    imports_per_minute: Limit = 60_000  # pages of files
    questions_per_minute: Limit = 120  # why a URL or the crawl is as it is; the dearest take 0.1 s
    # Rumours, pings, decrees; a member of a thousand tells all it knows in 1,000.
    rumours_per_minute: Limit = 600_000
    # Of all that it sends, 8 KiB a message at least: two gigabits, or 30,000 messages, a second.
    bytes_per_minute: Limit = 15_000_000_000
    # Points for offences, from which nothing of content is taken from it.
    quarantine_points: Annotated[float, Meta(gt=0)] = 100.0
    half_life_s: Annotated[float, Meta(gt=0)] = 120.0  # in which half of the points are forgiven

    def allowances(self) -> dict[Quota, int]:
        """Return the amount of each quota that a member may use in a minute."""
        return {
            Quota.LINKS: self.links_per_minute,
            Quota.PAGES: self.pages_per_minute,
            Quota.IMPORTS: self.imports_per_minute,
            Quota.QUESTIONS: self.questions_per_minute,
            Quota.RUMOURS: self.rumours_per_minute,
            Quota.BYTES: self.bytes_per_minute,
        }


class Misbehaved(Message, frozen=True):
    """An actor to the conduct of its node: another member has done this, which is refused already."""

    peer: str
    offence: Offence
    evidence: str = ""  # for the log, if it is put into quarantine


class MemberConduct(msgspec.Struct, frozen=True):
    """The offences of one member, and the points that they amount to now."""

    peer: str
    points: float  # of now
    is_quarantined: bool
    offences: dict[str, int]  # count of each since the start, the worst first


class ConductStatistics(Statistics, frozen=True):
    """Counts since the start; gauges of now."""

    offences: dict[str, int]  # of all members, by kind
    over_quota: dict[str, int]  # messages that were not taken, by quota
    quarantined: int  # gauge: members
    quarantines: int  # begun
    kept_out: int  # messages of members in quarantine that were not taken
    members: tuple[MemberConduct, ...]  # that have any points or are in quarantine, the worst first


@dataclass(slots=True)
class _Record:
    """Of one member."""

    points: float = 0.0
    at: float = 0.0  # when it had these
    is_quarantined: bool = False
    offences: dict[Offence, int] = field(default_factory=dict)


class Conduct:
    """The amounts sent and the offences committed, by member; see the theory of operation above."""

    def __init__(
        self,
        settings: ConductSettings | None = None,
        charges: Mapping[type[Message], Charge] | None = None,
        content: Set[type[Message]] = frozenset(),
    ) -> None:
        """Begin with everybody in good standing.

        Args:
          charges: for which messages there are quotas.
          content: what is not taken from a member in quarantine.
        """
        self.settings = settings or ConductSettings()
        self._allowances = self.settings.allowances()
        self._charges = charges or {}
        self._content = content
        self._spent = {quota: Allowance() for quota in Quota}
        self._records: dict[str, _Record] = {}
        self._offences = dict.fromkeys(Offence, 0)
        self._over_quota = dict.fromkeys(Quota, 0)
        self._n_quarantines = self._n_kept_out = 0
        self._now = 0.0
        self._news: list[str] = []

    def admits(self, peer: str, message: Message, now: float) -> bool:
        """May this be handed in? If not, it is as if it had never come."""
        if type(message) in self._content and self.is_quarantined(peer, now):
            self._n_kept_out += 1
            return False
        charge = self._charges.get(type(message))
        return charge is None or self._spend(peer, *charge(message), now)

    def admits_bytes(self, peer: str, n_bytes: int, now: float, *, n_messages: int = 1) -> bool:
        """May messages that took so many bytes together be looked at? The smallest count as 8 KiB each."""
        return self._spend(peer, Quota.BYTES, max(n_bytes, n_messages * MESSAGE_BYTES_MIN), now)

    def note(
        self, peer: str, offence: Offence, now: float, *, points: float | None = None, evidence: str = ""
    ) -> None:
        """A member has done this, which was refused.

        Args:
          points: instead of the usual ones.
          evidence: for the log.
        """
        settings = self.settings
        record = self._records.setdefault(peer, _Record())
        self._forgive(record, now)
        self._offences[offence] += 1
        record.offences[offence] = record.offences.get(offence, 0) + 1
        most = POINTS_MAX_FACTOR * settings.quarantine_points
        record.points = min(record.points + (POINTS[offence] if points is None else points), most)
        if record.points >= settings.quarantine_points and not record.is_quarantined:
            record.is_quarantined = True
            self._n_quarantines += 1
            shown = f" evidence={evidence!r}" if evidence else ""
            self._news.append(
                f"member in quarantine, no links and pages are taken from it peer={peer} reasons="
                f"{reasons_of(_by_number(record))!r}{shown}; `tianmesh expel {peer}` ends its membership"
            )

    def is_quarantined(self, peer: str, now: float) -> bool:
        """Is nothing of content taken from this member now?"""
        record = self._records.get(peer)
        if record is None or not record.is_quarantined:
            return False
        self._forgive(record, now)
        if record.points < self.settings.quarantine_points / 2:
            record.is_quarantined = False
            self._news.append(f"member out of quarantine peer={peer}")
        return record.is_quarantined

    def take_news(self) -> list[str]:
        """Return lines for the log, once."""
        news, self._news = self._news, []
        return news

    def observe(self) -> ConductStatistics:
        now, settings = self._now, self.settings
        for peer, record in self._records.items():
            self._forgive(record, now)
            self.is_quarantined(peer, now)
        worst = sorted(
            ((record.is_quarantined, record.points, peer) for peer, record in self._records.items()),
            reverse=True,
        )
        noted = [peer for is_quarantined, points, peer in worst if is_quarantined or points >= 1.0]
        return ConductStatistics(
            offences={offence.value: n for offence, n in self._offences.items() if n},
            over_quota={quota.value: n for quota, n in self._over_quota.items() if n},
            quarantined=sum(record.is_quarantined for record in self._records.values()),
            quarantines=self._n_quarantines,
            kept_out=self._n_kept_out,
            members=tuple(
                MemberConduct(
                    peer,
                    round(min(record.points, POINTS_MAX_FACTOR * settings.quarantine_points), 1),
                    record.is_quarantined,
                    _by_number(record),
                )
                for peer in noted[:MEMBERS_TOLD_MAX]
                for record in (self._records[peer],)
            ),
        )

    def _spend(self, peer: str, quota: Quota, amount: float, now: float) -> bool:
        self._now = now
        allowed = self._allowances[quota]
        # A single message may be as large as the wire takes it, whatever is allowed.
        if self._spent[quota].spend(peer, min(amount, allowed), allowed, now):
            return True
        self._over_quota[quota] += 1
        self.note(
            peer, Offence.OVER_QUOTA, now, points=POINTS[Offence.OVER_QUOTA] * min(amount / allowed, 1.0)
        )
        return False

    def _forgive(self, record: _Record, now: float) -> None:
        """Let points go with time."""
        self._now = max(self._now, now)
        record.points *= 0.5 ** (max(0.0, now - record.at) / self.settings.half_life_s)
        record.at = now


def reasons_of(offences: Mapping[str, int]) -> str:
    """Say in a few words which offences a member has committed: the first three, with their counts."""
    return ", ".join(f"{count} {name}" for name, count in list(offences.items())[:3])


def _by_number(record: _Record) -> dict[str, int]:
    """Its offences, those that weigh most first."""
    weighed = sorted(record.offences.items(), key=lambda each: (-each[1] * POINTS[each[0]], each[0]))
    return {offence.value: count for offence, count in weighed}
