"""Pages for readers that judge: of invited assessors, and of those that agree to see two rankings at once."""
