"""One peer: it crawls its share of the web, keeps the pages, indexes them and answers queries.

    `crawler/`   frontier, politeness, fetching, parsing; the actor `controller`
    `rendering/` pages as a browser shows them, where scripts make their text
    `documents/` formats other than HTML, from PDF to feeds, within limits
    `storage/`   WARC archive and replication; the actor `cell`
    `text/`      text analysis: what terms a text has
    `engine/`    the index engine, a library of its own over `text/`; its inner loops are in C, see `kernel`,
                 and `build_kernels`
    `index/`     the engine at work for a mesh; the actor `indexer`
    `copies/`    of pages with the same content, wherever they are, one is found; the actor `copies`
    `gateway/`   the search of the whole mesh, HTTP; the actor `searcher`
    `handover/`  which slots it may crawl, and bringing what belongs to them; the actor `handover`
    `history/`   how it was in the last hour, day and month, and what happened; the actor `historian`
    `importing/` pages of files, brought to their owners; the actor `importer`
    `policy/`    what the owner of the mesh wants crawled, and not shown
    `exporting/` files of what a peer has, read beside it while it runs
    `backup/`    copies of peers, made beside them too, and peers made from copies
    `evaluation/` how good the answers are, beside other engines
    `actors`     makes them all, for a peer and for a simulation; `peer` is the composition root
    `charges`    what messages of other peers cost them of their quotas
    `wire_tags`  every message that peers send each other; each stands in `wire_messages` of its room
    `config`     the configuration file; `vitals` the status; `cli` begins the command line,
                 `application` and `commands/` are it, `options` what its commands share, `waiting`
                 their patience, `workers` their processes; `memory_keeper` [io] gives memory back that
                 was freed, `damaged_data` [io] begins anew; `program_version` is that of it all

The way of a page:

    controller -FetchPage-> fetcher -PageFetched-> controller -ParsePage-> parser -PageParsed->
    controller -StorePage-> cell -AppendRecords-> archive, -ReplicatePage-> standbys' cells;
    cell -IndexPage-> indexer -CommitDocuments-> segments; cell -PageStored-> controller
    -LinksFound-> the controllers that own the links

The way of a copy: indexer -PagesCommitted-> copies -ContentsTold-> copies of who answers for the slot of its
content -CopiesNamed-> copies of who answers for it -MarkCopies-> indexer

The way of a query:

    http -SearchPages-> searcher -CountTerms, SearchSlots-> every indexer -> searcher
    -ReadExcerpts-> the indexers of the hits -> searcher -PagesFound-> http

The way of a slot to a new owner:

    membership -OwnershipChanged-> all; handover -ClaimSlots-> every handover; there -HoldSlots-> controller
    -SlotsStopped-> handover -SlotsYielded-> the claimant -SynchroniseSlots-> its controller and cell
    -CompareSlots, SendItems-> theirs, -ItemsSent-> ours; -HoldSlots-> controller, which crawls on;
    -SlotsComplete-> indexer, which answers; -OfferSlots-> the standbys; -ServeSlots-> membership
"""
