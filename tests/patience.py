"""How long tests wait for what should come at once: long, since it costs nothing when all is well."""

PATIENCE_S = 100.0  # a busy machine of two shared cores has taken 32 for what takes 2 elsewhere
