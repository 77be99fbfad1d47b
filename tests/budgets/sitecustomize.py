"""Counts the calls in all threads of a process that finds this folder on PYTHONPATH. [io]

Python imports a module of this name at its start. At the end the counts go to the folder TIANMESH_COUNTS.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from collections import Counter
from cProfile import Profile
from pathlib import Path
from types import CodeType

_profiles = [Profile(builtins=False)]


def _count_thread(frame: object, event: str, argument: object) -> None:
    """Take the place of the hook by which a new thread is profiled."""
    sys.setprofile(None)
    profile = Profile(builtins=False)
    _profiles.append(profile)
    profile.enable()


def _write() -> None:
    threading.setprofile(None)
    _profiles[0].disable()
    calls: Counter[str] = Counter()
    for profile in list(_profiles):
        for entry in profile.getstats():
            if isinstance(entry.code, CodeType):
                calls[f"{entry.code.co_filename}:{entry.code.co_qualname}"] += entry.callcount
    told = Path(os.environ["TIANMESH_COUNTS"]) / f"{os.getpid()}.json"
    told.write_text(json.dumps({"program": sys.orig_argv, "calls": calls}), encoding="utf-8")


if "TIANMESH_COUNTS" in os.environ:
    atexit.register(_write)
    threading.setprofile(_count_thread)
    _profiles[0].enable()
