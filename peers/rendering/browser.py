"""One Chromium without a window, and the protocol by which it gets its commands. [io]

It speaks the DevTools protocol over a pipe: no port is opened that another user of the machine could connect
to, and it ends when the pipe does. It reaches no network by itself: names lead nowhere, all it would ask goes
to a proxy that is not there, and who uses it answers its requests instead (`renderer`). It has a session of
the system of its own, so that all of its processes can be ended together.

Source: chromedevtools.github.io/devtools-protocol.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import msgspec
import trio

from mesh.errors import ConfigError

MESSAGE_BYTES_MAX: Final = 32 << 20  # of what it says at once; a page has 8 MiB, twice that as JSON
RECEIVE_BYTES: Final = 1 << 18
START_S_MAX: Final = 60.0
HEAP_MB: Final = 512  # of the scripts of a page
_NOWHERE: Final = "http://127.0.0.1:1"  # tcpmux, where nobody listens

_SWITCHES: Final = (
    "--headless=new",
    "--remote-debugging-pipe",
    f"--proxy-server={_NOWHERE}",
    "--proxy-bypass-list=<-loopback>",  # loopback too goes to the proxy
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--blink-settings=imagesEnabled=false",
    "--mute-audio",
    "--no-first-run",
    "--renderer-process-limit=1",
    f"--js-flags=--max-old-space-size={HEAP_MB}",
)
_BECOMING: Final = (sys.executable, "-P", "-m", "peers.rendering.browser_process")


class BrowserError(Exception):
    """The browser has ended, talks nonsense, or cannot carry out a command."""


class BrowserEvent(msgspec.Struct, frozen=True):
    """A message from the browser, of a session or of itself."""

    method: str = ""
    session: str = msgspec.field(name="sessionId", default="")
    params: dict[str, Any] = {}
    id: int = 0  # of the command that this answers; 0 for none
    result: dict[str, Any] = {}
    error: dict[str, Any] | None = None


NO_SANDBOX: Final = "--no-sandbox"
_DECODER: Final = msgspec.json.Decoder(BrowserEvent)


def command_of(renderer: str) -> tuple[str, ...]:
    """Return the command line that starts a Chromium.

    Args:
      renderer: name of the program or its path, and switches of its own, as a shell has them.

    Raises:
      ConfigError: there is none, or it does not run as root.
    """
    try:
        name, *switches = shlex.split(renderer)
    except ValueError as error:
        raise ConfigError(f"web.renderer {renderer!r} is no command ({error}): name a browser") from error
    program = shutil.which(name)
    if program is None:
        raise ConfigError(
            f"web.render needs Chromium, and there is no {name!r}: `apt install chromium`, or name it in "
            "web.renderer"
        )
    if NO_SANDBOX not in switches and not os.getuid():
        raise ConfigError(
            "Chromium has no sandbox for root: run the peer as another user, or set web.renderer = "
            f'"{name} {NO_SANDBOX}", with which a page that breaks out of it is root'
        )
    return (program, *_SWITCHES, *switches)


class Browser:
    """A Chromium that was started; one task at a time talks to it."""

    def __init__(self, process: trio.Process, stream: trio.SocketStream, folder: str) -> None:
        self.pages = 0  # that it has shown
        self.version = ""
        self._process = process
        self._stream = stream
        self._folder = folder
        self._received = bytearray()
        self._last_id = 0
        self._events: deque[BrowserEvent] = deque()  # that came while an answer was waited for

    @classmethod
    async def start(cls, command: Sequence[str]) -> Self:
        """Start one, with a folder of its own, and wait until it answers.

        Raises:
          BrowserError: it does not.
          OSError: there is no memory, or no descriptor.
        """
        folder = tempfile.mkdtemp(prefix="tianmesh-chromium-")
        ours, theirs = socket.socketpair()
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        with theirs:
            try:
                process = await trio.lowlevel.open_process(
                    [*_BECOMING, folder, *command, f"--user-data-dir={folder}"],
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                shutil.rmtree(folder, ignore_errors=True)
                raise
        browser = cls(process, stream, folder)
        try:
            with trio.fail_after(START_S_MAX):
                told = await browser.call("Browser.getVersion")
                browser.version = str(told.get("product", ""))
                await browser.call("Browser.setDownloadBehavior", behavior="deny")
        except BaseException as error:
            await browser.end()
            if isinstance(error, trio.TooSlowError):
                raise BrowserError(f"{command[0]} does not answer") from error
            raise
        return browser

    async def call(self, method: str, session: str = "", **params: object) -> dict[str, Any]:
        """Give the browser a command and wait for its answer; events meanwhile are kept for `next_event`.

        Raises:
          BrowserError: it says that it cannot, or has ended.
        """
        number = await self.tell(method, session, **params)
        while True:
            event = await self._read()
            if event.id != number:
                self._events.append(event)
            elif event.error is not None:
                raise BrowserError(f"{method}: {event.error.get('message', event.error)}")
            else:
                return event.result

    async def tell(self, method: str, session: str = "", **params: object) -> int:
        """Have it do something, and return the number of the answer."""
        self._last_id += 1
        order: Mapping[str, object] = {"id": self._last_id, "method": method, "params": params}
        order = {**order, "sessionId": session} if session else order
        try:
            await self._stream.send_all(msgspec.json.encode(order) + b"\0")
        except trio.BrokenResourceError as error:
            raise BrowserError("it has ended") from error
        return self._last_id

    async def next_event(self) -> BrowserEvent:
        """Wait for the browser's next message. BrowserError: it has ended, or talks nonsense."""
        return self._events.popleft() if self._events else await self._read()

    async def end(self) -> None:
        """End all processes of the browser at once, and remove the files that it has written."""
        with trio.CancelScope(shield=True):
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except OSError:  # it has ended by itself
                self._process.kill()
            await trio.aclose_forcefully(self._stream)
            await self._process.wait()
            await trio.to_thread.run_sync(lambda: shutil.rmtree(self._folder, ignore_errors=True))

    async def _read(self) -> BrowserEvent:
        searched = 0
        while (end := self._received.find(b"\0", searched)) < 0:
            searched = len(self._received)
            if searched > MESSAGE_BYTES_MAX:
                raise BrowserError(f"says more than {MESSAGE_BYTES_MAX} bytes at once")
            try:
                data = await self._stream.receive_some(RECEIVE_BYTES)
            except trio.BrokenResourceError as error:
                raise BrowserError("it has ended") from error
            if not data:
                raise BrowserError("it has ended")
            self._received += data
        message = bytes(self._received[:end])
        del self._received[: end + 1]
        try:
            return _DECODER.decode(message)
        except msgspec.MsgspecError as error:
            raise BrowserError(f"talks nonsense: {error}") from error
