"""A crawl in which nothing is fetched for a while: when to ask why, and when to wait no longer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mesh.counts import counted
from mesh.errors import TianmeshError

QUIET_S: Final = 5.0  # without a fetch, until it is asked why, and again
WAIT_S: Final = 600.0  # for what is due later a person starts the crawl again
LEFT_FOR_LATER: Final = 3  # the exit code


class LeftForLater(TianmeshError):
    """All that is left of a crawl comes later than anybody wants to wait.

    Attributes:
      hosts: a line for each of those with most to come, or for each full disk.
    """

    def __init__(self, hosts: list[str], why: str) -> None:
        super().__init__(why)
        self.hosts = hosts


class Standstill:
    """Watches reports for a standstill."""

    def __init__(self) -> None:
        self._n_fetched = -1
        self._fetched_s = 0.0  # when something was fetched last
        self._since_s = 0.0  # when something was fetched last, or it was asked why not
        self._said = ""

    def is_to_ask(self, report: Mapping[str, Any], now: float) -> bool:
        """Tell whether something is left and nothing was fetched for a while; then wait anew."""
        total = report["total"]
        n_fetched = sum(total["fetch_status"].values())
        if total["idle"] or n_fetched != self._n_fetched:
            self._n_fetched, self._since_s, self._fetched_s = n_fetched, now, now
            return False
        if now < self._since_s + QUIET_S:
            return False
        self._since_s = now
        return True

    def check_space(self, report: Mapping[str, Any], wait_s: float, now: float) -> None:
        """Raise LeftForLater when nothing was fetched for so many seconds, and a disk is full.

        Only a person can make room, and who waits for the end of a crawl may not look.
        """
        full = [peer["id"] for peer in report["peers"] if peer["disk_full"]]
        if full and now >= self._fetched_s + wait_s:
            hosts = [f"the disk of peer {peer} is full: free some space on it" for peer in full]
            raise LeftForLater(hosts, f"nothing was fetched for {_told(now - self._fetched_s)}")

    def news(self, sentence: str) -> str:
        """Return a sentence that was not the last one said; "" for that."""
        said, self._said = self._said, sentence
        return "" if sentence == said else sentence


def check_due(answer: Mapping[str, Any], wait_s: float) -> None:
    """Raise LeftForLater when all peers have answered and the work left is not due within so many seconds.

    What hosts have that were given up is not left: a crawl without it is done, and says why it has no pages.

    Args:
      answer: of /api/why/idle.
    """
    if answer["silent"] or answer["down"]:
        return
    facts = [peer["facts"] for peer in answer["peers"].values()]
    busy = ("halts", "ready", "in_flight", "in_progress", "slots_stopping", "links_waiting")
    if any(each[what] for each in facts for what in busy):
        return
    if not any(each["queued"] > each["given_up"] or each["is_due_again"] for each in facts):
        return
    due_s = [each["next_s"] - each["at_s"] for each in facts if each["next_s"] is not None]
    if not due_s or min(due_s) <= wait_s:
        return
    waiting = sorted(
        ((host["queued"], host["name"], host["hold"]) for each in facts for host in each["longest"]),
        reverse=True,
    )
    hosts = [f"{name}: {counted(queued, 'URL')}; {hold}" for queued, name, hold in waiting if queued]
    raise LeftForLater(hosts, f"all that is left is due in {_told(min(due_s))} or later")


def _told(seconds: float) -> str:
    return f"{seconds / 3_600:.1f} h" if seconds >= 3_600 else f"{seconds / 60:.0f} min"
