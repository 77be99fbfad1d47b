"""The class of a query: it looks for a site, for something to have or to do, or for facts. Pure.

Two or three words do not say what they are for; the class is the most likely one. In this order:

  1. an address, or a name like one: navigational
  2. a question ("how", "why", 如何, 什么): informational, whatever is asked about
  3. words for a site (官网, 论坛, login), a name that ends as those of sites and institutions do, or one of
     `SITE_NAMES`: navigational
  4. words for what is fetched, played, bought or filled in (下载, 在线, mp3, download, buy): transactional
  5. all else: informational

Of 820 English queries labelled by others, which were not looked at, 692 get their class (650 are
informational): 48 of 53 called navigational are, and 22 of 50 called transactional; 90 of 138 navigational
ones are missed, mostly plain names. Of 200 of SogouQ that one person labelled after the rules were made,
157 (121): 14 of 15, 24 of 26; 13 of 27 and 28 of 52 are missed.

Sources: Broder 2002, A taxonomy of web search (the classes); Li, Yan, Wang 2004, table 10-4 (导航型, 信息型,
事务型); Jansen, Booth and Spink 2008 (kinds of words that tell). The words themselves are ours, chosen on the
other half of SogouQ's queries and on 180 English ones.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from peers.text.folding import fold


class QueryClass(StrEnum):
    """The purposes of queries."""

    NAVIGATIONAL = "navigational"  # one site or its entrance
    INFORMATIONAL = "informational"  # what pages say about something
    TRANSACTIONAL = "transactional"  # to have or to do something on the web


CHARS_READ: Final = 200  # of a longer one, which is a text that somebody has pasted
# Sites that people call by a name that has no sign of a site in it, folded.
_NAMES: Final = """
google gmail youtube facebook twitter instagram linkedin wikipedia amazon ebay yahoo hotmail outlook
bing netflix craigslist reddit pinterest whatsapp paypal dropbox github msn aol baidu taobao youku tudou
sina sohu chinaren hao123 alibaba 谷歌 百度 雅虎 新浪 搜狐 网易 腾讯 优酷 土豆 淘宝 京东 天涯 猫扑 知乎
豆瓣 微博 人人 校内 开心 携程 赶集 当当 阿里巴巴
"""
SITE_NAMES: Final = frozenset(_NAMES.split())
_ADDRESS: Final = re.compile(
    r"https?[:;]//|\bwww\b|(?<![@\w-])[a-z0-9-]+\s?\.\s?"
    r"(?:com?|cn|net|org|edu|gov|info|biz|cc|tv|me|io|de|uk|tw|hk|jp)\b"
)


def _any_of(english: str, chinese: str) -> str:
    """Return the pattern of words: whole ones in English, anywhere in Chinese."""
    words, phrases = ("|".join(text.split()) for text in (english, chinese))
    return rf"\b(?:{words.replace('_', ' ')})\b|{phrases}"


_QUESTION: Final = re.compile(
    _any_of(
        "how what whats why who whos when where which meaning definition define "
        "^(?:is|are|was|were|does|do|did|can|should)",
        "什么 为何 如何 怎么 怎样 怎麽 谁 哪 多少 几个 几次 吗$ 呢$ 意思 原因 是不是 能否 有没有",
    )
)
_SITE: Final = re.compile(
    _any_of(
        "home_?page official_site official_website web_?site log_?in sign_?in webmail intranet "
        "customer_service "
        "(?:university|college|bank|airlines?|inc|corp|library|school_district|credit_union)$",
        """官网 官方网 网站 网址 主页 首页 论坛 贴吧 博客 邮箱 登录 登陆 导航 社区
    (?:网|之家|吧|搜索|大学|学院|公司|集团|银行|政府|医院|中学|小学|协会|基金会|图书馆|出版社|日报|卫视|电视台)$""",
    )
)
_NO_SITE: Final = re.compile("(?:上网|联网|酒吧|网吧|电网|宽带网)$")
_TRANSACTION: Final = re.compile(
    _any_of(
        """downloads? buy purchase order shop shopping store coupons? tickets? for_sale cheap free online
    watch listen play games software torrents? crack apk exe mp3 mp4 mv avi rmvb gif jpe?g png videos? movies?
    songs? lyrics music images pictures pics photos wallpapers? calculator converter translate translator
    printable forms? register registration sign_up apply booking book reservations? chat radio""",
        """下载 在线 观看 免费 视频 视屏 图片 照片 图库 彩图 壁纸 桌面 试听 铃声 彩铃 歌曲 舞曲 伴奏 专辑 新歌
    歌词 电影 影片 电视剧 连续剧 全集 小说 全文 动漫 漫画 游戏 外挂 软件 播放器 浏览器 输入法 驱动 补丁 破解
    序列号 注册 许可 皮肤 主题 代码 模板 素材 课件 试卷 试题 范文 翻译器 计算器 万年历 查询 查分 购买 订票
    团购 出租 租房 出售 转让 招聘 求职 报名 申请表 聊天 占卜 算命 测试""",
    )
)


def query_class(text: str) -> QueryClass:
    """Return the most likely class of a query as it was typed; it knows words of Chinese and English."""
    folded = " ".join(fold(text[:CHARS_READ]).split())
    if _ADDRESS.search(folded):
        return QueryClass.NAVIGATIONAL
    if _QUESTION.search(folded):
        return QueryClass.INFORMATIONAL
    if folded in SITE_NAMES or (_SITE.search(folded) and not _NO_SITE.search(folded)):
        return QueryClass.NAVIGATIONAL
    return QueryClass.TRANSACTIONAL if _TRANSACTION.search(folded) else QueryClass.INFORMATIONAL
