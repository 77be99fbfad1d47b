"""The index engine: a library that stores documents, finds them for queries, and ranks the hits.

It knows no mesh: documents, the slots they are in, and queries go in; hits, counts and excerpts come out, and
what of that is sent to others is decided by who uses it. It needs the text analysis (`peers.text`). Its
inner loops are in C (`peers.kernel`): beside a Python file with kernels is a C file with their bodies; what
only kernels need has no Python file (`bounds`, `positions`); `compiled` joins both.

    >>> from peers.engine.pages.document import Document
    >>> from peers.engine.index import Index
    >>> from peers.engine.queries.query_parser import parse_query
    >>> from peers.engine.excerpts.snippet import SearchedText, snippet_of
    >>> from peers.engine.files.storage import MemoryStorage

An index is in a folder, `Index.open(DirectoryStorage(path))`, or in memory. What is added counts when it is
committed; a document replaces the one with its URL. The numbers are slots: which part of the documents a
search is about can be said by them.

    >>> index = Index.open(MemoryStorage())
    >>> index.add([
    ...     (7, Document("http://a.test/", title="天网", text="天网是北京大学的搜索引擎。", language="zh")),
    ...     (7, Document("http://a.test/en", text="Tianwang is a search engine.", language="en")),
    ...     (9, Document("http://b.test/", text="The engines of search.")),
    ... ])
    >>> index.commit()
    1

A snapshot is what was committed, whatever is committed later, and may be searched by any thread. Scores are
made with statistics: the view's own, or the sums of several, so that parts rank as one index would.

    >>> view = index.snapshot().everything()
    >>> query = parse_query('"search engine" OR 搜索')
    >>> total, is_exact, hits = view.search(query, view.statistics(query.terms), k=10)
    >>> total, [hit.url for hit in hits]
    (2, ['http://a.test/en', 'http://a.test/'])
    >>> view.facets(query).languages
    Counter({'en': 1, 'zh': 1})
    >>> document = view.stored("http://a.test/en")
    >>> snippet_of(SearchedText(document.text), query)
    Snippet(text='Tianwang is a search engine.', highlights=((14, 20), (21, 27)), place=14)

What is where
  pages      `document`: one as the index sees it, of one of the `kinds`; `linkers`: what links tell of it,
             and how that is kept; `near_copies`: which have nearly the same text;
             `copies`: for which of them other pages stand; `site_names`: how entrances of sites are called
  writing    `index` (add, delete, commit, merge), `builder` of segments from what `inversion` finds in texts,
             `segment_merge` of several, which is planned as a `merge`, or done for `link_updates`: other link
             texts for documents that are not analysed again; what a segment's file is made of is in
             `segment_format`, `dictionary` (with the `filter_entries` by which is filtered), `word_numbers`,
             `postings` and `stored_blocks`; `manifest` says which segments count, `storage` and `directory`
             keep the files (`segment_file`) and the `scratch` that merges write to
  reading    `segment`, with how damage is noticed (`errors`); `working_segment` and `live_segment`: what of
             it is not deleted, at the next commit and at the last
  searching  `query`, made by `query_parser` of what is typed in the language of `query_language`, put into
             that which its words are of by `native_forms`; `snapshot` (views of some slots: search,
             statistics, facets), which searches one segment after the other (`segment_search`); `matching`
             and `facets` (which documents, and how many of what; of which class, by `page_classes` and a
             `class_model`); `effort` is what a question may cost,
             `matching_cost` what it does
  ranking    `ranking` (BM25F), `explanation` of a score; `model` (what is added to the scores of the best,
             made of their `features`, `proximity` among them)
  correcting `similar_words`, found by a `dictionary_scan`: words spelled or sounding like one that was typed
  showing    `snippet` (excerpts; `windows` chooses them), `sections` that they are from, and titles that
             do not tell pages apart, `shared_titles`
  kernels    go through open `lists`: `searching` finds the best documents, by `scoring` them and bounding
             what they could score, `intersection` those that match, `positions` phrases, `occurrence_lookup`
             what features are made of
  moving     `export` cuts the documents of some slots out, as segments that `adoption` checks before
             another index takes them over

Measured beside tantivy on 250,000 real documents (`bench_index` has all figures): top ten of OR in .74 of its
time, of AND in .96 to 1.14 of it, phrases in 1.45 (medians; 99th percentiles .77, .86, .88), size 1.21,
documents indexed per second 1.20. On 25,000, where Python counts: 1.2, 1.2, 1.75 (.84, .80, 1.05).

Measured, codings of postings (documents of every seventh of 2,107 lists of 128 postings or more, 6,000
documentation pages, one of 2 shared vCPU): deltas bit-packed in blocks of 128 .233 of raw 32-bit numbers,
varints .254; beside the book's ByteCode .3359 and Golomb .2635. Decoding whole lists: 3.8 to 4.2 ns a posting
packed, 2.4 to 2.5 as varints (the longest list 1.4 and 0.7; the book: 6 to 1 for Golomb and ByteCode).
Packed was kept because it is smaller and because one frequency is read without those before it, which is
what a search that skips does; lists of fewer than 128 stay varints.

Measured, designs of Li, Yan, Wang 2004, chapter 8, beside the index as it is (25,000 pages, a fifth of them
Chinese; tests/benchmarks/bench_index_designs.py):
* Two-level random access is kept: with skip entries (11 % of the postings) a rare and a common word take
  .65 of the time that decoding all blocks would come to, p99 .33; at 100,000 pages .31 and .15.
* Hybrid index, not kept: 7,964 sequences cost 1 % and answer a phrase in .16 of the time, but only 10 % of
  the phrases in other titles are among them. Scored instead of their words they rank CMRC 2018 .9814 for
  .9894 (MRR@10), the Chinese help .6485 for .6479; and all peers would have to agree on them.
* Important words first, not kept: 16 % more bytes, time p50 1.24, p99 1.02, mean 1.16; where ten pages are
  taken as enough, they are 36 % of the ten best, so the ranking would no longer be that of the whole page.
* Cache of postings, not kept: in 5 % of their space GD-Size(1) finds 35 % of the lists read, pages by least
  recent use 12 %. But what is mapped and in memory only has to be decoded, and lists kept decoded in a
  fifth of the space would save 6.4 % of a query's time at most. It pays where an index is much larger than
  memory.
"""
