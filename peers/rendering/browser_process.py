"""The process that becomes a browser, after it has given up the rights that a browser does not need. [io]

Its pages are in the browser's own sandbox, if there is one; whatever gets out of that, or is in none, finds
no file of the user and so no key, no TCP and nobody to signal, and no privileges. It writes to one folder.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Final

from mesh.process.confinement import confine_program
from mesh.process.workshop_process import LOG_FORMAT

logger = logging.getLogger(__name__)

_READABLE: Final = (
    *(
        "/usr",
        "/bin",
        "/lib",
        "/lib64",
        "/proc",
        "/sys",
        "/dev/urandom",
        "/dev/random",
        "/var/cache/fontconfig",
    ),
    *("/etc/fonts", "/etc/chromium", "/etc/chromium.d", "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd"),
    *("/etc/nsswitch.conf", "/etc/ssl", "/etc/machine-id", "/etc/os-release"),
)
_WRITABLE: Final = ("/proc", "/dev/null")  # into the first go the users of a sandbox
_GIVEN: Final = ("PATH", "LANG", "LC_ALL", "TZ")  # of our environment, which may have secrets


def main(folder: str, program: str, *arguments: str) -> None:
    """Become a program, with standard input and output of this process at 3 and 4."""
    logging.basicConfig(format=LOG_FORMAT)
    readable = (*map(Path, _READABLE), Path(program).resolve().parent)
    for lack in confine_program(readable, map(Path, (*_WRITABLE, folder))):
        logger.warning("a browser is less confined than it should be: %s", lack)
    os.dup2(0, 3)
    os.dup2(1, 4)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    given = {name: os.environ[name] for name in _GIVEN if name in os.environ}
    os.execve(program, (program, *arguments), given | {"HOME": folder, "TMPDIR": folder})


if __name__ == "__main__":
    main(*sys.argv[1:])
