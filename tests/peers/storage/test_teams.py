"""Of whom pages are taken: who is in the team of a slot, or was by a view of most members."""

from __future__ import annotations

import pytest

from mesh.actors.ownership import Ownership
from mesh.slots import SlotTable
from peers.storage.teams import Teams

SLOTS = 64
ALL = ("me", "other", "third", "fourth")


def view(*members: str, has_majority: bool = True) -> Ownership:
    return Ownership(
        "me", SlotTable(dict.fromkeys(members, 100), SLOTS, 2), members, has_majority=has_majority
    )


def test_in_a_minority_pages_are_taken_of_who_was_in_the_team_before_and_of_nobody_else() -> None:
    teams = Teams("me")
    teams.change_ownership(whole := view(*ALL))
    teams.change_ownership(view("me", "other", has_majority=False))
    theirs = {slot for slot in range(SLOTS) if "other" in whole.team_of(slot)}
    assert 0 < len(theirs) < SLOTS
    assert {slot for slot in range(SLOTS) if teams.may_give("other", slot)} == theirs


@pytest.mark.parametrize("has_majority", [True, False])
def test_pages_are_taken_of_who_was_in_the_team_by_a_view_of_most_members(*, has_majority: bool) -> None:
    teams = Teams("me")
    teams.change_ownership(view("me", "other", has_majority=has_majority))
    teams.change_ownership(whole := view(*ALL))
    foreign = [slot for slot in range(SLOTS) if "me" in (team := whole.team_of(slot)) and "other" not in team]
    assert foreign
    assert {teams.may_give("other", slot) for slot in foreign} == {has_majority}
    assert all(
        teams.may_give("other", slot) for slot in range(SLOTS) if {"me", "other"} <= {*whole.team_of(slot)}
    )
