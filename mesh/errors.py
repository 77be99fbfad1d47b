"""Errors, sorted by the party at fault: a person, this machine, another peer, or us.

    TianmeshError
    ├── ConfigError           a person: a setting, a key file, a port in use, the wrong mesh
    ├── StorageError          this machine: disk full, a file that cannot be written
    │   ├── StorageFull       no space left on the device
    │   └── CorruptionError   stored bytes that do not match their checksum
    ├── RemoteProtocolError   another peer: a frame no peer running this protocol would send
    └── LocalProtocolError    us: a message that an actor does not understand

What is expected to go wrong (a page that times out, a peer that does not answer) is a message,
not an exception. The text of a `ConfigError` or `StorageError` is one sentence that tells the
user what to do next; the command line prints it and exits.
"""

from __future__ import annotations

from typing import Final

INTERRUPTED: Final = 130  # exit code of a command that Ctrl-C ends, as shells have it


class TianmeshError(Exception):
    """Base of all errors raised on purpose."""


class ConfigError(TianmeshError):
    """A person has to change something before this can work."""


class StorageError(TianmeshError):
    """This machine could not keep the data that it was given."""


class StorageFull(StorageError):
    """No space is left: nothing is deleted to make some, the peer stops taking in."""


class CorruptionError(StorageError):
    """Stored bytes do not match their checksum."""


class RemoteProtocolError(TianmeshError):
    """Another peer sent something that the protocol does not allow."""


class LocalProtocolError(TianmeshError):
    """An actor of ours received a message it does not understand."""
