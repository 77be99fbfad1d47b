"""Languages by script and function words."""

from __future__ import annotations

import re
from random import Random
from typing import Final

import pytest

from peers.crawler.parsing._markup import count_letters
from peers.crawler.parsing.language import language_of
from peers.crawler.parsing.parser import parse_page


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("搜索引擎是一种从互联网上收集网页并为用户提供检索服务的系统。", "zh"),
        ("如何安裝這個軟體：請先下載安裝程式，然後依照畫面上的指示進行。", "zh"),
        ("これは日本語の文章です。検索エンジンはウェブページを集めます。", "ja"),
        ("이것은 한국어 문장입니다. 검색 엔진은 웹 페이지를 모읍니다.", "ko"),
        ("Поисковая система собирает страницы и отвечает на запросы пользователей.", "ru"),
        ("The search engine collects pages of the web and answers the queries that users type.", "en"),
        ("Die Suchmaschine sammelt Seiten und beantwortet die Anfragen, die von den Nutzern kommen.", "de"),
        ("Le moteur de recherche collecte les pages du web et répond aux requêtes des utilisateurs.", "fr"),
        ("El motor de búsqueda recoge las páginas de la web y responde a las consultas.", "es"),
        ("Use the option --lang to set the language, as in the example: 中文 or 日本語.", "en"),
        ("安装 Debian 时可以使用 apt-get install 命令来安装所需要的软件包", "zh"),
        ("foo_bar baz_qux libfoo.so.1 xyz-1.2.3 ABCDEF GHIJKL MNOPQR", ""),
        ("How a search engine works: crawling, indexing, ranking, print envelope.", ""),
        ("A hét legjobb ajánlatai: a ház, a kert, a konyha.", ""),
        ("O motor de busca recolhe as páginas da rede e responde a consultas.", "pt"),
        ("短文", ""),
        ("", ""),
    ],
)
def test_a_text_tells_its_language_or_nothing(text: str, language: str) -> None:
    assert language_of(text) == language


def test_what_the_page_says_comes_first() -> None:
    body = '<html lang="en"><p>搜索引擎是一种从互联网上收集网页并为用户提供检索服务的系统。'.encode()
    assert parse_page("http://a.test/", body).language == "en"
    assert parse_page("http://a.test/", body.replace(b'lang="en"', b"")).language == "zh"


ENGLISH = "The search engine collects pages of the web and answers the queries that users type into it. "
CHINESE = "搜索引擎是一种从互联网上收集网页并为用户提供检索服务的系统。"
SWEDISH = "Sökmotorn samlar in sidor från nätet och svarar på de frågor som användarna skriver till den. "
JAPANESE_NAMES = "東京都渋谷区代々木神宮前原宿表参道青山"


@pytest.mark.parametrize(
    ("named", "text", "language"),
    [
        ("ko", ENGLISH, "en"),
        ("en", CHINESE, "zh"),
        ("en", ENGLISH + CHINESE, "en"),
        ("de", ENGLISH, "en"),
        ("de", SWEDISH, "de"),
        ("sv", ENGLISH, "sv"),
        ("uk", "Пошукова система збирає сторінки та відповідає на запити. ", "uk"),
        ("ja", JAPANESE_NAMES, "ja"),
        ("ko", "foo_bar baz_qux libfoo.so.1 xyz-1.2.3 ABCDEF GHIJKL MNOPQR ", "ko"),
    ],
)
def test_a_long_text_of_surely_another_language_is_believed(named: str, text: str, language: str) -> None:
    for n in (1, 20):
        body = f'<html lang="{named}-x"><p>{text * n}'.encode()
        assert parse_page("http://a.test/ko/", body).language == (language if n == 20 else named)


# In the order of what is counted.
LETTERS: Final = (
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]",
    "[\u3041-\u30ff\u31f0-\u31ff]",
    "[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]",
    "[\u0400-\u04ff]",
    "[\u0e01-\u0e5b]",
    "[A-Za-z\u00c0-\u024f\u1e00-\u1eff]",
)


def test_letters_are_counted_by_script_at_their_borders_too() -> None:
    borders = [ord(c) for pattern in LETTERS for c in re.findall("[^\\[\\]-]", pattern)]
    near = [chr(code + step) for code in borders for step in (-1, 0, 1)]
    random = Random(1)
    for n in (0, 1, 5, 200, 200, 200):
        text = "".join(random.choices(near, k=n))
        assert count_letters(text) == tuple(len(re.findall(each, text)) for each in LETTERS)
