"""How many bytes do queries read? The book's model of inverted files, beside lists that the engine wrote.

The model takes queries for single terms that are all asked for alike, and forgets compression, so that it is
said to be on the safe side. Here lists are of an index of made-up text (`posting_lists`), and bytes are those
of whole lists, each read once however many of the k queries ask for it. Beside them stand the bytes that
the engine reads for queries of several words, one at a time: it skips in long lists what cannot be among the
best. With a file of reads that an engine has made (`recorded_reads`), as many of its queries are answered at
once as k says, and the model is that of what they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from msgspec import Meta

from peers.engine.queries.query import Mode
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, numbers
from simulations.traces.columns import Ints
from simulations.traces.recorded_reads import ReadNumbers, bytes_of, queries_of, read_reads
from simulations.world.posting_lists import (
    FUNCTION_WORDS,
    PostingLists,
    bytes_read,
    drawn_words,
    posting_lists,
    words_of_queries,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOOK: Final = "Li, Yan, Wang 2004, chapter 8, section 3"
BYTES_OF_BOOK: Final = 10.0  # c, of a posting or a position
ALIKE, AS_IN_TEXT = "all alike", "as in the text"
READ: Final = ("documents", "and positions")
SEARCHED: Final = "what a search reads"
RECORDED: Final = "recorded queries"
NOT_TOLD: Final = -1.0
WORDS: Final = 2.4  # of a query, mean, as of those of web searches
SEARCHES: Final = 2_000


class PostingsParameters(Parameters, frozen=True, kw_only=True):
    """An index, and queries of one term that are answered at once."""

    documents: Annotated[int, Meta(ge=10, le=1_000_000, description="Of the index, made up.")] = 10_000
    at_once: Annotated[str, Meta(description="Queries that are answered at once, k, by comma.")] = (
        "1,10,100,1000,10000,100000"
    )
    drawn: Annotated[
        int, Meta(ge=1_000, le=100_000_000, description="Queries that are drawn for each k, at least.")
    ] = 1_000_000  # few lists are long, and these have most of the bytes
    reads: Annotated[
        str, Meta(description="File of reads that `tianmesh search --record-reads` wrote; none by default.")
    ] = ""


def run(parameters: PostingsParameters, seed: int) -> list[Row]:
    """A row for each k, way to draw terms, and part of the lists."""
    random = np.random.default_rng(seed)
    lists = posting_lists(parameters.documents, seed)
    terms = len(lists.doc_freqs)
    rows = []
    for k in numbers(parameters.at_once, "--at-once", most=10_000_000):
        for asked in (ALIKE, AS_IN_TEXT):
            drawn = _drawn(k, -(-parameters.drawn // k), terms, random, is_alike=asked == ALIKE)
            is_first = np.ones(drawn.shape, bool)
            is_first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
            for read, n_bytes, entries in zip(
                READ,
                (lists.n_bytes, lists.positional_bytes),
                (lists.doc_freqs, lists.doc_freqs + lists.frequencies),
                strict=True,
            ):
                model = data_read(k, terms, float(n_bytes.mean()))
                real = float((n_bytes[drawn] * is_first).sum()) / len(drawn)
                rows.append(
                    {
                        "at_once": k,
                        "asked": asked,
                        "read": read,
                        "real_kb": real / 1e3,
                        "model_kb": model / 1e3,
                        "real_over_model": real / model,
                        "book_kb": data_read(k, terms, BYTES_OF_BOOK * float(entries.mean())) / 1e3,
                        "entry_bytes": float(n_bytes.sum() / entries.sum()),
                        "index_share": real / float(n_bytes.sum()),
                    }
                )
    return rows + _searched(lists, random) + (_recorded(parameters) if parameters.reads else [])


def _recorded(parameters: PostingsParameters) -> list[Row]:
    """A row for each k that there are queries for, and part of the lists."""
    rows = []
    reads = read_reads(Path(parameters.reads))
    for read, parts in ((READ[0], (False,)), (READ[1], (False, True))):
        queries = queries_of([each for each in reads if each.has_positions in parts])
        index_bytes = bytes_of(each for query in queries for each in query)
        sizes = {each.thing: each.n_bytes for query in queries for each in query}
        each_query = sum(map(len, queries)) / len(queries)
        for k in numbers(parameters.at_once, "--at-once", most=10_000_000):
            groups = [queries[first : first + k] for first in range(0, len(queries) - k + 1, k)]
            if groups:
                model = data_read(k * each_query, len(sizes), sum(sizes.values()) / len(sizes))
                real = sum(map(_bytes_at_once, groups)) / len(groups)
                rows.append(_recorded_row(k, read, real, model, index_bytes))
    return rows


def _bytes_at_once(queries: Sequence[Sequence[ReadNumbers]]) -> int:
    return bytes_of(read for query in queries for read in query)


def _recorded_row(k: int, read: str, real: float, model: float, index_bytes: int) -> Row:
    return {
        "at_once": k,
        "asked": RECORDED,
        "read": read,
        "real_kb": real / 1e3,
        "model_kb": model / 1e3,
        "real_over_model": real / model,
        "book_kb": NOT_TOLD,  # how many postings are in it nobody has recorded
        "entry_bytes": NOT_TOLD,
        "index_share": real / index_bytes,
    }


def _searched(lists: PostingLists, random: np.random.Generator) -> list[Row]:
    """A row for each way to search for several words, for whole lists and for the parts that are read."""
    terms = len(lists.words)
    queries = words_of_queries(SEARCHES, terms, WORDS, random)
    asked = np.concatenate(queries)
    k = len(asked) / len(queries)
    model = data_read(k, terms, float(lists.n_bytes.mean()))
    rows = []
    for name, mode in (("all", Mode.AND), ("any", Mode.OR)):
        whole = float(lists.n_bytes[asked].sum())
        read = float(sum(bytes_read(lists, query, mode) for query in queries))
        for what, n_bytes in ((READ[0], whole), (SEARCHED, read)):
            real = n_bytes / len(queries)
            rows.append(
                {
                    "at_once": 1,
                    "asked": f"{name} of {WORDS:g} words",
                    "read": what,
                    "real_kb": real / 1e3,
                    "model_kb": model / 1e3,
                    "real_over_model": real / model,
                    "book_kb": data_read(k, terms, BYTES_OF_BOOK * float(lists.doc_freqs.mean())) / 1e3,
                    "entry_bytes": n_bytes / float(lists.doc_freqs[asked].sum()),
                    "index_share": real / float(lists.n_bytes.sum()),
                }
            )
    return rows


def _drawn(k: int, sets: int, terms: int, random: np.random.Generator, *, is_alike: bool) -> Ints:
    """The terms of sets of queries, each set in order: (sets, k)."""
    if is_alike:
        drawn = random.integers(0, terms, sets * k)
    else:
        drawn = drawn_words(sets * k, terms, min(FUNCTION_WORDS, terms - 1), random)
    return np.sort(drawn.reshape(sets, k), axis=1)


def data_read(k: float, terms: int, mean_bytes: float) -> float:
    """D(k) = alpha d M (1 - (1 - 1/M)^k), bytes that k queries at once read; book, (8-1).

    Args:
      terms: M.
      mean_bytes: alpha d, of a list; (8-2) has it as alpha c, with positions c (alpha + T_N / M).
    """
    return float(mean_bytes * terms * -np.expm1(k * np.log1p(-1 / terms)))


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = [row for row in _of_one_word(outcome) if row["read"] == READ[0]]
    alike = [row for row in rows if row["asked"] == ALIKE]
    curves = [
        {"what": f"lists read, {row['asked']}", "k": row["at_once"], "kb": row["real_kb"]} for row in rows
    ]
    curves += [
        {"what": what, "k": row["at_once"], "kb": row[name]}
        for what, name in (("D(k), bytes of our lists", "model_kb"), ("D(k), 10 bytes a posting", "book_kb"))
        for row in alike
    ]
    lines(left, sorted(curves, key=lambda curve: str(curve["what"])), "what", "k", "kb")
    left.set_yscale("log")
    lines(right, _ratios(outcome), "what", "k", "ratio")
    right.axhline(1.0, color="0.4", linestyle=":")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xscale("log")
    name_axes(left, "Postings that k queries read", "k, queries at once", "kB")
    name_axes(right, "Bytes read over those of the model", "k, queries at once", "times D(k)")


def _ratios(outcome: Outcome) -> list[Row]:
    return [
        {
            "what": f"{row['asked']}, {row['read']}",
            "k": row["at_once"],
            **measure(row, "real_over_model", "ratio"),
        }
        for row in sorted(_of_one_word(outcome), key=lambda row: (row["asked"], row["read"]))
    ]


def _of_one_word(outcome: Outcome) -> list[Row]:
    return [row for row in outcome.summary() if row["asked"] in (ALIKE, AS_IN_TEXT)]


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = outcome.summary()
    alike, in_text = (
        [row for row in rows if (row["asked"], row["read"]) == (asked, READ[0])]
        for asked in (ALIKE, AS_IN_TEXT)
    )
    yield Claim(
        BOOK,
        "k queries of terms that are all asked for alike read D(k) bytes (8-1)",
        f"times D(k): {_by_k(alike, 'real_over_model')}",
        all(abs(row["real_over_model"] - 1) < 0.15 for row in alike),
    )
    safe = [{**row, "times": row["real_kb"] / row["book_kb"]} for row in in_text]
    yield Claim(
        BOOK,
        "the model is on the safe side, for it knows no compression: 10 bytes a posting",
        f"a posting has {in_text[0]['entry_bytes']:.2f} bytes; where terms are asked for as they are in the "
        f"text, k queries read, times that model: {_by_k(safe, 'times')}",
        all(row["times"] < 1 for row in safe),
    )
    searched = {
        (row["asked"], row["read"]): row["real_kb"]
        for row in rows
        if row["asked"] not in (ALIKE, AS_IN_TEXT, RECORDED)
    }
    shares = {
        asked: kb / searched[asked, READ[0]] for (asked, read), kb in searched.items() if read == SEARCHED
    }
    yield Claim(
        "arithmetic",
        "the model reads whole lists, a search never more than these",
        "of its lists' bytes a search reads "
        + ", ".join(f"{share:.2f} ({asked})" for asked, share in shares.items()),
        all(share <= 1 for share in shares.values()),
    )


def _by_k(rows: Iterable[Row], name: str) -> str:
    return ", ".join(f"{row[name]:.2f} for k = {row['at_once']:,}" for row in rows)


STUDY: Final = Study(
    name="postings",
    question="How many bytes of lists do queries read, and does the model of inverted files know?",
    source=BOOK,
    parameters=PostingsParameters,
    run=run,
    keys=("at_once", "asked", "read"),
    columns={
        "at_once": "queries that are answered at once, k, each of one term; recorded ones as they are",
        "asked": "terms are drawn all alike, or as often as they are in the text, function words left out; "
        "or several words by query, of which documents have all or any; or queries in a row whose reads were "
        "recorded",
        "read": "which documents have the term, or where in them as well; "
        "or what the engine reads of the first, as it skips what cannot be among the 100 best",
        "real_kb": "kB of these lists as the engine wrote them, each read once",
        "model_kb": "kB by the model D(k), for the mean list of the same index",
        "real_over_model": "the first over the second",
        "book_kb": "kB by the model for the book's 10 bytes of a posting or position; -1 of recorded reads",
        "entry_bytes": "bytes of a posting or position in our index, mean; -1 of recorded reads",
        "index_share": "of all such lists, share that is read; of recorded reads, of all that any query read",
    },
    draw=draw,
    caption="Bytes that k queries read, beside the book's model: terms all alike, and as in the text.",
    seeds=2,
    claims=claims,
)
