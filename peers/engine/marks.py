"""Entries of the dictionary that are not from texts: behind a control character, what is filtered by.

But names, which score: see `site_names`.
"""

from __future__ import annotations

from typing import Final

HOST_PREFIX: Final = "\x02"
LANGUAGE_PREFIX: Final = "\x04"
TYPE_PREFIX: Final = "\x05"
NAME_PREFIX: Final = "\x07"
