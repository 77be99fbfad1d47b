"""The number of the rules by which texts become terms and atoms."""

from __future__ import annotations

from typing import Final

# Stored in every segment; raise it whenever the same text gives other terms or atoms.
ANALYSIS_VERSION: Final = 8
