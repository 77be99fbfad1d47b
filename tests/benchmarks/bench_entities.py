"""Pages a second of CPU time that are scored for an entity, where its name occurs.

    python -m tests.benchmarks.bench_entities reviews.csv [--characters 2000]

The pages are texts of a CSV file, put together to the wanted length, with a name each `--every` characters.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path

from peers.entities.mentions import PageText
from peers.entities.profile import Profile
from peers.entities.score import score_page
from peers.entities.tone import own_model

PROFILE = Profile(
    label="李晓明",
    names=("李晓明", "晓明"),
    domain=("计算机",),
    employers=("北京大学", "北大"),
    occupations=("教师",),
    posts=("教授", "院长"),
    image=("和蔼",),
    features=("搜索引擎", "天网", "网络"),
    works=("搜索引擎：原理、技术与系统",),
    excluded=("足球", "歌手"),
)


def pages_of(path: Path, characters: int, every: int, count: int) -> Iterator[PageText]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        texts = [row[-1] for row in csv.reader(file)][1:]
    place = 0
    for number in range(count):
        parts: list[str] = []
        since_name = length = 0
        while length < characters:
            text = texts[place % len(texts)]
            place += 1
            since_name += len(text)
            parts.append(f"李晓明教授说，{text}\n" if since_name >= every or not parts else f"{text}\n")
            since_name = 0 if since_name >= every else since_name
            length += len(parts[-1])
        yield PageText(f"http://a.test/{number}", "标题", "".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--characters", type=int, default=2_000)
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--count", type=int, default=500)
    given = parser.parse_args()
    pages = list(pages_of(given.texts, given.characters, given.every, given.count))
    model = own_model()
    score_page(PROFILE, pages[0], model)
    since = time.process_time()
    sentences = [found.tone.sentences for page in pages if (found := score_page(PROFILE, page, model))]
    seconds = time.process_time() - since
    length = sum(len(page.text) for page in pages) / len(pages)
    mentions = sum(sentences) / len(sentences)
    print(
        f"{len(sentences):,} pages of {length:,.0f} characters, {mentions:.1f} sentences "
        f"of each with a name: {len(pages) / seconds:,.0f} pages a second of CPU time"
    )


if __name__ == "__main__":
    main()
