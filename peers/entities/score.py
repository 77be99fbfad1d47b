"""The score of a page for an entity, in the six steps of the book, each part of it explained.

    (1) no name, no score; a name counts by itself and by how often it occurs
    (2) relations: employed by one of the employers, holding one of the posts. Excluded words drop namesakes.
    (3) words of each field of the profile that occur in the page
    (4) a name in the title
    (5) how much of the page is about the entity, its length, and how many others it speaks of
    (6) score = round(1000 sum_i w_i v_i), a signed integer of 32 bits

Source: Li, Yan, Wang 2004, section 12.2; it gives no weights. Those here are ours: relations help most there
(table 12-3), tags least. `feedback` changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log1p
from typing import Final, NamedTuple

from peers.entities.mentions import (
    FoldedPage,
    Mention,
    PageText,
    folded,
    mentions_in,
    pattern_of,
    spans_in,
    without_namesakes,
)
from peers.entities.profile import FIELDS, Profile
from peers.entities.relations import LOOSE, organisations_in, posts_in, relation
from peers.entities.tone import Tone, ToneModel, tone_of
from peers.text.folding import fold
from peers.text.function_words import FUNCTION_WORDS_OF
from peers.text.segmentation import words_of

# Each with the weight that it has for everybody.
PRIOR: Final = {
    "name": 1.0,
    "mentions": 1.0,
    "employed_by": 1.0,
    "post_of": 1.0,
    **dict.fromkeys(FIELDS, 0.4),
    "title": 0.6,
    "focus": 1.0,
    "length": 0.3,
    "others": -0.3,
}
FEATURES: Final = tuple(PRIOR)
SCALE: Final = 1_000.0
SCORE_MAX: Final = (1 << 31) - 1
MENTIONS_FULL: Final = 20  # of so many sentences each further one says no more
LENGTH_FULL: Final = 5_000  # characters
OTHERS_FULL: Final = 20  # organisations and posts in the sentences with a name
WORD_SHARE: Final = 0.5  # of a text of a field whose words alone are there


class ScorePart(NamedTuple):
    """One addend of a score."""

    name: str
    value: float
    weight: float

    @property
    def points(self) -> float:
        return SCALE * self.value * self.weight


class PageScore(NamedTuple):
    """A page that speaks of the entity."""

    score: int
    parts: tuple[ScorePart, ...]
    tone: Tone
    sentence: str  # the first with a name, folded

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(part.value for part in self.parts)


def score_page(
    profile: Profile, page: PageText, model: ToneModel, weights: Sequence[float] = ()
) -> PageScore | None:
    """Score a page; None where it has no name of the entity, or speaks of a namesake.

    Args:
      weights: of FEATURES; () for those of the profile.
    """
    both = folded(page)
    mentions = mentions_in(profile.names, both.text)
    is_in_title = pattern_of(profile.names).search(both.title) is not None
    own = without_namesakes(mentions, profile.excluded)
    if not own and not (is_in_title and not mentions):
        return None
    values = _values(profile, both, own, is_in_title=is_in_title)
    if _is_of_namesake(profile, both, mentions, own, values):
        return None
    chosen = weights or profile.weights or tuple(PRIOR.values())
    parts = tuple(map(ScorePart, FEATURES, values, chosen))
    score = round(max(-SCORE_MAX, min(SCORE_MAX, sum(part.points for part in parts))))
    return PageScore(score, parts, tone_of(own, model), own[0].text if own else both.title)


def _values(profile: Profile, page: FoldedPage, own: list[Mention], *, is_in_title: bool) -> list[float]:
    employed = max((_relation(profile.employers, each) for each in own), default=0.0)
    post = max((_relation(profile.posts + profile.occupations, each) for each in own), default=0.0)
    whole = f"{page.title}\n{page.text}"
    fields = [_share_found(getattr(profile, field), whole) for field in FIELDS]
    said = sum(len(each.text) for each in own)
    return [
        1.0,
        min(1.0, log1p(len(own)) / log1p(MENTIONS_FULL)),
        employed,
        post,
        *fields,
        float(is_in_title),
        said / max(len(page.text), 1),
        min(1.0, log1p(len(page.text)) / log1p(LENGTH_FULL)),
        min(1.0, sum(map(_count_of_others, own)) / OTHERS_FULL),
    ]


def _relation(texts: tuple[str, ...], mention: Mention) -> float:
    return relation(mention.text, mention.names, spans_in(texts, mention.text)) if texts else 0.0


def _count_of_others(mention: Mention) -> int:
    return len(posts_in(mention.text)) + len(organisations_in(mention.text))


def _is_of_namesake(
    profile: Profile, page: FoldedPage, mentions: list[Mention], own: list[Mention], values: list[float]
) -> bool:
    """Does a page speak of another of that name? Where it says an excluded word and no relation is ours."""
    if not profile.excluded:
        return False
    says_it = len(own) < len(mentions) or pattern_of(profile.excluded).search(page.title) is not None
    related = max(values[FEATURES.index("employed_by")], values[FEATURES.index("post_of")])
    return says_it and related <= LOOSE


def _share_found(texts: tuple[str, ...], page: str) -> float:
    """Return the share of a field's texts that a page has, of which the words alone count half."""
    if not texts:
        return 0.0
    found = 0.0
    for text in texts:
        if pattern_of((text,)).search(page) is not None:
            found += 1.0
            continue
        words = content_words(text)
        found += (
            WORD_SHARE
            * sum(pattern_of((word,)).search(page) is not None for word in words)
            / max(len(words), 1)
        )
    return found / len(texts)


@lru_cache(maxsize=1_024)
def content_words(text: str) -> tuple[str, ...]:
    """Return the words of a text of a field that say something, without it as a whole."""
    whole = fold(text).strip()
    words = {word for run in whole.split() for word in words_of(run)}
    return tuple(sorted(word for word in words if len(word) > 1 and word != whole and word not in _empty()))


@lru_cache(maxsize=1)
def _empty() -> frozenset[str]:
    return FUNCTION_WORDS_OF["zh"] | FUNCTION_WORDS_OF["en"]
