"""How much of a page's vocabulary is kept: apart, as readers of messages with it need no text analysis.

That loads dictionaries, which takes a command and the bootstrap node a fifth of their start.
"""

from __future__ import annotations

from typing import Final

VOCABULARY_MAX: Final = 256  # entries; some 3 kB, and most of what an abstract has
