"""Confinement of a process that works on content of strangers: it gives up all that it does not need. [io]

Who finds a hole in a parser written in C can do what the user can that runs it: read the key of the peer, ask
the network, stop other programs. So a process that has loaded what it works with keeps its memory, the
connection that orders come by, and reading the files of Python and its libraries:

* no new privileges (`prctl`): nothing that it starts could gain any;
* seccomp: the kernel refuses the calls named below, opening files to write, and starting anything but
  threads; they fail with EPERM, the process lives on;
* Landlock, where the kernel has it (5.13 and later): no file can be opened but below some folders; on later
  ones no TCP port either (6.7), and no other process be signalled (6.12).

A program that is not ours, as a browser, gets the first and the last.

What a kernel does not have is said, and the rest holds. Sources: linux/filter.h, linux/seccomp.h and
linux/landlock.h; numbers of calls from asm/unistd_64.h of x86-64 and asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

_SET_NO_NEW_PRIVS: Final = 38
_DROP_CAPABILITY: Final = 24  # from those that a program may have
_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on all machines
_PATH_BENEATH: Final = 1
_TELL_VERSION: Final = 1
# By version of Landlock: rights to files; to TCP, and to abstract sockets and signals, which nobody gets.
_FILE_RIGHTS: Final = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14))
_OTHER_RIGHTS: Final = ((4, 0b11), (6, 0b11))
_OF_ONE_FILE: Final = 1 << 14 | 0b111  # rights to what is no folder
_EXECUTE, _READ = 1 << 0, 1 << 2 | 1 << 3
_RULE: Final = Struct("=Qi")

# Instructions: load a word of `seccomp_data`; compare it; return.
_LOAD, _IS, _HAS, _RETURN = 0x20, 0x15, 0x45, 0x06
_INSTRUCTION: Final = Struct("=HBBI")
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16  # low half first: both machines are little-endian
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000 | 1  # EPERM
_UNKNOWN: Final = 0x00050000 | 38  # ENOSYS, for which libraries have another way
_TO_WRITE: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_THREAD: Final = 0x10000  # CLONE_THREAD
_OTHER_ABI: Final = 0x40000000  # x32 has numbers of its own from here on
_OF_SIGNALS: Final = 8  # of F_SETOWN, F_SETSIG and F_SETOWN_EX: what comes at a descriptor signals anybody
# TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX; others push keys into a terminal, or signal as above.
_HARMLESS_CONTROLS: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)


class _Machine(NamedTuple):
    """The numbers of calls on a kind of machine."""

    audit: int  # AUDIT_ARCH
    refused: tuple[int, ...]
    opening: tuple[tuple[int, int], ...]  # calls that open files, and which argument has the flags
    clone: int
    signalling: tuple[int, int]  # kill tgkill: no process but this one
    prlimit: int
    fcntl: int
    ioctl: int


# socket connect accept bind listen socketpair accept4; fork vfork execve execveat; tkill ptrace
# process_vm_readv, writev pidfd_send_signal, open, getfd; rt_sigqueueinfo rt_tgsigqueueinfo; of others too
# setpriority sched_setparam, setscheduler, setaffinity, setattr ioprio_set migrate_pages move_pages
# process_madvise; truncate ftruncate rename mkdir rmdir creat link unlink symlink chmod fchmod chown fchown
# lchown mknod utime setxattr removexattr and their kin at folders; mount umount2 pivot_root chroot unshare
# setns; shmget semget msgget mq_open mq_unlink; add_key request_key keyctl bpf perf_event_open userfaultfd
# io_uring_setup open_by_handle_at.
# fmt: off
_X86_64: Final = _Machine(
    0xC000003E,
    (
        41, 42, 43, 49, 50, 53, 288, 57, 58, 59, 322, 200, 101, 310, 311, 424, 434, 438, 129, 297,
        141, 142, 144, 203, 314, 251, 256, 279, 440,
        76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 133, 258, 259, 260, 263, 264, 265, 266, 268,
        132, 235, 261, 280, 188, 189, 190, 197, 198, 199, 463, 466,
        316, 452, 165, 166, 155, 161, 272, 308, 29, 64, 68, 240, 241, 248, 249, 250, 321, 298, 323, 425, 304,
    ),
    ((2, 1), (257, 2)),
    56,
    (62, 234),
    302,
    72,
    16,
)
_AARCH64: Final = _Machine(
    0xC00000B7,
    (
        198, 203, 202, 200, 201, 199, 242, 221, 281, 130, 117, 270, 271, 424, 434, 438, 138, 240,
        140, 118, 119, 122, 274, 30, 238, 239, 440,
        45, 46, 38, 34, 37, 35, 36, 52, 53, 54, 55, 33, 276, 452, 88, 5, 6, 7, 14, 15, 16, 463, 466,
        40, 39, 41, 51, 97, 268, 194, 190, 186, 180, 181, 217, 218, 219, 280, 241, 282, 425, 265,
    ),
    ((56, 2),),
    220,
    (129, 131),
    261,
    25,
    29,
)
# fmt: on
_MACHINES: Final = {"x86_64": _X86_64, "aarch64": _AARCH64}
_UNKNOWN_CALLS: Final = (435, 437)  # clone3 openat2: their arguments are in memory, where no filter looks


def confine() -> list[str]:
    """Give up, until this process ends, all rights that work on pages does not need; return the failures."""
    libc = _libc_of_confined()
    if isinstance(libc, str):
        return [libc]
    return [*_shut_files(libc, dict.fromkeys(_readable(), _READ)), *_refuse_calls(libc)]


def confine_program(readable: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Give up, for the program that this process becomes, other files, TCP, signals and root's rights.

    Returns:
      What did not succeed.
    """
    libc = _libc_of_confined()
    if isinstance(libc, str):
        return [libc]
    for capability in range(64):  # by which root reads what Landlock would keep from it, as environments
        libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0)
    return _shut_files(libc, dict.fromkeys(readable, _READ | _EXECUTE) | dict.fromkeys(writable, -1))


def _libc_of_confined() -> ctypes.CDLL | str:
    """Give up new privileges first, as all else requires; return libc, or the reason for no confinement."""
    if sys.platform != "linux":
        return f"no confinement: {sys.platform} has neither seccomp nor Landlock"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
    return f"no confinement: {_last_error()}" if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) else libc


def _readable() -> set[Path]:
    """Return the paths that a confined process may read: Python, libraries, devices, and itself in /proc."""
    packages = {name.partition(".")[0] for name in sys.modules}
    places = {Path(place) for name in packages for place in getattr(sys.modules.get(name), "__path__", ())}
    prefixes = {Path(each) for each in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)}
    libraries = {Path(each) for each in sys.path if Path(each).name in ("site-packages", "dist-packages")}
    system = map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/local/lib", "/usr/share/zoneinfo", "/proc/self"))
    devices = map(Path, ("/dev/null", "/dev/urandom", "/etc/localtime", "/etc/ld.so.cache"))
    return {*places, *prefixes, *libraries, *system, *devices}


# --- Files ---


def _shut_files(libc: ctypes.CDLL, rights: Mapping[Path, int]) -> list[str]:
    """Leave nothing of the file system but some folders and files, each with some rights or all (-1)."""
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _TELL_VERSION)
    handled = sum(right for since, right in _FILE_RIGHTS if version >= since)
    words = (handled, *(right for since, right in _OTHER_RIGHTS if version >= since))
    buffer = (ctypes.c_uint64 * len(words))(*words)
    rules = libc.syscall(_CREATE_RULESET, buffer, ctypes.c_size_t(ctypes.sizeof(buffer)), 0)
    if rules < 0:
        return [f"files of the user can be read: no Landlock ({_last_error()})"]
    try:
        for path, granted in rights.items():
            with suppress(OSError):
                _grant(libc, rules, path, granted & handled)
        if libc.syscall(_RESTRICT_SELF, rules, 0):
            return [f"files of the user can be read: {_last_error()}"]
    finally:
        os.close(rules)
    return []


def _grant(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights &= -1 if path.is_dir() else _OF_ONE_FILE
        rule = ctypes.create_string_buffer(_RULE.pack(rights, descriptor), _RULE.size)
        if libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0):
            raise OSError(ctypes.get_errno(), str(path))
    finally:
        os.close(descriptor)


# --- Calls ---


class _Program(ctypes.Structure):
    """sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _refuse_calls(libc: ctypes.CDLL) -> list[str]:
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 1 << 32:
        return [
            f"calls of the system are not refused: their numbers on {platform.machine()} are not known here"
        ]
    code = b"".join(_INSTRUCTION.pack(*each) for each in _filter(machine, os.getpid()))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // _INSTRUCTION.size, ctypes.addressof(buffer))
    if libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0):
        return [f"calls of the system are not refused: {_last_error()}"]
    return []


def _filter(machine: _Machine, pid: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield instructions: operation, how many to skip if it is true, how many if it is false, operand."""
    yield _LOAD, 0, 0, _MACHINE_AT
    yield _IS, 1, 0, machine.audit
    yield _RETURN, 0, 0, _REFUSE
    yield _LOAD, 0, 0, _NUMBER_AT
    yield _HAS, 0, 1, _OTHER_ABI
    yield _RETURN, 0, 0, _REFUSE
    for number in machine.refused:
        yield _IS, 0, 1, number
        yield _RETURN, 0, 0, _REFUSE
    for number in _UNKNOWN_CALLS:
        yield _IS, 0, 1, number
        yield _RETURN, 0, 0, _UNKNOWN
    for number, place in machine.opening:
        yield from _if_argument(number, place, _HAS, (_TO_WRITE,), _REFUSE, _ALLOW)
    yield from _if_argument(machine.clone, 0, _HAS, (_THREAD,), _ALLOW, _REFUSE)
    for number in machine.signalling:
        yield from _if_argument(number, 0, _IS, (pid,), _ALLOW, _REFUSE)
    yield from _if_argument(machine.prlimit, 0, _IS, (0, pid), _ALLOW, _REFUSE)
    yield from _if_argument(machine.fcntl, 1, _HAS, (_OF_SIGNALS,), _REFUSE, _ALLOW)
    yield from _if_argument(machine.ioctl, 1, _IS, _HARMLESS_CONTROLS, _ALLOW, _REFUSE)
    yield _RETURN, 0, 0, _ALLOW


def _if_argument(
    number: int, place: int, test: int, values: tuple[int, ...], so: int, otherwise: int
) -> Iterator[tuple[int, int, int, int]]:
    """Decide a call by one of its arguments: whether it is, or has, any of some values."""
    yield _IS, 0, 2 * len(values) + 2, number
    yield _LOAD, 0, 0, _ARGUMENTS_AT + 8 * place
    for value in values:
        yield test, 0, 1, value
        yield _RETURN, 0, 0, so
    yield _RETURN, 0, 0, otherwise


def _last_error() -> str:
    return os.strerror(ctypes.get_errno())


if __name__ == "__main__":
    for lacking in confine():
        print(lacking)
