"""A process of a workshop that does what it is told, as pages that are made to harm would have it."""

from __future__ import annotations

import os
import signal
import time

from mesh.process.memory import memory_used
from mesh.process.workshop_process import WorkLimits, serve

MEMORY_BYTES_MAX = 400 << 20
CPU_S_MAX = 0.2

MARK = "ODD_PROCESS_MARK"  # names a file that tells whether one has crashed

kept: list[bytes] = []  # what makes it grow
mark = -1


def carry_out(order: bytes) -> bytes:
    word, _, argument = order.decode().partition(" ")
    match word:
        case "loop":
            while True:
                pass
        case "crash":
            os.abort()
        case "crash-once":
            if not os.fstat(mark).st_size:
                os.write(mark, b"crashed")
                os.kill(os.getpid(), signal.SIGKILL)
        case "fill":
            try:
                return str(len(bytearray(2 * MEMORY_BYTES_MAX))).encode()
            except MemoryError:
                return b"out of memory"
        case "grow":
            kept.append(os.urandom(1) * int(argument))
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "sleep":
            time.sleep(float(argument))
        case "pid":
            return str(os.getpid()).encode()
        case "niceness":
            return str(os.getpriority(os.PRIO_PROCESS, 0)).encode()
        case "memory":
            return str(memory_used().rss_bytes).encode()
        case "leave":
            os._exit(0)
        case "long":
            return bytes(int(argument))
    return order


if __name__ == "__main__":
    if MARK in os.environ:  # later none is opened to be written
        mark = os.open(os.environ[MARK], os.O_RDWR | os.O_CREAT)
    serve(carry_out, WorkLimits(CPU_S_MAX, MEMORY_BYTES_MAX))
