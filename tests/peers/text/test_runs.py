from __future__ import annotations

import sys

from hypothesis import given, settings

from peers.text.folding import fold
from peers.text.runs import KIND_OF_CHARACTER, RUN, RunKind, kind_of, runs_of
from tests.peers.text.samples import any_text


@settings(deadline=None)
@given(any_text)
def test_kinds_of_characters_agree_with_the_expression_that_cuts_runs(text: str) -> None:
    folded = fold(text)
    cut = runs_of(folded)
    assert all(len({kind_of(c) for c in run}) == 1 for run in cut)
    assert sum(map(len, cut)) == sum(kind_of(c) is not RunKind.SEPARATOR for c in folded)


def test_every_character_has_a_kind_if_and_only_if_it_is_in_a_run() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    is_in_run = bytearray(len(every))
    for run in RUN.finditer(every):
        is_in_run[run.start() : run.end()] = bytes([1]) * len(run[0])
    assert [bool(kind) for kind in KIND_OF_CHARACTER] == [bool(each) for each in is_in_run]
