from __future__ import annotations

from hypothesis import given, settings

from peers.text.folding import fold
from peers.text.runs import RunKind, kind_of, runs_of
from tests.peers.text.samples import any_text


@settings(deadline=None)
@given(any_text)
def test_kinds_of_characters_agree_with_the_expression_that_cuts_runs(text: str) -> None:
    folded = fold(text)
    cut = runs_of(folded)
    assert all(len({kind_of(c) for c in run}) == 1 for run in cut)
    assert sum(map(len, cut)) == sum(kind_of(c) is not RunKind.SEPARATOR for c in folded)
