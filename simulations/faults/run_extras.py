"""The extras of a run beside its faults: a liar, sites, stores, and other webs."""

from __future__ import annotations

from typing import Final, NamedTuple


class RunExtras(NamedTuple):
    """Switches of a run with faults, each an option of `tianmesh sim faults`."""

    has_revisits: bool = True  # pages are visited again, and the web changes while it has the faults
    has_liar: bool = False  # as long as there are faults one of the first peers says what may do harm
    has_pins: bool = False  # as long, policies say who is to crawl which slots
    has_machines: bool = False  # hosts share the machines that serve them
    has_domains: bool = False  # each host is of a registrable domain of its own
    has_sites: bool = False  # sites are submitted to which nothing links
    has_everything: bool = False  # all stores that a policy can switch on are used; sites are among them

    @property
    def options(self) -> str:
        """The options of the command that say so."""
        extras = zip(_OPTIONS, self, RunExtras(), strict=True)
        return "".join(f" --{option}" for option, value, usual in extras if value != usual)


_OPTIONS: Final = ("no-revisits", "byzantine", "pins", "machines", "domains", "sites", "everything")
