"""Dictionary entries that are not from texts: a control character, then a value that queries filter by.

But names, which score: see `site_names`; and texts that are suggested: see `suggested_texts`.
"""

from __future__ import annotations

from typing import Final

HOST_PREFIX: Final = "\x02"
LANGUAGE_PREFIX: Final = "\x04"
TYPE_PREFIX: Final = "\x05"
NAME_PREFIX: Final = "\x07"
UNQUOTABLE: Final = "\x0b"  # of pages of which no text is shown
TEXT_PREFIX: Final = "\x0e"  # of texts that are suggested, see `suggested_texts`
CLASS_PREFIX: Final = "\x10"  # of names of classes in queries, see `class_model`; of nothing in a dictionary
