"""Texts of classes that are made up: each class has words of its own among words that all have."""

from __future__ import annotations

from random import Random

from peers.classes.samples import LabelledText

SUBJECTS = {
    ("science", "physics"): ("quark", "neutron", "量子", "物理", "energy"),
    ("science", "biology"): ("cell", "genome", "细胞", "生物", "species"),
    ("sports", "football"): ("goal", "penalty", "足球", "联赛", "striker"),
    ("sports", "tennis"): ("racket", "serve", "网球", "决赛", "volley"),
    ("food",): ("noodles", "recipe", "面条", "烹饪", "sauce"),
}
OF_LEVELS = {
    "science": ("laboratory", "研究", "theory"),
    "sports": ("match", "比赛", "coach"),
    "food": ("kitchen", "厨房", "taste"),
}
COMMON = ("the", "of", "a", "我们", "今天", "page", "news", "and", "这个", "time")


def text_of(path: tuple[str, ...], random: Random, n_words: int = 12) -> str:
    own = SUBJECTS[path]
    above = OF_LEVELS[path[0]]
    drawn = [
        random.choice(random.choices((own, above, COMMON), (2, 2, 3))[0])
        for _ in range(random.randrange(4, n_words))
    ]
    return " ".join(drawn)


def samples_of(count: int, seed: int = 3) -> list[LabelledText]:
    """So many samples of each class."""
    random = Random(seed)
    return [
        LabelledText(path, text_of(path, random), f"http://{path[-1]}.test/{n}")
        for path in SUBJECTS
        for n in range(count)
    ]
