from __future__ import annotations

import pytest

from peers.text.pinyin import (
    is_read_as,
    places_of,
    readings,
    sounding_like,
    spellings_of_syllable,
    syllables,
    without_tones,
)


@pytest.mark.parametrize(
    ("typed", "places"),
    [("dayin", [0, 2]), ("xian", [0, 2]), ("software", []), ("sof", []), ("", []), ("nvren", [0, 2])],
)
def test_syllables_begin_where_all_the_rest_is_syllables(typed: str, places: list[int]) -> None:
    assert [place for place in places_of(typed) if place in places] == places
    assert bool(places_of(typed)) == bool(places)


def test_every_syllable_has_its_own_spelling_first_and_four_at_most() -> None:
    for syllable in syllables():
        assert spellings_of_syllable(syllable)[0] == syllable
        assert len(spellings_of_syllable(syllable)) <= 4
        assert places_of(syllable)[:1] == [0]


def test_characters_are_read_in_each_of_their_ways_and_no_other() -> None:
    assert set(readings()["行"]) >= {"xing", "hang"}
    assert is_read_as("软件包", "ruanjianbao")
    assert not is_read_as("软件包", "ruangjianbao")
    assert is_read_as("女人", "nvren")
    assert is_read_as("女人", "nuren")


def test_numbers_of_tones_are_left_out() -> None:
    assert without_tones("ruan3jian4bao1") == "ruanjianbao"
    assert without_tones("x86") == "x86"


def test_characters_that_sound_alike_say_so_of_each_other() -> None:
    assert (sounding_like("健")["件"], sounding_like("你")["李"], sounding_like("主")["足"]) == (
        True,
        False,
        False,
    )
    assert "健" not in sounding_like("健")
    for character in sorted(readings())[::50]:
        for other, is_same in sounding_like(character).items():
            assert is_same == bool({*readings()[character]} & {*readings()[other]})
