"""Whether a disk has space left, and the errors that a system gives when it has none. [io]"""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk, quota, largest file
FULL_BYTES: Final = 1 << 20  # with less free, a write that was cut short was so for lack of space


def is_full(folder: Path) -> bool:
    """Tell whether so little of a folder's disk is free that a write failed there for lack of space."""
    return shutil.disk_usage(folder).free < FULL_BYTES
