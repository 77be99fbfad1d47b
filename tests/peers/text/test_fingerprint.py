from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest

from peers.text.fingerprint import FINGERPRINT, fingerprint
from peers.text.segmentation import JiebaSegmenter, RjiebaSegmenter


def test_the_libraries_installed_analyse_as_this_version_does() -> None:
    assert fingerprint() == FINGERPRINT, "raise ANALYSIS_VERSION where the analysis was meant to change"


def test_both_segmenters_have_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    for segmenter in (JiebaSegmenter, RjiebaSegmenter):
        monkeypatch.setattr("peers.text.segmentation._segmenter", cache(segmenter))
        assert fingerprint() == FINGERPRINT


def test_another_stemmer_has_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    other = SimpleNamespace(stemWord=lambda word: word.removesuffix("s"))
    monkeypatch.setattr("peers.text.stemming._stemmer", lambda name: other)
    assert fingerprint() != FINGERPRINT


def test_another_dictionary_has_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    segmenter = RjiebaSegmenter()
    segmenter.search = list
    monkeypatch.setattr("peers.text.segmentation._segmenter", lambda: segmenter)
    assert fingerprint() != FINGERPRINT
