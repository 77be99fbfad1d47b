"""Whether the libraries installed analyse text as this version of the analysis does.

Two peers of one `ANALYSIS_VERSION` must have the same terms, and part of the rules is in libraries: the
segmenter's dictionary, the stemmer, the Unicode tables. A digest of what becomes of a sample tells when one
of them follows other rules than those this version was released with.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from peers.text.analysis import analyse, frequency_entries
from peers.text.spellings import spellings_of
from peers.text.stemming import NATIVE_STEMMERS

# Raise `ANALYSIS_VERSION` when it changes.
FINGERPRINT: Final = "b5ab1e"

_SAMPLE: Final = """
天网是由北京大学计算机系网络与分布式系统研究室开发的搜索引擎，研究生命起源，长春市长春药店。
他来到了网易杭研大厦；小明硕士毕业于中国科学院计算所，后在日本京都大学深造。结婚的和尚未结婚的。
乒乓球拍卖完了，工信处女干事每月经过下属科室都要亲口交代24口交换机等技术性器件的安装工作。
战国无双由光荣和ω-force开发，武田信玄、织田信长、石田三成；阿尔伯特·爱因斯坦提出了相对论。
繁體中文網頁與搜尋引擎，後臺，於是，乾隆皇帝、頭髮、發現、著作權、計程車、滑鼠。
東京タワーとスカイツリー ｶﾞｷﾞ㌔ 한국어 검색 엔진 々〇
C++ C# F# .NET ASP.NET AT&T 5G A/B node.js 3.14 1,000,000 T恤 卡拉OK 2004-05-06 ½ ﬀ Ⅷ ①
Café NAÏVE Łódź Straße İstanbul ΟΔΟΣ Поиск
generously relational conditionally rationalization operator feudalism decisiveness hopefulness
skis dying lying news innings herring exceed succeed early only gently singly skies tied cries
happy happiness running runs ran ponies caresses agreed plastered hopping controlling rolling
aeroelastic similarity obeyed constructing criteria criterion analyses analysis indices crawling
internationalization electricity adjustable formalize triplicate formative sensibility
Häuser Tabellen einfügen Gemeinschaften Arbeitsplätze formatierten nationaux généralement chevaux publications
ciudades comunicación rápidamente canciones informações ligações amavelmente bellissima stazione velocemente
mogelijkheden gebouwen wetenschappelijk językami miejscowości utbildningar vänligheten hrady nejlepší
evlerimizde kitaplar bygninger uddannelse kjærligheten kirjoissamme talossani házakban könyveinek
frumoasele pekerjaannya
pg_column_compression std::vector --no-cache X-900 x900 x-forwarded-for أَحْمَدُ ελληνικά हिन्दी বাংলা தமிழ்
ภาษาไทย ພາສາລາວ ខ្មែរ မြန်မာ ⻚ ১২৩
informacions namuose raamatutes etxeetako leabharlann belecajn сообщения поисковыми γλώσσες ծրագրերի المعلومات
"""
_LANGUAGES: Final = ("", *NATIVE_STEMMERS)


def fingerprint() -> str:
    """Return the digest of the analysis of the sample with the libraries installed here."""
    digest = blake2b(digest_size=3)
    for line in _SAMPLE.splitlines():
        forms = (sorted(frequency_entries(line, each)) for each in _LANGUAGES)
        for found in (analyse(line), spellings_of(line), *forms):
            digest.update("\0".join(found).encode() + b"\n")
    return digest.hexdigest()
