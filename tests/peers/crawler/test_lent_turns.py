"""Turns of hosts are lent so that no host is asked twice at once, nor before its delay has passed."""

from __future__ import annotations

from mesh.actors.actor import Send
from mesh.membership.model.messages import CrawlLicensed
from mesh.slot_set import decode_slots
from peers.crawler.lent_turns import AGAIN_S, KEPT_S, TURN_S, TURNS_A_MINUTE
from peers.crawler.model.path_rules import COMPARISONS_AT_ONCE, WILDCARDS_MAX
from peers.crawler.model.politeness import LICENCE_S_MIN
from peers.crawler.model.wire_messages import LendTurn, TurnLent
from peers.handover.messages import SlotsStopped
from tests.helpers import SLOT_COUNT, owned_by, redirect
from tests.peers.crawler.desk import HOME, ORIGIN, OTHER, ROBOTS, Desk, asked, of_kind

NEXT = f"{ORIGIN}/next"
DELAY_S = 2.0
HOUR_S = 3_600.0


def turn(desk: Desk, url: str = HOME, peer: str = OTHER, number: int = 1) -> TurnLent:
    """The answer to an auditor that wants a turn."""
    [lent] = of_kind(desk.tell(LendTurn(number, url), "auditor", peer), TurnLent)
    assert isinstance(lent, TurnLent)
    assert lent.number == number
    return lent


def visited_desk(*more: str) -> Desk:
    """A desk that has stored a page, whose host may be asked again."""
    desk = Desk().with_home_asked(*more)
    desk.tell(CrawlLicensed(desk.now + HOUR_S), "membership")
    desk.store(HOME)
    return desk


def test_a_host_is_left_alone_while_its_turn_is_lent_and_for_its_delay_after_it() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    assert turn(desk).seconds == TURN_S
    desk.seed(NEXT)
    assert asked(desk.wake(TURN_S + DELAY_S - 0.01)) == []
    assert asked(desk.wake(0.01)) == [NEXT]


def test_a_turn_is_lent_only_when_the_delay_of_the_host_is_over() -> None:
    desk = visited_desk()
    lent = turn(desk)
    assert (lent.seconds, lent.pause_s) == (0.0, DELAY_S)
    desk.wake(DELAY_S)
    assert turn(desk, number=2).seconds > 0.0


def test_no_turn_is_lent_while_the_host_is_being_asked() -> None:
    desk = Desk().with_home_asked()
    desk.now += 60.0
    assert turn(desk).seconds == 0.0


def test_the_next_turn_of_a_busy_host_is_kept_for_the_member_that_wants_it() -> None:
    desk = visited_desk(NEXT)
    assert turn(desk).seconds == 0.0
    assert asked(desk.wake(DELAY_S)) == []
    assert turn(desk, number=2).seconds > 0.0


def test_a_turn_that_was_kept_in_vain_is_ours_again() -> None:
    desk = visited_desk(NEXT)
    turn(desk)
    assert asked(desk.wake(DELAY_S + KEPT_S)) == [NEXT]


def test_a_member_cannot_have_a_host_left_alone_again_and_again() -> None:
    desk = visited_desk(NEXT)
    turn(desk)
    desk.wake(DELAY_S + KEPT_S)
    desk.store(NEXT)
    desk.seed(f"{NEXT}/2")
    turn(desk, number=2)
    assert asked(desk.wake(DELAY_S)) == [f"{NEXT}/2"]


def test_a_turn_ends_before_the_licence_does_by_which_it_is_lent() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    desk.tell(CrawlLicensed(desk.now + 1.5), "membership")
    assert turn(desk).seconds == 1.5


def test_no_turn_is_lent_when_the_licence_is_over_or_nearly() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    desk.tell(CrawlLicensed(desk.now + LICENCE_S_MIN / 2), "membership")
    assert turn(desk).seconds == 0.0
    desk.wake(LICENCE_S_MIN)
    assert turn(desk, number=2).seconds == 0.0


def test_a_peer_that_dies_and_returns_leaves_the_host_alone_as_long() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    turn(desk)
    desk.start()
    desk.tell(CrawlLicensed(desk.now + HOUR_S), "membership")
    desk.seed(NEXT)
    assert turn(desk, number=2).seconds == 0.0
    assert asked(desk.wake(TURN_S)) == []


def is_given_up(sends: list[Send]) -> bool:
    """Is the slot of the host given up?"""
    slot = owned_by().slot_of("a.test")
    return any(decode_slots(told.slots, SLOT_COUNT)[slot] for told in of_kind(sends, SlotsStopped))


def test_a_slot_is_not_given_up_before_the_turn_of_its_host_is_over() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    turn(desk)
    assert not is_given_up(desk.share((OTHER,)))
    assert not is_given_up(desk.wake(TURN_S - 0.01))
    assert is_given_up(desk.wake(0.2))


def test_no_turn_is_lent_of_a_slot_that_is_being_given_up_or_is_not_ours() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    turn(desk)
    desk.share((OTHER,))
    assert turn(desk, peer="third", number=2).seconds == 0.0
    desk.wake(2 * TURN_S)
    assert turn(desk, peer="third", number=3).seconds == 0.0


def test_a_lent_host_is_not_asked_for_the_robots_txt_of_another_one() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    turn(desk)
    desk.seed("http://b.test/")
    desk.tell(redirect("http://b.test/robots.txt", ROBOTS))
    assert asked(desk.wake(DELAY_S)) == []
    assert asked(desk.wake(TURN_S)) == [ROBOTS]


def test_a_page_that_robots_txt_forbids_is_lent_to_nobody() -> None:
    desk = Desk()
    desk.seed(HOME)
    desk.allow(robots=b"User-agent: *\nDisallow: /private")
    desk.tell(CrawlLicensed(desk.now + HOUR_S), "membership")
    desk.store(HOME)
    desk.wake(DELAY_S)
    assert turn(desk, f"{ORIGIN}/private").is_refused
    assert not turn(desk, number=2).is_refused


def test_a_member_has_dear_rules_looked_at_so_often_in_a_minute() -> None:
    """Each look took 14 ms, and nothing of any allowance: as many as a member sends."""
    patterns = "".join(f"Disallow: /*{n:04x}b\n" for n in range(WILDCARDS_MAX))
    desk = Desk()
    desk.seed(HOME)
    desk.allow(robots=f"User-agent: *\n{patterns}Disallow: /private\n".encode())
    desk.tell(CrawlLicensed(desk.now + HOUR_S), "membership")
    desk.store(HOME)
    looks = [turn(desk, f"{ORIGIN}/private", number=n).is_refused for n in range(200)]
    n_looks = TURNS_A_MINUTE * COMPARISONS_AT_ONCE // WILDCARDS_MAX
    assert n_looks / 2 < sum(looks) <= n_looks
    assert turn(desk, f"{ORIGIN}/private", peer="third").is_refused


def test_no_turn_is_lent_for_what_is_no_canonical_url() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    assert all(turn(desk, url).is_refused for url in ("x", "http://", "HTTP://A.test/", "http:///"))


def test_a_member_gets_a_turn_of_a_host_now_and_then_only() -> None:
    desk = visited_desk()
    desk.wake(DELAY_S)
    assert turn(desk).seconds > 0.0
    desk.now += TURN_S + DELAY_S
    assert 0.0 < turn(desk, number=2).pause_s <= AGAIN_S
    assert turn(desk, peer="third", number=3).seconds > 0.0


def test_a_member_gets_so_many_turns_of_all_hosts_in_a_minute() -> None:
    desk = Desk()
    homes = [f"http://h{number}.test/" for number in range(TURNS_A_MINUTE + 1)]
    for home in homes:
        desk.with_home_asked(origin=home[:-1])
        desk.store(home)
    desk.tell(CrawlLicensed(desk.now + HOUR_S), "membership")
    desk.wake(60.0)
    lent = [turn(desk, home, number=number).seconds > 0.0 for number, home in enumerate(homes)]
    assert lent == [True] * TURNS_A_MINUTE + [False]
    assert turn(desk, homes[-1], peer="third").seconds > 0.0


def test_lent_turns_count_as_requests_of_the_day() -> None:
    desk = visited_desk()
    desk.change(requests_per_host_day_max=3)  # robots.txt and the page were asked for
    desk.wake(DELAY_S)
    assert turn(desk).seconds > 0.0
    desk.seed(NEXT)
    assert asked(desk.wake(HOUR_S)) == []
