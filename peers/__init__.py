"""One peer: it crawls its share of the web, keeps the pages, indexes them and answers queries.

    `crawler/`   frontier, politeness, fetching, parsing; the actor `controller`
    `storage/`   WARC archive and replication; the actor `cell`
    `index/`     the index engine, a library of its own; the actor `indexer`
    `gateway/`   the search of the whole mesh, HTTP; the actor `searcher`
    `actors`     makes the four, for a peer and for a simulation; `peer` is the composition root
    `config`     the configuration file; `vitals` the status; `cli` the command line

The way of a page:

    controller -FetchRequest-> fetcher -Fetched-> controller -ParsePage-> parser -PageParsed->
    controller -StorePage-> cell -AppendRecords-> archive, -ReplicatePage-> standbys' cells;
    cell -IndexPage-> indexer -CommitDocuments-> segments; cell -PageStored-> controller
    -LinksFound-> the controllers that own the links

The way of a query:

    http -SearchPages-> searcher -CountTerms, SearchSlots-> every indexer -> searcher
    -ReadExcerpts-> the indexers of the hits -> searcher -PagesFound-> http
"""
