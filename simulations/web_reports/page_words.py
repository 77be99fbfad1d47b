"""Words of pages beside their facts, 6 bytes for each distinct one of a page; pages as vectors of them."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from mesh.errors import ConfigError
from simulations.traces.columns import Ints
from simulations.web_reports.page_columns import PageColumns
from simulations.web_reports.page_facts import PageFacts

COUNT_MAX = 0xFFFF


class WordedPages(PageColumns):
    """Takes facts with words, one page after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._words = array("I")  # numbers of words, those of a page in a row
        self._counts = array("H")
        self._n_words = array("i")  # distinct, of each page

    def add(self, page: PageFacts) -> None:
        self._words.extend(page.words.keys())
        self._counts.extend(min(count, COUNT_MAX) for count in page.words.values())
        self._n_words.append(len(page.words))
        super().add(page)

    def vectors(self) -> Any:
        """Return a row of length 1 for each page of `columns`, of length 0 for one without words.

        A word weighs `(1 + ln tf) ln(N / df)`: one that all pages have weighs nothing (Salton and Buckley
        1988, ltc).

        Raises:
          ConfigError: scipy is not installed.
        """
        try:
            from scipy.sparse import csr_matrix, diags
        except ImportError as error:
            raise ConfigError(
                "pages are compared with scipy: pip install scipy, or pipx inject tianmesh scipy"
            ) from error
        n_words = np.array(self._n_words[: len(self)], np.int64)
        ends = np.concatenate(([0], np.cumsum(n_words)))
        names, word = np.unique(np.array(self._words[: ends[-1]], np.int64), return_inverse=True)
        tf = np.log(np.array(self._counts[: ends[-1]], np.float64)) + 1.0
        pages = csr_matrix((tf, word, ends), shape=(len(self), len(names)))[self._kept()]
        doc_freqs: Ints = np.bincount(pages.indices, minlength=len(names))
        weighed = pages @ diags(np.log(pages.shape[0] / np.maximum(doc_freqs, 1)))
        lengths = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
        return diags(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ weighed
