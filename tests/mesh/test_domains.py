from __future__ import annotations

import pytest
from publicsuffixlist import PublicSuffixList

from mesh.domains import _suffixes, load_suffixes, registrable_domain


def test_the_list_can_be_read_before_it_is_needed() -> None:
    _suffixes.cache_clear()
    registrable_domain.cache_clear()
    load_suffixes()
    assert registrable_domain("www.pku.edu.cn") == "pku.edu.cn"
    assert _suffixes.cache_info().misses == 1


def test_the_list_has_the_names_that_its_own_reader_makes() -> None:
    assert vars(_suffixes()) == vars(PublicSuffixList())


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.pku.edu.cn", "pku.edu.cn"),
        ("a.b.c.pku.edu.cn", "pku.edu.cn"),
        ("pku.edu.cn", "pku.edu.cn"),
        ("one.github.io", "one.github.io"),  # who registers there answers for it alone
        ("www.xn--55qx5d.cn", "www.xn--55qx5d.cn"),
        ("edu.cn", "edu.cn"),
        ("localhost", "localhost"),
        ("x.y.lab", "y.lab"),  # a top-level domain that nobody has heard of
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_registrable_domain_is_what_somebody_registered(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain
