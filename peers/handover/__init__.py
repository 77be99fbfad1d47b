"""Hand-over: which slots this peer may crawl, and that all who keep a slot have the same of it.

handover    the actor: claims slots, has its stores brought up to date, says when it can serve them
wants       its policy: what is still to be brought here, from whom, what first
messages    what it says to the controller and the cell of its peer
exchange    how two stores of the same kind find what one of them lacks, and move it
store       what a store must be able to do for that
"""
