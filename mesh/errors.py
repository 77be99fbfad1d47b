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


def unreadable(file: object, error: Exception) -> ConfigError:
    """Return the error of a file that a person has named and that cannot be read: why, and the remedy.

    Args:
      file: its path, or a name for it with its path.
      error: that came of reading it as text.
    """
    return ConfigError(f"cannot read {file}: {_reason(error, 'there is no such file: give another one')}")


def unwritable(file: object, error: Exception) -> ConfigError:
    """Return the error of a file that a person has named and that cannot be written."""
    return ConfigError(f"cannot write {file}: {_reason(error, 'its folder is not there: make that first')}")


def _reason(error: Exception, not_there: str) -> str:
    match error:
        case FileNotFoundError():
            return not_there
        case PermissionError():
            return "this user may not: give another file, or change its rights"
        case IsADirectoryError():
            return "it is a folder: give a file"
        case UnicodeDecodeError(start=start):
            return f"it is not UTF-8 from byte {start:,} on: give a text file"
        case OSError(strerror=str(reason)):
            return f"{reason}: give another file"
        case _:
            return str(error)
