"""Which page of a group is shown, and who is told what when."""

from __future__ import annotations

from mesh.tables.memory_table import MemoryTable
from peers.copies.groups import FOLDED_MAX, UNKNOWN, GroupPage, Groups, group_of, representatives_of, to_tell
from peers.copies.wire_messages import ToldContent
from peers.engine.segments.live_segment import COPY, FOLDED

SLOTS = 16
CONTENT = 100
GROUP = group_of(CONTENT, SLOTS)


def told(
    number: int,
    version: int = 1,
    *,
    is_there: bool = True,
    canonical: int = 0,
    n_copies: int = 0,
    rank: int = 0,
    domain: int = 1,
    first_s: int = 0,
) -> ToldContent:
    return ToldContent(
        3,
        page_of(number),
        CONTENT,
        version.to_bytes(18, "big"),
        is_there,
        n_copies,
        rank.to_bytes(4, "big"),
        page_of(canonical) if canonical else b"",
        first_s,
        domain.to_bytes(16, "big"),
    )


def page_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def groups_of(*pages: ToldContent) -> Groups:
    groups = Groups(MemoryTable())
    for each in pages:
        groups.note(GROUP, each)
    return groups


def shown_of(groups: Groups) -> int:
    return int.from_bytes(representatives_of(groups.members(GROUP))[0].page, "big")


def numbers_told(groups: Groups) -> list[tuple[int, int]]:
    return [(int.from_bytes(each.page, "big"), n) for each, n in to_tell(groups.members(GROUP))]


def note_all(groups: Groups) -> None:
    for each, n in to_tell(groups.members(GROUP)):
        groups.note_told(each.key, n)


def test_the_page_is_shown_that_others_name_else_the_one_that_stands_best() -> None:
    assert shown_of(groups_of(told(1, rank=5), told(2, rank=4), told(3, rank=9))) == 2
    assert shown_of(groups_of(told(1, rank=5), told(2, rank=4, canonical=3), told(3, rank=9))) == 3
    assert shown_of(groups_of(told(1, rank=5), told(2, rank=9, canonical=2))) == 2
    # Who names a page that is not here has less to say for itself.
    assert shown_of(groups_of(told(1, rank=4, canonical=7), told(2, rank=5))) == 2


LINKED = 254 << 24  # a rank: another domain links there
LONG = (255 << 24) + (60 << 8)


def test_a_copy_of_another_domain_that_names_itself_hides_nobody() -> None:
    original, thief = told(1, rank=LONG), told(2, rank=LONG, canonical=2, domain=2, first_s=9)
    assert shown_of(groups_of(original, thief)) == 1
    helper = told(3, rank=LONG, canonical=2, domain=3)
    assert shown_of(groups_of(original, thief, helper)) == 1, "others speak for themselves alone"


def test_a_mirror_with_a_shorter_name_hides_nobody_who_was_seen_before() -> None:
    original, mirror = told(1, rank=LONG, first_s=5), told(2, rank=LONG - 9, domain=2, first_s=6)
    assert shown_of(groups_of(original, mirror)) == 1
    assert shown_of(groups_of(original, told(2, rank=LONG - 9, domain=1, first_s=6))) == 2, "of one domain"
    assert shown_of(groups_of(original, told(2, rank=LINKED + 9, domain=2, first_s=6))) == 2, "domains link"


MISPLACED = 1 << 16  # the address names a language that the text is not in


def test_the_page_that_is_under_its_language_represents_its_twins_of_its_domain() -> None:
    korean, english = told(1, rank=LONG + MISPLACED), told(2, rank=LONG + 9, first_s=7)
    assert shown_of(groups_of(korean, english)) == 2
    assert shown_of(groups_of(told(1, rank=LONG + MISPLACED, canonical=1), english)) == 1, "pages say so"
    assert shown_of(groups_of(told(1, rank=LINKED + MISPLACED), english)) == 1, "domains link"


def test_no_domain_gains_by_languages_that_addresses_of_another_name() -> None:
    korean, mirror = told(1, rank=LONG + MISPLACED), told(2, rank=LONG + 9, domain=2)
    assert shown_of(groups_of(korean, mirror)) == 1
    # The twin that represents its domain was found after the mirror, its domain was not.
    english = told(3, rank=LONG, first_s=9)
    assert shown_of(groups_of(korean, told(2, rank=LONG, domain=2, first_s=5), english)) == 3


def test_a_page_gives_way_to_another_domain_by_its_own_word() -> None:
    moved = told(1, rank=LINKED, canonical=2, first_s=1)
    assert shown_of(groups_of(moved, told(2, rank=LONG, domain=2, first_s=9))) == 2
    # Two that give way to each other have said nothing.
    assert shown_of(groups_of(moved, told(2, rank=LONG, canonical=1, domain=2, first_s=9))) == 1


def test_copies_are_hidden_only_when_the_representative_has_confirmed() -> None:
    groups = groups_of(told(1), told(2), told(3))
    assert numbers_told(groups) == [(1, 2)]
    note_all(groups)
    assert numbers_told(groups) == [(2, COPY), (3, COPY)]
    note_all(groups)
    assert numbers_told(groups) == []


def test_pages_that_stand_for_other_domains_are_found_under_the_one_that_is_shown() -> None:
    of_domains = [told(n, domain=n, first_s=n) for n in range(1, FOLDED_MAX + 4)]
    twin, gives_way = told(20, domain=2, rank=9, first_s=9), told(21, domain=21, canonical=1)
    groups = groups_of(*of_domains, twin, gives_way)
    n_copies = len(of_domains) + 1
    folded = [(n, FOLDED) for n in range(2, FOLDED_MAX + 2)]
    assert numbers_told(groups) == [(1, n_copies), *folded]
    note_all(groups)
    hidden = range(FOLDED_MAX + 2, FOLDED_MAX + 4)
    assert numbers_told(groups) == [(n, COPY) for n in (*hidden, 20, 21)], "its own domain, its own word"
    note_all(groups)
    assert numbers_told(groups) == []
    groups.note(GROUP, told(1, 2, domain=1, is_there=False))
    assert numbers_told(groups) == [(2, n_copies - 1), (FOLDED_MAX + 2, FOLDED)]


def test_when_the_representative_leaves_another_is_shown_before_anything_else() -> None:
    groups = groups_of(told(1), told(2), told(3))
    note_all(groups)
    note_all(groups)
    assert groups.note(GROUP, told(1, 2, is_there=False))
    assert numbers_told(groups) == [(2, 1)]
    note_all(groups)
    assert numbers_told(groups) == []
    groups.note(GROUP, told(3, 2, is_there=False))
    groups.note(GROUP, told(2, 1, n_copies=COPY))
    assert numbers_told(groups) == [(2, 0)]


def test_one_page_alone_is_told_nothing_unless_it_was_hidden() -> None:
    assert numbers_told(groups_of(told(1))) == []
    assert numbers_told(groups_of(told(1, n_copies=COPY))) == [(1, 0)]


def test_what_was_overtaken_changes_nothing() -> None:
    groups = groups_of(told(1, 5), told(2, 5))
    assert not groups.note(GROUP, told(1, 4, is_there=False))
    assert not groups.note(GROUP, told(2, 4, n_copies=COPY))
    assert len(groups.members(GROUP)) == 2
    assert not groups.note(GROUP, told(9, 4, is_there=False))


def test_what_was_told_before_a_page_left_and_comes_after_that_is_asked_again() -> None:
    groups = groups_of(told(1), told(2))
    note_all(groups)
    note_all(groups)
    groups.note(GROUP, told(2, 3, is_there=False))
    groups.note(GROUP, told(2, 1, n_copies=COPY))
    assert (2, COPY) in numbers_told(groups), "else it would be one of the group for ever"


def test_what_was_told_before_a_page_left_may_come_twice_and_is_asked_again_all_the_same() -> None:
    late = told(2, 2, n_copies=COPY)
    groups = groups_of(told(1), late, told(2, 3, is_there=False), late, late)
    (_, copy) = groups.members(GROUP)
    assert copy.told == UNKNOWN
    note_all(groups)
    assert numbers_told(groups) == [(2, COPY)], "its index is asked, which does not have that content"


def test_what_was_told_before_a_page_was_named_and_comes_after_that_is_asked_again() -> None:
    groups = groups_of(told(1), told(2))
    note_all(groups)
    note_all(groups)
    groups.note(GROUP, told(2))
    groups.note(GROUP, told(1, 3, is_there=False))
    assert numbers_told(groups) == [(2, 0)], "else it would be hidden for ever"


def test_a_page_that_was_named_and_has_not_noted_it_is_told_when_it_is_alone() -> None:
    groups = groups_of(told(1), told(2))
    note_all(groups)
    ((copy, _),) = to_tell(groups.members(GROUP))
    groups.note_asked(copy)
    groups.note(GROUP, told(1, 3, is_there=False))
    assert numbers_told(groups) == [(2, 0)]


def test_a_page_of_which_something_new_is_heard_confirms_again() -> None:
    groups = groups_of(told(1), told(2))
    note_all(groups)
    note_all(groups)
    groups.note(GROUP, told(1, 2, n_copies=1))
    assert numbers_told(groups) == [(1, 1)]
    note_all(groups)
    groups.note(GROUP, told(1, 2, n_copies=1))  # the same again
    assert numbers_told(groups) == []


def test_who_is_doubted_is_told_again() -> None:
    groups = groups_of(told(1), told(2))
    note_all(groups)
    note_all(groups)
    for member in groups.members(GROUP):
        groups.doubt(member)
    assert {member.told for member in groups.members(GROUP)} == {UNKNOWN}
    assert numbers_told(groups) == [(1, 1)]


def test_members_are_read_as_they_were_written() -> None:
    groups = groups_of(told(7, 3, canonical=8, n_copies=4, rank=6))
    (member,) = groups.members(GROUP)
    assert (member.slot, member.page, member.content, member.group) == (3, page_of(7), CONTENT, GROUP)
    assert groups.rows(b"", 9) == [member]
    assert groups.rows(member.key, 9) == []
    assert isinstance(member, GroupPage)
