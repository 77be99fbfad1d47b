"""Second looks at pages of other members."""
