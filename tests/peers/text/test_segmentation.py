from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from peers.text.segmentation import JiebaSegmenter, RjiebaSegmenter
from tests.demo_texts import demo_documents


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5), min_size=1, max_size=40))
def test_rjieba_and_jieba_cut_random_han_runs_alike(run: str) -> None:
    assert RjiebaSegmenter().search(run) == JiebaSegmenter().search(run)
    assert RjiebaSegmenter().cut(run) == JiebaSegmenter().cut(run)
    assert RjiebaSegmenter().cut_known(run) == JiebaSegmenter().cut_known(run)


def test_rjieba_and_jieba_cut_real_han_runs_alike() -> None:
    texts = [document.text for document in demo_documents()]
    runs = sorted({run for text in texts for run in re.findall("[\u4e00-\u9fd5]+", text)})
    assert len(runs) > 5000
    joined = "\n".join(runs)
    assert RjiebaSegmenter().search(joined) == JiebaSegmenter().search(joined)
    assert list(map(RjiebaSegmenter().cut_known, runs)) == list(map(JiebaSegmenter().cut_known, runs))
