"""Words and strategies that make texts, for the tests of what reads texts."""

from __future__ import annotations

from hypothesis import strategies as st

_WORDS = """
天网 搜索引擎 北京大学 研究生命起源 中华人民共和国 长春市长春药店 索引 网页 主机 逻辑节点
東京タワー カタカナ 한국어 mesh peer Search engine crawler café naïve UTF-8
index 2004 x86 T恤 的 了 是 the of a हिन्दी বাংলা ภาษาไทย เป็น ខ្មែរ မြန်မာ محمّد Ge\u00adsamt \u2eda
"""
WORDS = _WORDS.split()

# Text of Chinese characters, simplified and traditional.
han_text = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(list("天網搜尋引擎與漢語拼音繁體中文乾隆後來於")),
        st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5), max_size=4),
        st.sampled_from(list("，。 a")),
    ),
    max_size=30,
).map("".join)

# Text of words with signs between and beside them.
signed_text = st.lists(
    st.sampled_from(
        ["c", "net", "T", "恤", "1", "23", "000", "1234", "ok", "カ", *"++##..&/,-:_ ", "::", "--", "running"]
    ),
    max_size=30,
).map("".join)

# Text of all scripts with the characters that folding and cutting treat specially.
any_text = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(
            list(
                " ，。\n-_'\u0301\u3099ﾞｶＡé½㌔ΣσςİıßﬀⅧ①"
                "\ufeff\u200d\ufe0f\u0e31\u0e2d\u094d\u0928\u00ad\x00\x01\x02·々〇ー"
            )
        ),
        st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5), max_size=4),
        st.text(max_size=3),
    ),
    max_size=30,
).map("".join)
