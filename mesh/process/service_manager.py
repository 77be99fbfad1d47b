"""Tells the service manager that started a node how it is: ready, alive, ending. [io]

The protocol is systemd's (sd_notify(3)): datagrams of lines NAME=VALUE to the socket in NOTIFY_SOCKET. With a
watchdog (WATCHDOG_USEC) the manager restarts a node whose event loop does not come round any more.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from typing import Final

import trio

BEATS: Final = 3  # in the time that the watchdog waits for one

logger = logging.getLogger(__name__)


class ServiceManager:
    """The program that started this process, where that is one that wants to be told of its state.

    Attributes:
      beat_s: seconds between two signs of life; None where nobody waits for them.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Find it by the environment; without one all calls do nothing."""
        address = environment.get("NOTIFY_SOCKET", "")
        # An address that begins with @ is of the abstract namespace (unix(7)).
        self._address = "\0" + address[1:] if address.startswith("@") else address
        patience_us = environment.get("WATCHDOG_USEC", "")
        is_for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        has_watchdog = bool(address) and patience_us.isdecimal() and int(patience_us) > 0 and is_for_us
        self.beat_s = int(patience_us) / 1e6 / BEATS if has_watchdog else None

    def say(self, **state: str) -> None:
        """Tell it that, if it listens: `say(READY="1", STATUS="...")`."""
        if not self._address:
            return
        message = "\n".join(f"{name}={value}" for name, value in state.items()).encode()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as messenger:
                messenger.setblocking(False)
                messenger.sendto(message, self._address)
        except OSError as error:
            logger.warning("service manager not told error=%s", error)

    async def keep_alive(self) -> None:
        """Give signs of life for ever, or none where nobody waits for them."""
        while self.beat_s is not None:
            self.say(WATCHDOG="1")
            await trio.sleep(self.beat_s)
