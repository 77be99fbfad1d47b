from __future__ import annotations

from base64 import urlsafe_b64encode
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.engine.rescoring.model import MODEL_DEPTH, Candidate, Features, ModelWeights, reranked
from peers.engine.segments.live_segment import FOLDED
from peers.gateway.search.cursor import CURSOR_CHARS_MAX, Cursor, decode_cursor, digest_of
from peers.gateway.search.hit_list import NO_TEAM, Draft, HitList
from peers.gateway.search.plan import NOBODY_ABSENT, Share
from peers.index.wire_messages import Hit

SHARE = Share("ann", NOBODY_ABSENT)
DIGEST = digest_of("query", "score")


def hits(count: int, seed: int = 1) -> list[tuple[Share, Hit]]:
    """Hits by falling score, with few different ones, so that many are equal."""
    random = Random(seed)
    found = [
        (SHARE, Hit(f"http://h{n}.test/", float(random.randrange(40)), Features(random.random())))
        for n in range(count)
    ]
    return sorted(found, key=lambda each: (-each[1].score, each[1].url))


def pages(found: list[tuple[Share, Hit]], size: int, scale: float | None) -> list[str]:
    """URLs of all pages, one after the other, each asked for by the cursor of the one before."""
    urls: list[str] = []
    cursor: Cursor | None = None
    while True:
        if cursor is None or cursor.is_head:
            shown = HitList(found, scale, is_spread=True)
            start = shown.start_of(cursor) if cursor else 0
        else:  # as the peers do it: what is behind the place, by score
            place = (-cursor.score, cursor.url)
            behind = [each for each in found if (-each[1].score, each[1].url) > place]
            shown = HitList(behind, None, is_head=False)
            start = 0
        page = shown.hits[start : start + size]
        if not page:
            return urls
        urls += [each.hit.url for each in page]
        cursor = decode_cursor(shown.cursor_behind(start + len(page) - 1, DIGEST, 0).encode(), DIGEST)
        assert cursor is not None


@pytest.mark.parametrize("count", [0, 1, MODEL_DEPTH - 1, MODEL_DEPTH, MODEL_DEPTH + 1, 350])
@pytest.mark.parametrize("size", [1, 7, 10, 100])
@pytest.mark.parametrize("scale", [None, 3.0])
def test_pages_by_cursor_show_every_hit_once(count: int, size: int, scale: float | None) -> None:
    found = hits(count)
    whole = [each.hit.url for each in HitList(found, scale, is_spread=True).hits]
    assert len(set(whole)) == count
    assert pages(found, size, scale) == whole


def test_copies_of_other_domains_stand_under_the_one_that_is_shown() -> None:
    def hit(url: str, score: float, copies: int = 0, content: int = 7) -> tuple[Share, Hit]:
        return SHARE, Hit(url, score, content=content, copies=copies)

    found = [hit("http://thief.test/", 9.0, FOLDED), hit("http://else.test/", 8.0, content=8)]
    found += [hit("http://www.original.test/a", 7.0, 5), hit("http://m.original.test/a", 6.0)]
    found += [hit(f"http://{name}.test/", 5.0 - n, FOLDED) for n, name in enumerate(("b", "c", "d"))]
    shown, other = HitList(found, None).hits
    assert (shown.hit.url, shown.copies, shown.score) == ("http://www.original.test/a", 5, 7.0)
    assert [each.hit.url for each in shown.under] == [
        "http://thief.test/",
        "http://b.test/",
        "http://c.test/",
    ]
    assert other.under == ()
    assert all(each.under == () for each in HitList(found, None, has_copies=True).hits)


def test_only_the_best_are_ordered_by_the_model() -> None:
    ranked = HitList(hits(150), 3.0).hits
    assert [each.is_candidate for each in ranked] == [True] * MODEL_DEPTH + [False] * (150 - MODEL_DEPTH)
    assert min(each.hit.score for each in ranked[:MODEL_DEPTH]) >= ranked[MODEL_DEPTH].hit.score
    assert [each.score for each in ranked[:MODEL_DEPTH]] == sorted(
        (each.score for each in ranked[:MODEL_DEPTH]), reverse=True
    )


def test_cursor_comes_back_as_it_was() -> None:
    cursor = Cursor(DIGEST, 1, True, -0.1, "http://例子.test/\u0301")
    assert decode_cursor(cursor.encode(), DIGEST) == cursor


@pytest.mark.parametrize("score", ["inf", "-inf", "nan"])
def test_cursor_without_a_number_is_refused(score: str) -> None:
    assert decode_cursor(Cursor(DIGEST, 0, True, float(score), "").encode(), DIGEST) is None


def test_cursor_of_another_query_is_refused() -> None:
    cursor = Cursor(DIGEST, 0, True, 1.0, "http://a/").encode()
    assert decode_cursor(cursor, digest_of("query", "date")) is None
    assert decode_cursor(cursor, digest_of("other", "score")) is None


@given(st.text() | st.from_regex("[A-Za-z0-9_-]*", fullmatch=True))
def test_no_text_makes_a_cursor_raise(text: str) -> None:
    assert decode_cursor(text, DIGEST) is None


def test_cursor_that_nests_without_end_is_refused() -> None:
    fields = msgspec.msgpack.encode((DIGEST, 0, True, 1.0, "http://a/", 0))
    nested = b"\x97" + fields[1:] + b"\x91" * 6_000 + b"\xc0"
    cursor = urlsafe_b64encode(nested).decode()
    assert len(cursor) <= CURSOR_CHARS_MAX
    assert decode_cursor(cursor, DIGEST) is None


def test_long_cursors_are_refused() -> None:
    assert len(Cursor(DIGEST, 0, True, 1.0, "http://h/" + "网" * 2_074).encode()) <= CURSOR_CHARS_MAX
    assert decode_cursor("A" * (CURSOR_CHARS_MAX + 1), DIGEST) is None


def drafted(found: list[tuple[Share, Hit]], draw: int, weights: ModelWeights) -> HitList:
    return HitList(found, 3.0, is_spread=True, draft=Draft(weights, "query", draw))


OTHERS = ModelWeights(proximity=0.0)  # of the features the hits have that alone: the order of BM25F


@pytest.mark.parametrize("count", [0, 1, MODEL_DEPTH - 1, MODEL_DEPTH, MODEL_DEPTH + 1, 350])
@pytest.mark.parametrize("draw", [1, 2, 9, 16])
def test_two_rankings_show_the_same_pages_and_as_many_as_one(count: int, draw: int) -> None:
    found = hits(count)
    one, both = HitList(found, 3.0, is_spread=True).hits, drafted(found, draw, OTHERS).hits
    assert {each.hit.url for each in both} == {each.hit.url for each in one}
    assert len(both) == len(one) == count
    assert both[MODEL_DEPTH:] == one[MODEL_DEPTH:]  # behind the candidates nothing is ordered anew
    assert {msgspec.structs.replace(each, team=NO_TEAM) for each in both} == set(one)  # all else is equal


def test_each_ranking_picks_by_turns_the_best_of_its_own() -> None:
    found = hits(60)
    both = drafted(found, 3, OTHERS).hits
    candidates = [Candidate(hit.url, hit.score, hit.features) for _, hit in found[:MODEL_DEPTH]]
    rankings = [
        [each.url for each in reranked(candidates, 3.0, weights)] for weights in (ModelWeights(), OTHERS)
    ]
    assert rankings[0] != rankings[1]
    left = {each.url for each in candidates}
    for each in both[:MODEL_DEPTH]:
        assert each.hit.url == next(url for url in rankings[each.team] if url in left)
        left.discard(each.hit.url)
    assert [each.team for each in both].count(1) == MODEL_DEPTH // 2
    assert {each.team for each in both[MODEL_DEPTH:]} == {NO_TEAM}


def test_rankings_that_agree_have_no_teams() -> None:
    found = hits(60)
    same = drafted(found, 3, ModelWeights(depth=0.9))  # all are as deep
    assert same.hits == HitList(found, 3.0, is_spread=True).hits


def test_a_page_behind_a_cursor_goes_on_with_the_same_list() -> None:
    found = hits(60)
    whole = [each.hit.url for each in drafted(found, 5, OTHERS).hits]
    urls: list[str] = []
    cursor: Cursor | None = None
    while len(urls) < 40:
        shown = drafted(found, 5, OTHERS)
        start = shown.start_of(cursor) if cursor else 0
        urls += [each.hit.url for each in shown.hits[start : start + 7]]
        cursor = shown.cursor_behind(start + 6, DIGEST, 0)
    assert urls == whole[: len(urls)]
