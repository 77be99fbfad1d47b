"""Persons, posts and organisations in a sentence of Chinese, by titles and endings, and how they are related.

A post is a title of a list, with words before it that make another one of it (副, 前, 执行). An organisation
ends as organisations do (大学, 公司, 委员会) and begins where no word of speech or of place in a sentence
stands. A relation holds between a name and a post or an employer within one sentence: close, where
nothing but titles, names of organisations and words such as 担任 stand between them, else loose.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

# Titles by their kinds; the longest that fits counts.
_TITLES: Final = """
主席 副主席 总统 总理 首相 国王 女王 皇帝 总督 部长 司长 局长 厅长 处长 科长 省长 市长 区长 县长 镇长
乡长 村长 州长 书记 总书记 秘书长 秘书 委员 常委 代表 议员 议长 参议员 众议员 国务卿 大臣 大使 领事 参赞
发言人 新闻发言人 特使 主任 检察长 检察官 法官 院长 庭长 律师 公证员 警察 民警 警官 探长 队长 所长 政委
司令 司令员 元帅 将军 上将 中将 少将 大校 上校 中校 少校 上尉 总裁 董事长 董事 监事 总经理 经理
首席执行官 首席财务官 首席运营官 首席技术官 首席信息官 首席经济学家 首席代表 首席分析师 总监 主管 厂长
老板 合伙人 创始人 创办人 店长 行长 会长 理事长 理事 干事 馆长 台长 社长 站长 主编 总编 总编辑 编辑 记者
主持人 播音员 导演 编剧 制片人 监制 演员 歌手 作曲家 指挥 校长 教务长 系主任 教授 副教授 讲师 导师 老师
教师 博士 硕士 院士 研究员 副研究员 研究生 学者 专家 科学家 工程师 总工程师 设计师 总设计师 建筑师
分析师 会计师 经济师 医生 医师 主治医师 护士 护士长 药师 教练 主教练 助理教练 领队 球员 队员 前锋 后卫
中场 门将 守门员 裁判 裁判员 运动员 冠军 作家 诗人 画家 书法家 音乐家 艺术家 摄影师 漫画家 评论家 评论员
经济学家 历史学家 哲学家 心理学家 数学家 物理学家 化学家 生物学家 社会学家 企业家 银行家 慈善家 负责人
联合创始人 顾问 助理 翻译 司机 厨师 模特 空姐 保安 工人 农民 士兵 战士 船长 机长 飞行员 宇航员 牧师 神父
主教 教皇 法师 住持 方丈 ceo cfo coo cto president chairman chairwoman director professor minister mayor
senator governor secretary coach
"""
_BEFORE_TITLES: Final = "副 前 原 总 常务副 执行 首席 名誉 代理 代 助理 高级 资深 特约 联席 候任 第一副 联合"
_ENDINGS: Final = """
大学 学院 中学 小学 学校 幼儿园 党校 研究所 研究院 研究中心 科学院 社科院 实验室 图书馆 博物馆 美术馆
体育馆 纪念馆 公司 集团 银行 交易所 证券 基金 保险 酒店 饭店 医院 诊所 药厂 工厂 电厂 出版社 杂志社 报社
通讯社 电视台 电台 日报 晚报 周刊 委员会 协会 学会 联合会 基金会 总会 工会 商会 联盟 联合国 组织 法院
检察院 公安局 派出所 警察局 国务院 办公厅 办公室 政府 议会 国会 人大 政协 党委 常委会 党组 外交部 国防部
财政部 教育部 商务部 司令部 总局 分局 管理局 俱乐部 足球队 篮球队 乐队 乐团 剧院 剧团 工作室 事务所 中心
"""
# Words before an organisation that are no part of it.
_NOT_OF_NAMES: Final = (
    "的是在和与及或对从向被把将由于到给为让使以而但也都就还又再已曾称说据日月年了着过"
    "个这那该其某各每本我你他她它们"
)
_VERBS: Final = """
任 担任 出任 现任 兼任 历任 就任 升任 当选 当选为 受聘为 被任命为 是 为 系 作为 成为 就职于 供职于
任职于 来自 加盟 的 兼 暨
"""


def one_of(words: str) -> str:
    """Return a pattern of the longest of some words that fits, which fails at once where none begins."""
    by_first: dict[str, list[str]] = {}
    for word in sorted(words.split(), key=len, reverse=True):
        by_first.setdefault(word[0], []).append(re.escape(word[1:]))
    branches = (f"{first}(?:{'|'.join(rests)})" for first, rests in by_first.items())
    return f"{_begins(words)}(?:{'|'.join(branches)})"


def _begins(words: str) -> str:
    return f"(?=[{''.join(sorted({word[0] for word in words.split()}))}])"


POST: Final = re.compile(
    f"{_begins(_BEFORE_TITLES + _TITLES)}(?:{'|'.join(_BEFORE_TITLES.split())}){{0,2}}{one_of(_TITLES)}"
)
ORGANISATION: Final = re.compile(
    f"(?:(?![{_NOT_OF_NAMES}])[\u4e00-\u9fd5a-z0-9·]){{1,12}}?{one_of(_ENDINGS)}(?!人|员|长)"
)
# Where these stand between a name and a post or an employer, the relation is a close one; all else counts.
_FILLER: Final = re.compile(f"{POST.pattern}|{ORGANISATION.pattern}|{one_of(_VERBS)}|\\W")
OTHERS_BETWEEN_MAX: Final = 4  # as the name of a department
BETWEEN_CHARS_MAX: Final = 24
CLOSE, LOOSE = 1.0, 0.4


class Occurrence(NamedTuple):
    """A stretch of a sentence."""

    start: int
    end: int


def posts_in(sentence: str) -> list[Occurrence]:
    """Return the posts in a folded sentence, in their order."""
    return [Occurrence(*match.span()) for match in POST.finditer(sentence)]


def organisations_in(sentence: str) -> list[Occurrence]:
    """Return the organisations in a folded sentence, in their order."""
    return [Occurrence(*match.span()) for match in ORGANISATION.finditer(sentence)]


def relation(sentence: str, names: list[Occurrence], texts: list[Occurrence]) -> float:
    """Return how closely one of some texts belongs to one of some names: CLOSE, LOOSE, 0.0 without either."""
    if not names or not texts:
        return 0.0
    return CLOSE if any(_is_close(sentence, name, text) for name in names for text in texts) else LOOSE


def _is_close(sentence: str, one: Occurrence, other: Occurrence) -> bool:
    first, second = sorted((one, other))
    between = sentence[first.end : second.start]
    return len(between) <= BETWEEN_CHARS_MAX and len(_FILLER.sub("", between)) <= OTHERS_BETWEEN_MAX
