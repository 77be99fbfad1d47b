"""The commands that README and docs print, and what becomes of each in the tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_LINE: Final = re.compile(
    r"^ {4}((?:sudo )?(?:tianmesh|curl|make|pipx?|docker|journalctl|systemctl)\b.*)$", re.M
)


class Documented(NamedTuple):
    """A line of code that is a command, without its comment."""

    page: str
    command: str


def documented() -> list[Documented]:
    """Return all, in the order of the pages."""
    return [
        Documented(page.name, re.sub(r"\s+# .*$", "", line).strip())
        for page in PAGES
        for line in _LINE.findall(page.read_text(encoding="utf-8"))
    ]


# Which commands `tests/live/test_documented_commands.py` does not run as they stand, by their beginning, and
# what judges them instead or what they would need.
ELSEWHERE: Final = {
    "make demo": "test_demo.py has the demo; the rest is installing",
    "make test": "this is it",
    "make .venv/tests": "this has been done",
    "make wheel": "test_build_kernels.py builds one",
    "pipx install": "wants a wheel to have been built and carried to another machine",
    "docker compose": "wants Docker; test_containers.py runs what is in the containers",
    "journalctl": "wants systemd",
    "systemctl": "wants systemd",
    "sudo tianmesh service": "wants systemd; test_service.py reads what is written",
    "tianmesh lab": "wants machines; test_lab_launch.py has some with an sshd each",
    "tianmesh init": "test_start.py runs it, with ports of its own",
    "tianmesh start": "test_start.py",
    "tianmesh invite": "test_start.py, test_invitation.py",
    "tianmesh join": "test_start.py, test_invitation.py",
    "tianmesh drain": "test_campaign.py drains a peer",
    "tianmesh expel": "test_campaign.py expels a peer",
    "tianmesh up": "runs until it is stopped: the mesh of those tests is such a one",
    "tianmesh trace from-graph": "wants a public graph of half a gigabyte; test_web_graph.py has a small one",
    "tianmesh sim": "minutes; tests/simulations runs each experiment with a small size",
    "tianmesh import papers --watch": "goes on until it is stopped; test_folder.py watches one",
    "tianmesh restore /mnt/disk/mesh --data": "test_backup.py restores onto machines that lost all",
    "tianmesh eval judge ": "wants people; test_assessment.py and test_judgement_browser.py press the keys",
    "tianmesh search --queries topics.tsv --record-reads": "wants a stopped peer; test_recorded_search.py",
    "tianmesh classes": "wants samples of one's own; tests/peers/classes has some, and a gateway",
    "tianmesh backlinks": "wants a policy that keeps the links: test_backlinks.py has one",
    "tianmesh graph hubs": "wants a policy that keeps the links: test_backlinks.py has one",
    "tianmesh graph ranks": "wants a policy that ranks pages: test_page_ranks.py has one",
    "tianmesh entities": "wants a policy that keeps them, and keys: tests/live/test_entities.py has both",
    "tianmesh topic": "wants a key of an administrator, and slices: tests/live/test_topics.py has both",
    "tianmesh log clicks": "wants lists that several readers were shown; test_counterfactual.py has some",
    "tianmesh submi": "wants a policy that takes sites, and a site: test_submission.py has both",
    "tianmesh watch follow": "goes on until it is stopped; tests/peers/watch/test_commands.py stops it",
    "curl -N": "goes on until it is stopped; test_watch_routes.py reads events",
    "tianmesh webhook": "wants an endpoint; tests/peers/webhooks has some",
}


# What such a beginning does not mean.
HERE_ALL_THE_SAME: Final = ("tianmesh sim plan",)


def is_elsewhere(command: str) -> bool:
    if command.startswith(HERE_ALL_THE_SAME):
        return False
    return any(command.startswith(beginning) for beginning in ELSEWHERE)
